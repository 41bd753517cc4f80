//! PI2 packet by packet, with its probability frozen.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Ledger, TestPacket, discipline};
use quell_aqm::registry::Discipline;
use quell_aqm::{DropReason, Ecn, MarkReason, Packet, Qdisc, Rate, Time};

/// A queue driven by hand, with p' frozen at 1/n.
struct Frozen {
    qdisc: Discipline<TestPacket>,
    ledger: Ledger,
    now: Time,
    next_id: u64,
}

impl Frozen {
    fn new(n: &str, given: &[(&str, &str)]) -> Self {
        // An integral gain beyond all bounds, and the cap of `overflow` at 1/k.
        let driven = [
            ("alpha", "100000"),
            ("target", "1us"),
            ("overflow", "true"),
            ("coupling_factor", n),
        ];
        let qdisc = discipline("pi2", &driven, Rate::from_mbps(40)).unwrap();
        let mut made = Self {
            qdisc,
            ledger: Ledger::default(),
            now: Time::from_nanos(1),
            next_id: 0,
        };
        made.arrive(Ecn::NotEct, 10);
        made.now = Time::from_millis(100);
        while let Some(due) = made.qdisc.next_update().filter(|due| *due <= made.now) {
            made.qdisc.update(due);
        }
        made.qdisc.drain(made.now, &mut made.ledger);
        made.ledger = Ledger::default();
        let frozen = [
            ("alpha", "0"),
            ("beta", "0"),
            ("overflow", "false"),
            ("coupling_factor", "2"),
        ];
        for (key, value) in frozen.iter().chain(given) {
            made.qdisc
                .configure(key, value, made.now, &mut made.ledger)
                .unwrap();
        }
        made
    }
    fn arrive(&mut self, ecn: Ecn, packets: u64) {
        for _ in 0..packets {
            let mut packet = TestPacket::new(self.next_id, 0, 1_500, ecn);
            packet.set_arrival(self.now);
            self.next_id += 1;
            self.qdisc.enqueue(packet, self.now, &mut self.ledger);
        }
    }
    /// Keeps ten packets in the queue, while `packets` with `ecn` pass through it.
    fn pass(&mut self, ecn: Ecn, packets: u64) -> &Ledger {
        self.arrive(ecn, 10);
        for _ in 0..packets {
            self.arrive(ecn, 1);
            self.qdisc.dequeue(self.now, &mut self.ledger);
            self.qdisc.transmitted(self.now);
        }
        &self.ledger
    }
}

#[test]
fn signals_come_with_p_squared_and_k_times_p() {
    // p' = 1/10, k = 2, 40 000 packets: 8 000 marks ± 5·80, 400 drops or marks ± 5·20.
    for (ecn, given, expected, deviation) in [
        (Ecn::Ect1, &[][..], 8_000.0, 400.0),
        (Ecn::Ect0, &[("any_ect", "true")], 8_000.0, 400.0),
        (Ecn::Ect0, &[], 400.0, 100.0),
        (Ecn::NotEct, &[], 400.0, 100.0),
        (Ecn::Ect1, &[("ecn", "false")], 400.0, 100.0),
        (Ecn::Ect1, &[("coupling_factor", "1")], 4_000.0, 300.0),
        (Ecn::Ect1, &[("drop_dequeue", "true")], 8_000.0, 400.0),
    ] {
        let mut queue = Frozen::new("10", given);
        let ledger = queue.pass(ecn, 40_000);
        let marks = ledger.marks(MarkReason::Coupled) + ledger.marks(MarkReason::Aqm);
        let drops = ledger.drops(DropReason::Aqm);
        let signals = (marks + drops) as f64;
        assert!(
            (signals - expected).abs() < deviation,
            "{ecn:?} {given:?}: {signals}"
        );
        // What can carry a mark is marked, unless nothing shall be.
        let drops_all = ecn == Ecn::NotEct || given.contains(&("ecn", "false"));
        assert_eq!(drops > 0, drops_all, "{ecn:?} {given:?}");
        assert_eq!(marks > 0, !drops_all, "{ecn:?} {given:?}");
    }
}

#[test]
fn saturation_drops_ecn_packets_too_and_marks_the_rest_of_the_scalable_ones() {
    // p' = 1/2 is the point where k·p' reaches one: a quarter is dropped, 10 000 packets ± 5·43.
    let near = |count: usize| (2_285..=2_715).contains(&count);
    for (ecn, marks) in [(Ecn::Ect1, true), (Ecn::Ect0, false)] {
        let mut queue = Frozen::new("2", &[]);
        let ledger = queue.pass(ecn, 10_000);
        let (dropped, marked) = (
            ledger.drops(DropReason::Overload),
            ledger.marks(MarkReason::Overload),
        );
        assert!(near(dropped), "{ecn:?}: {dropped}");
        // All but those that met a queue of less than two MTU.
        assert_eq!(marked + dropped >= 10_000, marks, "{ecn:?}: {marked}");
    }
    // With `overflow` nothing that can be marked is dropped.
    let mut queue = Frozen::new("2", &[("overflow", "true")]);
    let ledger = queue.pass(Ecn::Ect1, 900);
    assert_eq!(ledger.drops(DropReason::Overload), 0);
    assert!(ledger.marks(MarkReason::Coupled) >= 900);
}

#[test]
fn a_queue_of_less_than_two_mtu_is_left_alone() {
    let mut queue = Frozen::new("1", &[]);
    for _ in 0..100 {
        queue.arrive(Ecn::NotEct, 1);
        queue.qdisc.dequeue(queue.now, &mut queue.ledger);
    }
    assert_eq!(queue.ledger.drops(DropReason::Aqm), 0);
    // The third packet finds two full ones before it.
    queue.arrive(Ecn::NotEct, 3);
    assert_eq!(queue.ledger.drops(DropReason::Aqm), 1);
}
