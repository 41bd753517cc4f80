//! The simulator against a user-mode kernel, over the grid of [`Point`]: a night's work.
//!
//! A virtual run has no timing noise, but each seed is a run of its own: starts differ. Every point has the same seeds at first.
//! Where the standard error of a difference is larger than its bound, chance decides whether it holds: such a point gets further
//! seeds, in both worlds. Which points do hangs on their scatter, never on whether they agree.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use quell_lab::World;
use quell_measure::{Estimate, Summary};

use crate::case::Case;
use crate::document::{self, Explanations};
use crate::figures::{Difference, Figure, Reference, values};
use crate::grid::{self, Point, STRENGTH};
use crate::store::{Kind, Store};
use crate::{Arguments, guests, simulated};

type Failure = Box<dyn std::error::Error>;

/// What is known of a point.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    sim: Vec<Summary>,
    guest: Vec<Summary>,
    not_run: Option<String>,
}

impl Measured {
    pub(crate) fn differences(&self) -> Vec<Difference> {
        Difference::all(Reference::Virtual, &self.sim, &self.guest)
    }

    /// Chance decides whether a bound holds.
    fn scatters(&self) -> bool {
        self.differences()
            .iter()
            .any(|one| one.standard_error() > one.bound())
    }
}

/// Makes the runs that are not kept, and collects all.
pub(crate) fn measure(
    points: Vec<Point>,
    arguments: &Arguments,
    store: &Store,
    stop: &AtomicBool,
) -> Result<Vec<(Point, Measured)>, Failure> {
    let mut all: Vec<(Point, Measured)> = points
        .into_iter()
        .map(|point| (point, Measured::default()))
        .collect();
    let mut wanted: Vec<(usize, u64)> = (1..=arguments.seeds)
        .flat_map(|seed| (0..all.len()).map(move |index| (index, seed)))
        .collect();
    let mut seeds = arguments.seeds;
    loop {
        let cases: Vec<Case> = all.iter().map(|(point, _)| point.case()).collect();
        let runs = wanted
            .iter()
            .map(|&(index, seed)| (cases[index].clone(), seed));
        let failed = guests::run(runs, arguments, store, stop)?;
        for &(index, seed) in &wanted {
            let case = &cases[index];
            let text = case.scenario(World::Virtual, seed)?.to_toml();
            let of_point = &mut all[index].1;
            if let Some(record) = store.get(case, &Kind::Virtual, seed, &text) {
                of_point.guest.push(record.summary);
                of_point
                    .sim
                    .extend(simulated::run(case, seed, Kind::Punctual, store, stop)?);
            }
        }
        for (case, why) in failed {
            if let Some(index) = cases.iter().position(|other| *other == case) {
                all[index].1.not_run = Some(why);
            }
        }
        seeds += 1;
        if seeds > arguments.most || stop.load(Ordering::Relaxed) {
            return Ok(all);
        }
        // Points that have not had their turn yet wait for another call.
        let is_next =
            |measured: &Measured| measured.guest.len() as u64 + 1 == seeds && measured.scatters();
        wanted = all
            .iter()
            .enumerate()
            .filter(|(_, (_, measured))| is_next(measured))
            .map(|(index, _)| (index, seeds))
            .collect();
    }
}

/// Every difference, with the name of its point.
pub(crate) fn differences(measured: &[(Point, Measured)]) -> Vec<(String, Difference)> {
    let of_point = |(point, measured): &(Point, Measured)| {
        let id = point.case().id;
        let all = measured.differences().into_iter();
        all.map(move |difference| (id.clone(), difference))
            .collect::<Vec<_>>()
    };
    measured.iter().flat_map(of_point).collect()
}

/// The generated part of the document. `beside` are the differences of points where the control stands beside CUBIC.
pub(crate) fn part(
    measured: &[(Point, Measured)],
    beside: &[(String, Difference)],
    arguments: &Arguments,
    explanations: &Explanations,
) -> String {
    let mut all = differences(measured);
    let mut text = summary(measured, beside, arguments);
    text.push_str("### Every point of the grid\n\n");
    table(&mut text, measured);
    text.push_str("### Misses beside the virtual world\n\n");
    all.extend(beside.iter().cloned());
    text.push_str(&document::misses(&all, explanations));
    text
}

/// What the points say together.
pub(crate) fn summary(
    measured: &[(Point, Measured)],
    beside: &[(String, Difference)],
    arguments: &Arguments,
) -> String {
    let mut text = facts(measured, arguments);
    shares(&mut text, "Alone", &differences(measured));
    if !beside.is_empty() {
        shares(&mut text, "Beside CUBIC", beside);
    }
    text
}

fn facts(measured: &[(Point, Measured)], arguments: &Arguments) -> String {
    let runs: usize = measured
        .iter()
        .map(|(_, measured)| measured.guest.len())
        .sum();
    let run: Vec<_> = measured
        .iter()
        .filter(|(_, m)| !m.guest.is_empty())
        .collect();
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, reason) in grid::excluded() {
        *reasons.entry(reason).or_default() += 1;
    }
    let mut text = format!(
        "{runs} runs with Linux {} at {} points, {} to {} of each, and as many simulations with the same seeds. Every combination \
         of the values of {STRENGTH} factors is among the points.",
        arguments.guest_version,
        run.len(),
        run.iter().map(|(_, m)| m.guest.len()).min().unwrap_or(0),
        run.iter().map(|(_, m)| m.guest.len()).max().unwrap_or(0),
    );
    for (reason, count) in reasons {
        let _ = write!(text, " Left out of the grid: {reason}, {count} points.");
    }
    for (point, measured) in measured {
        if let Some(why) = &measured.not_run {
            let _ = write!(text, " Not run: {}: {why}.", point.case().id);
        }
    }
    text.push_str("\n\n");
    text
}

/// How many points lie inside each bound, and inside all.
fn shares(text: &mut String, title: &str, differences: &[(String, Difference)]) {
    let _ = writeln!(
        text,
        "| {title} | inside | of | share |\n| --- | --- | --- | --- |"
    );
    let mut row = |name: &str, inside: usize, of: usize| {
        let share = 100.0 * inside as f64 / of.max(1) as f64;
        let _ = writeln!(text, "| {name} | {inside} | {of} | {share:.0} % |");
    };
    for figure in Figure::ALL {
        let of: Vec<_> = differences
            .iter()
            .filter(|(_, one)| one.figure == figure)
            .collect();
        if !of.is_empty() {
            let inside = of.iter().filter(|(_, one)| one.holds()).count();
            row(figure.title(), inside, of.len());
        }
    }
    let mut points: BTreeMap<&str, bool> = BTreeMap::new();
    for (point, difference) in differences {
        *points.entry(point).or_insert(true) &= difference.holds();
    }
    let inside = points.values().filter(|inside| **inside).count();
    row("points inside all", inside, points.len());
    text.push('\n');
}

/// A row per point: sim / virtual of each figure.
fn table(text: &mut String, measured: &[(Point, Measured)]) {
    let figures = [
        Figure::TestGoodput,
        Figure::TestDelay,
        Figure::TestDelayP99,
        Figure::Marks,
        Figure::Drops,
    ];
    text.push_str("| point | seeds |");
    for figure in figures {
        let _ = write!(text, " {} |", figure.title().trim_start_matches("test "));
    }
    text.push_str("\n| --- | --- |");
    text.push_str(&" --- |".repeat(figures.len()));
    text.push('\n');
    for (point, measured) in measured {
        let _ = write!(text, "| {} | {} |", point.case().id, measured.guest.len());
        let differences = measured.differences();
        for figure in figures {
            let estimate = |runs: &[Summary]| Estimate::new(&values(figure, runs));
            let cell = match differences.iter().find(|one| one.figure == figure) {
                Some(one) => format!(
                    "{} / {}{}",
                    document::estimate(&one.sim),
                    document::estimate(&one.other),
                    if one.holds() { "" } else { " **v**" }
                ),
                None if estimate(&measured.guest).is_some() => "none".to_owned(),
                None => "not run".to_owned(),
            };
            let _ = write!(text, " {cell} |");
        }
        text.push('\n');
    }
    text.push('\n');
}
