//! Rates of the classes in windows: samples of the goodput, and how long flows take from their start to their steady rate.
//!
//! RFC 7928 section 2.7 takes a sample every K · minRTT with K = 10. Here that is ten times the longest base RTT of the scenario, for every
//! class. The RFC has no definition of a steady rate ("once steady", section 5.1.2). In quell a class is steady from the start of the first
//! such window in which it has at least 90 % of its mean goodput after the warm-up: a burst of slow start alone is too short for that.

use quell_units::{Bytes, Time};

/// Base RTTs of a window: K of RFC 7928 section 2.7.
pub const ROUNDS: usize = 10;
/// The share of the mean goodput that a steady class has.
pub const STEADY: f64 = 0.9;

/// What left the link, of each class.
#[derive(Debug)]
pub(crate) struct Rates {
    /// One base RTT.
    step: Time,
    /// Payload bytes of each class in each step from time 0 on.
    classes: Vec<Vec<u64>>,
}

impl Rates {
    /// Of so many classes, in steps of `rtt`, the longest base RTT.
    pub(crate) fn new(classes: usize, rtt: Time) -> Self {
        Self {
            step: rtt.max(Time::from_millis(1)),
            classes: vec![Vec::new(); classes],
        }
    }

    /// Length of a window.
    pub(crate) fn window(&self) -> Time {
        self.step * ROUNDS as u64
    }

    /// A packet with so much payload leaves the link at `at`.
    pub(crate) fn sent(&mut self, class: usize, payload: Bytes, at: Time) {
        let step = self.step_of(at);
        let Some(steps) = self.classes.get_mut(class) else {
            return;
        };
        if steps.len() <= step {
            steps.resize(step + 1, 0);
        }
        steps[step] += payload.get();
    }

    fn step_of(&self, at: Time) -> usize {
        usize::try_from(at.as_nanos() / self.step.as_nanos()).unwrap_or(usize::MAX)
    }

    /// Bytes of a class, or of all, in a step.
    fn bytes(&self, class: Option<usize>, step: usize) -> u64 {
        let of = |steps: &Vec<u64>| steps.get(step).copied().unwrap_or(0);
        match class {
            Some(class) => self.classes.get(class).map_or(0, of),
            None => self.classes.iter().map(of).sum(),
        }
    }

    /// Rate in bit/s in the window that begins with a step.
    fn rate(&self, class: Option<usize>, first: usize) -> f64 {
        let bytes: u64 = (first..first + ROUNDS)
            .map(|step| self.bytes(class, step))
            .sum();
        bytes as f64 * 8e9 / self.window().as_nanos() as f64
    }

    /// When a class, or all together, became steady, if its mean rate is `mean` in bit/s and the run has reached `now`. `None` if it has
    /// not been so far.
    pub(crate) fn steady(&self, class: Option<usize>, mean: f64, now: Time) -> Option<Time> {
        let complete = self.step_of(now);
        let first = (0..(complete + 1).saturating_sub(ROUNDS))
            .find(|&first| self.rate(class, first) >= STEADY * mean)?;
        (mean > 0.0).then(|| self.step * first as u64)
    }

    /// Samples of the rate of all together, in bit/s: window after window from `from` to `end`.
    pub(crate) fn samples(&self, from: Time, end: Time) -> Vec<f64> {
        let first = self.step_of(from + self.step - Time::from_nanos(1));
        let complete = self.step_of(end);
        (first..(complete + 1).saturating_sub(ROUNDS))
            .step_by(ROUNDS)
            .map(|step| self.rate(None, step))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = Time::from_millis;

    /// Payload of each 100 ms of one class.
    fn of(steps: &[u64]) -> Rates {
        let mut rates = Rates::new(2, MS(100));
        for (step, bytes) in steps.iter().enumerate() {
            rates.sent(1, Bytes::new(*bytes), MS(100 * step as u64 + 50));
        }
        rates
    }

    #[test]
    fn a_burst_is_not_steady() {
        // 1250 bytes in 100 ms are 100 kbit/s. A burst of four times that rate is over before the flow recovers in step 12.
        let mut steps = vec![0, 400, 5_000, 300];
        steps.resize(12, 0);
        steps.extend([1_250; 30]);
        let rates = of(&steps);
        // From step 11 on 9 · 1250 bytes: 90 %.
        let now = MS(4_200);
        assert_eq!(rates.steady(Some(1), 100e3, now), Some(MS(1_100)));
        assert_eq!(rates.steady(None, 100e3, now), Some(MS(1_100)));
        assert_eq!(rates.steady(Some(1), 125e3, now), None);
        // The other class sent nothing, and has no steady rate.
        assert_eq!(rates.steady(Some(0), 0.0, now), None);
    }

    #[test]
    fn only_windows_that_are_over_count() {
        let rates = of(&[1_250; 30]);
        assert_eq!(rates.steady(Some(1), 100e3, MS(999)), None);
        assert_eq!(rates.steady(Some(1), 100e3, MS(1_000)), Some(Time::ZERO));
        assert_eq!(rates.samples(MS(950), MS(2_999)), [100e3]);
        assert_eq!(rates.samples(MS(1_000), MS(3_000)), [100e3, 100e3]);
        assert_eq!(rates.window(), MS(1_000));
    }
}
