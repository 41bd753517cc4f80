//! `make validate-sim`: simulations of every comparison are made anew, and judged by the figures that earlier comparisons recorded of real TCP.
//!
//! The runs of real TCP take several hours; their means and standard errors are in `docs/evidence/data`. Beside the live world the simulated link
//! is never late here: how late the live one was in each run is not recorded.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use quell_lab::at_once::together;
use quell_lab::results::facts::Utc;
use quell_measure::{Estimate, Summary};

use crate::validate::document::Explanations;
use crate::validate::error::Error;
use crate::validate::sheet::{self, Sheet};
use crate::validate::worlds::case::Case;
use crate::validate::worlds::figures::{APP_FIGURES, Difference, Figure, Reference, values};
use crate::validate::worlds::recorded::{self, Recorded};
use crate::validate::worlds::store::{Place, Store};
use crate::validate::worlds::{
    Arguments, applications, controls, grid, is_named, misses, point, simulated,
};

/// One point of an earlier comparison.
#[derive(Debug)]
struct Point {
    /// Row of the table that the point belongs to.
    row: String,
    case: Case,
    /// Index of its sheet in [`SHEETS`].
    sheet: usize,
}

const SHEETS: [&str; 4] = [
    "grid.csv",
    "three-worlds.csv",
    "controls.csv",
    "applications.csv",
];

/// New and recorded differences of one point.
#[derive(Debug)]
pub(crate) struct Measured {
    row: String,
    id: String,
    runs: u64,
    /// Differences between the new simulations and real TCP, the virtual world first.
    pub(crate) differences: Vec<Difference>,
    /// Differences of the simulations that were recorded with real TCP; only to the virtual world.
    before: Vec<Difference>,
}

fn points() -> Vec<Point> {
    let of = |sheet: usize| move |(row, case): (String, Case)| Point { row, case, sheet };
    let grid = grid::points();
    let grid = grid
        .iter()
        .map(|point| (format!("{}, alone", point.control), point.case()));
    let three = point::Point::all();
    let three = three
        .iter()
        .map(|point| (format!("{}, beside CUBIC", point.control), point.case()));
    let controls = controls::points();
    let controls = controls.iter().map(|point| (point.kind(), point.case()));
    let applications = applications::points();
    let applications = applications
        .iter()
        .map(|point| (format!("{}, application", point.names()[0]), point.case()));
    let all = grid.map(of(0)).chain(three.map(of(1)));
    all.chain(controls.map(of(2)))
        .chain(applications.map(of(3)))
        .collect()
}

/// Makes the simulations that are not kept, `jobs` at once, and compares them.
pub(crate) fn measure(
    arguments: &Arguments,
    store: &Store,
    stop: &AtomicBool,
) -> Result<Vec<Measured>, Error> {
    let folder = arguments.document.with_file_name("data");
    let sheets = read(&folder)?;
    let mut points = points();
    points.retain(|point| {
        is_named(arguments, &point.case.id) && sheets[point.sheet].of(&point.case.id).is_some()
    });
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Measured)>> = Mutex::default();
    let failure: Mutex<Option<Error>> = Mutex::default();
    together(arguments.jobs.get(), || {
        while !stop.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(point) = points.get(index) else {
                return;
            };
            let Some(known) = sheets[point.sheet].of(&point.case.id) else {
                continue;
            };
            let seeds = arguments.many.unwrap_or(known.runs);
            match one(point, known, seeds, store, stop) {
                Ok(measured) => {
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    done.push((index, measured));
                }
                Err(why) => {
                    let mut failure = failure.lock().unwrap_or_else(PoisonError::into_inner);
                    *failure = Some(why);
                    return;
                }
            }
        }
    });
    if let Some(why) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(why);
    }
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    Ok(done.into_iter().map(|(_, measured)| measured).collect())
}

fn read(folder: &Path) -> Result<Vec<Recorded>, Error> {
    let sheets = SHEETS.iter();
    sheets
        .map(|name| Recorded::read(&folder.join(name)))
        .collect()
}

fn one(
    point: &Point,
    known: &recorded::Point,
    seeds: u64,
    store: &Store,
    stop: &AtomicBool,
) -> Result<Measured, Error> {
    let mut runs = Vec::new();
    for seed in 1..=seeds {
        runs.extend(simulated::run(
            &point.case,
            seed,
            Place::Punctual,
            store,
            stop,
        )?);
    }
    let now = |figure| mean(figure, &runs);
    let mut differences = compare(known, Reference::Virtual, now);
    differences.extend(compare(known, Reference::Live, now));
    Ok(Measured {
        row: point.row.clone(),
        id: point.case.id.clone(),
        runs: seeds,
        differences,
        before: compare(known, Reference::Virtual, |figure| known.simulated(figure)),
    })
}

fn mean(figure: Figure, runs: &[Summary]) -> Option<Estimate> {
    Estimate::new(&values(figure, runs))
}

/// Differences of every figure that both have, without those that are zero in both.
fn compare(
    known: &recorded::Point,
    reference: Reference,
    sim: impl Fn(Figure) -> Option<Estimate>,
) -> Vec<Difference> {
    let of_apps = APP_FIGURES.iter().map(Figure::App);
    let figures = Figure::ALL.into_iter().chain(of_apps);
    figures
        .filter_map(|figure| {
            let sim = sim(figure)?;
            let other = known.real(figure, reference)?.nearest_to(sim.mean);
            figure.bound(reference, other.mean)?;
            let is_something = sim.mean != 0.0 || other.mean != 0.0;
            is_something.then_some(Difference {
                figure,
                reference,
                sim,
                other,
            })
        })
        .collect()
}

/// Number of points inside all bounds, and number of bounds that hold, each with the total.
#[derive(Debug, Default, Clone, Copy)]
struct Share {
    points: [usize; 2],
    bounds: [usize; 2],
}

impl Share {
    fn add<'a>(&mut self, of_point: impl Iterator<Item = &'a Difference>) {
        let (mut held, mut all) = (0, 0);
        for one in of_point {
            held += usize::from(one.holds());
            all += 1;
        }
        self.bounds = [self.bounds[0] + held, self.bounds[1] + all];
        if all > 0 {
            self.points = [
                self.points[0] + usize::from(held == all),
                self.points[1] + 1,
            ];
        }
    }
    fn cells(self) -> String {
        let of = |[inside, all]: [usize; 2]| format!("{inside} of {all}");
        format!("{} | {}", of(self.points), of(self.bounds))
    }
}

/// Every difference to the virtual world, with the name of its point.
pub(crate) fn differences(measured: &[Measured]) -> Vec<(String, Difference)> {
    let mut all = Vec::new();
    for of_point in measured {
        let beside = of_point.beside(Reference::Virtual);
        all.extend(beside.map(|one| (of_point.id.clone(), *one)));
    }
    all
}

impl Measured {
    fn beside(&self, reference: Reference) -> impl Iterator<Item = &Difference> {
        let all = self.differences.iter();
        all.filter(move |one| one.reference == reference)
    }
}

/// A summary: the number of new simulations, and how many bounds hold now and held before.
pub(crate) fn summary(measured: &[Measured]) -> String {
    summary_of(measured, |_| true)
}

/// The same with the rows of which `is_shown` says so, and that of all.
fn summary_of(measured: &[Measured], is_shown: fn(&Share) -> bool) -> String {
    let day = Utc::from(SystemTime::now()).extended();
    let runs: u64 = measured.iter().map(|one| one.runs).sum();
    let mut rows: Vec<(&str, [Share; 2])> = Vec::new();
    let (mut whole, mut live) = ([Share::default(); 2], Share::default());
    for of_point in measured {
        let place = rows.iter().position(|(row, _)| *row == of_point.row);
        let place = place.unwrap_or_else(|| {
            rows.push((&of_point.row, Default::default()));
            rows.len() - 1
        });
        for shares in [&mut rows[place].1, &mut whole] {
            shares[0].add(of_point.before.iter());
            shares[1].add(of_point.beside(Reference::Virtual));
        }
        live.add(of_point.beside(Reference::Live));
    }
    let mut text = format!(
        "Simulated anew on {}: {runs} runs at {} points, with the seeds that Linux had. The figures of Linux are those that the comparisons \
         recorded in {}, to three digits; no kernel ran for this part. *Then* is what their own simulations had.\n\n\
         | flows under test | points inside, then | bounds, then | points inside, now | bounds, now |\n\
         | --- | --- | --- | --- | --- |\n",
        &day[..10],
        measured.len(),
        SHEETS
            .map(|name| format!("[{name}](data/{name})"))
            .join(", "),
    );
    rows.retain(|(_, [_, now])| is_shown(now));
    rows.push(("all", whole));
    for (row, [then, now]) in rows {
        let _ = writeln!(text, "| {row} | {} | {} |", then.cells(), now.cells());
    }
    let [held, all] = live.bounds;
    let _ = writeln!(
        text,
        "\nBeside the live world {held} of {all} bounds hold over a simulated link that is never late. The points beside CUBIC of Reno, \
         CUBIC and DCTCP have their first five seeds.\n"
    );
    text
}

/// The generated part of the document.
pub(crate) fn part(measured: &[Measured], explanations: &Explanations) -> String {
    let mut text = summary_of(measured, |now| now.points[0] < now.points[1]);
    text.push_str(
        "Not in the table: flows whose points are all inside now. [simulated-anew.csv](data/simulated-anew.csv) has each figure of each \
         point.\n\n",
    );
    text.push_str(&misses::misses(&differences(measured), explanations));
    text
}

/// The sheet with each figure of each point.
pub(crate) fn sheet(measured: &[Measured]) -> Sheet {
    let mut sheet = Sheet::new(
        "simulated-anew.csv",
        &[
            "point",
            "seeds",
            "figure",
            "world",
            "sim",
            "sim_error",
            "real",
            "real_error",
            "missed",
        ],
    );
    for of_point in measured {
        for one in &of_point.differences {
            let [sim, sim_error] = sheet::cells(Some(&one.sim));
            let [real, real_error] = sheet::cells(Some(&one.other));
            sheet.row(&[
                of_point.id.clone(),
                of_point.runs.to_string(),
                one.figure.title().to_owned(),
                misses::world(one).to_owned(),
                sim,
                sim_error,
                real,
                real_error,
                if one.holds() { "" } else { "yes" }.to_owned(),
            ]);
        }
    }
    sheet
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The documents of this repository.
    fn data() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/evidence/data")
    }

    #[test]
    fn every_point_has_figures_of_linux_and_the_simulations_of_then() {
        let sheets = read(&data()).expect("the sheets");
        let points = points();
        let ids: BTreeSet<&str> = points.iter().map(|point| point.case.id.as_str()).collect();
        assert_eq!(ids.len(), points.len(), "a point twice");
        for point in &points {
            let known = sheets[point.sheet].of(&point.case.id);
            let known = known.unwrap_or_else(|| panic!("{} was not run", point.case.id));
            let then = compare(known, Reference::Virtual, |figure| known.simulated(figure));
            assert!(then.len() >= 3, "{}: {then:?}", point.case.id);
        }
    }

    #[test]
    fn what_linux_never_dropped_is_compared_with_none() {
        let known = recorded::Point::default();
        let sim = |figure| match figure {
            Figure::Drops | Figure::TestDelay => Estimate::new(&[1.0, 1.0]),
            _ => None,
        };
        let all = compare(&known, Reference::Virtual, sim);
        let [one] = all.as_slice() else {
            panic!("{all:?}");
        };
        assert!(one.figure == Figure::Drops && !one.holds());
    }

    #[test]
    fn a_point_is_inside_if_every_bound_holds() {
        let difference = |sim: f64| Difference {
            figure: Figure::TestGoodput,
            reference: Reference::Virtual,
            sim: Estimate::new(&[sim; 2]).expect("values"),
            other: Estimate::new(&[10.0; 2]).expect("values"),
        };
        let mut share = Share::default();
        share.add([difference(10.0), difference(10.1)].iter());
        share.add([difference(10.0), difference(11.0)].iter());
        share.add([].iter());
        assert_eq!(share.cells(), "1 of 2 | 3 of 4");
    }
}
