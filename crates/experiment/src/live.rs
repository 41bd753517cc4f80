//! The live world as a reference: which of its runs count, and simulations over a link that is as late as the live one was.
//!
//! The live link is a thread that wakes late now and then, and TCP notices: ACK clocks lose step. Nothing is fitted: every run measures how
//! late its thread woke, and the simulator draws from that distribution.

use std::sync::atomic::AtomicBool;

use quell_lab::at_once::each;
use quell_lab::scenario::{Override, Scenario};
use quell_lab::sim::{Lateness, run_late};
use quell_lab::sweep::Stored;
use quell_lab::{RunError, World};
use quell_measure::Summary;
use quell_units::Time;

use crate::cell::Cell;
use crate::experiment::Experiment;

/// A run in which one departure of a hundred was later than this, in either direction, counts as late: a tenth of the smallest base RTT.
const TOLERABLE_MS: f64 = 0.5;

/// Whether a run is to be discarded and made again: its link was late, or packets were lost outside of it.
pub fn is_spoilt(result: &Stored) -> bool {
    let Stored::Summary(summary) = result else {
        return false;
    };
    let late = lateness_ms(summary).unwrap_or(0.0);
    late > TOLERABLE_MS || summary.figures.link.lost_outside > 0
}

/// The 99th percentile of how late departures were, in the worse direction, in ms.
fn lateness_ms(summary: &Summary) -> Option<f64> {
    let of = |key: &str| summary.figures.link.extra.get(key)?.get("p99")?.as_f64();
    let forward = of("lateness_ms")?;
    Some(forward.max(of("reverse_lateness_ms")?))
}

/// How late packets left because the link's thread woke late.
fn lateness(summary: &Summary) -> Option<Lateness> {
    let figures = &summary.figures.link.extra;
    // Where the link looks ahead, the kernel releases packets: late are those alone that it was handed too late.
    let looks_ahead = figures.get("looks_ahead").and_then(|ahead| ahead.as_bool());
    let measured = figures.get(match looks_ahead {
        Some(true) => "lateness_ms",
        Some(false) | None => "oversleep_ms",
    })?;
    let quantile = |(share, key): (f64, &str)| {
        let ms = measured.get(key)?.as_f64()?;
        Some((share, Time::from_nanos((ms * 1e6) as u64)))
    };
    let quantiles = [
        (0.5, "p50"),
        (0.9, "p90"),
        (0.99, "p99"),
        (0.999, "p999"),
        (0.9999, "p9999"),
        (1.0, "max"),
    ];
    let quantiles: Vec<_> = quantiles.into_iter().filter_map(quantile).collect();
    Some(Lateness::from_quantiles(&quantiles))
}

/// A simulation of each cell over a link as late as that of its live run, on so many threads.
///
/// # Errors
///
/// One of them cannot run.
pub fn as_late(
    experiment: &Experiment,
    live: &[Stored],
    threads: usize,
    stop: &AtomicBool,
) -> Result<Vec<Stored>, RunError> {
    let both: Vec<(&Cell, &Stored)> = experiment.cells().iter().zip(live).collect();
    let one = |(cell, live): &(&Cell, &Stored)| {
        let lateness = match live {
            Stored::Summary(summary) => lateness(summary),
            Stored::Figures(_) | Stored::Failed(_) | Stored::Missing => return Ok(Stored::Missing),
        };
        let scenario = scenario(experiment, cell)?;
        let run = run_late(&scenario, cell.own_seed(), lateness, stop, &mut ());
        let run = run.map_err(|error| RunError::Failed(error.to_string()))?;
        Ok(match run.summary.partial {
            true => Stored::Missing,
            false => Stored::Summary(Box::new(run.summary)),
        })
    };
    each(&both, threads, one).into_iter().collect()
}

fn scenario(experiment: &Experiment, cell: &Cell) -> Result<Scenario, RunError> {
    let text = experiment.scenario(cell.file()).unwrap_or_default();
    let mut overrides = vec![Override::seed(cell.own_seed())];
    for set in cell.settings() {
        let set = Override::set(set).map_err(|error| RunError::refused(error.to_string()))?;
        overrides.push(set);
    }
    Scenario::load(cell.file(), text, &overrides, Some(World::Sim))
        .map(|loaded| loaded.scenario)
        .map_err(|problems| RunError::refused(problems.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::registry::comparisons;

    #[test]
    fn a_run_counts_if_its_link_was_punctual_and_a_simulation_can_be_as_late() {
        let worlds = comparisons()
            .iter()
            .find(|one| one.id == "validation/worlds");
        let worlds = worlds.expect("an experiment");
        let cell = worlds.cells()[0]
            .clone()
            .set("run.duration=2s")
            .set("run.warmup=1s");
        let scenario = scenario(worlds, &cell).expect("a scenario");
        let stop = AtomicBool::new(false);
        let run = |late| {
            run_late(&scenario, 1, late, &stop, &mut ())
                .expect("a run")
                .summary
        };
        let punctual = run(None);
        assert!(lateness(&punctual).is_none());
        assert!(!is_spoilt(&Stored::Summary(Box::new(punctual.clone()))));
        let mut live = punctual.clone();
        let late = json!({ "p50": 0.1, "p99": 0.6, "max": 3.0 });
        for key in ["lateness_ms", "reverse_lateness_ms", "oversleep_ms"] {
            live.figures.link.extra.insert(key.to_owned(), late.clone());
        }
        assert!(is_spoilt(&Stored::Summary(Box::new(live.clone()))));
        assert!(run(lateness(&live)) != punctual);
    }
}
