//! One run of an experiment.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use quell_lab::scenario::Direction;
use quell_lab::sweep::{Probe, Wanted, Watched};
use quell_lab::{Scenario, World};
use quell_units::Time;

/// Packets of full size that a quick run may send, unless it lasts only [`SHORT`] or [`LONG`].
const QUICK_PACKETS: u128 = 5_000;
/// The shortest quick run.
const SHORT: Time = Time::from_secs(2);
/// The shortest quick run of an application that needs time to begin.
const LONG: Time = Time::from_secs(20);

/// How much runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// Everything once: one seed, and a few seconds of each run. Nothing is judged.
    Quick,
    /// The lengths and seeds with which the verdicts are made.
    Full,
}

/// One run of an experiment.
#[derive(Debug, Clone)]
pub struct Cell {
    file: String,
    sets: Vec<String>,
    /// Further changes where a real kernel sends.
    over_linux: Vec<String>,
    seed: u64,
    probe: Option<Probe>,
    watched: Option<Watched>,
    slow: bool,
}

impl Cell {
    /// The scenario at this path below `scenarios/`, with seed 1.
    pub fn new(file: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            sets: Vec::new(),
            over_linux: Vec::new(),
            seed: 1,
            probe: None,
            watched: None,
            slow: false,
        }
    }

    /// With another value, `KEY=VALUE` as after `--set`.
    #[must_use]
    pub fn set(mut self, set: impl Into<String>) -> Self {
        self.sets.push(set.into());
        self
    }

    /// With other values.
    #[must_use]
    pub fn sets<S: Into<String>>(mut self, sets: impl IntoIterator<Item = S>) -> Self {
        self.sets.extend(sets.into_iter().map(Into::into));
        self
    }

    /// Over the TCP of a real kernel with another value: what the source had is in no kernel of today.
    #[must_use]
    pub fn over_linux(mut self, set: impl Into<String>) -> Self {
        self.over_linux.push(set.into());
        self
    }

    /// With this seed.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// One for each seed.
    pub fn seeds(self, seeds: impl IntoIterator<Item = u64>) -> Vec<Self> {
        let one = |seed| self.clone().seed(seed);
        seeds.into_iter().map(one).collect()
    }

    /// Measures these figures instead of the summary.
    #[must_use]
    pub fn probe(mut self, probe: Probe) -> Self {
        self.probe = Some(probe);
        self
    }

    /// With this queue, watched from outside.
    #[must_use]
    pub fn watched(mut self, watched: Watched) -> Self {
        self.watched = Some(watched);
        self
    }

    /// A quick run lasts at least 20 s, not 2 s, because the application needs time to begin.
    #[must_use]
    pub fn slow(mut self) -> Self {
        self.slow = true;
        self
    }

    /// Path of the scenario below `scenarios/`.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The queue that is watched from outside.
    pub fn watches(&self) -> Option<&Watched> {
        self.watched.as_ref()
    }

    /// Its seed.
    pub fn own_seed(&self) -> u64 {
        self.seed
    }

    /// The measurement, if it is none of the summary.
    pub fn measurement(&self) -> Option<&'static str> {
        self.probe.map(|probe| probe.name)
    }

    /// The changes of the scenario, as after `--set`.
    pub fn settings(&self) -> &[String] {
        &self.sets
    }

    /// The changes of the scenario in `world`.
    pub(crate) fn sets_in(&self, world: World) -> Vec<String> {
        let mut sets = self.sets.clone();
        if world != World::Sim {
            sets.extend(self.over_linux.iter().cloned());
        }
        sets
    }

    /// The changes of the scenario where a real kernel sends, besides [`Cell::settings`].
    pub fn settings_over_linux(&self) -> &[String] {
        &self.over_linux
    }

    fn differs_by_seed_alone(&self, other: &Self) -> bool {
        let of = |one: &Self| {
            (
                one.file.clone(),
                one.sets.clone(),
                one.measurement(),
                one.watched.clone(),
            )
        };
        of(self) == of(other)
    }
}

/// The runs of some cells, in their order.
pub(crate) fn wanted_of(
    name: &str,
    cells: &[Cell],
    text: &dyn Fn(&str) -> String,
    folder: &Path,
    length: Length,
    world: World,
) -> Vec<Wanted> {
    let mut before: Option<&Cell> = None;
    let mut texts: BTreeMap<String, Arc<str>> = BTreeMap::new();
    let one = |(number, cell): (usize, &Cell)| Wanted {
        name: format!("{name} {}", number + 1),
        file: cell.file.clone(),
        text: texts
            .entry(cell.file.clone())
            .or_insert_with(|| text(&cell.file).into())
            .clone(),
        folder: folder.to_owned(),
        sets: cell.sets_in(world),
        seed: cell.seed,
        adapt: match (length, cell.slow) {
            (Length::Full, _) => None,
            (Length::Quick, false) => Some(|scenario| shorten(scenario, SHORT)),
            (Length::Quick, true) => Some(|scenario| shorten(scenario, LONG)),
        },
        probe: cell.probe,
        watched: cell.watched.clone(),
    };
    let mut all: Vec<Wanted> = cells.iter().enumerate().map(one).collect();
    if length == Length::Quick {
        // Every seed of a point is its first.
        let mut seed = 0;
        for (wanted, cell) in all.iter_mut().zip(cells) {
            if !before.is_some_and(|before| before.differs_by_seed_alone(cell)) {
                seed = wanted.seed;
            }
            wanted.seed = seed;
            before = Some(cell);
        }
    }
    all
}

/// Shortens the whole run in proportion, to at least `least`: the warm-up, the changes and the lives of flows too.
fn shorten(scenario: &mut Scenario, least: Time) {
    let whole = scenario.run.duration;
    let rate = |direction| {
        let rate = scenario.links[0].direction(direction).rate;
        if rate.is_unlimited() {
            0
        } else {
            rate.as_bps()
        }
    };
    let rate = rate(Direction::Forward) + rate(Direction::Reverse);
    let sending = QUICK_PACKETS * 12_000 * 1_000_000_000 / u128::from(rate.max(1));
    let sending = Time::from_nanos(u64::try_from(sending).unwrap_or(u64::MAX));
    let target = sending.max(least).min(whole);
    let scaled = |time: &mut Time| {
        let part = u128::from(time.as_nanos()) * u128::from(target.as_nanos());
        let part = part / u128::from(whole.as_nanos().max(1));
        // Whole milliseconds read well in the resolved scenario.
        let millis = u64::try_from(part / 1_000_000).unwrap_or(u64::MAX);
        *time = Time::from_millis(millis);
    };
    scaled(&mut scenario.run.warmup);
    scaled(&mut scenario.run.settle);
    scaled(&mut scenario.run.duration);
    for group in &mut scenario.groups {
        scaled(&mut group.start);
        group.stop.iter_mut().for_each(scaled);
    }
    for change in &mut scenario.changes {
        scaled(&mut change.time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shipped;

    fn wanted(cells: &[Cell], length: Length, world: World) -> Vec<Wanted> {
        let text = |file: &str| shipped::scenario(file).unwrap().to_owned();
        wanted_of("e", cells, &text, Path::new(""), length, world)
    }

    #[test]
    fn a_quick_run_is_the_whole_run_in_proportion_and_still_a_scenario() {
        let all = crate::registry::all();
        let mut files: Vec<&str> = all.iter().flat_map(|one| one.scenarios()).collect();
        files.sort_unstable();
        files.dedup();
        assert!(files.len() > 5);
        for file in files {
            let whole = shipped::load(file);
            for least in [SHORT, LONG] {
                let mut quick = whole.clone();
                shorten(&mut quick, least);
                assert!(
                    quick.run.duration <= whole.run.duration.max(least),
                    "{file}"
                );
                let read = Scenario::load(file, &quick.to_toml(), &[], None);
                let read = read
                    .unwrap_or_else(|error| panic!("{file}: {error}"))
                    .scenario;
                assert_eq!(read.run.duration, quick.run.duration, "{file}");
            }
        }
        // With changes during the run.
        let mut quick = shipped::load("vdq2020/a.toml");
        let whole = quick.clone();
        shorten(&mut quick, SHORT);
        assert_eq!(quick.run.duration, SHORT);
        assert_eq!(quick.changes.len(), whole.changes.len());
    }

    #[test]
    fn a_quick_run_has_the_first_seed_of_its_point() {
        let file = "dualq2015/slides.toml";
        let mut cells = Cell::new(file).seeds([3, 4]);
        cells.extend(Cell::new(file).set("link.rate=20mbit").seeds([5, 6]));
        let seeds = |length| {
            let wanted = wanted(&cells, length, World::Sim);
            wanted.iter().map(|one| one.seed).collect::<Vec<_>>()
        };
        assert_eq!(seeds(Length::Full), [3, 4, 5, 6]);
        assert_eq!(seeds(Length::Quick), [3, 3, 5, 5]);
    }

    #[test]
    fn what_no_kernel_has_is_changed_only_over_the_tcp_of_a_kernel() {
        let cell = Cell::new("gsp2014/e1-taildrop.toml").set("run.duration=60s");
        let cells = [cell.over_linux("group.flows.congestion-control=cubic")];
        let sets = |world| wanted(&cells, Length::Full, world).remove(0).sets;
        assert_eq!(sets(World::Sim), ["run.duration=60s"]);
        let over_linux = ["run.duration=60s", "group.flows.congestion-control=cubic"];
        assert_eq!(sets(World::Virtual), over_linux);
    }
}
