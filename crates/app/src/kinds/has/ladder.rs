//! The levels of a stream: what each needs per second, and what it is worth.

use quell_units::Time;

use super::fixed_point::ln_ratio;

/// The levels, the lowest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ladder {
    rates: Vec<u64>,
    /// ln(r / r₀), in units of 2^−40.
    utilities: Vec<i128>,
    segment: Time,
}

impl Ladder {
    /// A ladder of rates in bit/s, which rise, and of segments of this length.
    pub fn new(rates: impl IntoIterator<Item = u64>, segment: Time) -> Self {
        let rates: Vec<u64> = rates.into_iter().collect();
        let utilities = rates.iter().map(|&rate| ln_ratio(rate, rates[0])).collect();
        Self {
            rates,
            utilities,
            segment,
        }
    }

    /// The number of levels; at least 1.
    pub fn levels(&self) -> usize {
        self.rates.len()
    }
    /// The highest level.
    pub fn top(&self) -> usize {
        self.rates.len() - 1
    }
    /// All rates, in bit/s.
    pub fn rates(&self) -> &[u64] {
        &self.rates
    }
    /// The rate of a level, in bit/s.
    pub fn rate(&self, level: usize) -> u64 {
        self.rates[level]
    }
    /// ln(r / r₀) of a level, in units of 2^−40.
    pub(super) fn utility(&self, level: usize) -> i128 {
        self.utilities[level]
    }
    /// The length of a segment.
    pub fn segment(&self) -> Time {
        self.segment
    }
    /// The mean size of a segment of a level, in bytes; at least 1.
    pub fn bytes(&self, level: usize) -> u64 {
        let bits = u128::from(self.rates[level]) * u128::from(self.segment.as_nanos());
        u64::try_from(bits / 8_000_000_000)
            .unwrap_or(u64::MAX)
            .max(1)
    }

    /// Size of a segment in another level, if it has `size` in `level`.
    pub(super) fn scaled(&self, size: u64, level: usize, other: usize) -> u64 {
        let scaled = u128::from(size) * u128::from(self.rates[other]);
        u64::try_from(scaled / u128::from(self.rates[level])).unwrap_or(u64::MAX)
    }

    /// The highest level of which a segment arrives within its length at `numerator` / `denominator` of
    /// a rate (in units of 2^−24 bit/s), `latency` included.
    pub(super) fn sustained(
        &self,
        throughput: u64,
        (numerator, denominator): (u64, u64),
        latency: Time,
    ) -> usize {
        let left = self.segment.as_nanos().saturating_sub(latency.as_nanos());
        let budget = u128::from(left) * u128::from(throughput) * u128::from(numerator);
        let needed = |level: usize| {
            let bits = u128::from(self.rates[level]) * u128::from(self.segment.as_nanos());
            (bits << super::estimator::RATE_BITS) * u128::from(denominator)
        };
        let level = (1..self.levels()).find(|&level| needed(level) > budget);
        level.unwrap_or(self.levels()) - 1
    }
}
