//! Logarithm and exponential of floating point, for reports: the same bits on every machine.
//!
//! They use only + − × ÷, which IEEE 754 rounds exactly, so that no mathematical library decides a
//! digit of a result. Their relative error is below 10^-14.

use std::f64::consts::{LN_2, LN_10, SQRT_2};

/// ln x for x > 0; −∞ at 0.
///
/// x = 2^k m with m around 1, and ln m = 2 (y + y³/3 + y⁵/5 + …) with y = (m − 1) / (m + 1),
/// Abramowitz and Stegun 4.1.27.
pub(crate) fn ln(x: f64) -> f64 {
    if x <= 0.0 {
        return f64::NEG_INFINITY;
    }
    let bits = x.to_bits();
    let mut exponent = ((bits >> 52) & 0x7ff) as i32 - 1_023;
    let mut mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1_023 << 52);
    if mantissa > SQRT_2 {
        mantissa /= 2.0;
        exponent += 1;
    }
    let y = (mantissa - 1.0) / (mantissa + 1.0);
    let (mut power, mut sum) = (y, y);
    for n in 1..14 {
        power *= y * y;
        sum += power / f64::from(2 * n + 1);
    }
    f64::from(exponent) * LN_2 + 2.0 * sum
}

/// log₂ x.
pub(crate) fn log2(x: f64) -> f64 {
    ln(x) / LN_2
}

/// log₁₀ x.
pub(crate) fn log10(x: f64) -> f64 {
    ln(x) / LN_10
}

/// e^x for x up to 700; 0 below −700.
///
/// x = k ln 2 + r, and the series of e^r.
pub(crate) fn exp(x: f64) -> f64 {
    if x < -700.0 {
        return 0.0;
    }
    let whole = (x.min(700.0) / LN_2) as i32;
    let rest = x.min(700.0) - f64::from(whole) * LN_2;
    let (mut term, mut sum) = (1.0, 1.0);
    for n in 1..22 {
        term *= rest / f64::from(n);
        sum += term;
    }
    sum * f64::from_bits(((whole + 1_023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_close(found: f64, expected: f64) -> bool {
        (found - expected).abs() <= 1e-13 * expected.abs().max(1e-3)
    }

    #[test]
    fn agree_with_the_mathematical_library() {
        for i in 1..20_000 {
            let x = f64::from(i) * f64::from(i) * 1e-4;
            assert!(is_close(ln(x), x.ln()), "ln {x}");
            assert!(is_close(log2(x), x.log2()), "log2 {x}");
            assert!(is_close(log10(x), x.log10()), "log10 {x}");
        }
        for i in -6_000..6_000 {
            let x = f64::from(i) / 10.0;
            let (found, expected) = (exp(x), x.exp());
            assert!((found / expected - 1.0).abs() < 1e-12, "exp {x}");
        }
        assert_eq!((ln(1.0), exp(0.0), exp(-1e9)), (0.0, 1.0, 0.0));
        assert_eq!(ln(0.0), f64::NEG_INFINITY);
    }
}
