//! What a demonstration does differently in each world.

use quell_lab::World;
use quell_lab::scenario::Override;

/// Enough to tell what the queues do from what chance does.
pub(crate) const SEEDS: u64 = 3;

/// The seed asked for, or so many of them in the simulator: fewer where a run takes longer.
pub(crate) fn seeds(asked: Option<u64>, simulated: u64, world: World) -> Override {
    match (asked, world) {
        (Some(seed), _) => Override::seed(seed),
        (None, World::Sim) => Override::default_seeds(simulated),
        (None, World::Virtual) => Override::default_seeds(SEEDS.min(simulated)),
        (None, World::Live) => Override::default_seeds(1),
    }
}

/// The option that asks for `world`.
pub(crate) fn place(world: World) -> String {
    match world {
        World::Sim => String::new(),
        World::Virtual | World::Live => format!(" --world {}", world.name()),
    }
}

/// Whose TCP it is.
pub(crate) fn tcp(world: World) -> &'static str {
    match world {
        World::Live => "real TCP of this host",
        World::Virtual => "real TCP in virtual time",
        World::Sim => "simulated TCP",
    }
}
