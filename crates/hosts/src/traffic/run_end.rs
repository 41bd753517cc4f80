//! When a run ends: one value that all parts share that measure, so that their figures end at the same instant.
//!
//! The end is planned, and may be brought forward to an instant in the future. Whoever measures reads the clock first and then
//! the end: a reading after the end therefore knows it, and a run that ends early ends for all parts exactly as one that was
//! planned so.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quell_units::Time;

/// The end of a run. Clones are the same end.
#[derive(Debug, Clone)]
pub struct RunEnd {
    planned: Time,
    /// In ns.
    at: Arc<AtomicU64>,
}

impl RunEnd {
    /// A run that is planned to end at `end`.
    pub fn planned(end: Time) -> Self {
        Self {
            planned: end,
            at: Arc::new(AtomicU64::new(end.as_nanos())),
        }
    }

    /// When the run ends.
    pub fn at(&self) -> Time {
        Time::from_nanos(self.at.load(Ordering::Acquire))
    }

    /// Whether that is before the planned end.
    pub fn is_early(&self) -> bool {
        self.at() < self.planned
    }

    /// Ends the run at `end`, which should not have passed. An end later than the current one changes nothing.
    pub fn bring_forward(&self, end: Time) {
        self.at.fetch_min(end.as_nanos(), Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_moves_forward_only_and_for_everybody() {
        let end = RunEnd::planned(Time::from_secs(9));
        let same = end.clone();
        end.bring_forward(Time::from_secs(12));
        assert!((same.at(), same.is_early()) == (Time::from_secs(9), false));
        end.bring_forward(Time::from_secs(3));
        end.bring_forward(Time::from_secs(5));
        assert!((same.at(), same.is_early()) == (Time::from_secs(3), true));
    }
}
