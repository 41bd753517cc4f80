//! Random sizes without floating point at run time: Pareto, log-normal and empirical laws.
//!
//! A law works with logarithms to base 2 in units of 2^-32. log2 is computed bit by bit, when a law is
//! made; exp2 has a table of 256 points and a cubic between them, whose relative error is below 2^-31.
//! The table is computed by the compiler, whose floating point is the same on every machine.
//!
//! Exponential and normal deviates are those of [`exponential`](crate::exponential) and
//! [`normal`].

use std::f64::consts::LN_2;

use quell_units::{Bytes, Random, Sizes, Spread};

use crate::exponential::minus_ln;
use crate::normal;

/// Fraction bits of a logarithm.
const LOG_BITS: u32 = 32;
/// log2(e) in units of 2^-32.
const LOG2_E: i128 = 6_196_328_019;
/// ln 2 in units of 2^-62.
const LN_2_FINE: u128 = (LN_2 * (1_u64 << 62) as f64) as u128;
/// Twice the 95th percentile of the standard normal distribution, in units of 10^-9.
const BETWEEN_P5_AND_P95: i128 = 3_289_707_254;
/// Draws until a log-normal size is taken to be the median: a law that redraws so often is refused
/// when it is read.
const MOST_DRAWS: u32 = 10_000;

/// 2^(point / 256) in units of 2^-62.
static POWERS: [u64; 256] = powers();

/// A random size.
#[derive(Debug, Clone)]
pub struct RandomSize {
    shape: Shape,
    /// The smallest size, and the largest.
    range: (u64, u64),
}

#[derive(Debug, Clone)]
enum Shape {
    Fixed,
    Pareto {
        /// log2 of the smallest size.
        from: i64,
        /// (min/max)^α in units of 2^-64.
        beyond: u64,
        /// log2(e)/α.
        per_deviate: i64,
    },
    LogNormal {
        /// log2 of the median.
        median: i64,
        /// Standard deviation of log2.
        sigma: i64,
    },
    /// The share of sizes up to each point, in units of 2^-64, and log2 of its size. The last is all.
    Steps(Vec<(u128, i64)>),
}

impl RandomSize {
    /// The distribution of `sizes`.
    pub fn new(sizes: &Sizes) -> Self {
        let (low, high) = sizes.range();
        let log = |size: Bytes| log2(size.get());
        let shape = match sizes {
            Sizes::Fixed(_) => Shape::Fixed,
            Sizes::Pareto { alpha, min, max } => {
                let alpha = i128::from((*alpha).max(1));
                let beyond = i128::from(log(*min) - log(*max)) * alpha / 1_000_000;
                Shape::Pareto {
                    from: log(*min),
                    beyond: exp2(i64::try_from(beyond).unwrap_or(i64::MIN), 64),
                    per_deviate: (LOG2_E * 1_000_000 / alpha) as i64,
                }
            }
            Sizes::LogNormal { spread, .. } => match spread {
                Spread::Median { median, sigma } => Shape::LogNormal {
                    median: log(*median),
                    sigma: (LOG2_E * i128::from(*sigma) / 1_000_000) as i64,
                },
                Spread::Percentiles { p5, p95 } => Shape::LogNormal {
                    median: (log(*p5) + log(*p95)) / 2,
                    sigma: (i128::from(log(*p95) - log(*p5)) * 1_000_000_000 / BETWEEN_P5_AND_P95)
                        as i64,
                },
            },
            Sizes::Empirical(steps) => {
                let point = |&(size, share): &(u32, u32)| {
                    let share = (u128::from(share) << 64) / 1_000_000;
                    (share, log2(size.into()))
                };
                Shape::Steps(steps.points().iter().map(point).collect())
            }
        };
        Self {
            shape,
            range: (low.get(), high.get()),
        }
    }

    /// Log-normal sizes from `low` to below `high`, with the mean `mu` and the standard deviation
    /// `sigma` of the natural logarithm, both in units of 10^-4.
    pub(crate) const fn log_normal(mu: i64, sigma: i64, (low, high): (u64, u64)) -> Self {
        Self {
            shape: Shape::LogNormal {
                median: (mu as i128 * LOG2_E / 10_000) as i64,
                sigma: (sigma as i128 * LOG2_E / 10_000) as i64,
            },
            range: (low, high - 1),
        }
    }

    /// Log-normal sizes with this mean and a standard deviation of the natural logarithm of 1, below
    /// 20 times the mean, which makes them 0.6 % smaller on average.
    pub(crate) fn around(mean: u64) -> Self {
        Self {
            shape: Shape::LogNormal {
                median: log2(mean) - (LOG2_E / 2) as i64,
                sigma: LOG2_E as i64,
            },
            range: (1, 20 * mean - 1),
        }
    }

    /// A size, in bytes.
    pub fn draw(&self, random: &mut Random) -> u64 {
        let (low, high) = self.range;
        match &self.shape {
            Shape::Fixed => low,
            Shape::Pareto {
                from,
                beyond,
                per_deviate,
            } => {
                // Uniform over the part of (0, 1] that does not lead beyond the largest size.
                let rest = (1_u128 << 64) - u128::from(*beyond);
                let kept = beyond + ((u128::from(random.u64()) * rest) >> 64) as u64;
                let deviate = i128::from(minus_ln(kept)) * i128::from(*per_deviate);
                exp2(from + (deviate >> LOG_BITS) as i64, 0).clamp(low, high)
            }
            Shape::LogNormal { median, sigma } => {
                let size = || {
                    let deviate = i128::from(normal::deviate(random)) * i128::from(*sigma);
                    exp2(median + (deviate >> normal::FRACTION_BITS) as i64, 0)
                };
                let mut sizes = std::iter::repeat_with(size).take(MOST_DRAWS as usize);
                let fitting = sizes.find(|size| (low..=high).contains(size));
                fitting.unwrap_or_else(|| exp2(*median, 0).clamp(low, high))
            }
            Shape::Steps(points) => {
                let draw = u128::from(random.u64());
                let after = points.partition_point(|(share, _)| *share <= draw);
                let after = after.min(points.len() - 1);
                let (share, log) = points[after];
                let Some((below, from)) = after.checked_sub(1).map(|index| points[index]) else {
                    return low;
                };
                let part = ((draw - below) << LOG_BITS) / (share - below);
                let step = (i128::from(log - from) * part as i128) >> LOG_BITS;
                exp2(from + step as i64, 0).clamp(low, high)
            }
        }
    }
}

/// Sizes by number: the same at both ends, and whichever of them are asked for.
#[derive(Debug, Clone)]
pub struct NumberedSizes {
    size: RandomSize,
    seed: u64,
}

impl NumberedSizes {
    /// Draws the seed of all sizes.
    pub fn new(sizes: &Sizes, random: &mut Random) -> Self {
        Self {
            size: RandomSize::new(sizes),
            seed: random.u64(),
        }
    }
    /// The size of this number, in bytes.
    pub fn of(&self, number: u64) -> u64 {
        let mut own = Random::new(self.seed.wrapping_add(number), "size");
        self.size.draw(&mut own)
    }
}

/// log2 of `value` in units of 2^-32, rounded down; 0 counts as 1.
fn log2(value: u64) -> i64 {
    let value = value.max(1);
    let whole = 63 - value.leading_zeros();
    // In [1, 2), in units of 2^-63. A square above 2 is a further half.
    let mut rest = value << value.leading_zeros();
    let mut log = u64::from(whole);
    for _ in 0..LOG_BITS {
        let square = (u128::from(rest) * u128::from(rest)) >> 63;
        let is_above = square >> 64 != 0;
        rest = (square >> u32::from(is_above)) as u64;
        log = log << 1 | u64::from(is_above);
    }
    log as i64
}

/// 2^(`log` / 2^32 + `bits`), rounded down.
fn exp2(log: i64, bits: i64) -> u64 {
    let whole = (log >> LOG_BITS) + bits;
    let fraction = log as u64 & 0xffff_ffff;
    let power = u128::from(POWERS[(fraction >> 24) as usize]);
    // e^x − 1 for an x below ln 2 / 256, in units of 2^-62.
    let x = (u128::from(fraction & 0xff_ffff) * LN_2_FINE) >> LOG_BITS;
    let square = (x * x) >> 62;
    let cube = (square * x) >> 62;
    let power = power + ((power * (x + square / 2 + cube / 6)) >> 62);
    match whole {
        ..0 => 0,
        0..=62 => (power >> (62 - whole)) as u64,
        63 => (power << 1) as u64,
        _ => u64::MAX,
    }
}

const fn powers() -> [u64; 256] {
    let mut powers = [0; 256];
    let mut point = 0;
    while point < powers.len() {
        let x = point as f64 / 256.0 * LN_2;
        let (mut term, mut sum, mut n) = (1.0, 1.0, 1);
        while n < 24 {
            term *= x / n as f64;
            sum += term;
            n += 1;
        }
        powers[point] = (sum * (1_u64 << 62) as f64) as u64;
        point += 1;
    }
    powers
}

#[cfg(test)]
mod tests;
