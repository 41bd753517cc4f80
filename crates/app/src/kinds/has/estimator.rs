//! A player's estimate of its network: the throughput and the latency of its downloads.
//!
//! Two exponential averages of each with half-lives of 3 and 8 s, without the bias of their start: the
//! smaller throughput, and the larger latency. A throughput weighs as much as its download took, a
//! latency as much as a segment lasts. From Sabre (Spiteri, Sitaraman, Sparacio, MMSys 2018), whose
//! `Ewma` this is; dash.js has the same form with 0.0015 × the time of the download as weight.

use quell_units::Time;

use super::fixed_point::{ONE, POWER_BITS, half_power};

/// Fraction bits of a rate.
pub(super) const RATE_BITS: u32 = 24;
/// Half-lives of the averages.
const HALF_LIVES: [Time; 2] = [Time::from_secs(3), Time::from_secs(8)];
/// The highest throughput that counts, in bit/s: nothing on the network of a user is faster.
const FASTEST: u128 = 1 << 39;

/// A player's estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// Throughput in units of 2^−24 bit/s.
    pub(super) throughput: u64,
    /// Time from a request to its first byte.
    pub latency: Time,
}

/// An exponential average of numbers below 2^39.
#[derive(Debug, Clone, Copy, Default)]
struct Average {
    /// Value in units of 2^−24.
    sum: u64,
    /// The time over which it was taken.
    weight: Time,
}

impl Average {
    /// Adds `sample`, in units of 2^−24, with the weight of `span`.
    fn push(&mut self, sample: u64, span: Time, half: Time) {
        let alpha = half_power(span, half);
        let sum =
            u128::from(self.sum) * u128::from(alpha) + u128::from(sample) * u128::from(ONE - alpha);
        self.sum = rounded(sum);
        self.weight += span;
    }

    /// The average, in units of 2^−24.
    fn read(&self, half: Time) -> u64 {
        let known = ONE - half_power(self.weight, half);
        let scaled = (u128::from(self.sum) << POWER_BITS) / u128::from(known.max(1));
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }
}

fn rounded(product: u128) -> u64 {
    ((product + (1 << (POWER_BITS - 1))) >> POWER_BITS) as u64
}

/// Averages what downloads were like.
#[derive(Debug, Clone, Default)]
pub struct Estimator {
    throughput: [Average; 2],
    latency: [Average; 2],
    has_samples: bool,
}

/// The throughput of `bytes` in `span`, in units of 2^−24 bit/s.
pub(super) fn throughput(bytes: u64, span: Time) -> u64 {
    let bits = u128::from(bytes) * 8_000_000_000;
    let nanos = u128::from(span.as_nanos().max(1));
    ((bits << RATE_BITS) / nanos).min(FASTEST << RATE_BITS) as u64
}

impl Estimator {
    /// Adds a download: its payload in bytes, the time from first to last byte, the time from the
    /// request to the first byte, and how long its segment plays.
    pub fn push(&mut self, bytes: u64, span: Time, latency: Time, segment: Time) {
        let rate = throughput(bytes, span);
        let latency = u128::from(latency.as_nanos()).min(FASTEST) << RATE_BITS;
        for (index, &half) in HALF_LIVES.iter().enumerate() {
            self.throughput[index].push(rate, span, half);
            self.latency[index].push(latency as u64, segment, half);
        }
        self.has_samples = true;
    }

    /// The estimate now; `None` before the first download.
    pub fn read(&self) -> Option<Estimate> {
        let averages = |of: &[Average; 2]| [0, 1].map(|index| of[index].read(HALF_LIVES[index]));
        let [fast, slow] = averages(&self.throughput);
        let [early, late] = averages(&self.latency);
        let nanos = (early.max(late) + (1 << (RATE_BITS - 1))) >> RATE_BITS;
        self.has_samples.then_some(Estimate {
            throughput: fast.min(slow),
            latency: Time::from_nanos(nanos),
        })
    }
}

impl Estimate {
    /// Throughput, in bit/s.
    pub fn bits_per_second(&self) -> f64 {
        self.throughput as f64 / (1_u64 << RATE_BITS) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Time = Time::from_secs(1);

    #[test]
    fn one_sample_is_the_estimate_however_short_it_was() {
        for span in [Time::from_micros(100), SECOND, Time::from_secs(60)] {
            let mut estimator = Estimator::default();
            assert_eq!(estimator.read(), None);
            let bytes = span.as_nanos() / 2_000;
            estimator.push(bytes, span, Time::from_millis(40), Time::from_secs(4));
            let estimate = estimator.read().unwrap();
            assert!((estimate.bits_per_second() / 4e6 - 1.0).abs() < 1e-9);
            assert_eq!(estimate.latency, Time::from_millis(40));
        }
    }

    #[test]
    fn the_smaller_throughput_and_the_larger_latency_win() {
        // Two downloads of 2 s each at 8 and 4 Mbit/s, by the closed form of both averages.
        let mut estimator = Estimator::default();
        let segment = Time::from_secs(4);
        estimator.push(2_000_000, SECOND * 2, Time::from_millis(10), segment);
        estimator.push(1_000_000, SECOND * 2, Time::from_millis(90), segment);
        let mean = |half: f64, span: f64, first: f64, second: f64| {
            let alpha = 0.5_f64.powf(span / half);
            ((1.0 - alpha) * (alpha * first + second)) / (1.0 - alpha * alpha)
        };
        let estimate = estimator.read().unwrap();
        let throughput = mean(3.0, 2.0, 8e6, 4e6).min(mean(8.0, 2.0, 8e6, 4e6));
        let latency = mean(3.0, 4.0, 0.01, 0.09).max(mean(8.0, 4.0, 0.01, 0.09));
        assert!((estimate.bits_per_second() / throughput - 1.0).abs() < 1e-12);
        let found = estimate.latency.as_nanos() as f64 / 1e9;
        assert!((found - latency).abs() < 1e-9, "{found} {latency}");
    }

    #[test]
    fn a_download_without_length_is_as_fast_as_anything_may_be() {
        assert_eq!(throughput(u64::MAX, Time::ZERO), 1 << (39 + RATE_BITS));
        let mut estimator = Estimator::default();
        estimator.push(1_000, Time::ZERO, Time::ZERO, Time::from_secs(4));
        assert_eq!(estimator.read().unwrap().throughput, 0, "it weighs nothing");
    }
}
