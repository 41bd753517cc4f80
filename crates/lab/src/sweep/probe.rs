//! Measurements of a program's own in the cells of its plan.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use quell_scenario::Scenario;
use quell_units::Time;

use crate::{LiveOptions, RunError};

/// A measurement that the summary of a run does not have.
#[derive(Debug, Clone, Copy)]
pub struct Probe {
    /// Its name.
    pub name: &'static str,
    /// Hash of what its figures depend on besides the simulator: its own sources.
    pub code: &'static str,
    /// Runs the scenario with a seed until the end, or until the flag is set; the figures as JSON.
    pub measure: fn(&Scenario, u64, &AtomicBool) -> Result<String, RunError>,
    /// How the same figures follow from what the virtual world leaves of a run; `None` where only the simulated one has them.
    pub reading: Option<Reading>,
}

/// How figures follow from a result.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    /// Time between rows of the series that it needs of this scenario.
    pub interval: fn(&Scenario) -> Time,
    /// Reads the figures, as JSON, from a folder with the result of this scenario, with series and packets.
    pub figures: fn(&Scenario, &Path) -> Result<String, RunError>,
}

/// The queue of a run that is watched from outside, at the ports before and behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Watched {
    /// quell's.
    Quell,
    /// The kernel's, in the words of tc.
    Kernel(String),
}

impl Watched {
    /// The options of a run that is watched so.
    pub(crate) fn options(&self) -> LiveOptions {
        LiveOptions {
            watch: true,
            kernel_queue: match self {
                Self::Quell => None,
                Self::Kernel(words) => Some(words.clone()),
            },
            ..LiveOptions::default()
        }
    }

    /// What the name of a cell says of it.
    pub(crate) fn in_words(&self) -> String {
        match self {
            Self::Quell => "quell".to_owned(),
            Self::Kernel(words) => format!("kernel {words}"),
        }
    }
}
