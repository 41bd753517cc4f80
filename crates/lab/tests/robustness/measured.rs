//! A run and the memory that it takes: what the allocator was asked for at most.

use std::sync::atomic::AtomicBool;

use quell_lab::scenario::Scenario;
use quell_lab::sim;
use quell_measure::Summary;

/// Runs `scenario` to its end; its summary, and the peak of allocated bytes.
pub(crate) fn measured(scenario: &Scenario) -> (Summary, u64) {
    let mut summary = None;
    let seed = scenario.run.seeds[0];
    let taken = allocation_counter::measure(|| {
        let run = sim::run(scenario, seed, &AtomicBool::new(false), &mut ());
        summary = Some(run.unwrap_or_else(|error| panic!("{error}\n{}", scenario.to_toml())));
    });
    (summary.unwrap().summary, taken.bytes_max)
}
