//! The runs in the simulator. They take no time to speak of, and are made again whenever the program has changed.

use std::sync::atomic::{AtomicBool, Ordering};

use quell_lab::sim::run_late;
use quell_lab::{RunError, World};
use quell_measure::Summary;

use crate::validate::error::Error;
use crate::validate::worlds::case::Case;
use crate::validate::worlds::store::{Place, Store};

/// One simulation, or what is kept of it; `None` if it was stopped.
pub(crate) fn run(
    case: &Case,
    seed: u64,
    kind: Place,
    store: &Store,
    stop: &AtomicBool,
) -> Result<Option<Summary>, Error> {
    let scenario = case.scenario(World::Sim, seed)?;
    let text = scenario.to_toml();
    if let Some(record) = store.get(case, &kind, seed, &text) {
        return Ok(Some(record.summary));
    }
    let lateness = match &kind {
        Place::Late(lateness) => Some(lateness.clone()),
        Place::Punctual | Place::Virtual | Place::Live => None,
    };
    let run = run_late(&scenario, seed, lateness, stop, &mut ())
        .map_err(|error| RunError::Failed(error.to_string()))?;
    if stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    store.put(case, &kind, seed, text, run.summary.clone(), 0)?;
    Ok(Some(run.summary))
}
