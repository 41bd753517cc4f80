//! Changes of a run under way: what somebody who watches it does with a slider.
//!
//! Each is a scenario again: the one that runs, with one more `[[at]]` at the time that is reached. [`Running::amend`] makes the run go on
//! as if it had been that scenario's from its start: what is in the series is the same, packet for packet. Two things of a scenario
//! look ahead, and are given before: how many flows a group may get, and the windows of receivers ([`Room`]). The summary has no
//! phases of such changes.

use quell_aqm::Observer;
use quell_units::Time;

use super::{Recording, Running, SimError, plan};
use crate::lifetimes::{Lifetime, lifetimes};
use crate::{AppSpec, Scenario, Setting, TimedChange};

/// What a run is prepared for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Room {
    /// By group, the most flows that it may ever have started; it has its own flows in any case.
    pub flows: Vec<usize>,
    /// The largest receive window in bytes, as [`largest_window`](crate::largest_window) gives it for the fastest link that is to come;
    /// the scenario has its own in any case.
    pub window: u64,
}

impl Room {
    /// The flows of a run: those of `scenario`, and behind those of each group the ones that may follow, which do not start.
    pub(super) fn lifetimes(&self, scenario: &Scenario, seed: u64) -> Vec<Lifetime> {
        let mut all = Vec::new();
        let known = lifetimes(scenario, seed);
        for group in 0..scenario.groups.len() {
            let of_group = known.iter().filter(|lifetime| lifetime.group == group);
            let before = all.len();
            all.extend(of_group.copied());
            let more = self.flows.get(group).copied().unwrap_or(0);
            for flow in all.len() - before..more {
                all.push(Lifetime {
                    group,
                    flow,
                    start: Time::MAX,
                    stop: None,
                });
            }
        }
        all
    }
}

impl<O: Observer<quell_sim::Packet> + Recording> Running<O> {
    /// Goes on as `scenario`: the one that runs, with more changes from the time on that is reached.
    ///
    /// # Errors
    ///
    /// A group needs more flows than there is room for, an application is changed, or `scenario` differs in what is over. Nothing is
    /// changed then.
    pub fn amend(&mut self, scenario: Scenario) -> Result<(), SimError> {
        let refused = |why: String| Err(SimError::Scenario(why));
        let now = self.simulator.now();
        let over = |scenario: &Scenario| -> Vec<TimedChange> {
            let changes = scenario.changes.iter();
            changes
                .filter(|change| change.time < now)
                .cloned()
                .collect()
        };
        if over(&scenario) != over(&self.scenario) {
            return refused("what is over cannot be changed".to_owned());
        }
        if apps(&scenario) != apps(&self.scenario) {
            return refused("an application changes at times that are known from the start: start the run again".to_owned());
        }
        let mut lives = self.lifetimes.clone();
        for lifetime in &mut lives {
            *lifetime = Lifetime {
                start: Time::MAX,
                stop: None,
                ..*lifetime
            };
        }
        for lifetime in lifetimes(&scenario, self.seed) {
            let same = |other: &&mut Lifetime| {
                (other.group, other.flow) == (lifetime.group, lifetime.flow)
            };
            let Some(slot) = lives.iter_mut().find(same) else {
                let name = &scenario.groups[lifetime.group].name;
                return refused(format!(
                    "group {name} gets more flows than this run is prepared for; start it again with as many"
                ));
            };
            *slot = lifetime;
        }

        let changes = scenario.changes.iter().filter(|change| change.time >= now);
        let changes = changes.flat_map(plan::changes).collect();
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

/// How applications change: by group and time.
fn apps(scenario: &Scenario) -> Vec<(usize, Time, &AppSpec)> {
    let mut all = Vec::new();
    for change in &scenario.changes {
        for set in &change.set {
            if let Setting::App { group, app, .. } = set {
                all.push((*group, change.time, &**app));
            }
        }
    }
    all
}
