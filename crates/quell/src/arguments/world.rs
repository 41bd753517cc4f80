//! Where a scenario runs.

use clap::ValueEnum;
use quell_lab::World;

/// Headings of the options that only one world has.
pub(crate) const VIRTUAL: &str = "Virtual world";
pub(crate) const LIVE: &str = "Live world";

/// Where a scenario runs.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Where {
    /// Modelled hosts in virtual time
    Sim,
    /// Real TCP of a user-mode kernel in virtual time
    Virtual,
    /// Real TCP of this host in real time
    Live,
}

impl From<Where> for World {
    fn from(place: Where) -> Self {
        match place {
            Where::Sim => Self::Sim,
            Where::Virtual => Self::Virtual,
            Where::Live => Self::Live,
        }
    }
}
