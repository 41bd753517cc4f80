//! The law against exact arithmetic and by counting.

use super::*;
use crate::packet::testing::TestPacket;
use crate::parameter::{Settings, Value};
use num_bigint::BigInt;
use num_rational::BigRational;
use std::vec::Vec;

fn curve(given: &[(&str, &str)], smoothed: Time) -> Curve {
    let mut settings = Settings::new(Parameters::ROWS);
    for (key, value) in given {
        settings.set(key, value).unwrap();
    }
    Curve::new(&Parameters::of(&settings), smoothed)
}

fn nanos(value: u64) -> BigRational {
    BigRational::from_integer(value.into())
}

#[test]
fn the_smoothed_delay_is_the_exact_one_rounded_down() {
    let mut random = Random::new(1, "delays");
    for smoothing in [0, 1, 5, 12, 32] {
        let mut curve = curve(&[], Time::ZERO);
        curve.smoothing = smoothing;
        for _ in 0..500 {
            let before = nanos(curve.smoothed.as_nanos());
            let bits = random.below(60);
            let sojourn = random.below(1 << bits);
            curve.sample(Time::from_nanos(sojourn));
            let share = BigRational::new(1.into(), BigInt::from(1) << smoothing);
            let exact = &before + (nanos(sojourn) - &before) * share;
            assert_eq!(nanos(curve.smoothed.as_nanos()), exact.floor());
        }
    }
    // A clock that jumps to its end neither wraps nor stops it.
    let mut curve = curve(&[], Time::MAX);
    curve.sample(Time::MAX);
    curve.sample(Time::ZERO);
    curve.sample(Time::MAX);
}

#[test]
fn the_smoothed_delay_answers_a_step_within_2_to_the_g_nanoseconds() {
    // d·(1 − (1 − 2⁻⁵)ⁿ); each step loses less than 1 ns, of which (1 − 2⁻⁵) stays.
    let mut curve = curve(&[], Time::ZERO);
    let delay = Time::from_millis(20);
    for n in 1..300 {
        curve.sample(delay);
        let closed = 20e6 * (1.0 - (31.0_f64 / 32.0).powi(n));
        let short = closed - curve.smoothed.as_nanos() as f64;
        assert!((-1e-6..32.0).contains(&short), "{n}: {short}");
    }
}

#[test]
fn random_numbers_are_compared_exactly() {
    let mut random = Random::new(2, "comparisons");
    for _ in 0..5_000 {
        let range = 1 + random.below(u32::MAX.into());
        let smoothed = random.below(range + range / 4);
        let min = random.below(1 + smoothed / 2);
        let mut curve = curve(&[], Time::from_nanos(smoothed));
        (curve.min, curve.range) = (Time::from_nanos(min), Time::from_nanos(range));
        let root = nanos(smoothed - min) / nanos(range) * nanos(1 << 32);
        let border = u32::try_from(root.floor().to_integer()).unwrap_or(u32::MAX);
        for draw in [
            0,
            border.saturating_sub(1),
            border,
            border.saturating_add(1),
            u32::MAX,
        ] {
            assert_eq!(
                curve.exceeds(draw),
                nanos(draw.into()) < root,
                "{smoothed} {range} {draw}"
            );
        }
        assert_eq!(curve.is_full(), root >= nanos(1 << 32));
    }
}

#[test]
fn a_range_of_a_power_of_two_is_the_shift_of_the_rfc() {
    // Figure 11: Q_C >> (S_C − 2) > maxrand with S_C = −1, hence Q_C << 3.
    let mut random = Random::new(3, "shifts");
    for _ in 0..5_000 {
        let smoothed = random.below(1 << 30);
        let curve = curve(&[("range", "536.870912ms")], Time::from_nanos(smoothed));
        for draw in [random.u32(), (smoothed << 3).saturating_sub(1) as u32] {
            assert_eq!(
                curve.exceeds(draw),
                smoothed << 3 > draw.into(),
                "{smoothed} {draw}"
            );
        }
    }
}

#[test]
fn the_probability_is_the_even_power_of_the_delay_over_the_range() {
    // With 500 ms: 4 % at 100 ms, 1 % at 50 ms, 0.36 % at 30 ms (spec of L4S section 1.1).
    for (given, delay_ms, percent) in [
        (&[][..], 100, 4.0),
        (&[], 50, 1.0),
        (&[], 30, 0.36),
        (&[("min_th", "500us")], 50, 0.9801),
        (&[("u", "2")], 200, 2.56),
        (&[("range", "100ms")], 20, 4.0),
    ] {
        let curve = curve(given, Time::from_millis(delay_ms));
        let mut random = Random::new(4, "signals");
        let (draws, probability) = (1_000_000, percent / 100.0);
        let signals = (0..draws).filter(|_| curve.signals(&mut random)).count();
        let expected = f64::from(draws) * probability;
        // Four standard deviations of a binomial distribution.
        let spread = 4.0 * (expected * (1.0 - probability)).sqrt();
        assert!(
            (signals as f64 - expected).abs() < spread,
            "{given:?} {delay_ms}: {signals}"
        );
    }
}

#[test]
fn the_ends_of_the_curve_are_certain() {
    let mut random = Random::new(5, "ends");
    let mut always = |given: &[(&str, &str)], nanos| -> Vec<bool> {
        let curve = curve(given, Time::from_nanos(nanos));
        (0..1_000).map(|_| curve.signals(&mut random)).collect()
    };
    assert!(always(&[], 0).iter().all(|&signal| !signal));
    assert!(
        always(&[("min_th", "500us")], 500_000)
            .iter()
            .all(|&signal| !signal)
    );
    assert!(always(&[], 500_000_000).iter().all(|&signal| signal));
    assert!(always(&[], u64::MAX).iter().all(|&signal| signal));
    // The printed minTh would leave the whole range without a signal.
    assert!(
        always(&[("min_th", "500ms")], 499_999_999)
            .iter()
            .all(|&signal| !signal)
    );
}

#[test]
fn an_idle_queue_is_small() {
    let heap = Parameters::ROWS.len() * size_of::<Option<alloc::boxed::Box<Value>>>();
    assert!(size_of::<CurvyRed<TestPacket>>() + heap < 340);
}
