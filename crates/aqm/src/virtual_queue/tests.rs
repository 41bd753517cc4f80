use super::law::Gains;
use super::parameters::Variant;
use super::*;
use crate::units::Frequency;
use num_rational::BigRational;
use num_traits::Signed;
use proptest::prelude::*;
use std::vec::Vec;

const ALL: u64 = parameters::PARTS;
const GAINS: Gains = Gains {
    alpha: Frequency::from_nanohertz(320_000_000),
    beta: Frequency::from_nanohertz(6_400_000_000),
    recovery: Time::from_millis(40),
};
const HIGHEST: u16 = 2_000;
const VARIANTS: [Variant; 5] = [
    Variant::R,
    Variant::Q,
    Variant::B,
    Variant::BSmooth,
    Variant::V,
];

const fn link(rate: Rate) -> Link {
    Link {
        rate,
        mtu: Bytes::new(1_500),
    }
}

fn shape(serving_rate: Option<u64>) -> Shape {
    Shape {
        serving_rate,
        target: Time::from_millis(5),
        limit: Time::from_millis(200),
    }
}

/// 8 Mbit/s: a thousand bytes are a millisecond.
const RATE: Rate = Rate::from_mbps(8);

fn queue(variant: Variant, serving_rate: Option<u64>) -> VirtualQueue {
    let law = ThresholdLaw::new(variant, GAINS, HIGHEST);
    VirtualQueue::new(shape(serving_rate), law, link(RATE), HIGHEST)
}

impl VirtualQueue {
    /// The histograms are those of the live records, to the byte of each value; so is the sum, and no record is left at the head dead.
    pub(crate) fn assert_consistent(&self) {
        let mut live = std::collections::BTreeMap::new();
        for record in &self.records {
            *live.entry(record.value).or_insert(0) += u64::from(record.bytes);
        }
        let total = live.values().sum::<u64>();
        assert_eq!(self.bytes, total);
        assert_eq!(self.present.total() + self.law.condemned_bytes(), total);
        for value in 0..=self.present.highest() {
            let counted = self.present.bytes_of(value) + self.law.condemned_bytes_of(value);
            assert_eq!(counted, live.get(&value).copied().unwrap_or(0), "{value}");
        }
        if self.records.is_empty() {
            assert!(self.server.credit == 0, "idle time is not saved up");
        }
    }
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[derive(Debug, Clone)]
enum Step {
    Admit(u16, u64),
    /// One of those admitted, by number; it may have been served.
    Cancel(usize),
    Pass(u64),
    Update,
    SetRate(u64),
    Reshape(u64, u64, u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let span = prop_oneof![6 => 0..3_000_000_u64, 1 => 0..50_000_000_000_000_u64];
    let rate = prop_oneof![
        Just(0_u64),
        Just(u64::MAX),
        Just(u64::MAX - 1),
        1..1_000_000_000_u64
    ];
    prop::collection::vec(
        prop_oneof![
            8 => (1..=HIGHEST, 40..3_000_u64).prop_map(|(value, len)| Step::Admit(value, len)),
            3 => any::<usize>().prop_map(Step::Cancel),
            4 => span.prop_map(Step::Pass),
            2 => Just(Step::Update),
            1 => rate.prop_map(Step::SetRate),
            1 => (1..=ALL, 1..200_u64, 201..1_000_u64).prop_map(|(r, d, l)| Step::Reshape(r, d, l)),
        ],
        1..120,
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn histograms_equal_the_live_records_whatever_happens(
        steps in steps(), variant in 0..5_usize, served in any::<bool>(),
    ) {
        let mut queue = queue(VARIANTS[variant], served.then_some(ALL));
        let (mut now, mut rate, mut positions) = (Time::ZERO, RATE, Vec::new());
        for step in steps {
            match step {
                Step::Admit(value, len) => {
                    let before = queue.bytes;
                    let position = queue.admit(value, Bytes::new(len), now);
                    prop_assert!(queue.bytes <= queue.most_bytes.max(before));
                    positions.push(position);
                }
                Step::Cancel(which) => {
                    if let Some(&position) = positions.get(which % positions.len().max(1)) {
                        queue.cancel(position, now);
                    }
                }
                Step::Pass(nanos) => now += Time::from_nanos(nanos),
                Step::Update => queue.update(now),
                Step::SetRate(bps) => {
                    rate = Rate::from_bps(bps);
                    queue.configure(queue.shape, link(rate), now);
                }
                Step::Reshape(parts, target, limit) => {
                    let serving_rate = served.then_some(parts);
                    let (target, limit) = (Time::from_millis(target), Time::from_millis(limit));
                    queue.configure(Shape { serving_rate, target, limit }, link(rate), now);
                }
            }
            queue.assert_consistent();
            prop_assert!(queue.threshold <= HIGHEST);
        }
        for position in positions {
            queue.cancel(position, now);
            queue.assert_consistent();
        }
        prop_assert_eq!(queue.bytes, 0);
    }

    /// A record leaves at the nanosecond at which C_v has sent it: against finish(k) = max(finish(k−1), arrival(k)) + 8·len/C_v in rationals.
    #[test]
    fn it_is_drained_exactly_at_the_serving_rate(
        arrivals in prop::collection::vec((0..4_000_000_u64, 40..3_000_u64), 1..60),
        parts in 1..=ALL, bps in 100_000..10_000_000_000_u64,
    ) {
        let mut queue = VirtualQueue::new(
            Shape { limit: Time::from_secs(4_000), ..shape(Some(parts)) },
            ThresholdLaw::Backlog, link(Rate::from_bps(bps)), HIGHEST,
        );
        let serving_rate = bps * parts / ALL;
        prop_assume!(serving_rate > 0);
        let whole = |n: u64| BigRational::from_integer(n.into());
        let (mut now, mut finish, mut records) = (0, whole(0), Vec::new());
        for (gap, len) in arrivals {
            now += gap;
            queue.admit(1, Bytes::new(len), Time::from_nanos(now));
            finish = finish.max(whole(now)) + BigRational::new((len * 8_000_000_000).into(), serving_rate.into());
            records.push((finish.clone(), len));
            // Now, and a nanosecond to either side of the last finish.
            let ends = finish.ceil().to_integer();
            let ends = u64::try_from(&ends).unwrap();
            let mut copy = queue.clone_for_looking();
            for at in [now, ends.max(now + 1) - 1, ends.max(now)] {
                copy.drain(Time::from_nanos(at));
                let live = records.iter().filter(|(finish, _)| *finish > whole(at));
                prop_assert_eq!(copy.bytes, live.map(|&(_, len)| len).sum::<u64>(), "{}", at);
            }
        }
    }

    /// Of the same mix of values, more backlog never lowers the threshold of b, and none is given up to C_v·D; of all a queue could hold, no
    /// more than C_v·D is above it.
    #[test]
    fn more_backlog_of_the_same_mix_never_lowers_the_threshold(
        mix in prop::collection::vec((1..=HIGHEST, 40..1_500_u64), 1..20),
    ) {
        let mut queue = queue(Variant::B, None);
        let (mut last, limit) = (0, queue.target_bytes);
        for _ in 0..30 {
            for &(value, len) in &mix {
                queue.admit(value, Bytes::new(len), Time::ZERO);
            }
            queue.update(Time::ZERO);
            let threshold = queue.threshold;
            prop_assert!(threshold >= last);
            prop_assert_eq!(threshold == 0, queue.bytes <= limit);
            let above = |than| (than + 1..=HIGHEST).map(|v| queue.present.bytes_of(v)).sum::<u64>();
            prop_assert!(above(threshold) <= limit);
            prop_assert!(threshold == 0 || above(threshold - 1) > limit);
            last = threshold;
        }
    }

    /// p against exact rationals, and the threshold against the definition on a plain list of what came, at half the weight per interval.
    #[test]
    fn the_controlled_share_of_arrivals_equals_the_exact_one(
        rounds in prop::collection::vec(prop::collection::vec((1..=HIGHEST, 40..1_500_u64), 0..12), 1..15),
    ) {
        let mut queue = queue(Variant::Q, Some(ALL));
        let part = |n: u64, of: u64| BigRational::new(n.into(), of.into());
        let (zero, one) = (part(0, 1), part(1, 1));
        let (mut p, mut last, mut arrived) = (zero.clone(), zero.clone(), Vec::new());
        for (index, round) in rounds.into_iter().enumerate() {
            let now = Time::from_millis(10 * (index as u64 + 1));
            for (value, len) in round {
                queue.admit(value, Bytes::new(len), now);
                // Exact as long as no group has aged more than 16 times.
                arrived.push((value, u128::from(len) << (16 + index)));
            }
            queue.update(now);
            // At 8 Mbit/s a byte is a microsecond.
            let delay = part(queue.bytes, 1_000_000);
            p = p + part(32, 100) * (&delay - part(5, 1_000)) + part(64, 10) * (&delay - &last);
            p = p.clamp(zero.clone(), one.clone());
            last = delay;
            let counted = queue.probability().unwrap();
            let error = part(counted.raw(), Probability::ONE.raw()) - &p;
            prop_assert!(error.abs() <= part(index as u64 + 1, Probability::ONE.raw()));

            // In units of 2⁻¹⁶ bytes, at the weights of now.
            let amounts = || arrived.iter().map(|&(v, n): &(u16, u128)| (v, n >> index));
            let total: u128 = amounts().map(|(_, n)| n).sum();
            let share = (total * u128::from(counted.raw())) >> 62;
            let up_to = |than: u16| amounts().filter(|&(v, _)| v <= than).map(|(_, n)| n).sum::<u128>();
            let dropped = amounts().map(|(v, _)| v).filter(|&v| up_to(v) <= share);
            let none = counted == Probability::ZERO;
            prop_assert_eq!(queue.threshold, dropped.max().filter(|_| !none).unwrap_or(0));
        }
    }
}

impl VirtualQueue {
    /// A virtual queue with another law, for tests in which the law plays no part.
    fn clone_for_looking(&self) -> Self {
        Self {
            shape: self.shape,
            records: self.records.clone(),
            head: self.head,
            bytes: self.bytes,
            present: self.present.clone(),
            law: ThresholdLaw::Backlog,
            threshold: self.threshold,
            server: Server { ..self.server },
            last_rate: self.last_rate,
            target_bytes: self.target_bytes,
            most_bytes: self.most_bytes,
            mtu: self.mtu,
            refused: self.refused,
        }
    }
}

/// Invariant 2 of the specification: r − C_v is what grows.
#[test]
fn what_comes_above_the_serving_rate_stays() {
    // 63/64 of 8 Mbit/s, fed 8 Mbit/s in packets of 1000 bytes for 10 s: 10 s · 1/64 of 1 MB/s.
    let mut queue = queue(Variant::Q, Some(ALL / 64 * 63));
    for millisecond in 0..10_000 {
        queue.admit(1, Bytes::new(1_000), Time::from_millis(millisecond));
    }
    queue.drain(Time::from_secs(10));
    assert!(queue.bytes.abs_diff(156_250) <= 1_000, "{}", queue.bytes);
    // Until the maximum: 200 ms of 63/64 MB/s.
    for millisecond in 10_000..60_000 {
        queue.admit(1, Bytes::new(1_000), Time::from_millis(millisecond));
    }
    assert!(queue.bytes <= 196_875 && queue.bytes > 196_875 - 2_000);
    assert!(queue.overflows());
}

/// A second method, over the whole list of arrivals: an arrival weighs half as much with every update that has passed since.
#[test]
fn the_rates_give_the_threshold_of_a_list_of_arrivals() {
    let whole = |n: u64| BigRational::from_integer(n.into());
    let (mut queue, mut random) = (queue(Variant::R, Some(ALL / 64 * 63)), 1_u64);
    let mut draw = |below: u64| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (random >> 33) % below
    };
    let mut arrivals: Vec<(u16, BigRational)> = Vec::new();
    let (mut span, mut seen) = (whole(0), Vec::new());
    // 10⁷ ns can be halved seven times. The load goes from half of the link to three times as much, and to nothing.
    for (round, packets) in [5, 12, 30, 30, 20, 0, 3_u64].into_iter().enumerate() {
        let start = Time::from_millis(10 * round as u64);
        for packet in 0..packets {
            let (value, len) = (1 + draw(1_500) as u16, 500 + draw(1_000));
            let at = start + Time::from_micros(9_000 * packet / packets);
            queue.admit(value, Bytes::new(len), at);
            arrivals.push((value, whole(len)));
        }
        let now = start + Time::from_millis(10);
        queue.drain(now);
        for (_, weight) in &mut arrivals {
            *weight /= whole(2);
        }
        span = (span + whole(10_000_000)) / whole(2);
        // 63/64 of 8 Mbit/s are 63/64 byte in 1 000 ns; the target is 5 ms of it, 4 921 whole bytes; recovery takes 40 ms.
        let served = (&span * whole(63) / whole(64_000)).floor();
        let missing = whole(4_921) - whole(queue.bytes());
        let recovered = (missing * &span / whole(40_000_000)).trunc();
        let allowed = (served + recovered).max(whole(1_500));
        let above = |threshold: u16| {
            let above = arrivals.iter().filter(|(value, _)| *value > threshold);
            above.fold(whole(0), |sum, (_, weight)| sum + weight)
        };
        let expected = (0..=1_500).find(|&threshold| above(threshold) <= allowed);
        queue.update(now);
        assert_eq!(Some(queue.threshold()), expected, "round {round}");
        seen.push(queue.threshold());
    }
    assert!(seen[0] == 0 && seen[3] > 500, "{seen:?}");
    queue.update(Time::from_secs(1));
    assert_eq!(
        (queue.bytes(), queue.threshold()),
        (0, 0),
        "nothing is left of an overload that has ended"
    );
}

/// s is 3/4; with n = 2 the share 27/64 of the same bytes is to be left, with n = 0 nothing changes.
#[test]
fn a_threshold_is_raised_to_a_power_of_the_share_that_it_leaves() {
    let mut queue = queue(Variant::R, Some(ALL));
    for value in 1..=1_000 {
        queue.admit(value, Bytes::new(100), Time::from_millis(1));
    }
    queue.update(Time::from_millis(10));
    for (times, raised) in [(0, 250..=250), (1, 437..=438), (2, 578..=579)] {
        assert!(raised.contains(&queue.raised(250, times)), "{times}");
    }
    assert_eq!(queue.raised(0, 2), 0, "what signals nothing is not raised");
    let other = self::queue(Variant::Q, Some(ALL));
    assert_eq!(other.raised(250, 2), 250, "q does not");
}

/// Worked by hand: Δp = 0.32·(q − 5 ms) + 6.4·(q − q_prev), in 10⁻⁴.
#[test]
fn the_controller_gives_the_golden_vector() {
    let mut queue = queue(Variant::Q, None);
    let mut inside = Vec::new();
    for (delay_ms, p) in [
        (0, 0),
        (5, 320),
        (10, 656),
        (20, 1_344),
        (20, 1_392),
        (10, 768),
        (5, 448),
        (0, 112),
        (0, 96),
        (200, 10_000),
        (5, 0),
    ] {
        while inside.len() < delay_ms {
            inside.push(queue.admit(1, Bytes::new(1_000), Time::ZERO));
        }
        for position in inside.drain(delay_ms..) {
            queue.cancel(position, Time::ZERO);
        }
        queue.update(Time::ZERO);
        let exact = Probability::ratio(p, 10_000).raw();
        let p = queue.probability().unwrap();
        assert!(p.raw().abs_diff(exact) <= 11, "{delay_ms} ms: {p}");
    }
}

#[test]
fn the_smoothed_threshold_goes_an_eighth_of_the_way_and_arrives() {
    let mut queue = queue(Variant::BSmooth, None);
    let positions: Vec<_> = (0..10)
        .map(|_| queue.admit(800, Bytes::new(1_000), Time::ZERO))
        .collect();
    // 800 · (1 − (7/8)ⁿ), to the nearest.
    for expected in [100, 188, 264, 331, 390] {
        queue.update(Time::ZERO);
        assert_eq!(queue.threshold, expected);
    }
    for _ in 0..100 {
        queue.update(Time::ZERO);
    }
    assert_eq!(queue.threshold, 800);
    for position in positions {
        queue.cancel(position, Time::ZERO);
    }
    queue.update(Time::ZERO);
    assert_eq!(queue.threshold, 700);
    for _ in 0..100 {
        queue.update(Time::ZERO);
    }
    assert_eq!(queue.threshold, 0);
}

/// C_v·D is 5000 bytes: a sixth packet makes the lowest go, and a packet that is no better than the lowest goes itself. It is still
/// paid for until its packet is dropped.
#[test]
fn the_highest_value_that_a_full_virtual_queue_drops_is_the_threshold_of_v() {
    let mut queue = queue(Variant::V, None);
    let mut admit = |value| queue.admit(value, Bytes::new(1_000), Time::ZERO);
    let positions = [50, 20, 40, 30, 10].map(&mut admit);
    queue.update(Time::ZERO);
    assert_eq!(queue.threshold, 0);
    queue.admit(60, Bytes::new(1_000), Time::ZERO);
    queue.admit(25, Bytes::new(1_500), Time::ZERO);
    queue.admit(15, Bytes::new(1_000), Time::ZERO);
    assert_eq!(queue.bytes, 8_500);
    // 60 sends 10 away; 25 sends 20 away and half of itself is missing, which its equal does not give it.
    assert_eq!(queue.present.bytes_of(10), 0);
    queue.update(Time::ZERO);
    assert_eq!(queue.threshold, 25);
    queue.update(Time::ZERO);
    assert_eq!(queue.threshold, 0, "of the last interval alone");
    queue.cancel(positions[4], Time::ZERO);
    assert_eq!(queue.bytes, 7_500);
    queue.assert_consistent();
}

#[test]
fn a_record_is_cancelled_once_and_only_before_it_is_served() {
    let mut queue = queue(Variant::B, Some(ALL));
    let ms = Time::from_millis;
    let first = queue.admit(7, Bytes::new(1_000), ms(0));
    let second = queue.admit(8, Bytes::new(1_000), ms(0));
    let third = queue.admit(9, Bytes::new(1_000), ms(0));
    queue.cancel(second, ms(0));
    queue.cancel(second, ms(0));
    assert_eq!(queue.bytes, 2_000);
    // Served at 1 ms; the second takes no time.
    queue.cancel(first, ms(1));
    assert_eq!(queue.bytes, 1_000);
    queue.drain(Time::from_nanos(1_999_999));
    assert_eq!(queue.bytes, 1_000);
    queue.drain(ms(2));
    assert_eq!(queue.bytes, 0);
    queue.cancel(third, ms(2));
    queue.cancel(Position::NONE, ms(2));
    queue.assert_consistent();
    assert_eq!(queue.delay(ms(2)), Time::ZERO);
}

#[test]
fn a_link_that_stands_still_serves_nothing_and_keeps_the_last_rate_for_delays() {
    let mut queue = queue(Variant::B, Some(ALL));
    let ms = Time::from_millis;
    for _ in 0..10 {
        queue.admit(7, Bytes::new(1_000), ms(0));
    }
    queue.configure(queue.shape, link(Rate::ZERO), ms(2));
    let hours = Time::from_secs(5 * 3_600);
    queue.update(hours);
    assert_eq!((queue.bytes, queue.threshold), (8_000, 7));
    assert_eq!(queue.delay(hours), ms(8));
    queue.configure(queue.shape, link(RATE), hours);
    queue.drain(hours + ms(7));
    assert_eq!(queue.bytes, 1_000);
    queue.configure(queue.shape, link(Rate::UNLIMITED), hours + ms(7));
    queue.update(hours + ms(7));
    assert_eq!((queue.bytes, queue.threshold), (0, 0));
    assert_eq!(
        queue.admit(7, Bytes::new(1_000), hours + ms(7)),
        Position(10)
    );
    queue.drain(hours + ms(7));
    assert_eq!(queue.delay(hours + ms(7)), Time::ZERO);
}

/// At 64 kbit/s 5 ms are 40 bytes and 200 ms are 1600: one packet of the MTU is no congestion, and fits.
#[test]
fn one_packet_of_the_mtu_is_no_congestion_on_a_slow_link() {
    for variant in VARIANTS {
        let mut queue = queue(variant, Some(ALL));
        for kilobits in [64, 8] {
            queue.configure(
                queue.shape,
                link(Rate::from_bps(kilobits * 1_000)),
                Time::ZERO,
            );
            let position = queue.admit(7, Bytes::new(1_500), Time::ZERO);
            assert!(position != Position::NONE, "{variant}");
            for _ in 0..3 {
                queue.update(Time::ZERO);
            }
            // A standing queue of the target is what q is to come to, from the first jump on.
            if variant != Variant::Q {
                assert_eq!(queue.threshold, 0, "{variant}");
            }
            queue.cancel(position, Time::ZERO);
        }
    }
}
