//! A histogram of lateness with a bounded relative error of 1 %.

use hdrhistogram::Histogram;
use quell_units::Time;

/// Delays from nothing to a minute; longer ones count as a minute.
#[derive(Debug, Clone)]
pub(crate) struct LatenessHistogram(Histogram<u64>);

impl LatenessHistogram {
    pub(crate) fn new() -> Self {
        Self(Histogram::new_with_bounds(1, 60_000_000_000, 2).expect("the bounds are valid"))
    }
    /// Adds a sample.
    pub(crate) fn record(&mut self, late: Time) {
        self.0.saturating_record(late.as_nanos());
    }
    /// Its summary.
    pub(crate) fn summary(&self) -> Lateness {
        let quantile = |q| Time::from_nanos(self.0.value_at_quantile(q));
        Lateness {
            count: self.0.len(),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p999: quantile(0.999),
            p9999: quantile(0.9999),
            max: Time::from_nanos(self.0.max()),
        }
    }
}

/// The lateness of packets or of the thread; each figure is accurate to 1 %.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lateness {
    /// Number of samples.
    pub count: u64,
    /// Median.
    pub p50: Time,
    /// 90th percentile.
    pub p90: Time,
    /// 99th percentile.
    pub p99: Time,
    /// 99.9th percentile.
    pub p999: Time,
    /// 99.99th percentile.
    pub p9999: Time,
    /// Largest sample.
    pub max: Time,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_right_within_one_per_cent() {
        let mut lateness = LatenessHistogram::new();
        (1..=1_000).for_each(|micros| lateness.record(Time::from_micros(micros)));
        lateness.record(Time::from_secs(1_000));
        let summary = lateness.summary();
        let near =
            |time: Time, micros: u64| time.as_nanos().abs_diff(micros * 1_000) <= micros * 10;
        assert!(
            near(summary.p50, 501) && near(summary.p99, 991),
            "{summary:?}"
        );
        assert!(
            near(summary.max, 60_000_000) && summary.count == 1_001,
            "{summary:?}"
        );
    }
}
