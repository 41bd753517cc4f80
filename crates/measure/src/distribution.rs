//! A distribution of whole numbers: an HDR histogram, with the exact mean and extremes.
//!
//! The buckets are those of HdrHistogram (Tene); a test compares them. Each packet is recorded several
//! times, so recording is only an index, a counter, a sum and two extremes.
//!
//! A quantile is the nearest rank: the smallest value with at least the given share of all values
//! at or below it. It is reported as the middle of its bucket, within the exact extremes, and so lies
//! within half a bucket of the true value: 0.05 % with 3 significant digits.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The figures of a distribution in a summary, in the unit given by the name of the field that holds
/// it. A distribution without values is `null` in JSON.
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

/// The quantiles of [`Dist`], in thousandths.
const QUANTILES: [u64; 7] = [10, 250, 500, 750, 900, 990, 999];

/// Significant digits and greatest value of a distribution. Its memory is allocated when it is made:
/// recording never allocates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resolution {
    digits: u8,
    highest: u64,
}

impl Resolution {
    /// `digits` significant digits (clamped to 1 to 5) for values up to `highest` (at least 2).
    /// Greater values count as `highest`, except in mean and maximum.
    pub fn new(digits: u8, highest: u64) -> Self {
        Self {
            digits: digits.clamp(1, 5),
            highest: highest.max(2),
        }
    }

    /// Bytes that one distribution takes.
    pub fn memory(self) -> u64 {
        self.buckets() * 8
    }

    /// Values below this have a bucket each: twice 10^digits. Each later bucket is at most one
    /// 10^digits-th of its values wide.
    fn first(self) -> u64 {
        (2 * 10_u64.pow(u32::from(self.digits))).next_power_of_two()
    }

    /// The number of buckets. As in the HDR paper the first range resolves in steps of one, each further one holds the
    /// upper half of a doubled range.
    fn buckets(self) -> u64 {
        let first = self.first();
        let doublings = u64::from((self.highest / first).checked_ilog2().map_or(0, |n| n + 1));
        first + doublings * first / 2
    }
}

/// Counts how often each value occurs.
#[derive(Clone)]
pub struct Distribution {
    /// Counts by bucket, ascending.
    counts: Vec<u64>,
    /// Bits of a value in the first range.
    first_bits: u32,
    /// The bucket of the highest value, which also counts all greater ones.
    beyond: usize,
    sum: u128,
    min: u64,
    max: u64,
}

impl Distribution {
    /// Empty.
    pub fn new(resolution: Resolution) -> Self {
        let mut empty = Self {
            counts: vec![0; resolution.buckets() as usize],
            first_bits: resolution.first().ilog2(),
            beyond: 0,
            sum: 0,
            min: u64::MAX,
            max: 0,
        };
        empty.beyond = empty.bucket(resolution.highest);
        empty
    }

    /// Counts `value` once.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.record_n(value, 1);
    }

    /// Counts `value` `times` times.
    #[inline]
    pub fn record_n(&mut self, value: u64, times: u64) {
        self.record_in(self.bucket(value), value, times);
    }

    /// The same of a value whose bucket is known.
    #[inline]
    pub(crate) fn record_in(&mut self, bucket: usize, value: u64, times: u64) {
        if times == 0 {
            return;
        }
        match self.counts.get_mut(bucket) {
            Some(count) => *count += times,
            None => self.counts[self.beyond] += times,
        }
        self.sum += match cfg!(target_family = "wasm") && (value | times) >> 32 == 0 {
            // WebAssembly has no product of 128 bits.
            true => u128::from(value * times),
            false => u128::from(value) * u128::from(times),
        };
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// The bucket of `value`: a value with more bits than the first range is halved once for each of
    /// them, and each halving moves on by half a range.
    #[inline]
    pub(crate) fn bucket(&self, value: u64) -> usize {
        let first = self.first_bits;
        let doublings = (value | ((1 << first) - 1)).ilog2() + 1 - first;
        ((u64::from(doublings) << (first - 1)) + (value >> doublings)) as usize
    }

    /// The bucket of `value`, which is `bucket` in `other`.
    #[inline]
    pub(crate) fn bucket_as_in(&self, other: &Self, bucket: usize, value: u64) -> usize {
        match self.first_bits == other.first_bits {
            true => bucket,
            false => self.bucket(value),
        }
    }

    /// The value in the middle of a bucket, within the extremes.
    fn representative(&self, bucket: usize) -> u64 {
        let half = 1_u64 << (self.first_bits - 1);
        let doublings = (bucket as u64 / half).saturating_sub(1);
        let lowest = (bucket as u64 - doublings * half) << doublings;
        let middle = lowest + ((1 << doublings) >> 1);
        middle.clamp(self.min, self.max)
    }

    /// The buckets from the first to the last that is not empty.
    fn span(&self) -> Range<usize> {
        if self.is_empty() {
            return 0..0;
        }
        let end = (self.bucket(self.max) + 1).min(self.counts.len());
        self.bucket(self.min).min(self.beyond)..end
    }

    /// Every bucket that is not empty with its count, ascending.
    fn occupied(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let counts = self.span().map(|bucket| (bucket, self.counts[bucket]));
        counts.filter(|&(_, count)| count > 0)
    }

    /// Adds the counts of `other`, which has the same resolution.
    pub fn merge(&mut self, other: &Self) {
        debug_assert_eq!(
            (self.counts.len(), self.first_bits),
            (other.counts.len(), other.first_bits),
            "merged distributions have one resolution"
        );
        for (bucket, count) in other.occupied() {
            self.counts[bucket] += count;
        }
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Removes all values and keeps the memory.
    pub fn clear(&mut self) {
        let span = self.span();
        self.counts[span].fill(0);
        (self.sum, self.min, self.max) = (0, u64::MAX, 0);
    }

    /// True if no value was recorded.
    pub fn is_empty(&self) -> bool {
        self.min > self.max
    }
    /// Number of values.
    pub fn count(&self) -> u64 {
        self.occupied().map(|(_, count)| count).sum()
    }
    /// Sum of all values.
    pub(crate) fn sum(&self) -> u128 {
        self.sum
    }
    /// Exact mean; `None` if empty.
    pub fn mean(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.sum as f64 / self.count() as f64)
    }

    /// Mean, quantiles and maximum, divided by `unit`; `None` if empty.
    pub fn dist(&self, unit: f64) -> Option<Dist> {
        let mean = self.mean()?;
        let count = self.count();
        // The highest rank is the maximum, the lowest the minimum: both are known exactly.
        let mut quantiles = [self.max; QUANTILES.len()];
        let (mut next, mut below) = (0, 0);
        for (bucket, here) in self.occupied() {
            below += here;
            while next < QUANTILES.len() && rank(QUANTILES[next], count) <= below {
                quantiles[next] = match rank(QUANTILES[next], count) {
                    1 => self.min,
                    rank if rank == count => self.max,
                    _ => self.representative(bucket),
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
        self.occupied()
            .map(|(bucket, count)| (self.representative(bucket), count))
            .collect()
    }
}

/// The least number of `count` values at or below the quantile.
fn rank(thousandths: u64, count: u64) -> u64 {
    let rank = (u128::from(count) * u128::from(thousandths)).div_ceil(1_000);
    rank.max(1) as u64
}

impl fmt::Debug for Distribution {
    /// Leaves out the thousands of buckets.
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
    use hdrhistogram::Histogram;
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
    fn memory_is_that_of_an_hdr_histogram() {
        for digits in 1..=3 {
            for highest in [2, 1_000, 5_000, 1_000_000_000_000] {
                let histogram = Histogram::<u64>::new_with_bounds(1, highest, digits).unwrap();
                let taken = histogram.distinct_values() as u64 * 8;
                let resolution = Resolution::new(digits, highest);
                assert_eq!(resolution.memory(), taken, "{digits} {highest}");
            }
        }
    }

    proptest! {
        /// Another implementation of the same histogram, value for value and count for count.
        #[test]
        fn buckets_are_those_of_hdr_histogram(
            values in prop::collection::vec((0_u64..=u64::MAX, 0_u32..64, 1_u64..1_000), 1..200),
            digits in 1_u8..=3,
            highest in 2_u64..1 << 50,
        ) {
            let mut ours = Distribution::new(Resolution::new(digits, highest));
            let mut theirs = Histogram::<u64>::new_with_bounds(1, highest, digits).unwrap();
            for (value, shift, times) in values {
                ours.record_n(value >> shift, times);
                theirs.saturating_record_n(value >> shift, times);
            }
            let expected: Vec<(u64, u64)> = theirs.iter_recorded().map(|bucket| {
                let middle = theirs.median_equivalent(bucket.value_iterated_to());
                (middle.clamp(ours.min, ours.max), bucket.count_since_last_iteration())
            }).collect();
            prop_assert_eq!(ours.counts(), expected);
            prop_assert_eq!(ours.count(), theirs.len());
        }

        #[test]
        fn quantiles_agree_with_a_sorted_list(values in prop::collection::vec(0_u64..2_000_000_000_000, 1..300), shift in 0_u32..40) {
            let mut values: Vec<u64> = values.iter().map(|&v| (v >> shift).min(1_000_000_000_000)).collect();
            let dist = of(&values).dist(1.0).unwrap();
            values.sort_unstable();
            let reported = [dist.p1, dist.p25, dist.p50, dist.p75, dist.p90, dist.p99, dist.p999];
            for (reported, thousandths) in reported.into_iter().zip(QUANTILES) {
                let rank = (values.len() * thousandths as usize).div_ceil(1_000);
                let exact = values[rank - 1] as f64;
                prop_assert!((reported - exact).abs() <= exact / 2_000.0, "{reported} {exact}");
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
