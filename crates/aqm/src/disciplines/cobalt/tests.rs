//! The queue around the state machine.

use std::vec::Vec;

use super::*;
use crate::Qdisc as _;
use crate::bottleneck::Bottleneck;
use crate::departure_clock::Framing;
use crate::observer::Drop;
use crate::packet::Ecn;
use crate::packet::testing::TestPacket;
use crate::parameter::Settings;
use crate::units::Rate;

const RATE: Rate = Rate::from_mbps(8);

#[derive(Debug, Default)]
struct Fates {
    dropped: Vec<(u64, DropReason)>,
    marked: Vec<u64>,
}

impl Observer<TestPacket> for Fates {
    fn dropped(&mut self, packet: TestPacket, drop: Drop, _now: Time) {
        assert!(drop.queued, "each packet is accepted first");
        self.dropped.push((packet.id, drop.reason));
    }
    fn marked(&mut self, _queue: QueueId, packet: &TestPacket, _reason: MarkReason, _now: Time) {
        self.marked.push(packet.id);
    }
}

fn cobalt(given: &[(&str, &str)], rate: Rate) -> Cobalt<TestPacket> {
    let mut settings = Settings::new(Parameters::ROWS);
    for (key, value) in given {
        settings.set(key, value).unwrap();
    }
    let mtu = Bytes::new(1_500);
    Cobalt::new(settings, Link { rate, mtu }, Random::new(1, "queue")).unwrap()
}

fn fill(cobalt: &mut Cobalt<TestPacket>, ids: core::ops::Range<u64>, ecn: Ecn, at: Time) -> Fates {
    let mut fates = Fates::default();
    for id in ids {
        let mut packet = TestPacket::new(id, 1_000, ecn);
        packet.set_arrival(at);
        cobalt.enqueue(packet, at, &mut fates);
    }
    fates
}

fn gauge(cobalt: &Cobalt<TestPacket>, wanted: &str) -> f64 {
    let mut found = f64::NAN;
    cobalt.status(Time::ZERO, &mut |name, gauge| {
        if name == wanted {
            found = match gauge {
                Gauge::Ratio(ratio) => ratio,
                Gauge::Count(count) => count as f64,
                Gauge::Delay(delay) => delay.as_nanos() as f64,
            };
        }
    });
    found
}

#[test]
fn overflow_drops_the_head_and_raises_blue_once_in_a_target() {
    let mut cobalt = cobalt(&[("limit", "3")], RATE);
    let fates = fill(&mut cobalt, 0..5, Ecn::Ect0, Time::from_millis(6));
    let expected = [0, 1].map(|id| (id, DropReason::Limit));
    assert_eq!(fates.dropped, expected);
    assert_eq!(gauge(&cobalt, "blue_probability"), 1.0 / 256.0);
    fill(&mut cobalt, 5..6, Ecn::Ect0, Time::from_millis(12));
    assert_eq!(gauge(&cobalt, "blue_probability"), 2.0 / 256.0);
    // A test packet occupies its length and 256 bytes.
    let mut cobalt = super::tests::cobalt(&[("memlimit", "3000B")], RATE);
    let fates = fill(&mut cobalt, 0..4, Ecn::Ect0, Time::ZERO);
    let expected = [0, 1].map(|id| (id, DropReason::Memory));
    assert_eq!(fates.dropped, expected);
    assert_eq!(gauge(&cobalt, "memory_bytes"), 2.0 * 1_256.0);
}

#[test]
fn the_last_packet_is_never_dropped() {
    let mut cobalt = cobalt(&[("ecn", "false")], RATE);
    let mut fates = fill(&mut cobalt, 0..3, Ecn::NotEct, Time::ZERO);
    // Late enough for anything; the second packet is signalled (see the law), and then each that is due.
    let mut sent = Vec::new();
    for secs in 10..13 {
        let packet = cobalt.dequeue(Time::from_secs(secs), &mut fates);
        sent.extend(packet.map(|p| p.id));
    }
    assert_eq!(sent, [0, 2]);
    assert_eq!(fates.dropped, [(1, DropReason::Aqm)]);
}

#[test]
fn codel_marks_what_it_can() {
    let mut cobalt = cobalt(&[], RATE);
    let mut fates = fill(&mut cobalt, 0..3, Ecn::Ect1, Time::ZERO);
    for secs in 10..13 {
        cobalt.dequeue(Time::from_secs(secs), &mut fates);
    }
    assert_eq!(fates.dropped, []);
    assert_eq!(fates.marked, [1, 2]);
}

#[test]
fn blue_drops_ecn_capable_packets_too() {
    // An overflow at a step of nearly one, and a target that CoDel never sees exceeded.
    let mut cobalt = cobalt(
        &[("p_inc", "0.9999999"), ("limit", "5"), ("target", "1s")],
        RATE,
    );
    fill(&mut cobalt, 0..6, Ecn::Ect0, Time::from_secs(2));
    let mut fates = Fates::default();
    let sent = cobalt.dequeue(Time::from_secs(2), &mut fates);
    // All but the last.
    assert_eq!(sent.map(|p| p.id), Some(5));
    let expected = [1, 2, 3, 4].map(|id| (id, DropReason::Overload));
    assert_eq!(fates.dropped, expected);
    assert!(fates.marked.is_empty());
}

#[test]
fn blue_drops_with_its_probability() {
    let mut cobalt = cobalt(
        &[
            ("p_inc", "0.25"),
            ("limit", "20000"),
            ("target", "1s"),
            ("memlimit", "4GB"),
        ],
        RATE,
    );
    fill(&mut cobalt, 0..20_001, Ecn::NotEct, Time::from_secs(2));
    let mut fates = Fates::default();
    while cobalt.dequeue(Time::from_secs(2), &mut fates).is_some() {}
    // Binomial: 5 000 with a standard deviation of 61; four of them.
    assert!(
        (4_755..=5_245).contains(&fates.dropped.len()),
        "{}",
        fates.dropped.len()
    );
}

#[test]
fn blue_falls_when_the_link_has_nothing_left_to_send() {
    let cobalt = cobalt(&[("limit", "2")], RATE);
    let mut link = Bottleneck::new(cobalt, RATE, Framing::default(), Fates::default());
    let mut sink = |_: TestPacket, _| {};
    let mut now = Time::from_secs(1);
    for id in 0..4 {
        link.arrive(TestPacket::new(id, 1_000, Ecn::NotEct), now, &mut sink);
    }
    assert_eq!(gauge(link.qdisc(), "blue_probability"), 1.0 / 256.0);
    // The last of the three leaves 3 ms later, within the target; each packet after that leaves an empty queue behind.
    for n in 0..3 {
        now += Time::from_millis(10);
        link.advance(now, &mut sink);
        let expected = 1.0 / 256.0 - f64::from(n) / 4_096.0;
        assert_eq!(gauge(link.qdisc(), "blue_probability"), expected);
        link.arrive(TestPacket::new(99, 1_000, Ecn::NotEct), now, &mut sink);
    }
}

#[test]
fn the_target_holds_one_and_a_half_packets() {
    let mut cobalt = cobalt(&[], Rate::from_mbps(100));
    assert_eq!(gauge(&cobalt, "target"), 5e6);
    let mut fates = Fates::default();
    for rate in [Rate::from_mbps(1), Rate::ZERO] {
        // 18 ms at 1 Mbit/s; an outage changes nothing.
        cobalt.set_rate(rate, Time::ZERO, &mut fates);
        assert!((gauge(&cobalt, "target") - 18e6).abs() < 100.0);
    }
}

#[test]
fn the_memory_limit_is_cakes() {
    // 4 × rate × interval at 1 Gbit/s would be 50 MB: 10 240 × MTU. At 10 Mbit/s it would be 500 kB: 4 MiB.
    for (mbps, expected) in [(1_000, 15_360_000), (10, 4 << 20), (200, 10_000_000)] {
        let cobalt = cobalt(&[], Rate::from_mbps(mbps));
        assert_eq!(cobalt.law.memory_limit.get(), expected);
    }
    assert_eq!(
        cobalt(&[], Rate::UNLIMITED).law.memory_limit.get(),
        15_360_000
    );
}

#[test]
fn a_lower_limit_drops_at_the_next_arrival() {
    let mut cobalt = cobalt(&[], RATE);
    let mut fates = fill(&mut cobalt, 0..10, Ecn::Ect0, Time::ZERO);
    cobalt
        .configure("limit", "7", Time::ZERO, &mut fates)
        .unwrap();
    assert_eq!(fates.dropped, []);
    let fates = fill(&mut cobalt, 10..11, Ecn::Ect0, Time::ZERO);
    let expected = [0, 1, 2, 3].map(|id| (id, DropReason::Limit));
    assert_eq!(fates.dropped, expected);
}

#[test]
fn an_idle_queue_is_small() {
    // What the head of the module states.
    assert!(size_of::<Cobalt<TestPacket>>() <= 224);
}
