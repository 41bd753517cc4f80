//! The contract between a world and its caller: what a world gives while it runs, and in the end.
//!
//! A world runs one scenario with one seed. Meanwhile it reports progress and hands out rows to a [`Listener`]; at the end it
//! returns its [`Measurements`].

use quell_app::{Event, Repairs};
use quell_measure::{FlowId, FlowRow, GroupControl, GroupId, Histograms, QueueRow, Summary};
use quell_units::Time;

/// A row of the series.
#[derive(Debug, Clone, Copy)]
pub enum Row {
    /// One queue in one interval.
    Queue(QueueRow),
    /// One flow in one interval.
    Flow(FlowRow),
    /// One event of an application, when it is over, or at the end of the run.
    Event(EventRow),
}

/// An event, and whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventRow {
    /// The flow's group.
    pub group: GroupId,
    /// The flow, numbered as in [`FlowRow::flow`].
    pub flow: FlowId,
    /// The event.
    pub event: Event,
    /// The losses that TCP repaired.
    pub repairs: Repairs,
}

/// A listener could not take a row. The listener keeps the reason; the world ends the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a row of the series was refused")]
pub struct Unwritten;

/// Receives what a run gives while it goes on. `()` ignores all of it.
pub trait Listener {
    /// The run has reached `now`. Called a few hundred times per run.
    fn progress(&mut self, now: Time);
    /// A row of the series is complete. An error ends the run.
    fn row(&mut self, row: Row) -> Result<(), Unwritten>;
}

impl Listener for () {
    fn progress(&mut self, _now: Time) {}
    fn row(&mut self, _row: Row) -> Result<(), Unwritten> {
        Ok(())
    }
}

/// The figures of a run.
#[derive(Debug, Clone)]
pub struct Measurements {
    /// Every figure.
    pub summary: Summary,
    /// The full distributions.
    pub histograms: Histograms,
    /// The congestion controls of the groups that have one, in their order.
    pub controls: Vec<GroupControl>,
    /// The work that the simulator did; `None` in the other worlds.
    pub work: Option<Work>,
}

impl Measurements {
    /// Puts the warnings of the scenario's check in front of those of the run.
    pub fn add_warnings_of_check(&mut self, warnings: &[String]) {
        let all = &mut self.summary.warnings;
        all.splice(0..0, warnings.iter().cloned());
    }
}

/// The work of a simulated run from start to end, warm-up included. It shows speed and is part of no figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Packets that the forward queue delivered.
    pub packets: u64,
    /// Iterations of the simulator's event loop.
    pub events: u64,
}
