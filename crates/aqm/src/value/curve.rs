//! The shapes of throughput-value functions: how much the marginal bit is worth at a rate.
//!
//! Sources: the straight lines are those of the public PVPIE module for ns-3 (`tlpvpie`, gold 5·10⁸ − 5x), the rational form is that of
//! the P4 remarker of ELTE (65535·900 / (r + 900)), the inverse is a straight line on log-log axes, the shape that the papers recommend
//! without stating one; pieces on log-log axes take any other.
//! Deviations: 1. where a shape would fall below the smallest value, or below zero, it stays at the smallest code (the ns-3 module wraps
//! around). 2. Rates below 1 bit/s count as 1 bit/s, so the highest code is that of 1 bit/s.

use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

use super::code::{exp2, log2};
use crate::parameter::ParameterError;
use crate::units::Rate;

/// Fraction bits of the rates computed here.
pub(crate) const RATE_BITS: u32 = 32;

/// A point of a piecewise function: the marginal bit at `rate` is worth `value`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CurvePoint {
    /// A rate from 1 bit/s to [`Curve::FASTEST`].
    pub rate: Rate,
    /// A value from 1 to [`Curve::DEAREST`], in the unit of [`code`](super::code).
    pub value: u64,
}

/// A falling function of the rate x.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Curve {
    /// v(x) = reach / x: a straight line on log-log axes.
    Inverse {
        /// The rate at which the value has fallen to 1.
        reach: Rate,
    },
    /// v(x) = value · (1 − x/zero); from `zero` on the smallest value.
    Linear {
        /// The value at rate 0.
        value: u64,
        /// The rate at which it meets zero.
        zero: Rate,
    },
    /// v(x) = value · half / (x + half).
    Rational {
        /// The value at rate 0.
        value: u64,
        /// The rate at which the value is halved.
        half: Rate,
    },
    /// Straight lines on log-log axes from point to point, the first and the last continued to either side. Rates must not fall and values must
    /// fall; two points at one rate are a jump, which gives everything below it strict priority over everything behind it.
    Piecewise(Vec<CurvePoint>),
}

impl Curve {
    /// The highest rate a shape may name: 4 Tbit/s.
    pub const FASTEST: Rate = Rate::from_bps(4_000_000_000_000);
    /// The highest value a shape may name.
    pub const DEAREST: u64 = 1_000_000_000_000_000_000;
    /// The largest number of points.
    pub const MOST_POINTS: usize = 1_000;

    /// Checks that the curve falls and is in range.
    pub(crate) fn check(&self) -> Result<(), ParameterError> {
        let rate = |key, rate: Rate| match rate {
            rate if rate.is_zero() || rate > Self::FASTEST => Err(error(
                key,
                rate,
                format!("must be a rate from 1bit to {}", Self::FASTEST),
            )),
            _ => Ok(()),
        };
        let value = |key, lowest, value| match value {
            value if value < lowest || value > Self::DEAREST => Err(error(
                key,
                value,
                format!("must be from {lowest} to {}", Self::DEAREST),
            )),
            _ => Ok(()),
        };
        match self {
            Self::Inverse { reach } => rate("reach", *reach),
            Self::Linear { value: top, zero } => {
                value("value", 2, *top).and_then(|()| rate("zero", *zero))
            }
            Self::Rational { value: top, half } => {
                value("value", 2, *top).and_then(|()| rate("half", *half))
            }
            Self::Piecewise(points) => {
                for point in points {
                    rate("points", point.rate)?;
                    value("points", 1, point.value)?;
                }
                falling(points)
            }
        }
    }

    /// The rate up to which the value is at least 2^`log`, in units of 2⁻³² bit/s; `log` is in units of 2⁻⁵⁶.
    pub(crate) fn reaches(&self, log: i128) -> u128 {
        let whole = |rate: Rate| u128::from(rate.as_bps()) << RATE_BITS;
        match self {
            Self::Inverse { reach } => exp2(log2(reach.as_bps()) - log, RATE_BITS),
            Self::Linear { value, zero } => {
                // The share of the value that is asked for, in units of 2⁻⁶⁰; the rate is below 2⁴².
                let share = exp2(log - log2(*value), 60);
                let lost = share.min(1 << 60) * u128::from(zero.as_bps());
                whole(*zero) - (lost >> (60 - RATE_BITS))
            }
            Self::Rational { value, half } => {
                let sum = exp2(log2(half.as_bps()) + log2(*value) - log, RATE_BITS);
                sum.saturating_sub(whole(*half))
            }
            Self::Piecewise(points) => piece(points, log),
        }
    }
}

/// Whether points make a falling function.
fn falling(points: &[CurvePoint]) -> Result<(), ParameterError> {
    let show = |point: &CurvePoint| format!("[\"{}\", {}]", point.rate, point.value);
    let [first, .., last] = points else {
        let reason = "needs at least two points, each a rate and its value";
        return Err(error("points", points.len(), reason));
    };
    if points.len() > Curve::MOST_POINTS {
        let reason = format!("must be at most {} points", Curve::MOST_POINTS);
        return Err(error("points", points.len(), reason));
    }
    for pair in points.windows(2) {
        let (before, after) = (&pair[0], &pair[1]);
        let reason = if after.rate < before.rate {
            "must have rates that do not fall"
        } else if after.value >= before.value {
            "must have values that fall: a higher rate is worth less"
        } else {
            continue;
        };
        let reason = format!("{reason}; {} comes before it", show(before));
        return Err(error("points", show(after), reason));
    }
    let ends = [(first, &points[1]), (last, &points[points.len() - 2])];
    for (end, next) in ends {
        if end.rate == next.rate {
            let reason = "must not begin or end with a jump: the piece beyond it has no slope";
            return Err(error("points", show(end), reason));
        }
    }
    Ok(())
}

/// The rate up to which pieces on log-log axes are worth at least 2^`log`, in units of 2⁻³² bit/s.
fn piece(points: &[CurvePoint], log: i128) -> u128 {
    // The first point that is worth less; the ends go on beyond their points.
    let after = points
        .partition_point(|point| log2(point.value) >= log)
        .clamp(1, points.len() - 1);
    let (from, to) = (points[after - 1], points[after]);
    if from.rate == to.rate {
        return u128::from(from.rate.as_bps()) << RATE_BITS;
    }
    let (value, rate) = (log2(from.value), log2(from.rate.as_bps()));
    let fall = value - log2(to.value);
    let run = log2(to.rate.as_bps()) - rate;
    // Both below 2⁶ · 2⁵⁶ unless the value asked for is beyond all bounds. Values that differ have logarithms that do or nearly so.
    match (value - log).checked_mul(run) {
        Some(product) => exp2(rate + product / fall.max(1), RATE_BITS),
        None if log > value => 0,
        None => u128::MAX,
    }
}

fn error(key: &str, found: impl ToString, allowed: impl ToString) -> ParameterError {
    ParameterError {
        key: key.to_string(),
        found: found.to_string(),
        allowed: allowed.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{CodeScale, ValueFunction};

    fn piecewise(points: &[(u64, u64)]) -> Curve {
        let point = |&(bps, value)| CurvePoint {
            rate: Rate::from_bps(bps),
            value,
        };
        Curve::Piecewise(points.iter().map(point).collect())
    }

    fn tabulated(curve: &Curve) -> ValueFunction {
        ValueFunction::of(curve, 1_000, CodeScale::default()).unwrap()
    }

    #[test]
    fn points_on_a_straight_line_make_it_and_its_continuation() {
        // 100 Gbit/s over the rate, given by two points close to each other.
        let gold = tabulated(&Curve::Inverse {
            reach: Rate::from_mbps(100_000),
        });
        let line = tabulated(&piecewise(&[(1_000_000, 100_000), (10_000_000, 10_000)]));
        assert_eq!(line.highest(), gold.highest());
        for code in 1..gold.highest() {
            let (one, other) = (line.rate_above(code), gold.rate_above(code));
            assert!(one.as_bps().abs_diff(other.as_bps()) <= 1, "{code}");
        }
    }

    #[test]
    fn a_function_goes_through_its_points_and_straight_between_them() {
        let points = [
            (64_000, 1_000_000),
            (1_000_000, 300_000),
            (20_000_000, 40_000),
            (20_000_000, 500),
            (700_000_000, 3),
        ];
        let function = tabulated(&piecewise(&points));
        let codes = CodeScale::default();
        for (bps, value) in points {
            let (rate, code) = (Rate::from_bps(bps), i32::from(codes.code(value)));
            // Of a jump the upper end belongs to the rate itself.
            let jump = value == 500;
            let at = i32::from(function.code_at(if jump { Rate::from_bps(bps + 1) } else { rate }));
            assert!((at - code).abs() <= 1, "{bps}: {at} for {code}");
        }
        // Halfway between two rates on the logarithmic axis stands the mean of the logarithms of their values.
        for (from, to) in [(0, 1), (1, 2), (3, 4)] {
            let (from, to): ((u64, u64), (u64, u64)) = (points[from], points[to]);
            let middle = Rate::from_bps(u64::isqrt(from.0 * to.0));
            let mean = codes.code(from.1).midpoint(codes.code(to.1));
            assert!(function.code_at(middle).abs_diff(mean) <= 1, "{middle}");
        }
        // Everything up to the jump survives any threshold within it.
        for code in codes.code(500) + 1..codes.code(40_000) - 1 {
            assert_eq!(function.rate_above(code), Rate::from_mbps(20));
        }
    }

    #[test]
    fn what_would_fall_below_the_smallest_value_stays_there() {
        let linear = tabulated(&Curve::Linear {
            value: 500_000_000,
            zero: Rate::from_mbps(100),
        });
        // The ns-3 module wraps around from here on.
        for mbps in [100, 101, 4_000_000, u64::MAX / 1_000_000] {
            assert_eq!(linear.code_at(Rate::from_mbps(mbps)), 1);
        }
        assert_eq!(linear.code_at(Rate::UNLIMITED), 1);
        // 64 · log₂(5·10⁸) is 1849.4 at rate 0, and half of it an octave less.
        assert_eq!(linear.code_at(Rate::ZERO), 1_849);
        assert_eq!(linear.code_at(Rate::from_mbps(50)), 1_785);
        // Rational functions never end; they reach value 1 at 65 534 · half.
        let rational = tabulated(&Curve::Rational {
            value: 65_535,
            half: Rate::from_bps(720_000),
        });
        assert_eq!(rational.code_at(Rate::from_bps(720_000)), 960);
        assert_eq!(rational.code_at(Rate::from_mbps(50_000)), 1);
    }
}
