//! Scenarios of tests that are no published experiment.

use quell_experiment::shipped;
use quell_lab::Scenario;
use quell_lab::scenario::Override;

/// The scenario `file` of `scenarios/`, with `sets` as by `--set`.
pub(crate) fn scenario(file: &str, sets: &[String]) -> Scenario {
    let text = shipped::scenario(file).unwrap();
    let overrides: Vec<Override> = sets.iter().map(|set| Override::set(set).unwrap()).collect();
    let loaded = Scenario::load(file, text, &overrides, None);
    let loaded = loaded.unwrap_or_else(|problems| panic!("{file} {sets:?}: {problems}"));
    loaded.scenario
}
