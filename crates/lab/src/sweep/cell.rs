//! One run of a sweep.

use quell_units::Time;

use super::identity::Key;

/// One run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cell {
    pub(crate) point: u32,
    pub(crate) seed: u64,
    pub(crate) key: Key,
    /// Packets that the link could carry, and a little for the run itself.
    pub(crate) cost: u64,
    /// How long it lasts in the world's own time.
    pub(crate) duration: Time,
}
