//! When samples are taken: at every multiple of an interval, and at each boundary between the phases of a run.

use quell_units::Time;

/// A time to take samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tick {
    /// Whether a multiple of the interval is due.
    pub(super) regular: bool,
    /// The boundaries that are due, in order. At a boundary flows that have ended are sampled too, so that each phase has
    /// its figures.
    pub(super) boundaries: Vec<Time>,
}

/// The times of future samples. They are absolute, so that lateness does not add up.
#[derive(Debug)]
pub(super) struct Ticks {
    interval: Time,
    next_regular: Time,
    /// Latest first.
    boundaries: Vec<Time>,
}

impl Ticks {
    /// `interval` is not zero; boundaries come in any order.
    pub(super) fn new(interval: Time, mut boundaries: Vec<Time>) -> Self {
        boundaries.sort_unstable_by(|a, b| b.cmp(a));
        boundaries.dedup();
        Self {
            interval,
            next_regular: interval,
            boundaries,
        }
    }

    /// The run ends at `end`: that is the last boundary.
    pub(super) fn end_at(&mut self, end: Time) {
        self.boundaries.retain(|&at| at < end);
        self.boundaries.insert(0, end);
    }

    pub(super) fn next(&self) -> Time {
        self.boundaries
            .last()
            .map_or(self.next_regular, |&boundary| {
                boundary.min(self.next_regular)
            })
    }

    /// Takes everything that is due as one tick: a host that wakes late samples once.
    pub(super) fn take_due(&mut self, now: Time) -> Option<Tick> {
        let regular = self.next_regular <= now;
        if regular {
            let passed = now.as_nanos() / self.interval.as_nanos();
            self.next_regular = self.interval * passed.saturating_add(1);
        }
        let mut boundaries = Vec::new();
        while let Some(boundary) = self.boundaries.pop_if(|at| *at <= now) {
            boundaries.push(boundary);
        }
        (regular || !boundaries.is_empty()).then_some(Tick {
            regular,
            boundaries,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    #[test]
    fn ticks_fall_on_multiples_of_the_interval_and_on_boundaries() {
        let mut ticks = Ticks::new(ms(100), vec![ms(250), ms(200), ms(250)]);
        let mut seen = Vec::new();
        for now in (0..=300).step_by(10).map(ms) {
            if ticks.next() <= now {
                let tick = ticks.take_due(now).unwrap();
                seen.push((now, tick.regular, tick.boundaries.len()));
            } else {
                assert_eq!(ticks.take_due(now), None);
            }
        }
        assert_eq!(
            seen,
            [
                (ms(100), true, 0),
                (ms(200), true, 1),
                (ms(250), false, 1),
                (ms(300), true, 0)
            ]
        );
    }

    #[test]
    fn an_end_that_comes_earlier_is_the_last_boundary() {
        let mut ticks = Ticks::new(ms(100), vec![ms(250), ms(400)]);
        ticks.end_at(ms(400));
        ticks.end_at(ms(270));
        let mut boundaries = Vec::new();
        while ticks.next() <= ms(300) {
            let now = ticks.next();
            boundaries.extend(ticks.take_due(now).unwrap().boundaries);
        }
        assert_eq!(boundaries, [ms(250), ms(270)]);
    }

    #[test]
    fn a_late_wake_up_samples_once_and_returns_to_the_grid() {
        let mut ticks = Ticks::new(ms(100), vec![ms(250), ms(150)]);
        let boundaries = vec![ms(150), ms(250)];
        assert_eq!(
            ticks.take_due(ms(430)),
            Some(Tick {
                regular: true,
                boundaries
            })
        );
        assert_eq!(ticks.next(), ms(500));
    }
}
