//! A distribution of whole numbers: an HDR histogram with exact mean and extremes beside it.
//!
//! A quantile is the nearest rank: the smallest value with at least the given share of all values
//! at or below it. It is told as the middle of its histogram bucket, within the exact extremes, and
//! so lies within half a bucket of the true value: 0.05 % with 3 significant digits.

use std::fmt;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// The figures of a distribution that a summary holds, in the unit that the field's name tells.
/// A distribution without values has none: `null` in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Dist {
    /// Exact arithmetic mean.
    pub mean: f64,
    /// 1st percentile.
    pub p1: f64,
    /// 25th percentile.
    pub p25: f64,
    /// Median.
    pub p50: f64,
    /// 75th percentile.
    pub p75: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Exact largest value.
    pub max: f64,
}

impl Dist {
    /// What nearly all values lie in, P99 − P1: the swing of a backlog, the jitter of a delay.
    pub fn swing(&self) -> f64 {
        self.p99 - self.p1
    }
}

/// The quantiles of [`Dist`], in thousandths.
const QUANTILES: [u64; 7] = [10, 250, 500, 750, 900, 990, 999];

/// How finely and how far a distribution resolves. The memory is taken at once: recording never
/// allocates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resolution {
    digits: u8,
    highest: u64,
}

impl Resolution {
    /// `digits` significant digits, 1 to 5 (others are moved there), up to `highest`, at least 2;
    /// greater values count as `highest`, except in mean and maximum.
    pub fn new(digits: u8, highest: u64) -> Self {
        Self {
            digits: digits.clamp(1, 5),
            highest: highest.max(2),
        }
    }

    /// Bytes that one distribution takes.
    pub fn memory(self) -> u64 {
        // As in the HDR paper: the first bucket resolves 2 × 10^digits in steps of one, each
        // further one holds the upper half of a doubled range.
        let first = (2 * 10_u64.pow(u32::from(self.digits))).next_power_of_two();
        let doublings = u64::from((self.highest / first).checked_ilog2().map_or(0, |n| n + 1));
        (first + doublings * first / 2) * 8
    }
}

/// Counts how often each value occurs.
#[derive(Clone)]
pub struct Distribution {
    histogram: Histogram<u64>,
    sum: u128,
    min: u64,
    max: u64,
}

impl Distribution {
    /// Empty.
    pub fn new(resolution: Resolution) -> Self {
        let histogram = Histogram::new_with_bounds(1, resolution.highest, resolution.digits);
        Self {
            histogram: histogram.expect("a resolution is within the histogram's bounds"),
            sum: 0,
            min: u64::MAX,
            max: 0,
        }
    }

    /// `value` occurs once more.
    pub fn record(&mut self, value: u64) {
        self.record_n(value, 1);
    }

    /// `value` occurs `times` more often.
    #[inline]
    pub fn record_n(&mut self, value: u64, times: u64) {
        if times == 0 {
            return;
        }
        self.histogram.saturating_record_n(value, times);
        self.sum += u128::from(value) * u128::from(times);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds all that `other` counts.
    pub fn merge(&mut self, other: &Self) {
        // Both have the same bounds, or `other` has smaller ones; what lies beyond cannot be added
        // and would be a broken invariant of this crate.
        let added = self.histogram.add(&other.histogram);
        debug_assert!(added.is_ok(), "merged distributions have one resolution");
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Forgets everything, and keeps the memory.
    pub fn clear(&mut self) {
        if !self.is_empty() {
            self.histogram.reset();
            (self.sum, self.min, self.max) = (0, u64::MAX, 0);
        }
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }
    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }
    /// Exact mean; `None` if empty.
    pub fn mean(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.sum as f64 / self.count() as f64)
    }

    /// Mean, quantiles and maximum, divided by `unit`; `None` if empty.
    pub fn dist(&self, unit: f64) -> Option<Dist> {
        let mean = self.mean()?;
        // The highest rank is the maximum, the lowest the minimum: both are known exactly.
        let mut quantiles = [self.max; QUANTILES.len()];
        let (mut next, mut below) = (0, 0);
        for bucket in self.histogram.iter_recorded() {
            below += bucket.count_since_last_iteration();
            while next < QUANTILES.len() && self.rank(QUANTILES[next]) <= below {
                quantiles[next] = match self.rank(QUANTILES[next]) {
                    1 => self.min,
                    rank if rank == self.count() => self.max,
                    _ => self.representative(bucket.value_iterated_to()),
                };
                next += 1;
            }
        }
        let [p1, p25, p50, p75, p90, p99, p999] = quantiles.map(|value| value as f64 / unit);
        Some(Dist {
            mean: mean / unit,
            p1,
            p25,
            p50,
            p75,
            p90,
            p99,
            p999,
            max: self.max as f64 / unit,
        })
    }

    /// Every value that occurred, to the resolution, with its count, in ascending order.
    pub fn counts(&self) -> Vec<(u64, u64)> {
        self.histogram
            .iter_recorded()
            .map(|bucket| {
                let value = self.representative(bucket.value_iterated_to());
                (value, bucket.count_since_last_iteration())
            })
            .collect()
    }

    /// How many values are at or below the quantile at the least.
    fn rank(&self, thousandths: u64) -> u64 {
        let rank = (u128::from(self.count()) * u128::from(thousandths)).div_ceil(1_000);
        rank.max(1) as u64
    }

    /// The value that stands for a bucket.
    fn representative(&self, value: u64) -> u64 {
        self.histogram
            .median_equivalent(value)
            .clamp(self.min, self.max)
    }
}

impl fmt::Debug for Distribution {
    /// Not the thousands of buckets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Distribution")
            .field("count", &self.count())
            .field("mean", &self.mean())
            .field("max", &self.max)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Distribution {
        let mut distribution = Distribution::new(Resolution::new(3, 1_000_000_000_000));
        for &value in values {
            distribution.record(value);
        }
        distribution
    }

    #[test]
    fn three_values_have_their_mean_and_ranks() {
        let dist = of(&[3_000_000, 1_000_000, 8_000_000]).dist(1e6).unwrap();
        assert_eq!((dist.mean, dist.p1, dist.max), (4.0, 1.0, 8.0));
        assert!((dist.p50 - 3.0).abs() < 3.0 * 0.000_5);
        assert_eq!((dist.p75, dist.p999), (8.0, 8.0));
        assert_eq!(dist.swing(), 7.0);
    }

    #[test]
    fn one_value_is_exactly_every_figure() {
        let dist = of(&[123_456_789; 5]).dist(1.0).unwrap();
        let value = 123_456_789.0;
        assert_eq!(
            [dist.mean, dist.p1, dist.p50, dist.p999, dist.max],
            [value; 5]
        );
    }

    #[test]
    fn an_empty_distribution_has_no_figures() {
        let mut distribution = of(&[]);
        assert_eq!((distribution.dist(1.0), distribution.mean()), (None, None));
        distribution.record_n(7, 0);
        assert!(distribution.is_empty() && distribution.counts().is_empty());
        distribution.record(7);
        distribution.clear();
        assert_eq!(distribution.dist(1.0), None);
    }

    #[test]
    fn values_beyond_the_bound_keep_their_mean_and_maximum() {
        let mut distribution = Distribution::new(Resolution::new(3, 1_000));
        distribution.record_n(1_000_000, 2);
        let dist = distribution.dist(1.0).unwrap();
        assert_eq!((dist.mean, dist.max, distribution.count()), (1e6, 1e6, 2));
    }

    #[test]
    fn memory_is_what_the_histogram_takes() {
        for digits in 1..=3 {
            for highest in [2, 1_000, 5_000, 1_000_000_000_000] {
                let resolution = Resolution::new(digits, highest);
                let histogram = Distribution::new(resolution).histogram;
                let taken = histogram.distinct_values() as u64 * 8;
                assert_eq!(resolution.memory(), taken, "{digits} {highest}");
            }
        }
    }

    proptest! {
        #[test]
        fn quantiles_agree_with_a_sorted_list(values in prop::collection::vec(0_u64..2_000_000_000_000, 1..300), shift in 0_u32..40) {
            let mut values: Vec<u64> = values.iter().map(|&v| (v >> shift).min(1_000_000_000_000)).collect();
            let dist = of(&values).dist(1.0).unwrap();
            values.sort_unstable();
            let told = [dist.p1, dist.p25, dist.p50, dist.p75, dist.p90, dist.p99, dist.p999];
            for (told, thousandths) in told.into_iter().zip(QUANTILES) {
                let rank = (values.len() * thousandths as usize).div_ceil(1_000);
                let exact = values[rank - 1] as f64;
                prop_assert!((told - exact).abs() <= exact / 2_000.0, "{told} {exact}");
            }
            let sum: u64 = values.iter().sum();
            prop_assert_eq!(dist.mean, sum as f64 / values.len() as f64);
        }

        #[test]
        fn parts_merged_equal_the_whole(values in prop::collection::vec(0_u64..2_000_000_000, 0..200), cut in 0_usize..200) {
            let cut = cut.min(values.len());
            let mut merged = of(&values[..cut]);
            merged.merge(&of(&values[cut..]));
            let whole = of(&values);
            prop_assert_eq!(merged.dist(1.0), whole.dist(1.0));
            prop_assert_eq!(merged.counts(), whole.counts());
        }
    }
}
