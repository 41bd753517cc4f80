//! Changes of a run while it runs, in every world: what a person who watches it does with a slider.
//!
//! Each is a scenario again: the one that runs, with one more `[[at]]` ([`Template::with_change`](crate::Template::with_change)). Two
//! things of a scenario look ahead, and are given before: how many flows a group may get, and how much may be in flight.

use quell_units::Time;

use crate::capacity::longest_rtt;
use crate::lifetimes::{Lifetime, lifetimes};
use crate::{AppSpec, Scenario, Setting, TimedChange};

/// The flows of a run that is prepared for more: those of `scenario`, and behind those of each group as many further ones as make `flows`
/// of that group. These start at [`Time::MAX`]: never.
pub fn with_spare(scenario: &Scenario, seed: u64, flows: &[usize]) -> Vec<Lifetime> {
    let mut all = Vec::new();
    let known = lifetimes(scenario, seed);
    for group in 0..scenario.groups.len() {
        let of_group = known.iter().filter(|lifetime| lifetime.group == group);
        let before = all.len();
        all.extend(of_group.copied());
        let more = flows.get(group).copied().unwrap_or(0);
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

/// Why a run cannot go on as another scenario.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplanError {
    /// A change before now differs.
    #[error("what is over cannot be changed")]
    Over,
    /// An application has other changes.
    #[error("an application changes at times that are known from the start: start the run again")]
    Application,
    /// A group gets a longer base RTT than any group has had.
    #[error(
        "windows are those of a base RTT of {0} at most; start the run again with an [[at]] that has a longer one"
    )]
    Rtt(Time),
    /// This group has more flows.
    #[error("group {0} gets more flows than this run is prepared for; start it again with as many")]
    Flows(String),
}

/// The flows of a run as they live from `now` on if `before` becomes `after`. `lives` are those that the run is prepared for.
///
/// # Errors
///
/// A group needs more flows than there are or a longer RTT, an application is changed, or `after` differs in what is over.
pub fn replanned(
    before: &Scenario,
    after: &Scenario,
    seed: u64,
    now: Time,
    lives: &[Lifetime],
) -> Result<Vec<Lifetime>, ReplanError> {
    if over(after, now) != over(before, now) {
        return Err(ReplanError::Over);
    }
    if apps(after) != apps(before) {
        return Err(ReplanError::Application);
    }
    let longest = longest_rtt(before);
    if longest_rtt(after) > longest {
        return Err(ReplanError::Rtt(longest));
    }
    let none = |life: &Lifetime| Lifetime {
        start: Time::MAX,
        stop: None,
        ..*life
    };
    let mut all: Vec<Lifetime> = lives.iter().map(none).collect();
    for lifetime in lifetimes(after, seed) {
        let is_same_flow =
            |other: &&mut Lifetime| (other.group, other.flow) == (lifetime.group, lifetime.flow);
        let Some(slot) = all.iter_mut().find(is_same_flow) else {
            let group = &after.groups[lifetime.group];
            return Err(ReplanError::Flows(group.name.clone()));
        };
        *slot = lifetime;
    }
    Ok(all)
}

/// The changes before `now`.
fn over(scenario: &Scenario, now: Time) -> Vec<&TimedChange> {
    let changes = scenario.changes.iter();
    changes.filter(|change| change.time < now).collect()
}

/// The changes of applications, by group and time.
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
