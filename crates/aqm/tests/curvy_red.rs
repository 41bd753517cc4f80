//! Curvy RED behind a link: its square-root law as an operating point, and what it does to ECN packets.
#![allow(clippy::unwrap_used)]

use crate::common;

use common::{Ledger, TestPacket, discipline};
use quell_aqm::departure_clock::Framing;
use quell_aqm::{
    Bottleneck, Drop, DropReason, Ecn, MarkReason, Observer, Packet, QueueId, Rate, Time,
};

/// Sojourn times and fates after the first half.
#[derive(Debug, Default)]
struct Sums {
    from: Time,
    delay: u128,
    left: u64,
    dropped: u64,
}

impl Observer<TestPacket> for Sums {
    fn dequeued(&mut self, _queue: QueueId, packet: &TestPacket, now: Time) {
        if now >= self.from {
            self.delay += u128::from(packet.sojourn(now).as_nanos());
            self.left += 1;
        }
    }
    fn dropped(&mut self, _packet: TestPacket, _drop: Drop, now: Time) {
        self.dropped += u64::from(now >= self.from);
    }
}

/// Mean delay in ms and drop ratio of packets of 1 000 bytes every `micros` on a link of 8 Mbit/s, 1 ms each.
fn operate(given: &[(&str, &str)], micros: u64) -> (f64, f64) {
    let rate = Rate::from_mbps(8);
    let end = Time::from_secs(400);
    let sums = Sums {
        from: end / 2,
        ..Sums::default()
    };
    let qdisc = discipline("curvy_red", given, rate).unwrap();
    let mut link = Bottleneck::new(qdisc, rate, Framing::default(), sums);
    let (mut now, mut id) = (Time::ZERO, 0);
    while now < end {
        now += Time::from_micros(micros);
        link.arrive(
            TestPacket::new(id, 0, 1_000, Ecn::NotEct),
            now,
            &mut |_, _| (),
        );
        id += 1;
    }
    let sums = link.observer();
    let delay = sums.delay as f64 / sums.left as f64 / 1e6;
    (
        delay,
        sums.dropped as f64 / (sums.left + sums.dropped) as f64,
    )
}

#[test]
fn delay_grows_with_the_root_of_the_drops_that_a_load_needs() {
    // A load of 1/(1 − d) must lose d, so that d = ((delay − min_th)/range)^(2u).
    for (given, range, min, power) in [
        (&[][..], 500.0, 0.0, 2.0),
        (&[("range", "200ms"), ("min_th", "20ms")], 200.0, 20.0, 2.0),
        (&[("u", "2"), ("limit", "400ms")], 500.0, 0.0, 4.0),
    ] {
        for micros in [990, 960, 900, 840] {
            let d = 1.0 - micros as f64 / 1_000.0;
            let expected = min + range * d.powf(1.0 / power);
            let (delay, drops) = operate(given, micros);
            assert!(
                (drops / d - 1.0).abs() < 0.01,
                "{given:?} {micros}: {drops}"
            );
            // The delay varies about its mean, and the law is curved.
            assert!(
                (delay / expected - 1.0).abs() < 0.03,
                "{given:?} {micros}: {delay} {expected}"
            );
        }
    }
}

/// A burst of 60 packets that waits 100 ms, and leaves packet by packet without delay.
fn burst(given: &[(&str, &str)], ecn: Ecn) -> (usize, usize, usize) {
    let rate = Rate::from_mbps(8);
    let qdisc = discipline("curvy_red", given, rate).unwrap();
    let mut link = Bottleneck::new(qdisc, rate, Framing::default(), Ledger::default());
    link.set_rate(Rate::ZERO, Time::ZERO, &mut |_, _| ());
    for id in 0..60 {
        link.arrive(
            TestPacket::new(id, 0, 1_000, ecn),
            Time::ZERO,
            &mut |_, _| (),
        );
    }
    link.set_rate(Rate::UNLIMITED, Time::from_millis(100), &mut |_, _| ());
    let ledger = link.observer();
    (
        ledger.marks(MarkReason::Aqm),
        ledger.drops(DropReason::Aqm),
        ledger.drops(DropReason::Overload),
    )
}

#[test]
fn ecn_packets_are_marked_until_every_packet_is_signalled() {
    // Smoothed over one packet, the delay is 100 ms at once; the range of 101 ms makes p = 0.98.
    let near: &[(&str, &str)] = &[("g_c", "0"), ("range", "101ms")];
    let (marks, aqm, overload) = burst(near, Ecn::Ect0);
    assert!(marks > 50 && (aqm, overload) == (0, 0), "{marks}");
    let (marks, aqm, overload) = burst(near, Ecn::NotEct);
    assert!(aqm > 50 && (marks, overload) == (0, 0), "{aqm}");
    // A packet that came in marked is not reported again, and not dropped.
    assert_eq!(burst(near, Ecn::Ce), (0, 0, 0));
    // Without ECN all are dropped alike.
    let without: Vec<_> = near.iter().copied().chain([("ecn", "false")]).collect();
    let (marks, aqm, overload) = burst(&without, Ecn::Ect1);
    assert!(aqm > 50 && (marks, overload) == (0, 0), "{aqm}");
    // At the range itself nothing is left to mark.
    let full: &[(&str, &str)] = &[("g_c", "0"), ("range", "100ms")];
    assert_eq!(burst(full, Ecn::Ect1), (0, 0, 60));
    assert_eq!(burst(full, Ecn::NotEct), (0, 60, 0));
}

#[test]
fn the_smoothed_delay_needs_packets_to_rise() {
    // Over 2¹⁶ packets: 60 that waited the whole range raise Q by a thousandth of it, and p is a millionth.
    let (marks, drops, overload) = burst(&[("g_c", "16"), ("range", "100ms")], Ecn::NotEct);
    assert_eq!((marks, drops, overload), (0, 0, 0));
}
