//! What is run in several worlds: a scenario file and what is set in it, under a name.

use std::fmt::Display;

use quell_lab::scenario::{Override, Scenario};
use quell_lab::{RunError, World};

/// A scenario file that points change: its name and its text.
pub type Base = (&'static str, &'static str);

/// One point of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// Its name, in the tables and as a file.
    pub id: String,
    /// The file that it changes.
    pub base: Base,
    /// What it sets, as after `--set`.
    pub settings: Vec<String>,
    /// Rate of the link.
    pub rate_mbps: u32,
}

impl Case {
    /// The scenario of one run.
    pub fn scenario(&self, world: World, seed: u64) -> Result<Scenario, RunError> {
        let refused = |why: &dyn Display| RunError::refused(format!("{}: {why}", self.id));
        let mut overrides = vec![Override::seed(seed)];
        for setting in &self.settings {
            overrides.push(Override::set(setting).map_err(|why| refused(&why))?);
        }
        Scenario::load(self.base.0, self.base.1, &overrides, Some(world))
            .map(|loaded| loaded.scenario)
            .map_err(|problems| refused(&problems))
    }
}
