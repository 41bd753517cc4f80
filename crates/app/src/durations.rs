//! A histogram of durations in little memory, with exact mean and extremes.
//!
//! By default it keeps 11 significant bits, so half a bucket is 0.05 %: the resolution of all other
//! distributions in a summary. Only buckets that occur take memory, so thousands of flows can have
//! one each, and none grows with the length of the run.

use std::collections::BTreeMap;

use quell_units::Time;

/// Counts how often each span occurred. `BITS` significant bits of each are kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Durations<const BITS: u32 = 11> {
    /// Counts, by the lower end of the bucket in ns.
    buckets: BTreeMap<u64, u64>,
    count: u64,
    sum: u128,
    extremes: Option<(Time, Time)>,
}

impl<const BITS: u32> Durations<BITS> {
    /// Counts a duration of `span`.
    pub fn record(&mut self, span: Time) {
        let nanos = span.as_nanos();
        let below = coarseness::<BITS>(nanos);
        *self.buckets.entry(nanos >> below << below).or_default() += 1;
        self.count += 1;
        self.sum += u128::from(nanos);
        self.extend((span, span));
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (&bucket, count) in &other.buckets {
            *self.buckets.entry(bucket).or_default() += count;
        }
        self.count += other.count;
        self.sum += other.sum;
        if let Some(extremes) = other.extremes {
            self.extend(extremes);
        }
    }

    fn extend(&mut self, (low, high): (Time, Time)) {
        let (min, max) = self.extremes.unwrap_or((low, high));
        self.extremes = Some((min.min(low), max.max(high)));
    }

    /// Number of durations.
    pub const fn count(&self) -> u64 {
        self.count
    }
    /// Sum of all durations, in ns.
    pub const fn sum_ns(&self) -> u128 {
        self.sum
    }
    /// Mean, in ns; `None` if nothing was recorded.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }
    /// Shortest duration; `None` if nothing was recorded.
    pub fn min(&self) -> Option<Time> {
        self.extremes.map(|(min, _)| min)
    }
    /// Longest duration; `None` if nothing was recorded.
    pub fn max(&self) -> Option<Time> {
        self.extremes.map(|(_, max)| max)
    }

    /// The nearest rank: the shortest span with at least `thousandths` of all at or below it, as
    /// the middle of its bucket; `None` if nothing was recorded.
    pub fn quantile(&self, thousandths: u64) -> Option<Time> {
        let (min, max) = self.extremes?;
        let rank = (u128::from(self.count) * u128::from(thousandths)).div_ceil(1_000);
        // The ends are known exactly.
        if rank <= 1 {
            return Some(min);
        }
        if rank >= u128::from(self.count) {
            return Some(max);
        }
        let mut below = 0;
        let found = self.buckets.iter().find(|(_, count)| {
            below += u128::from(**count);
            below >= rank
        });
        found.map(|(&bucket, _)| {
            let middle = bucket + (1 << coarseness::<BITS>(bucket) >> 1);
            Time::from_nanos(middle).clamp(min, max)
        })
    }
}

/// Number of low bits that a bucket drops.
fn coarseness<const BITS: u32>(nanos: u64) -> u32 {
    (u64::BITS - nanos.leading_zeros()).saturating_sub(BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(spans: impl IntoIterator<Item = u64>) -> Durations {
        let mut durations = Durations::default();
        for span in spans {
            durations.record(Time::from_nanos(span));
        }
        durations
    }

    /// Numbers over many octaves, without an order.
    fn spans(count: u64) -> impl Iterator<Item = u64> {
        (1..=count).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (i % 40)) / 1_000 + i)
    }

    #[test]
    fn quantiles_agree_with_a_sorted_list() {
        for count in [1, 2, 3, 7, 100, 999, 5_000] {
            let durations = of(spans(count));
            let mut sorted: Vec<u64> = spans(count).collect();
            sorted.sort_unstable();
            for thousandths in [0, 1, 10, 250, 500, 750, 900, 990, 999, 1_000] {
                let rank = (count * thousandths).div_ceil(1_000).max(1);
                let exact = sorted[rank as usize - 1];
                let told = durations.quantile(thousandths).unwrap().as_nanos();
                // Half a bucket: 2^-11.
                assert!(told.abs_diff(exact) <= exact / 2_048, "{told} {exact}");
            }
            let sum: u128 = sorted.iter().map(|&span| u128::from(span)).sum();
            assert_eq!((durations.count(), durations.sum_ns()), (count, sum));
            assert_eq!(durations.min().unwrap().as_nanos(), sorted[0]);
            assert_eq!(
                durations.max().unwrap().as_nanos(),
                sorted[sorted.len() - 1]
            );
        }
    }

    #[test]
    fn parts_merged_equal_the_whole() {
        let mut merged = of(spans(100));
        merged.merge(&of(spans(1_000).skip(100)));
        merged.merge(&Durations::default());
        assert_eq!(merged, of(spans(1_000)));
    }

    #[test]
    fn nothing_has_no_figures() {
        let none: Durations = Durations::default();
        assert_eq!(
            (none.mean_ns(), none.min(), none.quantile(500)),
            (None, None, None)
        );
    }

    #[test]
    fn memory_follows_the_spread_of_the_values_and_not_their_number() {
        // From 1 to 2 s there are 2^10 buckets.
        let durations = of((0..1_000_000).map(|i| 1_000_000_000 + i * 1_000));
        assert!(
            durations.buckets.len() <= 1_025,
            "{}",
            durations.buckets.len()
        );
    }
}
