//! The Linux form against exact arithmetic, and its corner cases.

use super::*;
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed as _, ToPrimitive as _, Zero as _};
use proptest::prelude::*;
use std::vec::Vec;

const DEFAULTS: Params = Params {
    target: 15_000_000 >> TICK_SHIFT,
    alpha: 2,
    beta: 20,
    bytemode: false,
    dq_rate_estimator: false,
};
const ECN_LIMIT: u64 = MAX_PROB / 10;

fn whole(n: impl Into<BigInt>) -> BigRational {
    BigRational::from_integer(n.into())
}
fn part(numerator: u64, denominator: u64) -> BigRational {
    BigRational::new(numerator.into(), denominator.into())
}

/// The divisor of RFC 8033 section 4.2, written as the RFC does.
fn divisor(probability: &BigRational) -> u64 {
    let table = [
        (1_000_000, 2_048),
        (100_000, 512),
        (10_000, 128),
        (1_000, 32),
        (100, 8),
        (10, 2),
    ];
    let found = table
        .iter()
        .find(|(below, _)| probability < &part(1, *below));
    found.map_or(1, |(_, divisor)| *divisor)
}

/// The gain as the kernel rounds it: MAX_PROB / ticks per second, times n, by 16, by the
/// divisor, each rounded down.
fn rounded_gain(n: u64, divisor: u64) -> BigRational {
    let per_tick = part(MAX_PROB, TICKS_PER_SECOND).floor();
    ((per_tick * whole(n) / whole(16)).floor() / whole(divisor)).floor()
}

/// The probability after an update in units of 1/MAX_PROB, with gains rounded as the kernel
/// rounds them or not at all; everything else exact.
fn exact_update(vars: &Vars, params: &Params, rounded: bool) -> BigRational {
    let max = whole(MAX_PROB);
    let divisor = divisor(&(whole(vars.prob) / &max));
    let gain = |n: u64| match rounded {
        true => rounded_gain(n, divisor),
        false => part(n, 16) * &max / whole(TICKS_PER_SECOND) / whole(divisor),
    };
    let since = |then: u64| whole(vars.qdelay) - whole(then);
    let mut delta =
        gain(params.alpha) * since(params.target) + gain(params.beta) * since(vars.qdelay_old);
    let fiftieth = if rounded {
        part(MAX_PROB, 50).floor()
    } else {
        part(MAX_PROB, 50)
    };
    if delta > fiftieth && vars.prob >= MAX_PROB / 10 {
        delta = if rounded {
            part(MAX_PROB, 100).floor() * whole(2)
        } else {
            fiftieth.clone()
        };
    }
    if vars.qdelay > HIGH_DELAY {
        delta += fiftieth;
    }
    let sum = whole(vars.prob) + delta;
    if sum.is_negative() { whole(0) } else { sum }
}

fn updated(vars: Vars, params: &Params, backlog: u64) -> Vars {
    let mut vars = vars;
    vars.calculate_probability(params, backlog);
    vars
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Exact equality with the kernel's roundings; and without any, a difference below the
    /// delays in ticks times what three roundings lose of a gain: less than n/16 + 2 units.
    #[test]
    fn an_update_equals_the_exact_one(
        bits in 0_u32..56, fraction in any::<u64>(),
        qdelay in prop_oneof![0..4_000_000_u64, 3_906_200..3_906_300_u64],
        qdelay_old in 0..4_000_000_u64,
        target in 15_u64..1_600_000,
        alpha in 0_u64..=32, beta in 0_u64..=32,
    ) {
        let prob = fraction >> (64 - 56) >> bits;
        let vars = Vars { prob, qdelay, qdelay_old, ..Vars::default() };
        let params = Params { target, alpha, beta, ..DEFAULTS };
        let got = whole(updated(vars, &params, 100_000).prob);
        let exact = exact_update(&vars, &params, true);
        prop_assert_eq!(&got, &exact);
        let lost = (alpha / 16 + 2) * qdelay.abs_diff(target)
            + (beta / 16 + 2) * qdelay.abs_diff(qdelay_old) + 4;
        let ideal = exact_update(&vars, &params, false);
        prop_assert!((got - ideal).abs() <= whole(lost));
    }
}

#[test]
fn constants_are_those_of_the_kernel() {
    assert_eq!(MAX_PROB, (1 << 56) - 1);
    assert_eq!(TICKS_PER_SECOND, 15_625_000);
    // 2/16 and 20/16 Hz: ⌊⌊(2⁵⁶ − 1) / 15 625 000⌋ · n / 16⌋, computed by hand.
    assert_eq!(scale_gain(2), 576_460_752);
    assert_eq!(scale_gain(20), 5_764_607_522);
    assert_eq!(MAX_BURST, 2_343_750);
    assert_eq!(HIGH_DELAY, 3_906_250);
    assert_eq!(ticks(Time::from_millis(15)), 234_375);
}

#[test]
fn gains_are_tuned_by_the_table_of_the_rfc() {
    for (one_in, below, from) in [
        (1_000_000, 11, 9),
        (100_000, 9, 7),
        (10_000, 7, 5),
        (1_000, 5, 3),
        (100, 3, 1),
        (10, 1, 0),
    ] {
        assert_eq!(
            tuning_shift(MAX_PROB / one_in - 1),
            below,
            "below 1/{one_in}"
        );
        assert_eq!(tuning_shift(MAX_PROB / one_in), from, "from 1/{one_in}");
    }
    assert_eq!((tuning_shift(0), tuning_shift(MAX_PROB)), (11, 0));
}

/// 63/64 at each update while two delays are zero: half after 44 updates, 1 % after 292.
#[test]
fn the_probability_decays_by_one_part_in_64() {
    let frozen = Params {
        alpha: 0,
        beta: 0,
        ..DEFAULTS
    };
    let mut vars = Vars {
        prob: MAX_PROB / 4,
        ..Vars::default()
    };
    let mut exact = whole(vars.prob);
    for update in 1..=300_u64 {
        vars.calculate_probability(&frozen, 0);
        exact *= part(63, 64);
        // Each update takes ⌊p/64⌋, less than one unit too little.
        let error = whole(vars.prob) - &exact;
        assert!(!error.is_negative() && error < whole(update), "{update}");
        let ratio = vars.prob as f64 / (MAX_PROB / 4) as f64;
        match update {
            44 => assert!((ratio - 0.5).abs() < 0.001),
            292 => assert!((ratio - 0.01).abs() < 0.000_1),
            _ => {}
        }
    }
    // Not with a delay before, and not while something is queued.
    let prob = MAX_PROB / 4;
    for (qdelay_old, backlog) in [(1, 0), (0, 1)] {
        let vars = Vars {
            prob,
            qdelay_old,
            ..Vars::default()
        };
        assert_eq!(updated(vars, &frozen, backlog).prob, prob);
    }
}

#[test]
fn the_step_up_is_two_percent_and_two_more_above_250_ms() {
    let from = |prob: u64, delay_ms: u64| {
        let qdelay = ticks(Time::from_millis(delay_ms));
        let vars = Vars {
            prob,
            qdelay,
            ..Vars::default()
        };
        (updated(vars, &DEFAULTS, 1).prob - prob) as f64 / MAX_PROB as f64
    };
    // 1/8·0.185 + 1 1/4·0.2 = 27.3 % is capped; half of it below 10 % is not.
    assert!((from(MAX_PROB / 10, 200) - 0.02).abs() < 1e-9);
    assert!((from(MAX_PROB / 10 - 1, 200) - 0.136_562_5).abs() < 1e-9);
    assert!((from(MAX_PROB / 10, 250) - 0.02).abs() < 1e-9);
    assert!((from(MAX_PROB / 10, 251) - 0.04).abs() < 1e-9);
}

fn signalling(prob: u64) -> Vars {
    Vars {
        prob,
        burst_time: 0,
        qdelay: DEFAULTS.target,
        ..Vars::default()
    }
}

#[test]
fn nothing_is_signalled_during_the_burst_in_a_short_queue_or_at_low_delay() {
    let certain = || 0;
    let ready = Vars {
        accu_prob: MAX_PROB,
        ..signalling(MAX_PROB / 6)
    };
    let signals = |vars: Vars, backlog| {
        let mut vars = vars;
        vars.drop_early(&DEFAULTS, backlog, 1_500, 1_500, certain)
    };
    assert!(signals(ready, 3_000));
    assert!(!signals(ready, 2_999), "less than two MTUs");
    let burst = Vars {
        burst_time: 1,
        ..ready
    };
    assert!(!signals(burst, 3_000));
    let qdelay = DEFAULTS.target / 2;
    let low = |qdelay, prob| Vars {
        qdelay,
        prob,
        ..ready
    };
    assert!(!signals(low(qdelay - 1, MAX_PROB / 5 - 1), 3_000));
    assert!(signals(low(qdelay, MAX_PROB / 5 - 1), 3_000));
    assert!(signals(low(qdelay - 1, MAX_PROB / 5), 3_000));
}

/// RFC 8033 section 5.4: none below 0.85, always from 8.5; in between geometric, so the mean
/// number of packets to a signal is k + (1 − (1 − p)ⁿ)/p with k = ⌈0.85/p⌉ − 1 and n packets
/// from there to certainty, which for small p is about 1.85/p.
#[test]
fn signals_are_spaced_between_085_and_85() {
    let mut random = crate::Random::new(5, "derandomise");
    for one_in in [10, 100, 1_000] {
        let prob = MAX_PROB / one_in;
        let mut vars = signalling(prob);
        let (least, most) = (
            (MAX_PROB / 100 * 85).div_ceil(prob),
            (MAX_PROB / 2 * 17).div_ceil(prob),
        );
        let (mut gaps, mut gap) = (Vec::new(), 0);
        while gaps.len() < 3_000 {
            gap += 1;
            if vars.drop_early(&DEFAULTS, 9_000, 1_500, 1_500, || random.u64()) {
                assert!((least..=most).contains(&gap), "{gap} at 1/{one_in}");
                vars.accu_prob = 0;
                gaps.push(gap);
                gap = 0;
            }
        }
        let p = 1.0 / one_in as f64;
        let chances = (most - least) as f64;
        let mean = (least - 1) as f64 + (1.0 - (1.0 - p).powf(chances + 1.0)) / p;
        let got = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
        // The deviation of the geometric part is 1/p: four standard errors.
        let error = 4.0 / p / (gaps.len() as f64).sqrt();
        assert!((got - mean).abs() < error, "1/{one_in}: {got}, {mean}");
    }
}

#[test]
fn bytemode_scales_by_the_length_up_to_an_mtu() {
    let params = Params {
        bytemode: true,
        ..DEFAULTS
    };
    for (len, expected) in [
        (1_500, MAX_PROB / 20 / 1_500 * 1_500),
        (150, MAX_PROB / 20 / 1_500 * 150),
        (1_501, MAX_PROB / 20),
    ] {
        let mut vars = signalling(MAX_PROB / 20);
        vars.drop_early(&params, 9_000, len, 1_500, || u64::MAX);
        assert_eq!(vars.accu_prob, expected, "{len}");
    }
}

#[test]
fn the_accumulator_stays_above_85_until_something_drops() {
    // Whoever marks must not reset it: the kernel does not.
    let mut vars = Vars {
        accu_prob: MAX_PROB / 2 * 17,
        ..signalling(ECN_LIMIT / 10)
    };
    for _ in 0..1_000 {
        assert!(vars.drop_early(&DEFAULTS, 9_000, 1_500, 1_500, || u64::MAX));
    }
}

#[test]
fn the_probability_winds_up_past_one_and_is_cut_at_an_overflow_only() {
    let mut vars = Vars::default();
    let mut highest = 0;
    for _ in 0..20_000 {
        vars.qdelay = HIGH_DELAY + 1;
        vars.calculate_probability(&DEFAULTS, 1_000_000);
        highest = highest.max(vars.prob);
    }
    assert!(highest > u64::MAX / 100 * 98, "{highest}");
    let brim = Vars {
        prob: u64::MAX,
        qdelay: HIGH_DELAY + 1,
        ..Vars::default()
    };
    assert_eq!(updated(brim, &DEFAULTS, 1).prob, MAX_PROB);
}

#[test]
fn extremes_neither_wrap_nor_panic() {
    for qdelay in [0, 1, u64::MAX] {
        for qdelay_old in [0, u64::MAX] {
            for prob in [0, MAX_PROB, u64::MAX] {
                for dq_rate_estimator in [false, true] {
                    let params = Params {
                        dq_rate_estimator,
                        alpha: 32,
                        beta: 32,
                        ..DEFAULTS
                    };
                    let vars = Vars {
                        prob,
                        qdelay,
                        qdelay_old,
                        avg_dq_rate: 1,
                        ..Vars::default()
                    };
                    let after = updated(vars, &params, u64::MAX);
                    if qdelay == u64::MAX && !dq_rate_estimator {
                        assert!(after.prob >= prob.min(MAX_PROB), "rises");
                    }
                }
            }
        }
    }
}

/// 10 Mbit/s: 1500 bytes take 1.2 ms = 18 750 ticks. Eleven packets pass the threshold.
#[test]
fn the_departure_rate_is_measured_over_16_kib() {
    let params = Params {
        dq_rate_estimator: true,
        ..DEFAULTS
    };
    let mut vars = Vars::default();
    let (mut now, mut exact) = (1_000_000, BigRational::zero());
    for packet in 0..110_u64 {
        vars.process_dequeue(&params, now, 0, 1_500, 60_000);
        now += 18_750;
        if packet % 11 == 10 {
            // The first packet of a measurement starts it: 16.5 kB in ten gaps, or eleven.
            let gaps = if packet == 10 { 10 } else { 11 };
            let rate = part(16_500 << PIE_SCALE, gaps * 18_750).floor();
            exact = if exact.is_zero() {
                rate
            } else {
                (&exact - (&exact / whole(8)).floor()) + (rate / whole(8)).floor()
            };
            assert_eq!(exact.to_integer().to_u64(), Some(vars.avg_dq_rate));
        }
    }
    // The rate is 20.48; the first measurement gives 22, all others 20, and an average in whole
    // units never leaves 22. So 60 kB are not 48 ms but 48 · 20.48 / 22.
    assert_eq!(vars.avg_dq_rate, 22);
    vars.calculate_probability(&params, 60_000);
    assert_eq!(vars.qdelay, (60_000 << PIE_SCALE) / 22);
    assert_eq!(time(vars.qdelay).as_nanos() / 10_000, 4_468);
    // Below the threshold the last rate holds and no measurement runs.
    vars.dq_count = Some(QUEUE_THRESHOLD);
    vars.process_dequeue(&params, now, 0, 1_500, QUEUE_THRESHOLD - 1);
    assert_eq!(vars.dq_count, None);
    assert!(vars.avg_dq_rate > 0);
}

#[test]
fn the_burst_allowance_lasts_150_ms_of_departures_and_comes_back_with_calm() {
    let mut vars = Vars::default();
    let step = ticks(Time::from_millis(10));
    for departure in 0..=15 {
        assert_eq!(vars.burst_time > 0, departure < 15 + 1, "{departure}");
        vars.process_dequeue(&DEFAULTS, 1_000 + departure * step, 0, 1_500, 9_000);
    }
    assert_eq!(vars.burst_time, 0);
    // The delay is that of the last departure; at an empty queue it is zero.
    vars.process_dequeue(&DEFAULTS, 9_000_000, 8_900_000, 1_500, 1);
    assert_eq!(vars.qdelay, 100_000);
    vars.process_dequeue(&DEFAULTS, 9_000_000, 8_900_000, 1_500, 0);
    assert_eq!(vars.qdelay, 0);
    let calm = Vars {
        prob: 0,
        qdelay_old: 0,
        ..vars
    };
    assert_eq!(updated(calm, &DEFAULTS, 0).burst_time, MAX_BURST);
    let busy = Vars {
        qdelay_old: DEFAULTS.target / 2,
        ..calm
    };
    assert_eq!(updated(busy, &DEFAULTS, 0).burst_time, 0);
}
