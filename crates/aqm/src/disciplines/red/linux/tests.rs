//! The law against exact rational arithmetic, closed forms and the kernel's corner cases.

use super::*;
use crate::disciplines::red::tc;
use crate::random::Random;
use crate::units::Rate;
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};
use std::vec;
use std::vec::Vec;

fn whole(number: impl Into<BigInt>) -> BigRational {
    BigRational::from_integer(number.into())
}

/// `max_probability` in 10⁻⁹.
fn parameters(min: u32, max: u32, weight_log: u32, parts: u64) -> Parameters {
    Parameters {
        min,
        max,
        weight_log,
        max_probability: tc::max_probability(parts),
        idle: tc::idle_table(weight_log, 1_000, Rate::from_mbps(10)).unwrap(),
    }
}

/// The law in rational numbers, straight from the formulas at the head of the file.
struct Exact {
    parameters: Parameters,
    average: BigRational,
    weight: BigRational,
}

impl Exact {
    fn new(parameters: &Parameters) -> Self {
        Self {
            parameters: parameters.clone(),
            average: BigRational::zero(),
            weight: BigRational::new(BigInt::one(), BigInt::one() << parameters.weight_log),
        }
    }
    fn arrival(&mut self, backlog: u64) {
        let change = whole(backlog) - self.average.floor();
        self.average += change * &self.weight;
    }
    fn after_idle(&mut self, micros: u64) {
        let idle = &self.parameters.idle;
        let micros = micros.min(u64::from(255_u32 << idle.cell_log));
        let raw = (&self.average / &self.weight).to_integer();
        let raw = match idle.shifts[(micros >> idle.cell_log) as usize] {
            0 => {
                let lost: BigInt = (&raw * micros) >> idle.cell_log;
                let half: BigInt = &raw >> 1;
                if lost < half { raw - lost } else { half }
            }
            shift => raw >> shift,
        };
        self.average = whole(raw) * &self.weight;
    }
}

#[test]
fn the_average_equals_the_exact_computation() {
    let mut random = Random::new(1, "backlogs");
    for weight_log in [1, 5, 9, 14] {
        let parameters = parameters(30_000, 90_000, weight_log, 20_000_000);
        assert!(parameters.are_valid());
        let (mut law, mut exact) = (LinuxRed::new(parameters.clone()), Exact::new(&parameters));
        let mut now = Time::from_secs(1);
        let mut backlog = 0;
        for _ in 0..3_000 {
            if random.below(10) == 0 {
                // Up to 16 s: past the end of the table for every weight.
                let bits = random.below(25);
                let micros = random.below(1 << bits);
                law.idle(now);
                // A second call does not restart the idle time.
                law.idle(now + Time::from_micros(micros));
                now += Time::from_micros(micros);
                exact.after_idle(micros);
                backlog = 0;
            } else {
                exact.arrival(backlog);
            }
            law.arrival(backlog, now, || 0);
            let raw = whole(law.raw_average()) * &exact.weight;
            assert_eq!(raw, exact.average, "weight 2^-{weight_log}");
            backlog = (backlog + random.below(9_000)).saturating_sub(random.below(9_000));
        }
    }
}

#[test]
fn the_average_answers_a_step_as_the_weight_says() {
    // avg after n samples of a constant q is q·(1 − (1 − W)ⁿ); the kernel's rounding adds less than one byte, ever.
    for weight_log in [2, 5, 9] {
        let parameters = parameters(30_000, 90_000, weight_log, 20_000_000);
        let mut law = LinuxRed::new(parameters.clone());
        let weight = Exact::new(&parameters).weight;
        let backlog = 54_321;
        for n in 1..=400 {
            law.arrival(backlog, Time::ZERO, || 0);
            let kept = (BigRational::one() - &weight).pow(n);
            let closed = whole(backlog) * (BigRational::one() - kept);
            let excess = whole(law.raw_average()) * &weight - closed;
            assert!(
                !excess.is_negative() && excess < BigRational::one(),
                "{n}: {excess}"
            );
        }
    }
}

#[test]
fn an_idle_time_decays_by_the_transmissions_that_tc_imagines() {
    // tc's table is in ticks of 64 ns and the kernel looks it up with µs: after m packet times the
    // average has lost what m/15.625 packets would take. 1000 B at 10 Mbit/s are 800 µs.
    let parameters = parameters(30_000, 90_000, 5, 20_000_000);
    let mut law = LinuxRed::new(parameters);
    for _ in 0..1_000 {
        law.arrival(64_000, Time::ZERO, || 0);
    }
    assert_eq!(law.average(), 64_000);
    law.idle(Time::ZERO);
    let average_after = |micros: u64| law.decayed(Time::from_micros(micros)) >> 5;
    // Halved once where −ln(1 − 1/32)·t/12500 reaches 1, at 393 729: in the cell of 12 · 2¹⁵ it has not.
    assert_eq!(average_after(13 * 32_768 - 1), 32_000);
    assert_eq!(average_after(26 * 32_768), 16_000);
    // Linear within the first cell.
    assert_eq!(average_after(0), 64_000);
    assert_eq!(average_after(8_192), 48_000);
    // At the end of the table nothing is left, however long.
    assert_eq!(average_after(u64::MAX / 1_000), 0);
}

/// A law whose average rests at `backlog`, between the thresholds.
fn resting(parameters: Parameters, backlog: u64) -> LinuxRed {
    let mut law = LinuxRed::new(parameters);
    // The last random number drawn on the way keeps the law from marking soon.
    while law.average() < backlog {
        law.arrival(backlog, Time::ZERO, || u32::MAX);
    }
    law.count = -1;
    law
}

#[test]
fn a_random_number_decides_where_the_next_mark_is() {
    // Exactly: marked at the first count c ≥ 1 with x·c ≥ ⌊r/⌊max_P/range⌋⌋, x bytes above min.
    let parameters = parameters(10_000, 30_000, 4, 40_000_000);
    let mut random = Random::new(3, "marks");
    for above in [0, 1, 777, 10_000, 19_999] {
        let mut law = resting(parameters.clone(), 10_000 + above);
        let draws: Vec<u32> = vec![0, 1, u32::MAX, u32::MAX / 2, random.u32(), random.u32()];
        let per_byte = BigInt::from(parameters.max_probability) / 20_000;
        law.arrival(10_000 + above, Time::ZERO, || draws[0]);
        for pair in draws.windows(2) {
            let threshold: BigInt = BigInt::from(pair[0]) / &per_byte;
            let expected = if threshold.is_zero() {
                BigInt::one()
            } else if above == 0 {
                // Never, at the threshold itself.
                continue;
            } else {
                BigRational::new(threshold, above.into())
                    .ceil()
                    .to_integer()
            };
            let mut count = 1;
            while law.arrival(10_000 + above, Time::ZERO, || pair[1]) == Action::Pass {
                count += 1;
                assert!(BigInt::from(count) <= expected, "{above} {pair:?}");
            }
            assert_eq!(BigInt::from(count), expected, "{above} {pair:?}");
        }
    }
}

#[test]
fn marks_are_spaced_uniformly_from_one_to_the_inverse_of_the_probability() {
    // p = 2⁻⁵ · 8192/16384 = 1/64, and a random number below 2¹⁹: intervals are uniform on 1..=64
    // (Floyd and Jacobson 1993, section 7), but for one number in 8192.
    let parameters = Parameters {
        max_probability: 1 << 27,
        ..parameters(10_000, 26_384, 4, 1)
    };
    let mut law = resting(parameters, 18_192);
    let mut random = Random::new(4, "marks");
    let mut counts = [0_u32; 66];
    let (mut marks, mut interval) = (0, 0);
    law.arrival(18_192, Time::ZERO, || random.u32());
    while marks < 64_000 {
        interval += 1;
        if law.arrival(18_192, Time::ZERO, || random.u32()) == Action::Early {
            counts[interval] += 1;
            (marks, interval) = (marks + 1, 0);
        }
    }
    assert_eq!((counts[0], counts[65]), (0, 0));
    // χ² with 63 degrees of freedom passes 120 once in 50 000 times.
    let squares: u32 = counts[1..=64]
        .iter()
        .map(|&n| n.abs_diff(1_000).pow(2))
        .sum();
    assert!(squares < 120 * 1_000, "{counts:?}");
}

#[test]
fn thresholds_decide_as_in_the_kernel() {
    let at = |average: u64| {
        let mut law = LinuxRed::new(parameters(10_000, 30_000, 4, 1));
        law.average = average << 4;
        (law.arrival(average, Time::ZERO, || u32::MAX), law.count)
    };
    assert_eq!(at(9_999), (Action::Pass, -1));
    assert_eq!(at(10_000), (Action::Pass, 0));
    assert_eq!(at(29_999), (Action::Pass, 0));
    assert_eq!(at(30_000), (Action::Forced, -1));
}

#[test]
fn the_kernel_refuses_what_its_31_bits_cannot_hold() {
    let with = |max, weight_log| {
        Parameters {
            max,
            ..parameters(1_000, 2_000, weight_log, 1_000_000)
        }
        .are_valid()
    };
    // fls(max) + Wlog < 32.
    assert!(with(1 << 21, 9));
    assert!(!with(1 << 22, 9));
    assert!(!with(999, 9));
    let mut table = parameters(1_000, 2_000, 5, 1_000_000);
    table.idle.shifts[7] = 32;
    assert!(!table.are_valid());
}

#[test]
fn adaptation_moves_the_probability_by_its_steps_and_stops_at_its_ends() {
    // Range 60 000: left alone from 54 000 to 66 000 bytes.
    let parts = 20_000_000;
    let mut law = LinuxRed::new(parameters(30_000, 90_000, 5, parts));
    let mut adapted = |average: u64| {
        law.average = average << 5;
        law.adapt(Time::ZERO);
        (law.probability, law.per_byte)
    };
    let start = 85_899_345;
    // One step up is a quarter of 2 %, at most 1 %; down is a tenth, cut as the kernel cuts it.
    let up = start + start / 4;
    assert_eq!(adapted(54_000), (start, 1_432));
    assert_eq!(adapted(66_000), (start, 1_432));
    assert_eq!(adapted(66_001), (up, 1_790));
    assert_eq!(adapted(53_999), (up / 10 * 9, 1_611));
    for _ in 0..100 {
        adapted(89_000);
    }
    // The first value above 50 %: at most one more percent.
    let (top, _) = adapted(89_000);
    assert!(top > 50 * ONE_PERCENT && top <= 51 * ONE_PERCENT, "{top}");
    for _ in 0..100 {
        adapted(0);
    }
    let (bottom, _) = adapted(0);
    assert!(
        (ONE_PERCENT / 10 * 9..ONE_PERCENT).contains(&bottom),
        "{bottom}"
    );
}

#[test]
fn adaptation_sees_an_idle_average_decay() {
    let mut law = LinuxRed::new(parameters(30_000, 90_000, 5, 20_000_000));
    law.average = 70_000 << 5;
    law.idle(Time::ZERO);
    let before = law.probability;
    law.adapt(Time::from_millis(1));
    assert!(law.probability > before);
    let before = law.probability;
    law.adapt(Time::from_secs(60));
    assert!(law.probability < before);
    assert_eq!(law.raw_average(), 70_000 << 5, "a look changes nothing");
}
