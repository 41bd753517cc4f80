//! Options that change a scenario file.

use clap::Args;
use quell_lab::scenario::Override;

use super::error::ArgumentError;
use super::queue_lists::one_queue;
use super::world::LIVE;

/// Changes to the scenario file.
#[derive(Debug, Default, Args)]
pub(crate) struct Changes {
    /// Take the link, and the base RTT of every group, from a profile, such as dsl or 3g (quell profiles lists them); other options
    /// change single values
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Change a value: link.rate=20mbit, group.l4s.count=10, link.queue.target=5ms
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
    /// Run with this seed only
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Duration of the run, such as 10s
    #[arg(long, value_name = "TIME")]
    pub(crate) duration: Option<String>,
}

/// Another queue than the scenario's.
#[derive(Debug, Args)]
pub(crate) struct QueueChoice {
    /// Use this queue, such as dualpi2:target=5ms, or LINK=QUEUE where there are several links. The file's parameters apply only to a
    /// queue of the same kind
    #[arg(long, value_name = "QUEUE")]
    queue: Option<String>,
}

impl QueueChoice {
    /// What it sets.
    pub(crate) fn overrides(&self) -> Result<Vec<Override>, ArgumentError> {
        Ok(one_queue(self.queue.as_deref())?)
    }
}

/// Whether a scenario may run programs.
#[derive(Debug, Args)]
pub(crate) struct Consent {
    /// Let the live world run the programs that the scenario names (kind = "program"), as you and without further rights. Read the
    /// scenario first
    #[arg(long, help_heading = LIVE)]
    pub(crate) allow_programs: bool,
}
