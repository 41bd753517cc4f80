//! Piecewise constant rates.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{LinkTrace, SHORTEST, TraceError, scaled};
use crate::units::{Rate, Time};

/// Rates over time. Equal ones in a row are one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateTrace {
    /// The first is at zero.
    steps: Arc<Vec<(Time, Rate)>>,
    length: Time,
}

impl RateTrace {
    /// The rates from each of these times on; the last one until `length`.
    ///
    /// # Errors
    ///
    /// Times do not start at zero or do not rise, a rate is unlimited, all rates are zero, or the trace is too short.
    pub fn new(mut steps: Vec<(Time, Rate)>, length: Time) -> Result<Self, TraceError> {
        let first = steps.first().ok_or(TraceError::Empty)?;
        if !first.0.is_zero() {
            return Err(TraceError::Start);
        }
        if let Some(index) = steps.iter().position(|(_, rate)| rate.is_unlimited()) {
            return Err(TraceError::Unlimited(index));
        }
        let pairs = steps.windows(2);
        if let Some(index) = pairs.into_iter().position(|pair| pair[1].0 <= pair[0].0) {
            return Err(TraceError::Order(index + 1));
        }
        if steps.last().is_some_and(|(last, _)| *last >= length) {
            return Err(TraceError::Order(steps.len()));
        }
        if length < SHORTEST {
            return Err(TraceError::Short);
        }
        if steps.iter().all(|(_, rate)| rate.is_zero()) {
            return Err(TraceError::Still);
        }
        steps.dedup_by_key(|(_, rate)| *rate);
        steps.shrink_to_fit();
        Ok(Self {
            steps: Arc::new(steps),
            length,
        })
    }

    /// The steps: times, and the rates from then on.
    pub fn steps(&self) -> &[(Time, Rate)] {
        &self.steps
    }
    /// The end of the last rate.
    pub fn length(&self) -> Time {
        self.length
    }

    fn rates(&self) -> impl Iterator<Item = Rate> + '_ {
        self.steps.iter().map(|(_, rate)| *rate)
    }
    pub(super) fn fastest(&self) -> Rate {
        self.rates().max().unwrap_or(Rate::ZERO)
    }
    pub(super) fn slowest(&self) -> Rate {
        self.rates()
            .filter(|rate| !rate.is_zero())
            .min()
            .unwrap_or(Rate::ZERO)
    }
    pub(super) fn first_moving(&self, phase: Time) -> Rate {
        self.rates()
            .skip(self.at(phase))
            .chain(self.rates())
            .find(|rate| !rate.is_zero())
            .unwrap_or(Rate::ZERO)
    }
    pub(super) fn mean(&self) -> Rate {
        let amount: u128 = self
            .spans()
            .map(|(span, rate)| u128::from(span.as_nanos()) * u128::from(rate.as_bps()))
            .sum();
        let length = u128::from(self.length.as_nanos());
        Rate::from_bps((amount / length) as u64)
    }
    pub(super) fn longest_outage(&self, repeat: bool) -> Time {
        let still = |(span, rate): (Time, Rate)| if rate.is_zero() { span } else { Time::ZERO };
        let inside = self.spans().map(still).max().unwrap_or(Time::ZERO);
        let first = self.spans().next().map_or(Time::ZERO, still);
        let last = self.spans().last().map_or(Time::ZERO, still);
        match repeat {
            true => inside.max(first + last),
            false => inside,
        }
    }

    /// Each rate with the time that it lasts.
    pub(super) fn spans(&self) -> impl Iterator<Item = (Time, Rate)> + '_ {
        let starts = self.steps.iter().skip(1).map(|(at, _)| *at);
        let ends = starts.chain([self.length]);
        self.steps
            .iter()
            .zip(ends)
            .map(|((start, rate), end)| (end - *start, *rate))
    }

    /// The index of the step that is in force at `phase`.
    fn at(&self, phase: Time) -> usize {
        self.steps.partition_point(|(at, _)| *at <= phase).max(1) - 1
    }
}

/// A position in a trace of rates.
#[derive(Debug, Clone)]
pub(crate) struct Steps {
    trace: RateTrace,
    repeat: bool,
    offset: Time,
    scale: u32,
    /// The step that comes next.
    index: usize,
    /// When the present repetition began, on the trace's own clock.
    base: Time,
    next: Time,
}

impl Steps {
    /// The first step is at time zero.
    pub(crate) fn new(trace: &RateTrace, link_trace: &LinkTrace) -> Self {
        Self {
            index: trace.at(link_trace.phase()),
            trace: trace.clone(),
            repeat: link_trace.repeat,
            offset: link_trace.phase(),
            scale: link_trace.scale,
            base: Time::ZERO,
            next: Time::ZERO,
        }
    }

    /// When the next step is; [`Time::MAX`] if there is none.
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// Takes the next step; its rate.
    pub(crate) fn take(&mut self) -> Rate {
        let (_, rate) = self.trace.steps[self.index];
        self.index += 1;
        if self.index == self.trace.steps.len() && self.repeat {
            self.index = 0;
            self.base += self.trace.length;
        }
        self.next = match self.trace.steps.get(self.index) {
            // A trace of one rate has no steps.
            Some((at, _)) if self.trace.steps.len() > 1 => self.base + *at - self.offset,
            _ => Time::MAX,
        };
        scaled(rate, self.scale)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Trace;
    use super::*;
    use std::vec;

    const MS: fn(u64) -> Time = Time::from_millis;
    const MBPS: fn(u64) -> Rate = Rate::from_mbps;

    fn trace() -> RateTrace {
        let steps = vec![(MS(0), MBPS(8)), (MS(10), Rate::ZERO), (MS(15), MBPS(4))];
        RateTrace::new(steps, MS(20)).unwrap()
    }

    fn walk(link_trace: &LinkTrace, count: usize) -> Vec<(u64, u64)> {
        let Trace::Rates(trace) = &link_trace.trace else {
            panic!("rates")
        };
        let mut steps = Steps::new(trace, link_trace);
        let mut all = Vec::new();
        while all.len() < count && steps.next() < Time::MAX {
            let at = steps.next().as_nanos() / 1_000_000;
            all.push((at, steps.take().as_bps() / 1_000_000));
        }
        all
    }

    #[test]
    fn steps_come_at_their_times_and_again_after_the_length() {
        let link_trace = LinkTrace::new(Trace::Rates(trace()));
        assert_eq!(
            walk(&link_trace, 7),
            [(0, 8), (10, 0), (15, 4), (20, 8), (30, 0), (35, 4), (40, 8)]
        );
        let once = LinkTrace {
            repeat: false,
            ..link_trace
        };
        assert_eq!(walk(&once, 9), [(0, 8), (10, 0), (15, 4)]);
    }

    #[test]
    fn an_offset_starts_inside_and_a_scale_multiplies() {
        let link_trace = LinkTrace {
            offset: MS(52),
            scale: 2_500,
            ..LinkTrace::new(Trace::Rates(trace()))
        };
        // 52 ms are 12 ms into the third time.
        assert_eq!(walk(&link_trace, 4), [(0, 0), (3, 10), (8, 20), (18, 0)]);
        assert_eq!(link_trace.first_rate(), MBPS(10));
        assert_eq!(
            (link_trace.fastest(), link_trace.slowest()),
            (MBPS(20), MBPS(10))
        );
        // (8 · 10 + 0 · 5 + 4 · 5) / 20 = 5, times 2.5.
        assert_eq!(link_trace.mean_rate(), Rate::from_bps(12_500_000));
        assert_eq!(link_trace.longest_outage(), MS(5));
    }

    #[test]
    fn what_is_no_trace_is_refused() {
        let one = MBPS(1);
        for (steps, length, expected) in [
            (vec![], MS(5), TraceError::Empty),
            (vec![(MS(1), one)], MS(5), TraceError::Start),
            (
                vec![(MS(0), one), (MS(0), one)],
                MS(5),
                TraceError::Order(1),
            ),
            (
                vec![(MS(0), one), (MS(9), one)],
                MS(5),
                TraceError::Order(2),
            ),
            (
                vec![(MS(0), one)],
                Time::from_micros(999),
                TraceError::Short,
            ),
            (vec![(MS(0), Rate::ZERO)], MS(5), TraceError::Still),
            (
                vec![(MS(0), Rate::UNLIMITED)],
                MS(5),
                TraceError::Unlimited(0),
            ),
        ] {
            assert_eq!(RateTrace::new(steps, length), Err(expected));
        }
    }

    #[test]
    fn one_rate_is_no_step_and_equal_rates_are_one() {
        let steps = vec![(MS(0), MBPS(8)), (MS(3), MBPS(8))];
        let link_trace = LinkTrace::new(Trace::Rates(RateTrace::new(steps, MS(9)).unwrap()));
        assert_eq!(walk(&link_trace, 5), [(0, 8)]);
    }
}
