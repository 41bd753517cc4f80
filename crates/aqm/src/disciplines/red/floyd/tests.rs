//! The law against exact rational arithmetic, and the spacing of its marks against the closed form.

use super::*;
use crate::random::Random;
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};
use std::vec::Vec;

fn ratio(numerator: impl Into<BigInt>, denominator: impl Into<BigInt>) -> BigRational {
    BigRational::new(numerator.into(), denominator.into())
}

fn of(probability: Probability) -> BigRational {
    ratio(probability.raw(), Probability::ONE.raw())
}

/// max_p 1/10 between 5 and 15.
fn parameters() -> Parameters {
    Parameters {
        min: 5,
        max: 15,
        weight: 8_589_935,
        max_probability: Probability::ratio(1, 10),
        gentle: true,
        wait: false,
        byte_mode: false,
        avpkt: 1_000,
        bandwidth: Rate::from_mbps(8),
    }
}

/// A law with this average and count.
fn at(parameters: Parameters, average: u64, count: Option<u64>) -> FloydRed {
    let mut law = FloydRed::new(parameters);
    law.average = average;
    law.count = count;
    law
}

#[test]
fn the_average_is_the_exact_one_rounded_down() {
    let mut random = Random::new(1, "averages");
    for _ in 0..2_000 {
        let bits = random.below(33);
        let weight = 1 + random.below(1 << random.clone().below(33).max(bits));
        let weight = weight.min(1 << WEIGHT_BITS);
        let queued = random.u64() >> (32 + random.clone().below(32));
        let average = random.u64() >> random.clone().below(64);
        let law = at(
            Parameters {
                weight,
                ..parameters()
            },
            average,
            None,
        );
        let share = ratio(weight, 1_u64 << WEIGHT_BITS);
        let exact = (BigRational::one() - &share) * ratio(average, 1)
            + share * ratio(BigInt::from(queued) << 32, 1);
        assert_eq!(
            BigInt::from(law.averaged(queued)),
            exact.floor().to_integer()
        );
    }
}

#[test]
fn the_average_answers_a_step_as_the_weight_says() {
    // q·(1 − (1 − w)ⁿ), below by less than n units of 2⁻³².
    let mut law = FloydRed::new(parameters());
    let kept = BigRational::one() - ratio(law.parameters.weight, 1_u64 << WEIGHT_BITS);
    for n in 1..=150_u32 {
        law.arrival(40, Bytes::new(1_000), Time::ZERO, || 0);
        let closed = ratio(BigInt::from(40) << 32, 1) * (BigRational::one() - kept.pow(n as i32));
        let short = closed - ratio(law.average, 1);
        assert!(!short.is_negative() && short < ratio(n, 1), "{n}");
    }
}

#[test]
fn an_idle_time_counts_as_the_packets_that_could_have_left() {
    // 1 000 bytes at 8 Mbit/s take 1 ms.
    let law = at(parameters(), 10 << 32, None);
    let kept = BigRational::one() - ratio(law.parameters.weight, 1_u64 << WEIGHT_BITS);
    for packets in [0, 1, 2, 63, 64, 1_000] {
        for micros in [packets * 1_000, packets * 1_000 + 999] {
            let exact = ratio(10_u64 << 32, 1) * kept.pow(packets as i32);
            let error = exact - ratio(law.decayed(Time::from_micros(micros)), 1);
            // Each of fewer than 2·packets products loses a unit of 2⁻⁶² of 10 · 2³².
            assert!(!error.is_negative() && error < ratio(2, 1), "{packets}");
        }
    }
    assert_eq!(law.decayed(Time::MAX), 0);
    let unlimited = Parameters {
        bandwidth: Rate::from_bps(u64::MAX),
        ..parameters()
    };
    assert_eq!(at(unlimited, u64::MAX, None).decayed(Time::MAX), 0);
}

#[test]
fn the_base_probability_is_the_exact_one_rounded_down_twice() {
    let mut random = Random::new(2, "probabilities");
    let unit = ratio(2, Probability::ONE.raw());
    for _ in 0..2_000 {
        let max = 1 + random.below(1 << 31) as u32;
        let min = random.below(u64::from(max)) as u32;
        let max_probability = Probability::from_raw(random.below(Probability::ONE.raw() + 1));
        let law = FloydRed::new(Parameters {
            min,
            max,
            max_probability,
            ..parameters()
        });
        let average = law.min + random.below(law.full - law.min);
        let law = at(law.parameters, average, None);
        let p = of(max_probability);
        let exact = if average < law.max {
            p * ratio(average - law.min, law.max - law.min)
        } else {
            &p + (BigRational::one() - &p) * ratio(average - law.max, law.max)
        };
        let error = exact - ratio(law.base_probability(), Probability::ONE.raw());
        assert!(!error.is_negative() && error <= unit, "{average}");
    }
}

/// p_a as ns-2's `modify_p` has it, with the fraction of a packet that it cuts off.
fn marking_probability(
    base: &BigRational,
    packets: &BigRational,
    size: &BigRational,
    wait: bool,
) -> BigRational {
    let (one, passed) = (BigRational::one(), packets * base);
    let start = if wait {
        one.clone()
    } else {
        BigRational::zero()
    };
    let end = &start + &one;
    if passed < start {
        BigRational::zero()
    } else if passed < end {
        (base / (end - passed) * size).min(one)
    } else {
        one
    }
}

#[test]
fn marks_are_decided_exactly() {
    let mut random = Random::new(3, "decisions");
    let mut decided = [0; 2];
    for _ in 0..4_000 {
        let (wait, byte_mode) = (random.below(2) == 0, random.below(2) == 0);
        let avpkt = 1 + random.below(3_000) as u32;
        let len = 1 + random.below(9_000);
        let base = random.below(Probability::ONE.raw()) >> random.clone().below(30);
        let scale = if byte_mode { u64::from(avpkt) } else { 1 };
        // Around the counts at which something changes.
        let count = random.below(
            (2 * Probability::ONE.raw() / base.max(1))
                .saturating_mul(scale)
                .saturating_add(2),
        );
        let law = FloydRed::new(Parameters {
            wait,
            byte_mode,
            avpkt,
            ..parameters()
        });
        let size = if byte_mode {
            ratio(len, avpkt)
        } else {
            BigRational::one()
        };
        let exact = marking_probability(
            &ratio(base, Probability::ONE.raw()),
            &ratio(count, scale),
            &size,
            wait,
        );
        // At the border and beside it.
        let border = (&exact * ratio(1_u64 << 32, 1))
            .to_integer()
            .to_u64()
            .unwrap();
        for draw in [
            0,
            u32::MAX,
            border as u32,
            border.saturating_sub(1) as u32,
            random.u32(),
        ] {
            let marks = law.marks(base, count, Bytes::new(len), || draw);
            assert_eq!(marks, ratio(draw, 1_u64 << 32) < exact, "{exact} {draw}");
            decided[usize::from(marks)] += 1;
        }
    }
    assert!(decided.iter().all(|&n| n > 4_000), "{decided:?}");
}

/// The probability of each interval up to the next mark, when the average rests where p_b is 1/50:
/// from how many of the 2³² draws mark at each count.
fn intervals(law: &FloydRed, first: Option<u64>) -> Vec<f64> {
    let mut chances = Vec::new();
    let (mut none_yet, mut count) = (1.0, first);
    while none_yet > 1e-6 {
        let next = count.map_or(0, |count| count + 1);
        let (mut low, mut high) = (0_u64, 1 << 32);
        while low < high {
            let middle = (low + high) / 2;
            if law.marks(law.base_probability(), next, Bytes::new(1_000), || {
                middle as u32
            }) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let mark = low as f64 / 4_294_967_296.0;
        chances.push(none_yet * mark);
        none_yet *= 1.0 - mark;
        count = Some(next);
    }
    chances
}

#[test]
fn marks_are_spaced_uniformly() {
    // max_p 1/10 and a fifth of the way from min to max: p_b = 1/50, rounded up by 2⁻³² of the range.
    let law = |wait| {
        at(
            Parameters {
                wait,
                ..parameters()
            },
            (7 << 32) + 1,
            None,
        )
    };
    // 1993, section 7: uniform on 1..=1/p_b after an average below min, where count starts at −1 …
    let after_rest = intervals(&law(false), None);
    // … and, because figure 2 counts a packet before it is judged, on 1..=1/p_b − 1 after a mark.
    let after_mark = intervals(&law(false), Some(0));
    for (chances, last) in [(after_rest, 50), (after_mark, 49)] {
        assert_eq!(chances.len(), last);
        for chance in chances {
            assert!((chance * last as f64 - 1.0).abs() < 1e-6, "{chance}");
        }
    }
    // With wait the same on 1/p_b..=2/p_b − 1 (ns-2, DPDK).
    let waiting = intervals(&law(true), Some(0));
    assert_eq!(waiting.len(), 99);
    for (index, chance) in waiting.into_iter().enumerate() {
        let expected = if index < 49 { 0.0 } else { 1.0 / 50.0 };
        assert!((chance - expected).abs() < 1e-8, "{index} {chance}");
    }
}

#[test]
fn thresholds_decide_as_published() {
    let gentle = |gentle, average: u64| {
        let mut law = at(
            Parameters {
                gentle,
                weight: 1,
                ..parameters()
            },
            average << 32,
            None,
        );
        let action = law.arrival(average, Bytes::new(1_000), Time::ZERO, || u32::MAX);
        (action, law.count)
    };
    assert_eq!(gentle(false, 4), (Action::Pass, None));
    assert_eq!(gentle(false, 5), (Action::Pass, Some(0)));
    assert_eq!(gentle(false, 14), (Action::Pass, Some(0)));
    assert_eq!(gentle(false, 15), (Action::Forced, Some(0)));
    assert_eq!(gentle(true, 15), (Action::Pass, Some(0)));
    assert_eq!(gentle(true, 29), (Action::Pass, Some(0)));
    assert_eq!(gentle(true, 30), (Action::Forced, Some(0)));
    // A step where both thresholds are one.
    let step = Parameters {
        min: 5,
        max: 5,
        gentle: false,
        weight: 1 << 32,
        ..parameters()
    };
    let mut law = FloydRed::new(step);
    let action = |law: &mut FloydRed, queued| {
        law.arrival(queued, Bytes::new(1_000), Time::ZERO, || u32::MAX)
    };
    assert_eq!(action(&mut law, 4), Action::Pass);
    assert_eq!(action(&mut law, 5), Action::Forced);
}

#[test]
fn adaptation_follows_the_paper() {
    // Between 9 and 11 nothing changes; above, at most 0.01 and a quarter more; below, a tenth less.
    let mut law = FloydRed::new(parameters());
    let mut adapted = |average: u64, from: Probability| {
        law.average = average << 32;
        law.probability = from;
        law.adapt(Time::ZERO);
        law.probability
    };
    let p = Probability::ratio;
    let near = |a: Probability, b: Probability| a.raw().abs_diff(b.raw()) <= 2;
    for average in [9, 10, 11] {
        assert_eq!(adapted(average, p(1, 10)), p(1, 10));
    }
    assert!(near(adapted(12, p(1, 10)), p(11, 100)));
    assert!(near(adapted(12, p(2, 100)), p(25, 1_000)));
    assert!(near(adapted(8, p(1, 10)), p(9, 100)));
    // Its ends: it still moves at 0.5 and at 0.01, and not beyond.
    assert!(near(adapted(14, p(1, 2)), p(51, 100)));
    assert_eq!(adapted(14, p(51, 100)), p(51, 100));
    assert!(near(adapted(0, p(1, 100)), p(9, 1_000)));
    assert_eq!(adapted(0, p(9, 1_000)), p(9, 1_000));
}
