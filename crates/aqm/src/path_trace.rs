//! Paths that move: what a path does to packets, as a trace recorded it.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::link_trace::{SHORTEST, TraceError};
use crate::units::Time;

/// What a path does over time. It is looked up for each packet as it starts: no event, and however often it repeats, exact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathTrace<T> {
    /// The first is at zero.
    steps: Arc<[(Time, T)]>,
    length: Time,
    /// Whether it starts again at its end. Otherwise the last step stays.
    repeat: bool,
    /// The place in the trace where the run starts.
    offset: Time,
}

impl<T: Copy + Default> PathTrace<T> {
    /// What the path does from each of these times on; the last until `length`, and then from the start again or for ever.
    ///
    /// # Errors
    ///
    /// Times do not start at zero or do not rise, or the trace is too short.
    pub fn new(
        steps: Vec<(Time, T)>,
        length: Time,
        repeat: bool,
        offset: Time,
    ) -> Result<Self, TraceError> {
        let starts = || steps.iter().map(|(at, _)| *at);
        let first = starts().next().ok_or(TraceError::Empty)?;
        if !first.is_zero() {
            return Err(TraceError::Start);
        }
        let ends = starts().skip(1).chain([length]);
        if let Some(index) = starts().zip(ends).position(|(start, end)| end <= start) {
            return Err(TraceError::Order(index + 1));
        }
        if length < SHORTEST {
            return Err(TraceError::Short);
        }
        Ok(Self {
            steps: steps.into(),
            length,
            repeat,
            offset,
        })
    }

    /// What the path does from each of these times on.
    pub fn steps(&self) -> &[(Time, T)] {
        &self.steps
    }

    /// What the path does at this time of the run.
    pub fn at(&self, time: Time) -> T {
        let place = time + self.offset;
        let place = match self.repeat {
            true => Time::from_nanos(place.as_nanos() % self.length.as_nanos()),
            false => place,
        };
        let next = self.steps.partition_point(|(at, _)| *at <= place);
        let step = self.steps.get(next.saturating_sub(1));
        step.map_or_else(T::default, |(_, step)| *step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    const MS: fn(u64) -> Time = Time::from_millis;

    #[test]
    fn a_step_holds_until_the_next_and_the_last_for_ever_or_until_it_starts_again() {
        let steps = vec![(MS(0), MS(10)), (MS(5), MS(30))];
        for (repeat, offset, expected) in [
            (true, MS(0), [10, 30, 10, 30]),
            (false, MS(0), [10, 30, 30, 30]),
            (true, MS(25), [30, 10, 30, 10]),
        ] {
            let trace = PathTrace::new(steps.clone(), MS(10), repeat, offset).unwrap();
            let found = [0, 5, 14, 1_000_009].map(|at| trace.at(MS(at)));
            assert_eq!(found, expected.map(MS));
        }
        let new = |steps, length| PathTrace::new(steps, length, true, Time::ZERO).unwrap_err();
        assert_eq!(new(vec![], MS(1)), TraceError::Empty);
        assert_eq!(new(steps[1..].to_vec(), MS(9)), TraceError::Start);
        assert_eq!(new(steps.clone(), MS(5)), TraceError::Order(2));
        assert_eq!(new(steps[..1].to_vec(), SHORTEST / 2), TraceError::Short);
    }
}
