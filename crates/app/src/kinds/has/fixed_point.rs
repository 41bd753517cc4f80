//! Logarithms and powers of one half in fixed point, by integer series.
//!
//! The decisions of a player must not depend on a machine's libm. Everything here is exact to the last or
//! the last but one of its fraction bits.

use quell_units::Time;

/// Fraction bits of a logarithm.
pub(super) const LN_BITS: u32 = 40;
/// Fraction bits of a power.
pub(super) const POWER_BITS: u32 = 62;
/// 1, as a power.
pub(super) const ONE: u64 = 1 << POWER_BITS;

/// ln(a / b) in units of 2^−40; `a` is at least `b`, and `b` is not 0.
pub(super) fn ln_ratio(a: u64, b: u64) -> i128 {
    let (a, mut b) = (u128::from(a), u128::from(b));
    let mut octaves = 0;
    while a >= 2 * b {
        b *= 2;
        octaves += 1;
    }
    let ln = octaves * twice_artanh(1, 3) + twice_artanh(a - b, a + b);
    let dropped = POWER_BITS - LN_BITS;
    ((ln + (1 << (dropped - 1))) >> dropped) as i128
}

/// 2 artanh(p / q) = 2 (y + y³/3 + y⁵/5 + …) with y = p / q ≤ 1/3, in units of 2^−62; ln 2 where
/// p / q = 1/3 (Abramowitz and Stegun 4.1.27).
fn twice_artanh(p: u128, q: u128) -> u128 {
    let y = (p << POWER_BITS) / q;
    let (mut power, mut sum, mut n) = (y, y, 3);
    while power > 0 {
        power = (((power * y) >> POWER_BITS) * y) >> POWER_BITS;
        sum += power / n;
        n += 2;
    }
    2 * sum
}

/// 0.5^(span / half), in units of 2^−62.
pub(super) fn half_power(span: Time, half: Time) -> u64 {
    let (span, half) = (span.as_nanos(), half.as_nanos().max(1));
    let whole = span / half;
    if whole > u64::from(POWER_BITS) {
        return 0;
    }
    let fraction = (u128::from(span % half) << POWER_BITS) / u128::from(half);
    negative_exp((fraction * twice_artanh(1, 3)) >> POWER_BITS) >> whole
}

/// e^−y for y below 1, both in units of 2^−62.
fn negative_exp(y: u128) -> u64 {
    let (mut term, mut sum, mut n) = (u128::from(ONE), u128::from(ONE), 1);
    while term > 0 {
        term = ((term * y) >> POWER_BITS) / n;
        // The terms fall, so the sum stays positive.
        sum = if n % 2 == 1 { sum - term } else { sum + term };
        n += 1;
    }
    sum as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_those_of_the_tables() {
        let unit = (1_i64 << LN_BITS) as f64;
        for (a, b, expected) in [
            (1, 1, 0.0),
            (2, 1, std::f64::consts::LN_2),
            (10, 1, std::f64::consts::LN_10),
            (1_001, 1_000, 0.000_999_500_333_083_5),
        ] {
            let ln = ln_ratio(a, b) as f64 / unit;
            assert!((ln - expected).abs() < 1e-12, "{a} {b}: {ln}");
        }
        for (a, b) in [(6_000_000, 230_000), (5_800, 235), (u32::MAX.into(), 1)] {
            let (ln, expected) = (ln_ratio(a, b) as f64 / unit, (a as f64 / b as f64).ln());
            assert!((ln - expected).abs() < 2e-12, "{a} {b}: {ln} {expected}");
        }
    }

    #[test]
    fn a_power_of_one_half_halves_at_each_half_life_and_follows_the_curve_between() {
        let half = Time::from_secs(3);
        assert_eq!(half_power(Time::ZERO, half), ONE);
        assert_eq!(half_power(half, half), ONE / 2);
        assert_eq!(half_power(half * 5, half), ONE / 32);
        assert_eq!(half_power(Time::from_secs(86_400), half), 0);
        for millis in (1..20_000).step_by(7) {
            let power = half_power(Time::from_millis(millis), half) as f64 / ONE as f64;
            let expected = 0.5_f64.powf(millis as f64 / 3_000.0);
            assert!((power - expected).abs() < 1e-15, "{millis}");
        }
    }
}
