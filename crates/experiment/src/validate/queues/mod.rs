//! `make parity`: the same scenarios over quell's queues and over the kernel's own, and the table of differences in
//! `docs/evidence/validation.md`.
//!
//! ```text
//! cargo run --release -p quell-experiment --bin parity -- [--world live] [--points pie] [--help]
//! ```
//!
//! Both run in the same world, over the same hosts and links, and are measured from outside in the same way; see
//! `quell_lab::live`. Each finished run is kept under `target/parity` and not repeated while scenario, kernel and program are
//! the same.

mod figures;
mod point;
mod store;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use clap::{Parser, ValueEnum};
use quell_lab::LiveOptions;
use quell_lab::at_once::together;
use quell_lab::{GuestOptions, Options, RunError, World};
use quell_measure::Summary;

use crate::validate::document;
use crate::validate::error::Error;
use point::Point;
use store::{Bottleneck, Store};
use table::PointRuns;

/// Compares quell's queues with the kernel's own.
#[derive(Debug, Parser)]
struct Arguments {
    /// Where to run
    #[arg(long, value_enum, default_value_t = Where::Virtual)]
    world: Where,
    /// The kernel of the virtual world; the newest by default
    #[arg(long)]
    kernel: Option<String>,
    /// Only points whose name contains this, such as pie-10mbit; writes no document
    #[arg(long)]
    points: Option<String>,
    /// Runs of each point with each queue, with these seeds from 1 on: they set when flows start, and what is random
    #[arg(long, default_value_t = 5)]
    seeds: u64,
    /// Runs at once in the virtual world
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Make no runs, and write the document from those that are kept, also of other builds of this program
    #[arg(long)]
    kept_only: bool,
    /// Where finished runs are kept
    #[arg(long, default_value = "target/parity")]
    kept: PathBuf,
    /// The document, written after the virtual world
    #[arg(long, default_value = "docs/evidence/validation.md")]
    document: PathBuf,
}

/// The worlds that have a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Where {
    /// In a user-mode kernel, in virtual time
    Virtual,
    /// In the kernel of this host, in real time
    Live,
}

/// A run to make.
#[derive(Debug, Clone, Copy)]
struct Run {
    point: Point,
    side: Bottleneck,
    seed: u64,
}

/// Everything that runs have in common.
struct Runs<'a> {
    arguments: &'a Arguments,
    world: World,
    store: &'a Store,
    stop: &'a AtomicBool,
    /// Points that this kernel cannot run, and why.
    not_run: Mutex<Vec<(Point, String)>>,
}

/// Runs the comparison that the command line asks for.
#[must_use]
pub fn main() -> ExitCode {
    // In the guest this program is the first process.
    if let Some(code) = quell_lab::virtual_world::entry() {
        return code;
    }
    match compare(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("parity: {error}");
            ExitCode::FAILURE
        }
    }
}

fn compare(arguments: &Arguments) -> Result<(), Error> {
    let (world, kernel) = match arguments.world {
        Where::Live => {
            // While there is one thread only.
            quell_lab::live::prepare()?;
            let system = rustix::system::uname();
            (World::Live, system.release().to_string_lossy().into_owned())
        }
        Where::Virtual => {
            let store = quell_kernel::store::Store::open()?;
            let kernel = store.find(arguments.kernel.as_deref())?;
            (World::Virtual, kernel.name)
        }
    };
    let stop = crate::validate::stop_at_ctrl_c()?;
    let store = Store::open(&arguments.kept, kernel.clone(), arguments.kept_only)?;
    let runs = Runs {
        arguments,
        world,
        store: &store,
        stop: &stop,
        not_run: Mutex::new(Vec::new()),
    };
    let wanted = |point: &Point| {
        let named = arguments.points.as_ref();
        named.is_none_or(|part| point.id().contains(part))
    };
    let points: Vec<Point> = Point::all().into_iter().filter(wanted).collect();
    if !arguments.kept_only {
        runs.make(&points)?;
    }
    let not_run = runs.not_run.lock().unwrap_or_else(PoisonError::into_inner);
    let mut measured = Vec::new();
    for point in points {
        let reason = not_run.iter().find(|(refused, _)| *refused == point);
        let of_side = |side| -> Result<Vec<Summary>, RunError> {
            let mut summaries = Vec::new();
            for seed in 1..=arguments.seeds {
                let text = point.scenario(world, seed)?.to_toml();
                summaries.extend(store.get(&point, side, seed, &text));
            }
            Ok(summaries)
        };
        let of_point = PointRuns {
            quell: of_side(Bottleneck::Quell)?,
            kernel: of_side(Bottleneck::Kernel)?,
            not_run: reason.map(|(_, why)| why.clone()),
        };
        measured.push((point, of_point));
    }
    report(arguments, &measured, &kernel, &stop)
}

impl Runs<'_> {
    /// Makes every run that is not kept.
    fn make(&self, points: &[Point]) -> Result<(), RunError> {
        let mut waiting = Vec::new();
        // Every point once, then every point again: whoever stops early has all of them.
        for seed in 1..=self.arguments.seeds {
            for &point in points {
                let text = point.scenario(self.world, seed)?.to_toml();
                for side in Bottleneck::BOTH {
                    if self.store.get(&point, side, seed, &text).is_none() {
                        waiting.push(Run { point, side, seed });
                    }
                }
            }
        }
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let failure = Mutex::new(None);
        let jobs = match self.world {
            World::Virtual => self.arguments.jobs.max(1),
            World::Sim | World::Live => 1,
        };
        together(jobs, || {
            while let Some(&run) = waiting.get(next.fetch_add(1, Ordering::Relaxed)) {
                if self.stop.load(Ordering::Relaxed) {
                    return;
                }
                if let Err(error) = self.one(run) {
                    *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    self.stop.store(true, Ordering::Relaxed);
                    return;
                }
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                let (id, side) = (run.point.id(), run.side);
                eprintln!(
                    "{done} of {}: {id} {side:?} seed {}",
                    waiting.len(),
                    run.seed
                );
            }
        });
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// One run. What this kernel cannot do is noted, and the point left out.
    fn one(&self, run: Run) -> Result<(), RunError> {
        let Run { point, side, seed } = run;
        let is_out = |(refused, _): &(Point, String)| *refused == point;
        let mut not_run = self.not_run.lock().unwrap_or_else(PoisonError::into_inner);
        if not_run.iter().any(is_out) {
            return Ok(());
        }
        drop(not_run);
        let scenario = point.scenario(self.world, seed)?;
        let folder = tempfile::tempdir()
            .map_err(|error| RunError::Failed(format!("no temporary folder: {error}")))?;
        let options = Options {
            world: self.world,
            out: Some(folder.path().join("result")),
            stop: self.stop,
            warnings: Vec::new(),
            packets: false,
            live: LiveOptions {
                kernel_queue: (side == Bottleneck::Kernel).then(|| point.kernel()),
                watch: true,
                ..LiveOptions::default()
            },
            guest: GuestOptions {
                kernel: self.arguments.kernel.clone(),
                ..GuestOptions::default()
            },
        };
        let outcome = match quell_lab::run(&scenario, options, &mut |_| {}) {
            Err(RunError::Refused(why)) => {
                not_run = self.not_run.lock().unwrap_or_else(PoisonError::into_inner);
                not_run.push((point, why.to_string().replace('\n', " ")));
                return Ok(());
            }
            outcome => outcome?,
        };
        let Some(finished) = outcome.runs.into_iter().next() else {
            return Ok(());
        };
        if finished.summary.partial {
            return Ok(());
        }
        let text = scenario.to_toml();
        self.store
            .put(&point, side, seed, &text, finished.summary)
            .map_err(|error| RunError::Failed(error.to_string()))
    }
}

/// Prints every figure, and writes the document if all points were asked for.
fn report(
    arguments: &Arguments,
    measured: &[(Point, PointRuns)],
    kernel: &str,
    stop: &AtomicBool,
) -> Result<(), Error> {
    for (point, of_point) in measured {
        for one in of_point.differences() {
            let verdict = if one.holds() { "" } else { "  miss" };
            println!(
                "{:22} {:8} {:16} quell {:9.4} ± {:7.4}  kernel {:9.4} ± {:7.4}  {:.3}{verdict}",
                point.id(),
                one.group,
                one.figure.title(),
                one.quell.mean,
                one.quell.standard_error.unwrap_or(0.0),
                one.kernel.mean,
                one.kernel.standard_error.unwrap_or(0.0),
                one.ratio(),
            );
        }
        if let Some(why) = &of_point.not_run {
            println!("{:22} not run: {why}", point.id());
        }
    }
    let is_whole = arguments.world == Where::Virtual && arguments.points.is_none();
    if !is_whole || stop.load(Ordering::Relaxed) {
        println!(
            "the document stays as it is: it is written after every point in the virtual world"
        );
        return Ok(());
    }
    let path = arguments.document.display();
    let facts = facts(arguments, measured, kernel);
    let part = |explanations: &_| table::part(measured, &facts, explanations);
    if !document::replace(&arguments.document, table::NAME, part)? {
        return Err(Error::NoMarkers(arguments.document.clone()));
    }
    let raw = table::sheet(measured).write_beside(&arguments.document)?;
    println!("written: {path} and {}", raw.display());
    Ok(())
}

/// What the table was made of.
fn facts(arguments: &Arguments, measured: &[(Point, PointRuns)], kernel: &str) -> String {
    let runs = |(_, of_point): &(Point, PointRuns)| of_point.quell.len() + of_point.kernel.len();
    let sides = measured
        .iter()
        .flat_map(|(_, one)| [one.quell.len(), one.kernel.len()]);
    let fewest = sides.min().unwrap_or(0) as u64;
    let seeds = if fewest < arguments.seeds {
        format!("{fewest} to {}", arguments.seeds)
    } else {
        fewest.to_string()
    };
    format!(
        "{} runs with {kernel} in virtual time, {seeds} seeds for each point and queue. [parity.csv](data/parity.csv) has each figure: the \
         means of the runs with both queues, and their ratio with the standard error of the difference as a part of the kernel's figure.\n",
        measured.iter().map(runs).sum::<usize>(),
    )
}
