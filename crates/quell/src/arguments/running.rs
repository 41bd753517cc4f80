//! Options about how runs are carried out.

use std::num::NonZeroUsize;

use clap::Args;
use quell_lab::World;

use super::error::{ArgumentError, NotAllowed};
use super::world::LIVE;

/// How many runs at once.
#[derive(Debug, Args)]
pub(crate) struct Jobs {
    /// Simulator and virtual world: number of parallel runs, fewer if memory is short [default: one per
    /// processor]. Results do not depend on it
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    jobs: Option<NonZeroUsize>,
}

impl Jobs {
    /// The number given, otherwise one per processor; one in the live world, where runs would disturb each other.
    pub(crate) fn number(&self, world: World) -> Result<NonZeroUsize, ArgumentError> {
        match (self.jobs, world) {
            (None, World::Sim | World::Virtual) => {
                Ok(std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
            }
            (Some(jobs), World::Sim | World::Virtual) => Ok(jobs),
            (None, World::Live) => Ok(NonZeroUsize::MIN),
            (Some(_), World::Live) => Err(ArgumentError::JobsOfLive),
        }
    }
}

fn at_least_one(text: &str) -> Result<NonZeroUsize, NotAllowed> {
    let number = text.parse().ok().and_then(NonZeroUsize::new);
    number.ok_or(NotAllowed::but("a whole number of at least 1"))
}

/// How the threads of the live world are scheduled.
#[derive(Debug, Args)]
pub(crate) struct Realtime {
    /// Run the thread of the link under SCHED_FIFO with this priority (1 to 99), and those of the hosts with one less. This
    /// keeps them on time below half a core of load, and makes them later above
    #[arg(long = "realtime", value_name = "PRIORITY", value_parser = clap::value_parser!(u8).range(1..=99), help_heading = LIVE)]
    pub(crate) priority: Option<u8>,
}

/// How much to report.
#[derive(Debug, Args)]
pub(crate) struct Verbosity {
    /// Also report background work on standard error, such as removing the remains of killed runs
    #[arg(short, long)]
    pub(crate) verbose: bool,
}
