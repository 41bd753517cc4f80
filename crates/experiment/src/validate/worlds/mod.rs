//! `make validate` and its like: the same scenarios in several worlds, and the tables in `docs/evidence/validation.md`.
//!
//! ```text
//! cargo run --release -p quell-experiment --features bpf-cc --bin validate -- [--grid | --controls | --recovery | --applications | --recorded] [--quick] [--help]
//! ```
//!
//! Without either: simulator, virtual and live world. With `--grid`: simulator and virtual world, at many more kinds of queues. With
//! `--controls`: the newer controls at those queues, in the same two. With `--recovery`: paths that reorder, in the same two. With `--applications`: what a person feels, in the same two, and at a few points live. With
//! `--recorded`: the simulator alone, at the points of all of them, beside what they recorded of Linux.
//! Each finished run is kept under `target/validate` and not repeated: a comparison that was stopped goes on where it was.
//! Simulations are made again when the program has changed, virtual runs when what runs inside the guest has.

mod applications;
mod applications_live;
pub mod case;
mod controls;
mod cover;
pub mod figures;
pub mod grid;
mod guests;
mod live;
mod misses;
mod point;
mod recorded;
mod recovery;
mod sim_and_recorded;
mod sim_and_virtual;
mod sim_virtual_live;
mod simulated;
mod store;

use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;
use quell_kernel::store::{Kernel, Store as Kernels};
use quell_lab::World;

use crate::validate::document;
use crate::validate::error::Error;
use crate::validate::sheet::Sheet;
use case::Case;
use figures::Difference;
use point::Point;
use store::Store;

/// Compares the simulator with Linux.
#[derive(Debug, Clone, Parser)]
pub(crate) struct Arguments {
    /// The simulator against the virtual world, over a grid of queues, controls, rates and RTTs
    #[arg(long)]
    grid: bool,
    /// The simulator against the virtual world, with the newer controls, each at every kind of queue, and as many seeds of each point
    #[arg(long, conflicts_with = "grid")]
    controls: bool,
    /// The simulator against the virtual world, with one flow on paths that reorder
    #[arg(long, conflicts_with_all = ["grid", "controls", "applications"])]
    recovery: bool,
    /// The simulator against the virtual world, with applications behind four queues; a few of them live as well
    #[arg(long, conflicts_with_all = ["grid", "controls"])]
    applications: bool,
    /// The simulator alone, at the points of every comparison, beside the figures of Linux that they recorded; `jobs` at once
    #[arg(long, conflicts_with_all = ["grid", "controls", "recovery", "applications", "quick"])]
    recorded: bool,
    /// A quarter of the points, with two seeds; writes no document
    #[arg(long)]
    quick: bool,
    /// Only points whose name contains one of these, such as fifo-cubic-10mbit,pie; writes no document
    #[arg(long, value_delimiter = ',')]
    points: Vec<String>,
    /// With --applications and --points: the other points stay as the sheet beside the document has them, and both are written
    #[arg(long, requires_all = ["applications", "points"])]
    keep: bool,
    /// With --recorded and --points: so many simulations of each point, at least two, however many runs Linux had
    #[arg(long, requires_all = ["recorded", "points"], value_parser = clap::value_parser!(u64).range(2..))]
    many: Option<u64>,
    /// Runs of each point in each world, with these seeds from 1 on: they set when flows start
    #[arg(long, default_value_t = 5)]
    seeds: u64,
    /// With --grid: as many of a point whose runs differ so much among themselves that chance decides
    #[arg(long, default_value_t = 20)]
    most: u64,
    /// Kernel of the virtual world; the newest if there are several
    #[arg(long)]
    kernel: Option<String>,
    /// Virtual runs at once; as many as there are processors if not given
    #[arg(long, default_value_t = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))]
    jobs: NonZeroUsize,
    /// Live runs side by side may have so many Mbit/s in all
    #[arg(long, default_value_t = 100)]
    side_by_side: u32,
    /// Priority of the live link's thread under SCHED_FIFO, as root; 0 is none
    #[arg(long, default_value_t = 10)]
    realtime: u8,
    /// Make no live runs; compare with those that are kept
    #[arg(long)]
    no_live: bool,
    /// Make no virtual runs; compare with those that are kept
    #[arg(long)]
    no_virtual: bool,
    /// Compare also with virtual runs that an older program made
    #[arg(long)]
    of_any_code: bool,
    /// Where finished runs are kept
    #[arg(long, default_value = "target/validate")]
    kept: PathBuf,
    /// The document
    #[arg(long, default_value = "docs/evidence/validation.md")]
    document: PathBuf,
    /// What kernel the virtual world has
    #[arg(skip)]
    guest_version: String,
}

/// Runs the comparison that the command line asks for.
#[must_use]
pub fn main() -> ExitCode {
    // A guest's kernel and its first process are started as this program.
    if let Some(code) = quell_lab::virtual_world::entry() {
        return code;
    }
    let mut arguments = Arguments::parse();
    if arguments.quick {
        arguments.seeds = arguments.seeds.min(2);
        arguments.most = 2;
    }
    match compare(&mut arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("validate: {error}");
            ExitCode::FAILURE
        }
    }
}

fn compare(arguments: &mut Arguments) -> Result<(), Error> {
    // While there is one thread only.
    let has_no_live = arguments.grid
        || arguments.controls
        || arguments.recovery
        || arguments.recorded
        || arguments.no_live;
    let unprepared = match has_no_live {
        true => None,
        false => quell_lab::live::prepare().err(),
    };
    let stop = crate::validate::stop_at_ctrl_c()?;
    if arguments.recorded {
        return beside_recorded(arguments, &stop);
    }
    let kernels = Kernels::open().and_then(|kernels| kernels.find(arguments.kernel.as_deref()));
    let kernel = kernels.as_ref().ok();
    arguments.guest_version = kernel
        .map_or("none", |kernel| &kernel.facts.version)
        .to_owned();
    let store = Store::open(&arguments.kept, kernel, arguments.of_any_code)?;
    if arguments.grid {
        return whole_grid(arguments, &store, kernels, &stop);
    }
    if arguments.controls {
        kernels?;
        return newer_controls(arguments, &store, &stop);
    }
    if arguments.recovery {
        kernels?;
        return loss_recovery(arguments, &store, &stop);
    }
    if arguments.applications {
        kernels?;
        let why = unprepared.as_ref().map(|why| why as &dyn std::fmt::Display);
        return applications_and_live(arguments, &store, why, &stop);
    }
    let points = coexistence(arguments);
    let mut not_run = Vec::new();
    let mut refuse = |world, why: &dyn std::fmt::Display| {
        let all = points.iter().map(Point::case);
        not_run.extend(all.map(|case| (world, case, why.to_string())));
    };
    if let Err(why) = &kernels {
        refuse(World::Virtual, why);
    }
    if let Some(why) = &unprepared {
        refuse(World::Live, why);
    }
    let measured = sim_virtual_live::measure(points, arguments, &store, not_run, &stop)?;
    print(&sim_virtual_live::differences(&measured));
    println!("{}", sim_virtual_live::facts(&measured, arguments, &store));
    let sheet = sim_virtual_live::sheet(&measured);
    write(arguments, &stop, "make validate", &sheet, |explanations| {
        sim_virtual_live::part(&measured, arguments, &store, explanations)
    })
}

fn whole_grid(
    arguments: &Arguments,
    store: &Store,
    kernel: quell_kernel::Result<Kernel>,
    stop: &AtomicBool,
) -> Result<(), Error> {
    kernel?;
    let mut cases: Vec<Case> = grid::points().iter().map(grid::Point::case).collect();
    let grid = cases.len();
    cases.extend(Point::all().iter().map(Point::case));
    let is_wanted =
        |case: &Case| (!arguments.quick || case.rate_mbps == 10) && is_named(arguments, &case.id);
    let alone = cases[..grid].iter().filter(|case| is_wanted(case)).count();
    cases.retain(is_wanted);
    let measured = sim_and_virtual::measure(cases, arguments, store, stop)?;
    let (alone, beside) = measured.split_at(alone);
    print(&sim_and_virtual::differences(&measured));
    println!("{}", sim_and_virtual::summary(alone, beside, arguments));
    let sheet = sim_and_virtual::sheet(alone);
    write(
        arguments,
        stop,
        "make validate-grid",
        &sheet,
        |explanations| sim_and_virtual::part(alone, beside, arguments, explanations),
    )
}

fn newer_controls(
    arguments: &mut Arguments,
    store: &Store,
    stop: &AtomicBool,
) -> Result<(), Error> {
    arguments.most = arguments.seeds;
    let mut points = controls::points();
    points.retain(|point| {
        let case = point.case();
        (!arguments.quick || case.rate_mbps == 10) && is_named(arguments, &case.id)
    });
    let cases = points.iter().map(controls::Point::case).collect();
    let measured = sim_and_virtual::measure(cases, arguments, store, stop)?;
    print(&sim_and_virtual::differences(&measured));
    let runs = measured.into_iter().map(|(_, runs)| runs);
    let measured: Vec<_> = points.into_iter().zip(runs).collect();
    println!("{}", controls::summary(&measured, arguments));
    let name = "make validate-controls";
    write(
        arguments,
        stop,
        name,
        &controls::sheet(&measured),
        |explanations| controls::part(&measured, arguments, explanations),
    )
}

fn loss_recovery(arguments: &mut Arguments, store: &Store, stop: &AtomicBool) -> Result<(), Error> {
    arguments.most = arguments.seeds;
    let mut points = recovery::points();
    points.retain(|point| is_named(arguments, &point.case().id));
    let cases = points.iter().map(recovery::Point::case).collect();
    let measured = sim_and_virtual::measure(cases, arguments, store, stop)?;
    let runs = measured.into_iter().map(|(_, runs)| runs);
    let measured: Vec<_> = points.into_iter().zip(runs).collect();
    print(&recovery::differences(&measured));
    println!("{}", recovery::summary(&measured, arguments));
    write(
        arguments,
        stop,
        "make validate-recovery",
        &recovery::sheet(&measured),
        |explanations| recovery::part(&measured, arguments, explanations),
    )
}

fn applications_and_live(
    arguments: &mut Arguments,
    store: &Store,
    unprepared: Option<&dyn std::fmt::Display>,
    stop: &AtomicBool,
) -> Result<(), Error> {
    arguments.most = arguments.seeds;
    let mut points = applications::points();
    points.retain(|point| is_named(arguments, &point.case().id));
    let cases = points.iter().map(applications::Point::case).collect();
    let measured = sim_and_virtual::measure(cases, arguments, store, stop)?;
    print(&sim_and_virtual::differences(&measured));
    let runs = measured.into_iter().map(|(_, runs)| runs);
    let mut measured: Vec<_> = points.into_iter().zip(runs).collect();
    let name = "make validate-applications";
    let mut before = None;
    if arguments.keep {
        let sheet = Sheet::place(&arguments.document, applications::SHEET);
        measured = applications::with_kept(measured, &fs::read_to_string(sheet)?)?;
        let document = fs::read_to_string(&arguments.document)?;
        before = Some(applications_live::written(&document, name).ok_or(Error::NoLivePart)?);
    }
    println!("{}", applications::summary(&measured, arguments));
    let compared = measured
        .iter()
        .filter(|(point, _)| applications_live::is_compared(point));
    let cases: Vec<Case> = compared.clone().map(|(point, _)| point.case()).collect();
    let live = match before {
        Some(_) => Vec::new(),
        None => applications_live::measure(&cases, arguments, store, unprepared, stop)?,
    };
    let beside = cases.into_iter().zip(compared).zip(live);
    let beside: Vec<_> = beside
        .map(|((case, (_, runs)), live)| (case, runs, live))
        .collect();
    let live = before.unwrap_or_else(|| applications_live::part(&beside, store.kernel()));
    println!("{live}");
    write(
        arguments,
        stop,
        name,
        &applications::sheet(&measured),
        |explanations| applications::part(&measured, &live, arguments, explanations),
    )
}

fn beside_recorded(arguments: &Arguments, stop: &AtomicBool) -> Result<(), Error> {
    let store = Store::open(&arguments.kept, None, false)?;
    let measured = sim_and_recorded::measure(arguments, &store, stop)?;
    print(&sim_and_recorded::differences(&measured));
    println!("{}", sim_and_recorded::summary(&measured));
    let sheet = sim_and_recorded::sheet(&measured);
    write(
        arguments,
        stop,
        "make validate-sim",
        &sheet,
        |explanations| sim_and_recorded::part(&measured, explanations),
    )
}

fn coexistence(arguments: &Arguments) -> Vec<Point> {
    let wanted =
        |point: &Point| (!arguments.quick || point.is_quick()) && is_named(arguments, &point.id());
    Point::all().into_iter().filter(wanted).collect()
}

fn is_named(arguments: &Arguments, id: &str) -> bool {
    let parts = &arguments.points;
    parts.is_empty() || parts.iter().any(|part| id.contains(part))
}

/// A line for each difference.
fn print(differences: &[(String, Difference)]) {
    for (point, one) in differences {
        let verdict = if one.holds() { "" } else { "  miss" };
        println!(
            "{point:32} {:20} sim {:9.3} ± {:7.3}  {:7} {:9.3} ± {:7.3}  {:>9}  {:5.1}{verdict}",
            one.figure.title(),
            one.sim.mean,
            one.sim.standard_error.unwrap_or(0.0),
            misses::world(one),
            one.other.mean,
            one.other.standard_error.unwrap_or(0.0),
            misses::off_by(one),
            one.bounds_off(),
        );
    }
}

/// Writes a part of the document and the raw figures beside it, if all points were asked for.
fn write(
    arguments: &Arguments,
    stop: &AtomicBool,
    name: &str,
    sheet: &Sheet,
    part: impl FnOnce(&document::Explanations) -> String,
) -> Result<(), Error> {
    let path = &arguments.document;
    let is_whole = !arguments.quick && (arguments.points.is_empty() || arguments.keep);
    if !is_whole || stop.load(Ordering::Relaxed) {
        println!("the document stays as it is: not every point was run");
        return Ok(());
    }
    if !document::replace(path, name, part)? {
        return Err(Error::NoMarkers(path.clone()));
    }
    let raw = sheet.write_beside(path)?;
    println!("written: {} and {}", path.display(), raw.display());
    Ok(())
}
