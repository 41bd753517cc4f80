//! Robust model-predictive control: the first level of the best five.
//!
//! X. Yin, A. Jindal, V. Sekar, B. Sinopoli, "A Control-Theoretic Approach for Dynamic Adaptive Video
//! Streaming over HTTP", SIGCOMM 2015, with the weights of Pensieve (SIGCOMM 2017), whose `mpc.py` this
//! follows: the throughput to come is the harmonic mean of the last five, divided by 1 + the largest
//! relative error of the last five predictions. Over all sequences of the next five levels the sum of
//! the rates in Mbit/s, less 4.3 per second of stall, less the changes of rate, is highest. Of equals
//! the last one counts, in the order of levels.
//!
//! Deviations: a throughput is that of a download without its latency, as everywhere in this player,
//! and a segment to come has the mean size of its level.

use super::ladder::Ladder;
use super::situation::{Choice, Download, Situation};

/// Segments that are looked ahead, and downloads that are remembered.
const HORIZON: usize = 5;
/// Cost of a nanosecond of stall, in ten-thousandths of bit/s: 4.3 Mbit/s for each second.
const STALL: i128 = 43;
const SCALE: i128 = 10_000;

/// Past downloads.
#[derive(Debug, Clone, Default)]
pub(super) struct Mpc {
    /// Throughputs in bit/s, the latest first; 0 where there is none.
    throughputs: [u64; HORIZON],
    /// Relative errors of predictions, in millionths, the latest first.
    errors: [u64; HORIZON],
    /// The prediction for the current download, in bit/s.
    predicted: u64,
}

impl Mpc {
    pub(super) fn downloaded(&mut self, download: &Download) {
        let bits = u128::from(download.bytes) * 8_000_000_000;
        let rate = (bits / u128::from(download.span.as_nanos().max(1))).clamp(1, 1 << 39) as u64;
        self.throughputs.rotate_right(1);
        self.throughputs[0] = rate;
        if self.predicted > 0 {
            let error = u128::from(self.predicted.abs_diff(rate)) * 1_000_000 / u128::from(rate);
            self.errors.rotate_right(1);
            self.errors[0] = u64::try_from(error).unwrap_or(u64::MAX);
        }
    }

    /// The throughput to come, in bit/s; 0 before the first download.
    fn predict(&mut self) -> u64 {
        let known = self.throughputs.iter().filter(|&&rate| rate > 0);
        let (count, inverses) = known.fold((0_u128, 0_u128), |(count, sum), &rate| {
            (count + 1, sum + (1 << 80) / u128::from(rate))
        });
        if count == 0 {
            return 0;
        }
        self.predicted = ((count << 80) / inverses.max(1)) as u64;
        let worst = self.errors.iter().max().map_or(0, |&error| error);
        let safe = u128::from(self.predicted) * 1_000_000 / (1_000_000 + u128::from(worst));
        safe.max(1) as u64
    }

    pub(super) fn decide(&mut self, situation: &Situation<'_>) -> Choice {
        let left = situation.left.unwrap_or(u64::MAX).max(1);
        let steps = left.min(HORIZON as u64) as usize;
        let mut search = Search {
            ladder: situation.ladder,
            rate: self.predict(),
            best: None,
        };
        if search.rate == 0 {
            return Choice::at_once(situation.last);
        }
        let buffer = situation.buffer.as_nanos().into();
        search.explore(steps, buffer, situation.last, 0, None);
        Choice::at_once(search.best.map_or(situation.last, |(_, quality)| quality))
    }
}

/// A search through all sequences.
struct Search<'a> {
    ladder: &'a Ladder,
    /// The throughput to come, in bit/s.
    rate: u64,
    /// The best value and the first level of its sequence.
    best: Option<(i128, usize)>,
}

impl Search<'_> {
    /// Tries all sequences of `steps` more segments, with `buffer` in ns and after `last`.
    fn explore(
        &mut self,
        steps: usize,
        buffer: i128,
        last: usize,
        value: i128,
        first: Option<usize>,
    ) {
        if steps == 0 {
            if let Some(first) = first
                && self.best.is_none_or(|(best, _)| value >= best)
            {
                self.best = Some((value, first));
            }
            return;
        }
        // No sequence gets more than the highest rate from each segment.
        let most = i128::from(self.ladder.rate(self.ladder.top())) * SCALE * steps as i128;
        if self.best.is_some_and(|(best, _)| value + most < best) {
            return;
        }
        for level in 0..self.ladder.levels() {
            let took = self.download(level);
            let stall = (took - buffer).max(0);
            let after = (buffer - took).max(0) + i128::from(self.ladder.segment().as_nanos());
            let rate = self.ladder.rate(level);
            let change = rate.abs_diff(self.ladder.rate(last));
            let gain = (i128::from(rate) - i128::from(change)) * SCALE - stall * STALL;
            self.explore(steps - 1, after, level, value + gain, first.or(Some(level)));
        }
    }

    /// Time that a segment takes, in ns.
    fn download(&self, level: usize) -> i128 {
        let bits = i128::from(self.ladder.bytes(level)) * 8_000_000_000;
        bits / i128::from(self.rate)
    }
}

#[cfg(test)]
mod tests {
    use quell_units::Time;

    use super::*;

    fn ladder() -> Ladder {
        let rates = [300, 750, 1_200, 1_850, 2_850, 4_300].map(|kilobits| kilobits * 1_000);
        Ladder::new(rates, Time::from_secs(4))
    }

    fn download(kilobits: u64) -> Download {
        Download {
            quality: 0,
            bytes: kilobits * 125,
            took: Time::from_secs(1),
            span: Time::from_secs(1),
            buffer: Time::ZERO,
        }
    }

    /// All sequences, counted up in base six, in floating point.
    fn slowly(throughput: f64, buffer: f64, last: usize, steps: u32) -> usize {
        let rates = [0.3, 0.75, 1.2, 1.85, 2.85, 4.3];
        let (mut best, mut choice) = (f64::MIN, 0);
        for sequence in 0..6_usize.pow(steps) {
            let (mut level, mut before, mut value) = (buffer, last, 0.0);
            for step in (0..steps).rev() {
                let next = sequence / 6_usize.pow(step) % 6;
                let took = rates[next] * 4.0 / throughput;
                value += rates[next] - (rates[next] - rates[before]).abs();
                value -= 4.3 * (took - level).max(0.0);
                level = (level - took).max(0.0) + 4.0;
                before = next;
            }
            if value >= best {
                (best, choice) = (value, sequence / 6_usize.pow(steps - 1));
            }
        }
        choice
    }

    #[test]
    fn finds_what_a_search_through_everything_finds() {
        let ladder = ladder();
        for (kilobits, buffer, last, left) in [
            (500, 3.7, 0, None),
            (1_111, 5.2, 2, None),
            (1_900, 9.3, 1, Some(3)),
            (2_477, 17.9, 5, Some(1)),
            (3_001, 1.3, 4, None),
            (6_007, 21.1, 3, Some(40)),
        ] {
            let mut mpc = Mpc::default();
            mpc.downloaded(&download(kilobits));
            let choice = mpc.decide(&Situation {
                ladder: &ladder,
                buffer: Time::from_nanos((buffer * 1e9) as u64),
                most: Time::from_secs(60),
                estimate: None,
                last,
                left,
            });
            let steps = left.unwrap_or(5).min(5) as u32;
            let expected = slowly(kilobits as f64 / 1e3, buffer, last, steps);
            assert_eq!(choice.quality, expected, "{kilobits} {buffer} {last}");
        }
    }

    /// dash.js's cases of harmonic means.
    #[test]
    fn the_mean_of_throughputs_is_harmonic() {
        for (kilobits, mean) in [
            (vec![6_000, 2_000, 3_000], 3e6),
            (vec![240_000, 80_000, 40_000], 72e6),
        ] {
            let mut mpc = Mpc::default();
            kilobits
                .iter()
                .for_each(|&kilobits| mpc.downloaded(&download(kilobits)));
            assert!((mpc.predict() as f64 - mean).abs() <= 1.0);
        }
    }

    #[test]
    fn a_prediction_that_was_wrong_makes_the_next_one_careful() {
        let mut mpc = Mpc::default();
        assert_eq!(mpc.predict(), 0);
        mpc.downloaded(&download(4_000));
        assert_eq!(mpc.predict(), 4_000_000);
        // Half of what was predicted: an error of 1. Harmonic mean of 4 and 2 Mbit/s: 2.667.
        mpc.downloaded(&download(2_000));
        assert!(mpc.predict().abs_diff(1_333_333) <= 1);
    }
}
