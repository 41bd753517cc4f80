//! What the flow queues and CoDel do together.

use std::string::ToString;
use std::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::disciplines::codel::Codel;
use crate::observer::{Drop, MarkReason};
use crate::packet::Ecn;
use crate::packet::testing::TestPacket;
use crate::units::Rate;

const LINK: Link = Link {
    rate: Rate::from_mbps(8),
    mtu: Bytes::new(1_500),
};

#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Fates {
    dropped: Vec<(u64, DropReason)>,
    marked: Vec<(u64, MarkReason)>,
}

impl Observer<TestPacket> for Fates {
    fn dropped(&mut self, packet: TestPacket, drop: Drop, _now: Time) {
        assert!(drop.queued, "each packet is accepted first");
        self.dropped.push((packet.id, drop.reason));
    }
    fn marked(&mut self, _queue: QueueId, packet: &TestPacket, reason: MarkReason, _now: Time) {
        self.marked.push((packet.id, reason));
    }
}

fn queue(given: &[(&str, &str)]) -> FqCodel<TestPacket> {
    let mut settings = Settings::new(Parameters::ROWS);
    for (key, value) in given {
        settings.set(key, value).unwrap();
    }
    FqCodel::new(settings, LINK, Random::new(1, "queue")).unwrap()
}

fn packet(id: u64, flow: u64, len: u64, ecn: Ecn, at: Time) -> TestPacket {
    let mut packet = TestPacket::new(id, len, ecn);
    packet.flow = flow;
    packet.set_arrival(at);
    packet
}

/// Drops of a full queue, by flow and bytes.
fn overflow(given: &[(&str, &str)], packets: &[(u64, u64)]) -> Vec<u64> {
    let mut queue = queue(given);
    let mut fates = Fates::default();
    for (id, &(flow, len)) in packets.iter().enumerate() {
        let packet = packet(id as u64, flow, len, Ecn::Ect0, Time::ZERO);
        queue.enqueue(packet, Time::ZERO, &mut fates);
    }
    fates.dropped.iter().map(|d| d.0).collect()
}

#[test]
fn a_full_queue_drops_half_of_the_fattest_flow_but_no_more_than_a_batch() {
    let big = (1, 1_000);
    let small = (2, 100);
    for (given, packets, expected) in [
        // Half of 5 000 bytes: three packets reach it.
        (
            &[("limit", "5")][..],
            &[big, big, big, big, small, big][..],
            &[0, 1, 2][..],
        ),
        // No more than a batch.
        (
            &[("limit", "5"), ("drop_batch", "2")],
            &[big, big, big, big, small, big],
            &[0, 1],
        ),
        // The fattest by bytes, not by packets.
        (
            &[("limit", "5"), ("drop_batch", "1")],
            &[small, small, small, small, big, small],
            &[4],
        ),
        // At least one, even if that is the one that came.
        (&[("limit", "1")], &[small, big], &[1]),
        (&[("limit", "1")], &[big, big], &[0]),
    ] {
        assert_eq!(overflow(given, packets), expected, "{given:?}");
    }
}

#[test]
fn memory_is_a_limit_of_its_own() {
    // A test packet occupies its length and 256 bytes.
    let mut queue = queue(&[("memory_limit", "6000B"), ("drop_batch", "1")]);
    let mut fates = Fates::default();
    for id in 0..6 {
        let packet = packet(id, 1, 1_000, Ecn::Ect0, Time::ZERO);
        queue.enqueue(packet, Time::ZERO, &mut fates);
    }
    let expected = [0, 1].map(|id| (id, DropReason::Memory));
    assert_eq!(fates.dropped, expected);
    assert_eq!(queue.backlog().packets, 4);
    let error = queue.configure("memory_limit", "1kB", Time::ZERO, &mut fates);
    assert_eq!(
        error.unwrap_err().to_string(),
        "memory_limit = 1kB: never holds a packet of 1500B"
    );
}

#[test]
fn another_flows_backlog_keeps_codel_dropping() {
    // Linux's rule of the last MTU: alone, flow 1 would be spared.
    for (others, drops) in [(0, 0), (20, 1)] {
        let mut queue = queue(&[("ecn", "false"), ("target", "1ms"), ("interval", "1ms")]);
        let mut fates = Fates::default();
        for id in 0..2 {
            let packet = packet(id, 1, 1_000, Ecn::NotEct, Time::ZERO);
            queue.enqueue(packet, Time::ZERO, &mut fates);
        }
        for id in 0..others {
            let at = Time::from_millis(999);
            queue.enqueue(packet(100 + id, 2, 1_500, Ecn::NotEct, at), at, &mut fates);
        }
        // Flow 1 is above target with its first packet; its second is late.
        for millis in [1_000, 1_001, 1_002] {
            queue.dequeue(Time::from_millis(millis), &mut fates);
        }
        let of_flow_1 = fates.dropped.iter().filter(|d| d.0 < 100).count();
        assert_eq!(of_flow_1, drops, "{others}");
    }
}

#[test]
fn the_l4s_mode_marks_ect1_only() {
    let mut queue = queue(&[
        ("ce_threshold", "1ms"),
        ("ce_threshold_selector", "1"),
        ("ce_threshold_mask", "1"),
    ]);
    let mut fates = Fates::default();
    for (id, ecn) in [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce]
        .into_iter()
        .enumerate()
    {
        let packet = packet(id as u64, id as u64, 1_000, ecn, Time::ZERO);
        queue.enqueue(packet, Time::ZERO, &mut fates);
    }
    while queue.dequeue(Time::from_millis(2), &mut fates).is_some() {}
    assert_eq!(fates.marked, [(1, MarkReason::Step)]);
}

#[test]
fn lowering_a_limit_dequeues_until_it_fits() {
    let mut queue = queue(&[("quantum", "1000B")]);
    let mut fates = Fates::default();
    for id in 0..10 {
        let packet = packet(id, id % 2, 1_000, Ecn::Ect0, Time::ZERO);
        queue.enqueue(packet, Time::ZERO, &mut fates);
    }
    queue
        .configure("limit", "7", Time::ZERO, &mut fates)
        .unwrap();
    // In the order of their turns.
    let expected = [0, 1, 2].map(|id| (id, DropReason::Reconfigured));
    assert_eq!(fates.dropped, expected);
    queue
        .configure("memory_limit", "4000B", Time::ZERO, &mut fates)
        .unwrap();
    assert_eq!(queue.backlog().packets, 3);
}

#[test]
fn drops_of_a_full_queue_before_the_first_signal_collapse_the_spacing() {
    // The kernel's fraction is 0 until CoDel first drops, and a Newton step from 0 stays there. Within 16 intervals after the clock's
    // zero the raised count counts as a recent rate.
    let after = |start: u64| {
        let start = Time::from_millis(start);
        let mut queue = queue(&[("limit", "100"), ("drop_batch", "1"), ("ecn", "false")]);
        let mut fates = Fates::default();
        for id in 0..110 {
            queue.enqueue(packet(id, 1, 1_000, Ecn::NotEct, start), start, &mut fates);
        }
        for millis in [10, 111, 112] {
            queue.dequeue(start + Time::from_millis(millis), &mut fates);
        }
        let by_codel = fates.dropped.iter().filter(|d| d.1 == DropReason::Aqm);
        by_codel.count()
    };
    // All but the three that are sent and the one behind the last of them, which is within an MTU.
    assert_eq!(after(0), 96);
    assert_eq!(after(2_000), 1);
}

#[test]
fn an_idle_queue_is_small() {
    // What the head of the file states.
    assert_eq!(size_of::<Vars>(), 24);
    assert!(size_of::<FqCodel<TestPacket>>() <= 248);
}

#[test]
fn a_sparse_flow_does_not_wait_behind_bulk() {
    let mut queue = queue(&[]);
    let mut fates = Fates::default();
    for id in 0..1_000 {
        let packet = packet(id, id % 5, 1_500, Ecn::NotEct, Time::ZERO);
        queue.enqueue(packet, Time::ZERO, &mut fates);
    }
    let mut now = Time::ZERO;
    for id in 0..20 {
        for _ in 0..7 {
            now += Time::from_micros(1_500);
            queue.dequeue(now, &mut fates);
        }
        queue.enqueue(
            packet(5_000 + id, 77, 200, Ecn::NotEct, now),
            now,
            &mut fates,
        );
        let next = queue.dequeue(now, &mut fates);
        assert_eq!(next.map(|p| p.id), Some(5_000 + id));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_single_flow_is_codel(trace in prop::collection::vec((0..4_000_000_u64, 0..40_u8), 200..600), buckets in 1..3_u8) {
        // However many buckets: turns of a lone flow change nothing.
        let buckets = if buckets == 1 { "1" } else { "1024" };
        let mut flows = queue(&[("flows", buckets)]);
        let mut settings = Settings::new(codel::Parameters::ROWS);
        for (key, value) in [("limit", "10240p"), ("ecn", "true")] {
            settings.set(key, value).unwrap();
        }
        let mut codel = Codel::new(settings, LINK, Random::new(1, "queue")).unwrap();
        let (mut of_flows, mut of_codel) = (Fates::default(), Fates::default());
        let (mut now, mut free_at) = (0, 0);
        for (id, (gap, kind)) in trace.into_iter().enumerate() {
            now += gap;
            while free_at <= now {
                let at = Time::from_nanos(free_at);
                prop_assert_eq!(flows.dequeue(at, &mut of_flows), codel.dequeue(at, &mut of_codel));
                free_at += 1_800_000;
            }
            for n in 0..if kind == 1 { 30 } else { 1 } {
                let (id, at) = (id as u64 * 100 + n, Time::from_nanos(now));
                let packet = packet(id, 3, 40 + id % 1_400, Ecn::from_bits(kind), at);
                flows.enqueue(packet.clone(), at, &mut of_flows);
                codel.enqueue(packet, at, &mut of_codel);
            }
        }
        prop_assert_eq!(of_flows, of_codel);
    }
}
