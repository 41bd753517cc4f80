//! Runs many scenarios on every processor.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use quell_lab::scenario::contract::{Listener, Row, Unwritten};
use quell_lab::{Scenario, World, sim};
use quell_measure::Summary;

struct Nobody;

impl Listener for Nobody {
    fn progress(&mut self, _now: quell_units::Time) {}
    fn row(&mut self, _row: Row) -> Result<(), Unwritten> {
        Ok(())
    }
}

/// What `work` makes of each item, in the order of the items.
pub(crate) fn each<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((number, item)) = {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    items.get(number).map(|item| (number, item))
                } {
                    let result = work(item);
                    done.lock().unwrap().push((number, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap();
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
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
