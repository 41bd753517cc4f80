//! Changes of a run while it runs: what a person who watches it does with a slider.
//!
//! Each is a scenario again: the one that runs, with one more `[[at]]` at the time that is reached. [`Running::amend`] makes the run go on
//! as if it had been that scenario's from its start: what is in the series is the same, packet for packet. Two things of a scenario
//! look ahead, and are given before: how many flows a group may get, and the windows of receivers ([`Room`]). The summary has no
//! phases of such changes.

use quell_units::Time;

use super::{Running, SimError, Simulated, plan};
use crate::Scenario;
use crate::amended::replanned;

/// Room for changes for which a run is prepared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Room {
    /// The most flows that each group may ever have started; it has its own flows in any case.
    pub flows: Vec<usize>,
    /// The largest receive window in bytes, as [`largest_window`](crate::largest_window) gives it for the fastest link that is to come;
    /// the scenario has its own in any case.
    pub window: u64,
}

impl<O: Simulated> Running<O> {
    /// Goes on as `scenario`: the one that runs, with more changes from the time on that is reached.
    ///
    /// # Errors
    ///
    /// A group needs more flows than there is room for, an application is changed, or `scenario` differs in what is over. Nothing is
    /// changed then.
    pub fn amend(&mut self, scenario: Scenario) -> Result<(), SimError> {
        let now = self.simulator.now();
        let lives = replanned(&self.scenario, &scenario, self.seed, now, &self.lifetimes);
        let lives = lives.map_err(|error| SimError::Scenario(error.to_string()))?;
        let mut changes = plan::changes(&scenario);
        changes.retain(|(at, _)| *at >= now);
        let planned: Vec<(Time, Option<Time>)> =
            lives.iter().map(|life| (life.start, life.stop)).collect();
        self.simulator.replan(&planned, changes);
        for (id, life) in super::ids(&lives).zip(&lives) {
            self.flows
                .set_life(id, life.start, life.stop.unwrap_or(Time::MAX));
        }
        self.lifetimes = lives;
        self.scenario = scenario;
        Ok(())
    }
}
