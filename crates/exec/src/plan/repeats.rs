//! Changes that repeat, where a day of them is more than a scenario holds: they are worked out as they come.
//!
//! From the time at which all changes have happened once, all of them come again after the smallest common multiple of their steps. The scenario has
//! them up to the end of the first such cycle.

use quell_link::LinkChange;
use quell_scenario::Problems;
use quell_scenario::tree::{Node, Tree};
use quell_units::{Time, notation};

/// A cycle is as long as this at least.
const LEAST: Time = Time::from_secs(10);

/// Changes that come again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cycle {
    /// When the first one begins.
    pub(crate) from: Time,
    pub(crate) length: Time,
}

impl Cycle {
    /// Of `at`, the changes of a scenario file, and others that happen once at these times; `None` where nothing repeats, or what it says is not
    /// clear.
    pub(super) fn of(at: &Node, once: impl Iterator<Item = Time>) -> Option<Self> {
        let Tree::Array(entries) = &at.value else {
            return None;
        };
        let mut from = once.max().unwrap_or(Time::ZERO) + Time::from_nanos(1);
        let mut length: Option<u64> = None;
        for entry in entries {
            let time = time(entry, "time")?;
            let Some(step) = self::time(entry, "repeat") else {
                from = from.max(time + Time::from_nanos(1));
                continue;
            };
            from = from.max(time);
            length = Some(common(length.unwrap_or(1), step.as_nanos())?);
        }
        let length = length?;
        let length = length.checked_mul(LEAST.as_nanos().div_ceil(length).max(1))?;
        Some(Self {
            from,
            length: Time::from_nanos(length),
        })
    }

    /// When the first one is over.
    pub(super) fn end(self) -> Time {
        self.from + self.length
    }
}

/// The time that a table has under this name.
fn time(entry: &Node, name: &str) -> Option<Time> {
    let Tree::Table(table) = &entry.value else {
        return None;
    };
    match &table.get(name)?.value {
        Tree::Scalar(_, text) => notation::time(text).ok(),
        _ => None,
    }
}

/// The smallest common multiple.
fn common(one: u64, other: u64) -> Option<u64> {
    let (mut divisor, mut rest) = (one, other);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    one.checked_mul(other.checked_div(divisor)?)
}

/// Whether a scenario is refused for the number of its changes alone.
pub(super) fn are_too_many(problems: &Problems) -> bool {
    let mut all = problems.all().iter();
    all.all(|problem| problem.key.ends_with(".repeat") && problem.allowed.contains(" the most"))
}

/// The changes of all cycles but the first, in the order of their times.
#[derive(Debug, Clone, Default)]
pub(crate) struct Later {
    first: Vec<(Time, LinkChange)>,
    length: Time,
    until: Time,
    /// How many came.
    count: usize,
}

impl Later {
    /// Of these changes of the first cycle, until this time.
    pub(super) fn new(first: Vec<(Time, LinkChange)>, cycle: Cycle, until: Time) -> Self {
        Self {
            first,
            length: cycle.length,
            until,
            count: 0,
        }
    }

    /// When the next one comes.
    pub(crate) fn next_time(&self) -> Option<Time> {
        let cycle = self.count.checked_div(self.first.len())? + 1;
        let (at, _) = &self.first[self.count % self.first.len()];
        let at = *at + self.length * cycle as u64;
        (at < self.until).then_some(at)
    }

    /// The next one, if it comes before `horizon`.
    pub(crate) fn next_before(&mut self, horizon: Time) -> Option<(Time, LinkChange)> {
        let at = self.next_time().filter(|at| *at < horizon)?;
        let (_, change) = &self.first[self.count % self.first.len()];
        self.count += 1;
        Some((at, change.clone()))
    }
}
