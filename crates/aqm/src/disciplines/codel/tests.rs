//! The behaviour of both forms, packet by packet.

use std::string::ToString;
use std::vec::Vec;

use num_bigint::BigUint;
use proptest::prelude::*;

use super::*;
use crate::observer::{Drop, MarkReason};
use crate::packet::Ecn;
use crate::packet::testing::TestPacket;
use crate::parameter::Settings;
use crate::units::Rate;
use crate::{DropReason, Qdisc as _};

const FORMS: [&str; 2] = ["linux", "rfc8289"];
/// A packet is seen late by up to a tick of the kernel's clock, at either end.
const TICK: Time = Time::from_nanos(1_024);

/// What happened to whom.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Fates {
    dropped: Vec<(u64, DropReason)>,
    marked: Vec<(u64, MarkReason)>,
}

impl Observer<TestPacket> for Fates {
    fn dropped(&mut self, packet: TestPacket, drop: Drop, _now: Time) {
        self.dropped.push((packet.id, drop.reason));
    }
    fn marked(&mut self, _queue: QueueId, packet: &TestPacket, reason: MarkReason, _now: Time) {
        self.marked.push((packet.id, reason));
    }
}

/// A queue and its story; packets are numbered as they come.
struct Bed {
    codel: Codel<TestPacket>,
    fates: Fates,
    next_id: u64,
}

fn bed(given: &[(&str, &str)]) -> Bed {
    let mut settings = Settings::new(Parameters::ROWS);
    for (key, value) in given {
        settings.set(key, value).unwrap();
    }
    let link = Link {
        rate: Rate::from_mbps(8),
        mtu: Bytes::new(1_500),
    };
    Bed {
        codel: Codel::new(settings, link, Random::new(1, "queue")).unwrap(),
        fates: Fates::default(),
        next_id: 0,
    }
}

impl Bed {
    fn fill(&mut self, packets: u64, ecn: Ecn, at: Time) {
        self.fill_with(1_000, packets, ecn, at);
    }
    fn fill_with(&mut self, len: u64, packets: u64, ecn: Ecn, at: Time) {
        for _ in 0..packets {
            let mut packet = TestPacket::new(self.next_id, len, ecn);
            packet.set_arrival(at);
            self.codel.enqueue(packet, at, &mut self.fates);
            self.next_id += 1;
        }
    }
    fn take(&mut self, at: Time) -> Option<u64> {
        self.codel.dequeue(at, &mut self.fates).map(|p| p.id)
    }
    fn drops(&self) -> usize {
        self.fates.dropped.len()
    }
    fn configure(&mut self, key: &str, value: &str) -> Result<(), ParameterError> {
        self.codel
            .configure(key, value, Time::ZERO, &mut self.fates)
    }
}

fn ms(millis: u64) -> Time {
    Time::from_millis(millis)
}

#[test]
fn drops_nothing_until_an_interval_above_target_has_passed() {
    for (form, first) in [
        ("rfc8289", ms(106)),
        // Linux: later than the interval, in whole ticks.
        (
            "linux",
            Time::from_nanos(((ms(6).as_nanos() >> 10) + (ms(100).as_nanos() >> 10) + 1) << 10),
        ),
    ] {
        let mut bed = bed(&[("form", form)]);
        bed.fill(100, Ecn::NotEct, Time::ZERO);
        // Below target; above, and from here the interval runs; still within.
        for at in [ms(1), ms(4), ms(6), ms(50), first - Time::from_nanos(1)] {
            bed.take(at);
            assert_eq!(bed.drops(), 0, "{form} at {at}");
        }
        assert_eq!(bed.take(first), Some(6), "{form}");
        assert_eq!(bed.fates.dropped, [(5, DropReason::Aqm)], "{form}");
    }
}

#[test]
fn one_packet_below_target_starts_the_interval_again() {
    for form in FORMS {
        let mut bed = bed(&[("form", form)]);
        bed.fill(2, Ecn::NotEct, Time::ZERO);
        bed.fill(50, Ecn::NotEct, ms(90));
        assert_eq!(bed.take(ms(10)), Some(0));
        assert_eq!(bed.take(ms(93)), Some(1));
        // 3 ms old.
        assert_eq!(bed.take(ms(93)), Some(2));
        bed.take(ms(100));
        bed.take(ms(199));
        assert_eq!(bed.drops(), 0, "{form}");
        bed.take(ms(201));
        assert_eq!(bed.drops(), 1, "{form}");
    }
}

#[test]
fn the_last_mtu_is_never_dropped() {
    for form in FORMS {
        let mut bed = bed(&[("form", form)]);
        bed.fill(4, Ecn::NotEct, Time::ZERO);
        bed.take(ms(6));
        // Two packets stay behind this one, which are more than an MTU; then one is left, which is less.
        bed.take(ms(200));
        assert_eq!(bed.drops(), 1, "{form}");
        assert_eq!(bed.take(ms(9_000)), Some(3), "{form}");
        assert_eq!(bed.drops(), 1, "{form}");
    }
}

/// RFC 8289 section 5.4: "(bytes() <= maxpacket_)"; the kernel's `codel_should_drop` has the same comparison.
#[test]
fn exactly_an_mtu_left_is_never_dropped_and_a_byte_more_is() {
    // Two packets stay behind the one that is taken out late.
    for (len, drops) in [(750, 0), (751, 1)] {
        for form in FORMS {
            let mut bed = bed(&[("form", form)]);
            bed.fill_with(len, 4, Ecn::NotEct, Time::ZERO);
            bed.take(ms(6));
            bed.take(ms(200));
            assert_eq!(bed.drops(), drops, "{form} with packets of {len} bytes");
        }
    }
}

#[test]
fn an_empty_queue_forgets_that_it_was_above_target() {
    for form in FORMS {
        let mut bed = bed(&[("form", form)]);
        bed.fill(3, Ecn::NotEct, Time::ZERO);
        for _ in 0..4 {
            bed.take(ms(10));
        }
        // Above target again long after, for the first time since the queue was empty.
        bed.fill(5, Ecn::NotEct, ms(500));
        bed.take(ms(510));
        assert_eq!(bed.drops(), 0, "{form}");
    }
}

/// Enters the dropping state with its first drop; returns the time.
fn enter(bed: &mut Bed) -> Time {
    bed.fill(9_000, Ecn::NotEct, Time::ZERO);
    bed.take(ms(10));
    bed.take(ms(111));
    assert_eq!(bed.drops(), 1);
    ms(111)
}

#[test]
fn drops_come_at_interval_over_root_count_exactly() {
    // RFC 8289 section 5.3, with the root of a big integer.
    let mut bed = bed(&[("form", "rfc8289"), ("limit", "9000p")]);
    let mut due = enter(&mut bed);
    for count in 1..2_500_u32 {
        let interval = BigUint::from(100_000_000_u64);
        let spacing = (&interval * &interval / count).sqrt();
        due += Time::from_nanos(u64::try_from(spacing).unwrap());
        bed.take(due - Time::from_nanos(1));
        assert_eq!(bed.drops(), count as usize, "before drop {}", count + 1);
        bed.take(due);
        assert_eq!(bed.drops(), count as usize + 1, "drop {}", count + 1);
    }
}

#[test]
fn drops_come_when_the_kernels_fraction_says() {
    let mut bed = bed(&[("limit", "9000p")]);
    let interval = 100_000_000_u64 >> 10;
    let mut due = enter(&mut bed).as_nanos() >> 10;
    let mut root = u64::from(u16::MAX);
    for count in 1..2_500_u64 {
        due += (interval * root) >> 16;
        bed.take(Time::from_nanos((due << 10) - 1));
        assert_eq!(bed.drops(), count as usize, "before drop {}", count + 1);
        bed.take(Time::from_nanos(due << 10));
        assert_eq!(bed.drops(), count as usize + 1, "drop {}", count + 1);
        root = u64::from(linux::newton_step(root as u16, count as u32 + 1));
    }
}

#[test]
fn several_drops_may_be_due_at_once() {
    for form in FORMS {
        let mut bed = bed(&[("form", form), ("limit", "9000p")]);
        enter(&mut bed);
        // A second later those of a second are due: n with Σ 100 ms/√k ≈ 200 ms·√n − 146 ms = 1 s is 32. Linux comes 20 ms early to the third.
        bed.take(ms(1_111));
        assert!((33..=34).contains(&bed.drops()), "{form}: {}", bed.drops());
    }
}

#[test]
fn a_clock_jump_empties_the_queue_down_to_an_mtu_and_no_further() {
    for form in FORMS {
        let mut bed = bed(&[("form", form)]);
        bed.fill(50, Ecn::NotEct, Time::ZERO);
        bed.take(ms(10));
        bed.take(ms(200));
        // 30 min, within what the kernel's clock tells apart.
        bed.take(Time::from_secs(1_800));
        assert_eq!(bed.codel.backlog().packets, 1, "{form}");
        assert!(bed.take(Time::from_secs(1_800)).is_some());
    }
}

#[test]
fn a_queue_that_comes_back_soon_is_dropped_from_at_the_old_rate() {
    for (form, pause, expected) in [
        ("linux", ms(1_000), 9),
        ("linux", ms(1_800), 1),
        ("rfc8289", ms(1_000), 9),
        ("rfc8289", ms(1_800), 1),
    ] {
        let mut bed = bed(&[("form", form), ("limit", "9000p")]);
        let mut now = enter(&mut bed);
        // lastcount is 1; at count 10 the queue runs empty.
        while count(&bed) < 10 {
            now += ms(1);
            bed.take(now);
        }
        while bed.take(now).is_some() {}
        now += pause;
        bed.fill(300, Ecn::NotEct, now);
        let drops = bed.drops();
        bed.take(now + ms(6));
        bed.take(now + ms(107));
        assert_eq!(bed.drops(), drops + 1);
        assert_eq!(count(&bed), expected, "{form} after {pause}");
    }
}

fn count(bed: &Bed) -> i64 {
    let mut count = 0;
    bed.codel.status(Time::ZERO, &mut |name, gauge| {
        if let ("count", Gauge::Count(n)) = (name, gauge) {
            count = n;
        }
    });
    count
}

#[test]
fn with_ecn_it_marks_one_of_each_packets_sent() {
    for form in FORMS {
        let mut bed = bed(&[("form", form), ("ecn", "true")]);
        bed.fill(100, Ecn::Ect0, Time::ZERO);
        bed.take(ms(10));
        // The first signal, and then all that are due in a second: one mark for each packet sent.
        for _ in 0..10 {
            bed.take(ms(1_111));
        }
        let ids: Vec<u64> = bed.fates.marked.iter().map(|m| m.0).collect();
        assert_eq!(ids.first(), Some(&1), "{form}");
        assert!(ids.windows(2).all(|pair| pair[1] == pair[0] + 1));
        assert_eq!(bed.drops(), 0, "{form}");
        // What cannot be marked is dropped.
        let mut bed = super::tests::bed(&[("form", form), ("ecn", "true")]);
        bed.fill(100, Ecn::NotEct, Time::ZERO);
        bed.take(ms(10));
        bed.take(ms(111));
        assert_eq!(bed.drops(), 1, "{form}");
    }
}

#[test]
fn ce_threshold_marks_what_its_selector_selects() {
    // tc-fq_codel(8); with mask 0 all are meant, and 1/1 is the L4S mode: ECT(1), and CE, which is not marked again.
    for (mask, selector, expected) in [
        ("0", "0", &[1, 2][..]),
        ("1", "1", &[1]),
        ("1", "0", &[2]),
        ("3", "2", &[2]),
    ] {
        let mut bed = bed(&[
            ("ce_threshold", "1ms"),
            ("ce_threshold_mask", mask),
            ("ce_threshold_selector", selector),
        ]);
        for ecn in [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce] {
            bed.fill(1, ecn, Time::ZERO);
        }
        while bed.take(ms(2)).is_some() {}
        let ids: Vec<u64> = bed.fates.marked.iter().map(|m| m.0).collect();
        assert_eq!(ids, expected, "{selector}/{mask}");
    }
    // Longer than, in ticks.
    let mut bed = bed(&[("ce_threshold", "1ms")]);
    bed.fill(2, Ecn::Ect1, Time::ZERO);
    bed.take(ms(1));
    assert!(bed.fates.marked.is_empty());
    bed.take(ms(1) + TICK);
    assert_eq!(bed.fates.marked, [(1, MarkReason::Step)]);
}

#[test]
fn what_has_no_effect_is_refused() {
    let mut bed = bed(&[]);
    for (key, value, message) in [
        (
            "ce_threshold_mask",
            "1",
            "ce_threshold_mask = 1: has an effect only with ce_threshold",
        ),
        (
            "ce_threshold_selector",
            "0",
            "ce_threshold_selector = 0: has an effect only with ce_threshold",
        ),
        (
            "limit",
            "1000B",
            "limit = 1000B: never accepts a packet of 1500B; it must be 1500B or more",
        ),
        (
            "target",
            "1h",
            "target = 1h: must be a time from 1us to 2000s",
        ),
    ] {
        assert_eq!(bed.configure(key, value).unwrap_err().to_string(), message);
    }
    bed.configure("ce_threshold", "1ms").unwrap();
    let error = bed.configure("ce_threshold_selector", "1").unwrap_err();
    assert!(error.allowed.contains("ce_threshold_mask"), "{error}");
    bed.configure("ce_threshold_mask", "1").unwrap();
    bed.configure("ce_threshold_selector", "1").unwrap();
}

#[test]
fn a_lower_limit_drops_from_the_head() {
    for form in FORMS {
        let mut bed = bed(&[("form", form)]);
        bed.fill(10, Ecn::Ect0, Time::ZERO);
        bed.configure("limit", "7").unwrap();
        let expected = [0, 1, 2].map(|id| (id, DropReason::Reconfigured));
        assert_eq!(bed.fates.dropped, expected);
        bed.fill(1, Ecn::NotEct, Time::ZERO);
        assert_eq!(bed.fates.dropped[3], (10, DropReason::Limit));
    }
}

/// Gaps between arrivals, and which are followed by a burst or a pause.
fn trace() -> impl Strategy<Value = Vec<(u64, u8)>> {
    prop::collection::vec((0..4_000_u64, 0..40_u8), 200..600)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_fate_of_packets_does_not_depend_on_the_time_of_day(trace in trace(), ecn in any::<bool>()) {
        // The kernel's clock wraps after 2³² ticks of 2¹⁰ ns; here half a second into the trace. It starts late enough for "16 intervals
        // ago" to be after zero.
        let run = |start: u64, form: &str| {
            let mut bed = bed(&[("form", form), ("limit", "60p"), ("ecn", if ecn { "true" } else { "false" })]);
            let (mut now, mut sent) = (start, Vec::new());
            let mut free_at = now;
            for &(gap, kind) in &trace {
                now += gap << 10;
                if kind == 0 {
                    now += 300_000_000 >> 10 << 10;
                }
                while free_at <= now {
                    sent.push(bed.take(Time::from_nanos(free_at)));
                    free_at += 1_800 << 10;
                }
                bed.fill(if kind == 1 { 30 } else { 1 }, Ecn::from_bits(kind), Time::from_nanos(now));
            }
            (sent, bed.fates)
        };
        for form in FORMS {
            let early = run(1 << 32, form);
            let wrapping = run((1 << 42) - (1 << 29), form);
            prop_assert_eq!(early, wrapping);
        }
    }

    #[test]
    fn the_exact_law_is_the_rounded_root(interval in 1..=2_000_000_000_000_u64, count in any::<u32>()) {
        let due = rfc8289::control_law(Time::ZERO, Time::from_nanos(interval), count);
        // x ≤ I/√n < x + 1 is x²·n ≤ I² < (x + 1)²·n.
        let (x, n) = (BigUint::from(due.as_nanos()), BigUint::from(count.max(1)));
        let square = BigUint::from(interval) * interval;
        prop_assert!(&x * &x * &n <= square && (&x + 1_u32) * (&x + 1_u32) * &n > square);
    }
}

#[test]
fn an_idle_queue_is_small() {
    // What the head of the module states.
    assert!(size_of::<Codel<TestPacket>>() <= 192);
}
