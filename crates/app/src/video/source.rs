//! Frames of a video encoder: how long each is, and when.
//!
//! Two models:
//!
//! * `gaussian`: the traffic model of 3GPP for cloud gaming (TR 38.838). Lengths after [`FrameSizes`]; a
//!   frame leaves the encoder early or late by a normally distributed jitter, which is cut off at twice
//!   its deviation.
//! * `encoder`: the statistical model of a live encoder, RFC 8593 section 5. Lengths, and the intervals
//!   between frames, deviate by a Laplace distribution of the given scale. At the start, and where the
//!   target rate changes by more than half, comes a transient: a first frame of a fixed length, and then
//!   frames that make up for it until the transient has the mean length again; each has at least a fifth
//!   of it. The encoder takes a new target rate once in 200 ms.
//!
//! Deviations of the second from its source: the deviates of the Laplace distribution are cut off at the
//! mean on both sides, which one in 800 exceeds, so that no length or interval is below zero and the mean
//! is kept. The threshold of a transient is that of the authors' program; the RFC has none.

use quell_units::parameter::Domain;
use quell_units::{Parameter, Random, Time};

use super::beat;
use super::frames::{FrameSizes, PlannedFrame};
use crate::exponential::exponential_span;
use crate::normal::normal_span;

/// Time from one target rate of the encoder to the next.
const REACTION: Time = Time::from_millis(200);

/// Variation of the lengths and times of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model {
    /// After 3GPP.
    Gaussian {
        /// Lengths.
        sizes: FrameSizes,
        /// Standard deviation of the time at which a frame is encoded.
        jitter: Time,
    },
    /// After RFC 8593.
    Encoder {
        /// Scale of the Laplace distributions, in thousandths of the mean.
        scale: u32,
        /// Length of the first frame of a transient, in bytes.
        burst: u64,
        /// Frames of a transient; at least 2.
        transient: u32,
    },
}

/// Draws frames.
#[derive(Debug, Clone)]
pub struct Source {
    model: Model,
    per_second: u32,
    residence: Time,
    size: Random,
    time: Random,
    /// The mean length that the encoder works with, in bytes; 0 before the first frame.
    mean: u64,
    /// Time at which it took that.
    taken: Time,
    /// Frames of the transient so far.
    burst: u32,
}

impl Source {
    /// Frames of `model`, each `residence` after its tick. Their lengths come from the first stream and
    /// their times from the second.
    pub fn new(
        model: Model,
        per_second: u32,
        residence: Time,
        (size, time): (Random, Random),
    ) -> Self {
        Self {
            model,
            per_second,
            residence,
            size,
            time,
            mean: 0,
            taken: Time::ZERO,
            burst: 0,
        }
    }

    /// The next frame, at `now`, where frames should have the mean length `target`.
    pub fn draw(&mut self, now: Time, target: u64) -> PlannedFrame {
        match self.model {
            Model::Gaussian { sizes, jitter } => {
                let most = jitter * 2;
                // Around a mean that is out of reach of every deviation but the largest.
                let middle = most * 4;
                let early = normal_span(middle, jitter, &mut self.time) + self.residence;
                let early = early.max(middle + self.residence - most);
                PlannedFrame {
                    takes: early.min(middle + self.residence + most) - middle,
                    size: sizes.draw(target, &mut self.size),
                    longer: 0,
                }
            }
            Model::Encoder {
                scale,
                burst,
                transient,
            } => {
                self.take(now, target, transient);
                let size = self.next_size(burst, transient);
                let interval = beat(1, self.per_second).as_nanos();
                PlannedFrame {
                    takes: self.residence,
                    size: size.saturating_add_signed(laplace(size, scale, &mut self.size)),
                    longer: laplace(interval, scale, &mut self.time),
                }
            }
        }
    }

    /// The encoder hears of a mean length.
    fn take(&mut self, now: Time, target: u64, transient: u32) {
        if self.mean == 0 {
            self.burst = 0;
        } else if now < self.taken + REACTION {
            return;
        } else if target.abs_diff(self.mean) > self.mean / 2 {
            self.burst = 0;
        } else {
            self.burst = self.burst.max(1).min(transient);
        }
        (self.mean, self.taken) = (target.max(1), now);
    }

    fn next_size(&mut self, burst: u64, transient: u32) -> u64 {
        let frame = self.burst;
        self.burst = (frame + 1).min(transient);
        match frame {
            0 => burst,
            _ if frame < transient => {
                let all = self.mean.saturating_mul(u64::from(transient));
                let each = all.saturating_sub(burst) / u64::from(transient - 1);
                each.max(self.mean / 5)
            }
            _ => self.mean,
        }
    }
}

/// A deviate of the Laplace distribution around 0 whose scale is in thousandths of `mean`, cut off
/// at `mean` on both sides: the difference of two exponential ones.
fn laplace(mean: u64, scale: u32, random: &mut Random) -> i64 {
    let scale = u128::from(mean) * u128::from(scale) / 1_000;
    let scale = Time::from_nanos(u64::try_from(scale).unwrap_or(u64::MAX));
    let one = exponential_span(scale, random);
    let other = exponential_span(scale, random);
    let most = i64::try_from(mean).unwrap_or(i64::MAX);
    one.signed_since(other).clamp(-most, most)
}

/// The parameter of a kind for the jitter of its frames.
pub(crate) const JITTER: Parameter = Parameter::FIXED
        .domain(Domain::Time(Time::ZERO, Time::from_millis(100)))
        .default("2ms")
        .source("3GPP TR 38.838")
        .help("Standard deviation of the time at which a frame is encoded; cut off at twice this, and at the frame's tick.");

/// The parameter of a kind for the deviations of an encoder.
pub(crate) const SCALE: Parameter = Parameter::FIXED
        .domain(Domain::Fraction(0, 500, 1_000))
        .default("0.15")
        .source("RFC 8593 section 5")
        .help("Scale of the Laplace distributions of a frame's length and of the interval to the next, as a part of the mean.");

/// The parameter of a kind for the first frame of a transient.
pub(crate) const BURST: Parameter = SCALE
    .domain(Domain::Bytes(100, 1_000_000))
    .default("13.5kB")
    .help("Length of the first frame of a transient.");

/// The parameter of a kind for the length of a transient.
pub(crate) const TRANSIENT: Parameter = SCALE
        .domain(Domain::Integer(2, 1_000))
        .default("8")
        .help("Frames of a transient, which comes at the start and where the target rate changes by more than half.");

#[cfg(test)]
mod tests {
    use super::*;

    fn source(model: Model, residence: Time) -> Source {
        let stream = |name| Random::new(5, name);
        Source::new(model, 30, residence, (stream("size"), stream("time")))
    }

    const ENCODER: Model = Model::Encoder {
        scale: 150,
        burst: 13_500,
        transient: 8,
    };

    /// Mean and standard deviation.
    fn moments(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
        let count = values.clone().count() as f64;
        let mean = values.clone().sum::<f64>() / count;
        let squares = values.map(|x| (x - mean) * (x - mean)).sum::<f64>();
        (mean, (squares / count).sqrt())
    }

    #[test]
    fn an_encoder_deviates_by_the_laplace_distribution_of_rfc_8593() {
        // A scale of 0.15 is a standard deviation of 0.15 √2 = 0.212 of the mean.
        let mut source = source(ENCODER, Time::ZERO);
        let target = 4_167;
        let all: Vec<_> = (0..400_000)
            .map(|_| source.draw(Time::ZERO, target))
            .skip(8)
            .collect();
        let sizes = all.iter().map(|planned| planned.size as f64 / 4_167.0);
        let (mean, deviation) = moments(sizes);
        // Four deviations of the mean; the fourth moment of the distribution is 6, so the deviation
        // itself has one of √5/2 of itself over √n; and the ends cut off 0.3 % of it.
        assert!((mean - 1.0).abs() < 0.0015, "{mean}");
        assert!((deviation - 0.2121).abs() < 0.0025, "{deviation}");
        let intervals = all.iter().map(|planned| planned.longer as f64 * 30.0 / 1e9);
        let (mean, deviation) = moments(intervals);
        assert!(mean.abs() < 0.0015, "{mean}");
        assert!((deviation - 0.2121).abs() < 0.0025, "{deviation}");
        assert!(all.iter().all(|planned| planned.longer >= -33_333_333));
    }

    #[test]
    fn a_transient_has_a_large_frame_first_and_the_mean_in_all() {
        let model = Model::Encoder {
            scale: 0,
            burst: 13_500,
            transient: 8,
        };
        let mut source = source(model, Time::ZERO);
        let mut draw = |ms, target| source.draw(Time::from_millis(ms), target).size;
        let first: Vec<u64> = (0..10).map(|_| draw(0, 4_167)).collect();
        assert_eq!(first[0], 13_500);
        assert!(first[1..8].iter().all(|size| *size == 2_833), "{first:?}");
        assert!(first.iter().take(8).sum::<u64>().abs_diff(8 * 4_167) < 8);
        assert_eq!(first[8..], [4_167, 4_167]);
        // Heard at once in 200 ms, and less than half of a change is no transient.
        assert_eq!((draw(199, 6_000), draw(200, 6_000)), (4_167, 6_000));
        assert_eq!((draw(400, 2_900), draw(401, 2_900)), (13_500, 1_385));
        // The least is a fifth of the mean.
        assert_eq!((draw(700, 1_000), draw(701, 1_000)), (13_500, 200));
    }

    #[test]
    fn jitter_of_the_3gpp_model_is_normal_within_twice_its_deviation() {
        let sizes = FrameSizes {
            deviation: 105,
            smallest: 500,
            largest: 1_500,
        };
        let jitter = Time::from_millis(2);
        let residence = Time::from_millis(8);
        let mut source = source(Model::Gaussian { sizes, jitter }, residence);
        let takes: Vec<f64> = (0..200_000)
            .map(|_| source.draw(Time::ZERO, 62_500).takes.as_nanos() as f64 / 1e6)
            .collect();
        assert!(takes.iter().all(|ms| (4.0..=12.0).contains(ms)));
        let (mean, deviation) = moments(takes.iter().copied());
        assert!((mean - 8.0).abs() < 0.02, "{mean}");
        // Cut at 2: 4.55 % lie at the ends, which leaves a deviation of 0.9594.
        assert!((deviation / 2.0 - 0.9594).abs() < 0.005, "{deviation}");
        // Without residence a frame is not there before its tick.
        let mut source = Source::new(
            Model::Gaussian { sizes, jitter },
            30,
            Time::ZERO,
            (Random::new(5, "size"), Random::new(5, "time")),
        );
        let at_once = (0..1_000).filter(|_| source.draw(Time::ZERO, 62_500).takes.is_zero());
        assert!(at_once.count().abs_diff(500) < 64);
    }
}
