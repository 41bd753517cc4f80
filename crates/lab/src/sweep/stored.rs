//! Results of cells, as a program reads them back.

use quell_measure::Summary;

use super::cell_folder::{FIGURES, State};
use super::plan::Plan;
use super::store::Store;
use super::work::why_failed;
use crate::RunError;
use crate::at_once::{FILES, each};

/// What a store has of a cell.
#[derive(Debug, Clone)]
pub enum Stored {
    /// The summary of a run.
    Summary(Box<Summary>),
    /// The figures of a [`Probe`](super::Probe), as JSON.
    Figures(String),
    /// The run failed: why.
    Failed(String),
    /// It has not run, or not to its end.
    Missing,
}

/// Removes the results of some cells of `plan`, by their places: they run again.
///
/// # Errors
///
/// A folder cannot be removed.
pub fn forget(plan: &Plan, store: &Store, places: &[usize]) -> Result<(), RunError> {
    for cell in places.iter().filter_map(|place| plan.cells.get(*place)) {
        let folder = store.cell(cell.key);
        std::fs::remove_dir_all(&folder).map_err(RunError::writing(&folder))?;
    }
    Ok(())
}

/// What `store` has of the cells of `plan`, in their order. Numbers are those that were written, to the bit, if `serde_json` has its
/// feature `float_roundtrip`.
///
/// # Errors
///
/// A result cannot be read.
pub fn stored(plan: &Plan, store: &Store) -> Result<Vec<Stored>, RunError> {
    let read = |cell: &super::cell::Cell| {
        let folder = store.cell(cell.key);
        Ok(match store.state(cell.key) {
            State::Done { .. } => Stored::Summary(store.json(cell.key, "summary.json")?),
            State::Measured => Stored::Figures(store.text(cell.key, FIGURES)?),
            State::Failed => Stored::Failed(why_failed(&folder)),
            State::Missing | State::Broken => Stored::Missing,
        })
    };
    each(&plan.cells, FILES, read).into_iter().collect()
}
