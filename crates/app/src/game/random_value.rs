//! Normal, largest-extreme-value and exponential laws, and one of two sizes, from the integer tables of [`normal`] and
//! [`exponential`](crate::exponential).

use quell_units::Random;

use crate::exponential::minus_ln;
use crate::normal;

/// Fraction bits of [`minus_ln`].
const LOG_BITS: u32 = 32;
/// 32 ln 2 in units of 2^-32.
const LN_2_TO_32: i64 = 95_265_423_098;
/// Draws until the nearest allowed value is taken: a law of use is allowed nearly always.
const MOST_DRAWS: u32 = 1_000;

/// A random value, in units that its owner chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RandomValue {
    /// Always the same.
    Fixed(u64),
    /// Normal.
    Normal {
        /// Mean.
        mean: u64,
        /// Standard deviation.
        stddev: u64,
    },
    /// Largest extreme value, also called Gumbel: `from` − `scale` ln E with E exponential of mean 1. Its mean is `from` + 0.5772
    /// `scale`, its standard deviation 1.2825 `scale`.
    Extreme {
        /// The most frequent value.
        from: u64,
        /// Its width.
        scale: u64,
    },
    /// Exponential.
    Exponential {
        /// Mean.
        mean: u64,
    },
    /// One of two normal laws, each a mean and a standard deviation.
    Either {
        /// Share of the first, in thousandths.
        first: u32,
        /// Both.
        laws: [(u64, u64); 2],
    },
}

impl RandomValue {
    /// A value from `low` to `high`: what is outside is drawn again.
    pub fn draw(&self, (low, high): (u64, u64), random: &mut Random) -> u64 {
        let mut value = || match *self {
            Self::Fixed(value) => i128::from(value),
            Self::Normal { mean, stddev } => deviating(mean, stddev, random),
            Self::Exponential { mean } => {
                (i128::from(mean) * i128::from(minus_ln(random.u64()))) >> LOG_BITS
            }
            Self::Either { first, laws } => {
                let (mean, stddev) = laws[usize::from(random.below(1_000) >= first.into())];
                deviating(mean, stddev, random)
            }
            Self::Extreme { from, scale } => {
                // E in units of 2^-32 is a draw of [`minus_ln`] again: −ln(E / 2^64) = −ln E + 32 ln 2.
                let exponential = minus_ln(random.u64());
                let deviate = minus_ln(exponential) as i64 - LN_2_TO_32;
                i128::from(from) + ((i128::from(scale) * i128::from(deviate)) >> LOG_BITS)
            }
        };
        let range = i128::from(low)..=i128::from(high);
        let mut values = std::iter::repeat_with(&mut value).take(MOST_DRAWS as usize);
        let found = values.find(|value| range.contains(value));
        let found = found.unwrap_or_else(value);
        found.clamp(*range.start(), *range.end()) as u64
    }

    /// The mean without bounds, rounded down.
    pub const fn mean(&self) -> u64 {
        match *self {
            Self::Fixed(value) | Self::Normal { mean: value, .. } => value,
            Self::Extreme { from, scale } => from + scale * 5_772 / 10_000,
            Self::Exponential { mean } => mean,
            Self::Either { first, laws } => {
                let first = first as u64;
                (laws[0].0 * first + laws[1].0 * (1_000 - first)) / 1_000
            }
        }
    }
}

fn deviating(mean: u64, stddev: u64, random: &mut Random) -> i128 {
    let deviate = i128::from(normal::deviate(random));
    i128::from(mean) + ((i128::from(stddev) * deviate) >> normal::FRACTION_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and standard deviation of many draws.
    fn moments(law: RandomValue) -> (f64, f64) {
        let mut random = Random::new(4, "law");
        let draws: Vec<f64> = (0..400_000)
            .map(|_| law.draw((0, u64::MAX), &mut random) as f64)
            .collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let squares: f64 = draws.iter().map(|x| (x - mean) * (x - mean)).sum();
        (mean, (squares / draws.len() as f64).sqrt())
    }

    #[test]
    fn laws_have_their_means_and_deviations() {
        let normal = RandomValue::Normal {
            mean: 1_000_000,
            stddev: 100_000,
        };
        let extreme = RandomValue::Extreme {
            from: 1_000_000,
            scale: 100_000,
        };
        let exponential = RandomValue::Exponential { mean: 1_000_000 };
        let either = RandomValue::Either {
            first: 700,
            laws: [(1_000_000, 100_000), (2_000_000, 200_000)],
        };
        // Four standard errors of the mean are 0.6 % of the deviation, of the deviation 0.7 %, and of that of
        // the exponential law 0.9 %. The variance of either is 0.7 · 0.01 + 0.3 · 0.04 + 0.7 · 0.3.
        for (law, mean, stddev) in [
            (exponential, 1_000_000.0, 1_000_000.0),
            (either, 1_300_000.0, 478_540.0),
            (normal, 1_000_000.0, 100_000.0),
            (extreme, 1_057_722.0, 128_255.0),
        ] {
            let found = moments(law);
            assert!((found.0 - mean).abs() < 0.008 * stddev, "{law:?} {found:?}");
            assert!((found.1 / stddev - 1.0).abs() < 0.01, "{law:?} {found:?}");
        }
        assert_eq!((extreme.mean(), either.mean()), (1_057_720, 1_300_000));
        assert_eq!(moments(RandomValue::Fixed(7)), (7.0, 0.0));
    }

    #[test]
    fn the_tail_of_extremes_is_exponential_and_bounds_hold() {
        let law = RandomValue::Extreme {
            from: 0,
            scale: 1_000_000,
        };
        let mut random = Random::new(5, "law");
        let above = (0..400_000).filter(|_| law.draw((0, u64::MAX), &mut random) > 3_000_000);
        // P(X > 3) = 1 − exp(−e^−3) = 4.86 %, over P(X ≥ 0) = 1 − 1/e.
        let share = above.count() as f64 / 400_000.0;
        assert!(
            (share / (0.048_568 / 0.632_121) - 1.0).abs() < 0.03,
            "{share}"
        );
        for _ in 0..10_000 {
            let value = law.draw((500_000, 600_000), &mut random);
            assert!((500_000..=600_000).contains(&value));
        }
        assert_eq!(RandomValue::Fixed(5).draw((7, 9), &mut random), 7);
    }
}
