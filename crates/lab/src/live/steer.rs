//! Changes of a live run while it goes on, at times of its own clock.
//!
//! Each is an `[[at]]` of the scenario, checked as such; the scenario with all of them repeats the run. The link says when a change of its
//! own happens, because it cannot take anything back: the first time that it has not decided on yet. Flows that are to come are there from
//! the start, and have not begun ([`Prepared`]).

use quell_hosts::traffic::Traffic;
use quell_scenario::amended::replanned;
use quell_scenario::{Lifetime, Scenario, Template};
use quell_units::{Rate, Time};
use serde::{Deserialize, Serialize};

use super::LiveError;
use super::flows::Flows;
use super::link::LinkThread;
use super::plan::{self, Plan};
use crate::World;

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

/// What runs now, and what repeats it.
#[derive(Debug)]
pub(super) struct Steering {
    template: Template,
    scenario: Scenario,
    seed: u64,
    lives: Vec<Lifetime>,
}

impl Steering {
    pub(super) fn new(plan: &Plan<'_>, seed: u64) -> Result<Self, LiveError> {
        let scenario = plan.scenario().clone();
        let template = Template::read("scenario.toml", &scenario.to_toml());
        Ok(Self {
            template: template.map_err(|problems| LiveError::Failed(problems.to_string()))?,
            scenario,
            seed,
            lives: plan.lifetimes.clone(),
        })
    }

    /// From about `now` on `key` is `value`, as after `--set`. Returns the scenario that repeats the run, or says why nothing is changed.
    pub(super) fn change(
        &mut self,
        (key, value): (&str, &str),
        now: Time,
        link: &LinkThread,
        traffic: &Traffic,
        flows: &mut Flows,
    ) -> Result<String, String> {
        // At time zero a change is one of the scenario itself; the first nanosecond is as good.
        let mut at = now.max(Time::from_nanos(1));
        let mut next = self.with(at, key, value)?;
        let changes = next.scenario.changes.iter();
        let changes = changes.filter(|change| change.time == at);
        let changes: Vec<_> = changes.flat_map(plan::changes).collect();
        if !changes.is_empty() {
            let changes = changes.into_iter().map(|(_, change)| change).collect();
            at = link.change(changes).ok_or("the run has ended")?;
            next = self.with(at, key, value)?;
        }
        traffic.replan(next.lives.iter().map(|life| (life.start, life.stop)));
        flows.replan(&next.lives);
        *self = next;
        Ok(self.scenario.to_toml())
    }

    /// The same with a change at a time.
    fn with(&self, at: Time, key: &str, value: &str) -> Result<Self, String> {
        let template = self.template.with_change(at, key, value);
        let checked = template.scenario(
            &[],
            Some(World::Live),
            Box::new(|_, _| Err("a run under way reads no files".to_owned())),
        );
        let scenario = checked.map_err(|problems| problems.to_string())?;
        let lives = replanned(&self.scenario, &scenario, self.seed, at, &self.lives)?;
        Ok(Self {
            template,
            scenario,
            seed: self.seed,
            lives,
        })
    }
}
