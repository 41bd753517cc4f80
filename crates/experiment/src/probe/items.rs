//! The items of a web that were complete after the warm-up, each with its time and why it took so long, beside the summary of the run.

use std::sync::atomic::AtomicBool;

use quell_app::{Cause, Outcome};
use quell_lab::{EventRow, Listener, Row, RunError, Scenario, Unwritten, sim};
use quell_measure::Summary;
use quell_units::Time;
use serde::{Deserialize, Serialize};

use super::{failed, stopped};

/// What one run gave.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Items {
    /// Of the run.
    pub summary: Summary,
    /// The items of each group, in the order of the scenario.
    pub groups: Vec<Vec<Item>>,
}

/// An item: size in bytes; from the SYN to the end of the file, and until the connection was up, in ns; the place in [`Cause::ALL`] of the
/// costliest repair of its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item(pub u64, pub u64, pub u64, pub Option<u8>);

impl Item {
    fn new(row: &EventRow) -> Option<Self> {
        let event = &row.event;
        let ended = event.ended?;
        let cause = row.repairs.cause().map(|cause| {
            let place = Cause::ALL.iter().position(|one| *one == cause);
            place.unwrap_or_default() as u8
        });
        let completion = (ended - event.started).as_nanos();
        Some(Self(event.size, completion, event.value, cause))
    }

    /// Bytes.
    pub fn size(self) -> u64 {
        self.0
    }

    /// From the SYN to the end of the file, in ms.
    pub fn completion_ms(self) -> f64 {
        self.1 as f64 / 1e6
    }

    /// Until the connection was up, in ms.
    pub fn setup_ms(self) -> f64 {
        self.2 as f64 / 1e6
    }

    /// The costliest repair of its connection.
    pub fn cause(self) -> Option<Cause> {
        Cause::ALL.get(usize::from(self.3?)).copied()
    }
}

/// Takes items while a run goes on.
struct Taken {
    from: Time,
    groups: Vec<Vec<Item>>,
}

impl Listener for Taken {
    fn progress(&mut self, _now: Time) {}
    fn row(&mut self, row: Row) -> Result<(), Unwritten> {
        if let Row::Event(row) = row
            && row.event.outcome == Outcome::Complete
            && row.event.ended.is_some_and(|ended| ended >= self.from)
            && let Some(group) = self.groups.get_mut(row.group.0 as usize)
        {
            group.extend(Item::new(&row));
        }
        Ok(())
    }
}

/// Runs `scenario` with `seed` until its end, or until `stop` is set.
///
/// # Errors
///
/// It was stopped, or cannot run.
pub fn measure(scenario: &Scenario, seed: u64, stop: &AtomicBool) -> Result<Items, RunError> {
    let mut taken = Taken {
        from: scenario.run.warmup,
        groups: vec![Vec::new(); scenario.groups.len()],
    };
    let measured = sim::run(scenario, seed, stop, &mut taken).map_err(failed)?;
    if measured.summary.partial {
        return Err(stopped());
    }
    Ok(Items {
        summary: measured.summary,
        groups: taken.groups,
    })
}
