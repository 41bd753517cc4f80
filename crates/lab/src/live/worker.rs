//! What the broker of this process gives its workers to do.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use quell_hosts::broker::Broker;
use quell_kernel::held::Identity;
use serde::{Deserialize, Serialize};

use super::prepared::Prepared;
use crate::options::LiveOptions;
use crate::{RunError, Scenario};

/// The broker of this process, if it has one.
static BROKER: Mutex<Option<Broker>> = Mutex::new(None);

/// To fill the folder of a result.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FillTask {
    /// Resolved, as TOML.
    pub(super) scenario: String,
    pub(super) seed: u64,
    pub(super) results: PathBuf,
    /// What that folder must be, whoever renames it meanwhile.
    pub(super) identity: Identity,
    pub(super) packets: bool,
    pub(super) warnings: Vec<String>,
    pub(super) live: LiveOptions,
}

/// What a worker does.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Work {
    /// Fills the folder of a result.
    Fill(FillTask),
    /// Runs for somebody who watches.
    Watch(WatchTask),
}

/// To run for somebody who watches.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WatchTask {
    /// Resolved, as TOML.
    pub(super) scenario: String,
    pub(super) seed: u64,
    pub(super) warnings: Vec<String>,
    pub(super) prepared: Prepared,
    pub(super) live: LiveOptions,
}

/// The broker of this process, if it has one; its runs come one after the other.
pub(super) fn broker_of_this_process() -> MutexGuard<'static, Option<Broker>> {
    BROKER.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn failed(why: &dyn std::fmt::Display) -> RunError {
    RunError::Failed(format!("in the process of the live run: {why}"))
}

/// The scenario of a task, which was written by this program.
pub(super) fn resolved(scenario: &str) -> Result<Scenario, RunError> {
    Scenario::parse(scenario)
        .map_err(|problems| failed(&format!("the scenario came out wrong: {problems}")))
}
