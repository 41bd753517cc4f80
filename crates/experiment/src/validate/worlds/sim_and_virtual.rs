//! The simulator against a user-mode kernel, over the grid of [`grid`] and where the control stands beside CUBIC: several hours of work.
//!
//! A virtual run has no timing noise, but each seed is a run of its own: starts differ. Every point has the same seeds at first.
//! Where the standard error of a difference is larger than its bound, chance decides whether it holds: such a point gets further
//! seeds, in both worlds. The scatter alone decides which points those are, never whether they agree.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use quell_lab::World;
use quell_measure::{Estimate, Summary};

use crate::validate::document::Explanations;
use crate::validate::error::Error;
use crate::validate::sheet::{self, Sheet};
use crate::validate::worlds::case::Case;
use crate::validate::worlds::figures::{Difference, Figure, Reference};
use crate::validate::worlds::grid::{self, STRENGTH};
use crate::validate::worlds::store::{Place, Store};
use crate::validate::worlds::{Arguments, guests, misses, simulated};

/// The runs of a point in both worlds.
#[derive(Debug, Default)]
pub(crate) struct PointRuns {
    pub(crate) sim: Vec<Summary>,
    pub(crate) guest: Vec<Summary>,
    not_run: Option<String>,
    /// Number of runs and their differences, where a sheet has them and the runs are not kept.
    read: Option<(usize, Vec<Difference>)>,
}

impl PointRuns {
    pub(crate) fn differences(&self) -> Vec<Difference> {
        if let Some((_, differences)) = &self.read {
            return differences.clone();
        }
        Difference::all(Reference::Virtual, &self.sim, &self.guest)
    }

    /// Number of virtual runs.
    pub(crate) fn runs(&self) -> usize {
        match &self.read {
            Some((runs, _)) => *runs,
            None => self.guest.len(),
        }
    }

    /// Whether the runs differ so much that chance decides whether a bound holds.
    fn scatters(&self) -> bool {
        self.differences()
            .iter()
            .any(|one| one.standard_error() > one.bound())
    }
}

/// Makes the runs that are not kept, and collects all.
pub(crate) fn measure(
    cases: Vec<Case>,
    arguments: &Arguments,
    store: &Store,
    stop: &AtomicBool,
) -> Result<Vec<(Case, PointRuns)>, Error> {
    let measured = cases.iter().map(|_| PointRuns::default());
    let mut all: Vec<PointRuns> = measured.collect();
    let mut wanted: Vec<(usize, u64)> = (1..=arguments.seeds)
        .flat_map(|seed| (0..all.len()).map(move |index| (index, seed)))
        .collect();
    let mut seeds = arguments.seeds;
    loop {
        let runs = wanted
            .iter()
            .map(|&(index, seed)| (cases[index].clone(), seed));
        let failed = guests::run(runs, arguments, store, stop)?;
        for &(index, seed) in &wanted {
            let case = &cases[index];
            let text = case.scenario(World::Virtual, seed)?.to_toml();
            let of_point = &mut all[index];
            if let Some(record) = store.get(case, &Place::Virtual, seed, &text) {
                of_point.guest.push(record.summary);
                of_point
                    .sim
                    .extend(simulated::run(case, seed, Place::Punctual, store, stop)?);
            }
        }
        for (case, why) in failed {
            if let Some(index) = cases.iter().position(|other| *other == case) {
                all[index].not_run = Some(why);
            }
        }
        seeds += 1;
        if seeds > arguments.most || stop.load(Ordering::Relaxed) {
            return Ok(cases.into_iter().zip(all).collect());
        }
        // Points that have not had their turn yet wait for another call.
        let is_next =
            |measured: &PointRuns| measured.guest.len() as u64 + 1 == seeds && measured.scatters();
        wanted = all
            .iter()
            .enumerate()
            .filter(|(_, measured)| is_next(measured))
            .map(|(index, _)| (index, seeds))
            .collect();
    }
}

/// Every difference, with the name of its point.
pub(crate) fn differences(measured: &[(Case, PointRuns)]) -> Vec<(String, Difference)> {
    let of_point = |(case, measured): &(Case, PointRuns)| named(case, measured);
    measured.iter().flat_map(of_point).collect()
}

/// The differences of a point, each with its name.
pub(crate) fn named(case: &Case, measured: &PointRuns) -> Vec<(String, Difference)> {
    let all = measured.differences().into_iter();
    all.map(|difference| (case.id.clone(), difference))
        .collect()
}

/// The generated part of the document, of the points of the grid and of those where the control stands beside CUBIC.
pub(crate) fn part(
    alone: &[(Case, PointRuns)],
    beside: &[(Case, PointRuns)],
    arguments: &Arguments,
    explanations: &Explanations,
) -> String {
    let mut text = summary(alone, beside, arguments);
    text.push_str(
        "[grid.csv](data/grid.csv) has each figure of each point of the grid: the means of the runs in both worlds, their standard errors, \
         and whether the bound is missed.\n\n",
    );
    let mut all = differences(alone);
    all.extend(differences(beside));
    text.push_str(&misses::misses(&all, explanations));
    text
}

/// A summary of all points: how many runs there are, and how many bounds hold.
pub(crate) fn summary(
    alone: &[(Case, PointRuns)],
    beside: &[(Case, PointRuns)],
    arguments: &Arguments,
) -> String {
    let mut text = facts(alone, beside, arguments);
    shares(&mut text, "Alone", &differences(alone));
    let beside = differences(beside);
    if !beside.is_empty() {
        shares(&mut text, "Beside CUBIC", &beside);
    }
    text
}

fn facts(
    alone: &[(Case, PointRuns)],
    beside: &[(Case, PointRuns)],
    arguments: &Arguments,
) -> String {
    let mut text = format!("With Linux {}, ", arguments.guest_version);
    for (measured, name) in [
        (alone, "points of the grid"),
        (beside, "points beside CUBIC"),
    ] {
        let runs: Vec<usize> = measured.iter().map(|(_, one)| one.guest.len()).collect();
        let made = || runs.iter().filter(|runs| **runs > 0);
        let [least, most] = [made().min(), made().max()].map(|runs| runs.map_or(0, |runs| *runs));
        let of_each = if least == most {
            format!("{least}")
        } else {
            format!("{least} to {most}")
        };
        let _ = write!(
            text,
            "{} runs at {} of {} {name}, {of_each} of each; ",
            runs.iter().sum::<usize>(),
            made().count(),
            runs.len(),
        );
    }
    let _ = write!(
        text,
        "and as many simulations with the same seeds. Every combination of the values of {STRENGTH} factors of the grid is among its \
         points."
    );
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, reason) in grid::excluded() {
        *reasons.entry(reason).or_default() += 1;
    }
    for (reason, count) in reasons {
        let _ = write!(text, " Left out of the grid: {reason}, {count} points.");
    }
    for (case, measured) in alone.iter().chain(beside) {
        if let Some(why) = &measured.not_run {
            let _ = write!(text, " Not run: {}: {why}.", case.id);
        }
    }
    text.push_str("\n\n");
    text
}

/// Writes a table of how many points lie inside each bound, and inside all.
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

/// Columns of a figure in a sheet, after those that name its point.
const COLUMNS: [&str; 6] = [
    "figure",
    "sim",
    "sim_error",
    "virtual",
    "virtual_error",
    "missed",
];

/// An empty sheet with these columns before those of [`cells`].
pub(crate) fn sheet_of(name: &'static str, columns: &[&str]) -> Sheet {
    Sheet::new(name, &[columns, &COLUMNS].concat())
}

/// Cells of a figure in a sheet, in the order of [`COLUMNS`].
pub(crate) fn cells(one: &Difference) -> Vec<String> {
    let [sim, sim_error] = sheet::cells(Some(&one.sim));
    let [guest, guest_error] = sheet::cells(Some(&one.other));
    let missed = if one.holds() { "" } else { "virtual" };
    let title = one.figure.title().to_owned();
    vec![title, sim, sim_error, guest, guest_error, missed.to_owned()]
}

/// Reads a point from its rows in a sheet that has the columns "point" and "seeds".
pub(crate) fn read(rows: &[Vec<String>]) -> Result<PointRuns, Error> {
    let mut point = (0, Vec::new());
    for row in rows {
        let one = read_row(row).ok_or_else(|| Error::NoRow(row.clone()))?;
        let (runs, difference, is_missed) = one;
        if difference.holds() == is_missed {
            return Err(Error::Rounded(row.clone()));
        }
        point.0 = runs;
        point.1.push(difference);
    }
    Ok(PointRuns {
        read: Some(point),
        ..PointRuns::default()
    })
}

fn read_row(row: &[String]) -> Option<(usize, Difference, bool)> {
    let [_, seeds, figure, sim, sim_error, guest, guest_error, missed] = row else {
        return None;
    };
    let runs = seeds.parse().ok()?;
    let estimate = |mean: &str, error: &str| {
        let standard_error = (!error.is_empty()).then(|| error.parse()).transpose();
        Some(Estimate {
            mean: mean.parse().ok()?,
            standard_error: standard_error.ok()?,
            n: runs,
        })
    };
    let difference = Difference {
        figure: Figure::named(figure)?,
        reference: Reference::Virtual,
        sim: estimate(sim, sim_error)?,
        other: estimate(guest, guest_error)?,
    };
    Some((runs, difference, !missed.is_empty()))
}

/// Each figure of each point of the grid, in both worlds.
pub(crate) fn sheet(measured: &[(Case, PointRuns)]) -> Sheet {
    let mut sheet = sheet_of("grid.csv", &["point", "seeds"]);
    for (case, of_point) in measured {
        for one in of_point.differences() {
            let point = vec![case.id.clone(), of_point.runs().to_string()];
            sheet.row(&[point, cells(&one)].concat());
        }
    }
    sheet
}
