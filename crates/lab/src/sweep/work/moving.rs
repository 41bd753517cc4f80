//! How far a cell is, as part of the work of all.

use std::sync::atomic::{AtomicU64, Ordering};

use quell_scenario::contract::{Listener, Row, Unwritten};
use quell_units::Time;

use crate::sweep::cell::Cell;

/// How far a cell is, as part of the work of all.
pub(super) struct Moving<'a> {
    done: &'a AtomicU64,
    cost: u64,
    duration: Time,
    /// Part of the cost that is in `done`.
    told: AtomicU64,
}

impl<'a> Moving<'a> {
    pub(super) fn new(done: &'a AtomicU64, cell: &Cell) -> Self {
        let told = AtomicU64::new(0);
        let (cost, duration) = (cell.cost, cell.duration);
        Self {
            done,
            cost,
            duration,
            told,
        }
    }

    pub(super) fn reach(&self, now: Time) {
        let of = u128::from(self.duration.as_nanos().max(1));
        let part = u128::from(self.cost) * u128::from(now.as_nanos()).min(of) / of;
        self.tell(u64::try_from(part).unwrap_or(self.cost));
    }

    pub(super) fn end(&self) {
        self.tell(self.cost);
    }

    fn tell(&self, part: u64) {
        let before = self.told.fetch_max(part, Ordering::Relaxed);
        let more = part.saturating_sub(before);
        self.done.fetch_add(more, Ordering::Relaxed);
    }
}

impl Listener for &Moving<'_> {
    fn progress(&mut self, now: Time) {
        self.reach(now);
    }
    fn row(&mut self, _row: Row) -> Result<(), Unwritten> {
        Ok(())
    }
}
