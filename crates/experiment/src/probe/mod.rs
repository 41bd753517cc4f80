//! Measurements that the summary of a run does not have.
//!
//! The name of a cell contains the hash of this folder's sources: a change of any of them measures anew. So what only judges figures
//! does not belong here. A figure is finite: JSON has no other numbers.

mod captured;
pub mod cubic;
pub mod experiment;
pub mod items;
pub mod path;
pub mod rounds;
pub mod sizes;

use std::any::Any;
use std::sync::atomic::AtomicBool;

use quell_aqm::{Drop, Observer};
use quell_lab::sim::{Simulated, Watching};
use quell_lab::sweep::{Probe, Reading};
use quell_lab::{RunError, Scenario};
use quell_measure::{Direction, Hop};
use quell_sim::{Config, Packet, Simulator};
use quell_units::Time;
use serde::Serialize;

/// Hash of the sources of this folder.
const CODE: &str = env!("QUELL_PROBE_SOURCES");

/// Windows, bursts of drops, and the longest passage: [`experiment::ExperimentResult`].
pub const EXPERIMENT: Probe = Probe {
    reading: Some(Reading {
        interval: captured::interval,
        figures: |scenario, folder| json(&captured::experiment(scenario, folder)?),
    }),
    ..of("experiment", |scenario, seed, stop| {
        json(&experiment::measure(scenario, seed, stop)?)
    })
};

/// Items of a web, one by one: [`items::Items`].
pub const ITEMS: Probe = of("items", |scenario, seed, stop| {
    json(&items::measure(scenario, seed, stop)?)
});

/// What packets took and senders had on a path with few flows: [`path::PathResult`].
pub const PATH: Probe = of("path", |scenario, seed, stop| {
    json(&path::measure(scenario, seed, stop)?)
});

/// The return of a CUBIC window after a loss: [`cubic::CubicReturn`].
pub const CUBIC: Probe = of("cubic", |scenario, seed, stop| {
    json(&cubic::measure(scenario, seed, stop)?)
});

/// Round trips between two reductions of a window: [`rounds::Rounds`].
pub const ROUNDS: Probe = of("rounds", |scenario, seed, stop| {
    json(&rounds::measure(scenario, seed, stop)?)
});

/// Sizes of a queue and its signals at each: [`sizes::QueueSizes`].
pub const SIZES: Probe = of("sizes", |scenario, seed, stop| {
    json(&sizes::measure(scenario, seed, stop)?)
});

/// A measurement by its name.
const fn of(
    name: &'static str,
    measure: fn(&Scenario, u64, &AtomicBool) -> Result<String, RunError>,
) -> Probe {
    Probe {
        name,
        code: CODE,
        measure,
        reading: None,
    }
}

/// A simulation, whatever watches it.
type Probed = Simulator<Box<dyn Watching>>;

/// The simulation of `config`.
fn simulator(
    config: Config,
    observer: &dyn Fn(Hop, Direction) -> Box<dyn Watching>,
) -> Result<Probed, RunError> {
    Simulator::new(config, observer).map_err(failed)
}

/// Simulates until `until`.
fn run(simulator: &mut Probed, until: Time, stop: &AtomicBool) -> Result<(), RunError> {
    if Simulated::simulate(simulator, until, stop).map_err(failed)? < until {
        return Err(stopped());
    }
    Ok(())
}

/// What watches the forward queue of the first link, for [`simulator`].
fn forward<O: Any>(simulator: &mut Probed) -> Result<&mut O, RunError> {
    let first = simulator.observers_mut().next();
    let own = first.and_then(|first| first.known());
    own.ok_or_else(|| failed("there is no forward link"))
}

/// Watches nothing.
struct Nothing;

impl Watching for Nothing {}

impl Observer<Packet> for Nothing {
    fn dropped(&mut self, _packet: Packet, _drop: Drop, _now: Time) {}
}

/// The figures as they are kept.
fn json(figures: &impl Serialize) -> Result<String, RunError> {
    serde_json::to_string(figures).map_err(|error| RunError::Failed(error.to_string()))
}

/// Why a measurement failed.
fn failed(why: impl ToString) -> RunError {
    RunError::Failed(why.to_string())
}

/// Why a measurement has no figures that was told to stop.
fn stopped() -> RunError {
    RunError::Failed("it was stopped".to_owned())
}
