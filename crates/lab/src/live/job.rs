//! A live run as a batch runs it: what it gives goes to disk.

use std::path::PathBuf;

use quell_results::packets::PacketFile;
use quell_scenario::contract::Measurements;

use super::error::LiveError;
use super::listener::LiveListener;
use super::run::run;
use crate::job::Job;
use crate::options::LiveOptions;
use crate::write_result::ToDisk;
use crate::{RunError, World};

/// Runs `job` with real packets, in whichever time this machine has.
pub(crate) fn live(
    job: Job<'_>,
    world: World,
    options: &LiveOptions,
) -> Result<Measurements, RunError> {
    let (scenario, seed, stop) = (job.scenario, job.seed, job.stop);
    let mut disk = ToDisk::new(job);
    let measured = run(scenario, seed, world, options, stop, &mut disk);
    measured.map_err(|error| {
        let error = match world {
            World::Virtual => error.in_guest(),
            World::Sim | World::Live => error,
        };
        of_run(error, disk)
    })
}

/// An error of the live world as one of a run whose results go to `disk`.
pub(super) fn of_run(error: LiveError, disk: ToDisk<'_>) -> RunError {
    match error {
        LiveError::Scenario(why) => RunError::refused(why),
        LiveError::Environment(reason) => RunError::Refused(reason),
        LiveError::Unwritten(_) => disk.error(),
        LiveError::Results(error) => error.into(),
        error => RunError::Failed(error.to_string()),
    }
}

impl LiveListener for ToDisk<'_> {
    fn packets(&mut self) -> Option<PacketFile> {
        Self::packets(self)
    }
    fn commands(&mut self) -> Option<PathBuf> {
        Some(Self::commands(self))
    }
    fn programs(&mut self) -> Option<PathBuf> {
        Some(Self::programs(self))
    }
}
