//! Variation in size of the segments of one level.
//!
//! A segment that shows much motion is large in every level, so each has one factor. It is log-normal
//! with mean 1, drawn from a stream of its own: the sizes are the same whatever the player chooses.

use quell_units::{Random, Time};

use super::fixed_point::{LN_BITS, POWER_BITS, half_power, ln_ratio};
use crate::normal::normal_span;

/// Fraction bits of a [`Variation`].
const VARIATION_BITS: u32 = 24;

/// A log-normal factor with mean 1.
#[derive(Debug, Clone)]
pub(super) struct Variation {
    /// Standard deviation of its natural logarithm, in units of 2^−24; 0 for a factor of 1.
    sigma: u64,
    random: Random,
}

impl Variation {
    /// Sizes with a coefficient of variation in thousandths, at most 1 000.
    pub(super) fn new(thousandths: u64, random: Random) -> Self {
        // σ² = ln(1 + c²)
        let square = thousandths * thousandths;
        let variance = ln_ratio(1_000_000 + square, 1_000_000) as u128;
        let sigma = (variance << (2 * VARIATION_BITS - LN_BITS)).isqrt() as u64;
        Self { sigma, random }
    }

    /// `size` times the next factor, at least 1.
    pub(super) fn next(&mut self, size: u64) -> u64 {
        if self.sigma == 0 {
            return size;
        }
        let sigma = i128::from(self.sigma);
        // A deviate between −6.3 and 6.3, in units of 2^−24.
        let unit = 1_u64 << VARIATION_BITS;
        let (mean, stddev) = (Time::from_nanos(8 * unit), Time::from_nanos(unit));
        let deviate = normal_span(mean, stddev, &mut self.random).signed_since(mean);
        // e^x with x = σ N − σ²/2, as 2^(x / ln 2): a whole power, and a power of one half.
        let exponent = (sigma * i128::from(deviate) - sigma * sigma / 2) >> VARIATION_BITS;
        let ln_2 = ln_ratio(2, 1) >> (LN_BITS - VARIATION_BITS);
        let octaves = exponent.div_euclid(ln_2) + 1;
        let below = octaves * ln_2 - exponent;
        let fraction = half_power(
            Time::from_nanos(below as u64),
            Time::from_nanos(ln_2 as u64),
        );
        let scaled = u128::from(size) * u128::from(fraction);
        let shift = i128::from(POWER_BITS) - octaves;
        (scaled >> shift.clamp(0, 127)).clamp(1, u128::from(u64::MAX)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_have_mean_one_and_the_deviation_that_was_asked_for() {
        for thousandths in [0, 200, 1_000] {
            let mut variation = Variation::new(thousandths, Random::new(3, "sizes"));
            let count = 200_000;
            let sizes: Vec<f64> = (0..count)
                .map(|_| variation.next(1_000_000) as f64 / 1e6)
                .collect();
            let mean = sizes.iter().sum::<f64>() / f64::from(count);
            let square = sizes.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
            let deviation = (square / f64::from(count)).sqrt();
            let wanted = thousandths as f64 / 1_000.0;
            // Five standard errors of the mean; the deviation of a heavy tail is less sure.
            assert!((mean - 1.0).abs() <= 5.0 * wanted / f64::from(count).sqrt());
            assert!((deviation - wanted).abs() <= 0.03 * wanted, "{deviation}");
        }
    }
}
