//! What is handed from a batch to a world, and back.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use quell_measure::{Aggregate, Summary};
use quell_results::packets::PacketFile;
use quell_results::series::Series;
use quell_units::Time;

use crate::options::Options;
use crate::{RunError, Scenario};

/// A scenario, and how to run it.
#[derive(Debug)]
pub struct Task<'a> {
    /// What to run.
    pub scenario: &'a Scenario,
    /// How to run it.
    pub options: Options<'a>,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Number of the run, from 0.
    pub run: usize,
    /// Number of runs.
    pub runs: usize,
    /// Time of the run that has passed.
    pub elapsed: Time,
    /// Duration of the run.
    pub duration: Time,
}

/// One run for a world to do.
pub struct Job<'a> {
    /// What to run.
    pub scenario: &'a Scenario,
    /// Seed of all randomness.
    pub seed: u64,
    /// Once set, the run ends and its summary is marked partial.
    pub stop: &'a AtomicBool,
    /// Called with the time of the run that has passed, several times a second at most.
    pub progress: &'a mut dyn FnMut(Time),
    /// Takes the rows of each interval.
    pub series: &'a mut Series,
    /// Takes every packet, where that was asked for.
    pub packets: Option<PacketFile>,
    /// The folder of the result.
    pub folder: &'a Path,
}

impl std::fmt::Debug for Job<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job")
            .field("scenario", &self.scenario.name)
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}

/// One run that is on disk.
#[derive(Debug, Clone)]
pub struct Finished {
    /// Its seed.
    pub seed: u64,
    /// Its folder.
    pub folder: PathBuf,
    /// Its summary.
    pub summary: Summary,
}

/// The results of a task.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// One per seed, in the order of the seeds; fewer if the run was ended early.
    pub runs: Vec<Finished>,
    /// With several seeds: the folder of all, and their mean.
    pub aggregate: Option<(PathBuf, Aggregate)>,
}

/// A result's folder to be filled: one seed of a scenario.
pub(crate) struct Order<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) seed: u64,
    pub(crate) options: &'a Options<'a>,
    pub(crate) folder: &'a Path,
    pub(crate) progress: &'a mut dyn FnMut(Time),
}

impl Order<'_> {
    /// The scenario as it is written to the result: of this seed only.
    pub(crate) fn resolved(&self) -> Scenario {
        let mut resolved = self.scenario.clone();
        resolved.run.seeds = vec![self.seed];
        resolved
    }
}

/// Fills the folder of a result.
pub(crate) type Worker<'a> = dyn FnMut(Order<'_>) -> Result<Summary, RunError> + 'a;
/// The same, for several threads.
pub(crate) type SharedWorker<'a> = dyn Fn(Order<'_>) -> Result<Summary, RunError> + Sync + 'a;
