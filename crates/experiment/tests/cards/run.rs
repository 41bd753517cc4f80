//! Runs many scenarios on every processor.

use std::sync::atomic::AtomicBool;

use quell_lab::scenario::contract::{Listener, Row, Unwritten};
use quell_lab::{Scenario, World, at_once, sim};
use quell_measure::Summary;

/// A listener that ignores everything.
pub(crate) struct Nobody;

impl Listener for Nobody {
    fn progress(&mut self, _now: quell_units::Time) {}
    fn row(&mut self, _row: Row) -> Result<(), Unwritten> {
        Ok(())
    }
}

/// What `work` makes of each item, in the order of the items.
pub(crate) fn each<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    at_once::each(items, threads, work)
}

/// The summary of a scenario with its first seed.
pub(crate) fn summary(text: &str) -> Summary {
    let loaded = Scenario::load("cards.toml", text, &[], Some(World::Sim));
    let scenario = loaded
        .unwrap_or_else(|problems| panic!("{problems}\n{text}"))
        .scenario;
    let never = AtomicBool::new(false);
    sim::run(&scenario, 1, &never, &mut Nobody).unwrap().summary
}
