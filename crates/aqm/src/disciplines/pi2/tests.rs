//! PI2 at given probabilities: who is signalled how.

use super::*;
use crate::Qdisc as _;
use crate::observer::Drop;
use crate::packet::testing::TestPacket;
use crate::parameter::Settings;
use crate::units::Rate;

#[derive(Debug, Default)]
struct Counts {
    coupled: u64,
    classic: u64,
    overload: u64,
    dropped: u64,
    overload_dropped: u64,
    limit: u64,
}

impl Observer<TestPacket> for Counts {
    fn marked(&mut self, _: QueueId, _: &TestPacket, reason: MarkReason, _: Time) {
        match reason {
            MarkReason::Coupled => self.coupled += 1,
            MarkReason::Aqm => self.classic += 1,
            MarkReason::Overload => self.overload += 1,
            other => panic!("{other:?}"),
        }
    }
    fn dropped(&mut self, _: TestPacket, drop: Drop, _: Time) {
        match drop.reason {
            DropReason::Aqm => self.dropped += 1,
            DropReason::Overload => self.overload_dropped += 1,
            DropReason::Limit => self.limit += 1,
            other => panic!("{other:?}"),
        }
    }
}

/// A queue at p' = `percent`: with no integral gain, one update with 10 ms per percent at 1 Hz.
fn at(percent: u64, given: &[(&str, &str)]) -> Pi2<TestPacket> {
    let mut settings = Settings::new(Parameters::ROWS);
    for (key, value) in [("alpha", "0"), ("beta", "1")].iter().chain(given) {
        settings.set(key, value).unwrap();
    }
    let link = Link {
        rate: Rate::from_mbps(12),
        mtu: Bytes::new(1_500),
    };
    let mut queue = Pi2::new(settings, link, Random::new(3, "pi2")).unwrap();
    queue.law.pi.update(Time::from_millis(10 * percent));
    queue
}

/// Offers 40 000 packets of `ecn` to a queue that holds two others.
fn offer(queue: &mut Pi2<TestPacket>, ecn: Ecn) -> Counts {
    let mut counts = Counts::default();
    for id in 0..2 {
        queue.queue.push(TestPacket::new(id, 1_500, Ecn::NotEct));
    }
    for id in 2..40_002 {
        queue.enqueue(TestPacket::new(id, 1_500, ecn), Time::ZERO, &mut counts);
        // At the end of the queue at once, so that two remain.
        while queue.backlog().packets > 2 {
            let _ = queue.dequeue(Time::ZERO, &mut counts);
        }
    }
    counts
}

/// Five deviations of a binomial of 40 000.
fn assert_share(what: &str, count: u64, share: f64) {
    let n = 40_000.0;
    let error = 5.0 * (n * share * (1.0 - share)).sqrt();
    assert!(
        (count as f64 - n * share).abs() <= error,
        "{what}: {count}, {share}"
    );
}

#[test]
fn classic_is_squared_and_scalable_is_linear() {
    let mut queue = at(20, &[]);
    assert_share("Not-ECT", offer(&mut queue, Ecn::NotEct).dropped, 0.04);
    assert_share("ECT(0)", offer(&mut queue, Ecn::Ect0).classic, 0.04);
    assert_share("ECT(1)", offer(&mut queue, Ecn::Ect1).coupled, 0.4);
    let mut queue = at(20, &[("any_ect", "true"), ("coupling_factor", "3")]);
    assert_share("any ECT", offer(&mut queue, Ecn::Ect0).coupled, 0.6);
    // A packet that carries CE is Scalable, and is not marked again.
    let counts = offer(&mut queue, Ecn::Ce);
    assert_eq!((counts.coupled, counts.dropped), (0, 0));
    let mut queue = at(20, &[("ecn", "false")]);
    for ecn in [Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
        assert_share("without ECN", offer(&mut queue, ecn).dropped, 0.04);
    }
}

/// RFC 9332 section 4.2.3, from k·p' = 1 on.
#[test]
fn saturation_drops_ecn_too_or_caps_the_probability() {
    let mut queue = at(60, &[]);
    let counts = offer(&mut queue, Ecn::Ect1);
    assert_share("dropped", counts.overload_dropped, 0.36);
    assert_eq!(
        counts.overload + counts.overload_dropped,
        40_000,
        "the rest is marked"
    );
    let counts = offer(&mut queue, Ecn::Ect0);
    assert_share("Classic ECN", counts.overload_dropped, 0.36);
    assert_eq!(counts.classic, 0);
    assert_share("Not-ECT", offer(&mut queue, Ecn::NotEct).dropped, 0.36);
    // Below: nothing of the kind.
    assert_eq!(offer(&mut at(49, &[]), Ecn::Ect0).overload_dropped, 0);
    let mut queue = at(60, &[("overflow", "true")]);
    assert_eq!(offer(&mut queue, Ecn::Ect1).coupled, 40_000);
    assert_share("capped", offer(&mut queue, Ecn::Ect0).classic, 0.25);
}

#[test]
fn nothing_is_signalled_with_less_than_two_mtus_waiting() {
    let mut queue = at(100, &[("overflow", "true"), ("coupling_factor", "1")]);
    let mut counts = Counts::default();
    for id in 0..2 {
        queue.enqueue(
            TestPacket::new(id, 1_500, Ecn::NotEct),
            Time::ZERO,
            &mut counts,
        );
    }
    assert_eq!(counts.dropped, 0);
    queue.enqueue(
        TestPacket::new(2, 1_500, Ecn::NotEct),
        Time::ZERO,
        &mut counts,
    );
    assert_eq!(counts.dropped, 1);
    // At dequeue what is left behind counts: of five packets the first three find two or more.
    let given = [
        ("overflow", "true"),
        ("coupling_factor", "1"),
        ("drop_dequeue", "true"),
    ];
    let mut queue = at(100, &given);
    let mut counts = Counts::default();
    for id in 0..5 {
        queue.enqueue(
            TestPacket::new(id, 1_500, Ecn::NotEct),
            Time::ZERO,
            &mut counts,
        );
    }
    assert_eq!(queue.dequeue(Time::ZERO, &mut counts).unwrap().id, 3);
    assert_eq!(counts.dropped, 3);
}

#[test]
fn the_limit_refuses_before_the_aqm_draws() {
    let mut queue = at(50, &[("limit", "10p")]);
    let mut counts = Counts::default();
    for id in 0..10 {
        queue.queue.push(TestPacket::new(id, 1_500, Ecn::NotEct));
    }
    for id in 10..1_010 {
        queue.enqueue(
            TestPacket::new(id, 1_500, Ecn::Ect1),
            Time::ZERO,
            &mut counts,
        );
    }
    assert_eq!((counts.limit, counts.coupled), (1_000, 0));
}
