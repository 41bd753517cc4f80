//! What a live run is prepared for that somebody watches and changes.

use quell_units::Rate;
use serde::{Deserialize, Serialize};

/// What a run that may change is prepared for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prepared {
    /// Flows that each group may start besides its own.
    pub flows: u32,
    /// The fastest that the link may become, in bit/s; what it is by the scenario if that is more.
    pub fastest_bps: u64,
}

impl Prepared {
    /// The fastest that the link may become.
    pub(super) fn fastest(self) -> Rate {
        Rate::from_bps(self.fastest_bps)
    }
}
