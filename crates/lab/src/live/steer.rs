//! Changes of a live run while it goes on, at times of its own clock.
//!
//! Each is an `[[at]]` of the scenario, checked as such; the scenario with all of them repeats the run. The link says when a change of its
//! own happens, because it cannot take anything back: the first time that it has not decided on yet. Flows that are to come are there from
//! the start, and have not begun ([`super::prepared`]).

use quell_hosts::traffic::Traffic;
use quell_scenario::amended::{ReplanError, replanned};
use quell_scenario::{Lifetime, Problems, Scenario, Template};
use quell_units::Time;

use super::error::LiveError;
use super::flows::Flows;
use super::link::LinkThread;
use super::plan::{self, Plan};
use crate::World;

/// Why nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum NotChanged {
    /// The run is over.
    #[error("the run has ended")]
    Over,
    /// The scenario would be wrong.
    #[error(transparent)]
    Wrong(#[from] Problems),
    /// What has happened already would be another.
    #[error(transparent)]
    Past(#[from] ReplanError),
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

    /// From about `now` on `key` is `value`, as after `--set`. Returns the scenario that repeats the run, as TOML.
    pub(super) fn change(
        &mut self,
        (key, value): (&str, &str),
        now: Time,
        link: &LinkThread,
        traffic: &Traffic,
        flows: &mut Flows,
    ) -> Result<String, NotChanged> {
        // At time zero a change is one of the scenario itself; the first nanosecond is as good.
        let mut at = now.max(Time::from_nanos(1));
        let mut next = self.with(at, key, value)?;
        let mut changes = plan::changes(&next.scenario);
        changes.retain(|(time, _)| *time == at);
        if !changes.is_empty() {
            let changes = changes.into_iter().map(|(_, change)| change).collect();
            at = link.change(changes).ok_or(NotChanged::Over)?;
            next = self.with(at, key, value)?;
        }
        traffic.replan(next.lives.iter().map(|life| (life.start, life.stop)));
        flows.replan(&next.lives);
        *self = next;
        Ok(self.scenario.to_toml())
    }

    /// The same with a change at a time.
    fn with(&self, at: Time, key: &str, value: &str) -> Result<Self, NotChanged> {
        let template = self.template.with_change(at, key, value);
        let scenario = template.scenario(
            &[],
            Some(World::Live),
            Box::new(|_, _| Err("a run under way reads no files".into())),
        )?;
        let lives = replanned(&self.scenario, &scenario, self.seed, at, &self.lives)?;
        Ok(Self {
            template,
            scenario,
            seed: self.seed,
            lives,
        })
    }
}
