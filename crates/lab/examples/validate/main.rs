//! `make validate`: the same scenarios in the simulator and with this kernel's TCP, and the table of
//! differences in `docs/validation.md`.
//!
//! ```text
//! cargo run --release -p quell-lab --features bpf-cc --example validate -- [--quick] [--help]
//! ```
//!
//! Each finished run is kept under `target/validate` and not repeated: a comparison that was stopped
//! goes on where it was. Simulations are made again when the program has changed.

mod figures;
mod live;
mod point;
mod store;
mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;
use quell_aqm::Time;
use quell_lab::live::{Listener, Row};
use quell_lab::{RunError, World};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use figures::Difference;
use point::Point;
use quell_measure::Summary;
use store::{Kind, Store};
use table::Measured;

/// Compares the simulator with real Linux.
#[derive(Debug, Parser)]
pub(crate) struct Arguments {
    /// A quarter of the points, with two live seeds; writes no document
    #[arg(long)]
    quick: bool,
    /// Only points whose name contains this, such as fifo-cubic-10mbit; writes no document
    #[arg(long)]
    points: Option<String>,
    /// Runs of each point in each world, with these seeds from 1 on: they set when flows start
    #[arg(long, default_value_t = 5)]
    seeds: u64,
    /// Live runs side by side may have so many Mbit/s in all
    #[arg(long, default_value_t = 100)]
    side_by_side: u32,
    /// Priority of the live link's thread under SCHED_FIFO, as root; 0 is none
    #[arg(long, default_value_t = 10)]
    realtime: u8,
    /// Make no live runs; compare with those that are kept
    #[arg(long)]
    no_live: bool,
    /// Where finished runs are kept
    #[arg(long, default_value = "target/validate")]
    kept: PathBuf,
    /// The document
    #[arg(long, default_value = "docs/validation.md")]
    document: PathBuf,
}

/// Hears of nothing.
struct Deaf;

impl Listener for Deaf {
    fn progress(&mut self, _now: Time) {}
    fn row(&mut self, _row: Row) -> std::io::Result<()> {
        Ok(())
    }
}

fn main() -> ExitCode {
    let mut arguments = Arguments::parse();
    if arguments.quick {
        arguments.seeds = arguments.seeds.min(2);
    }
    match compare(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("validate: {error}");
            ExitCode::FAILURE
        }
    }
}

fn compare(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    // While there is one thread only.
    let unprepared = quell_lab::live::prepare().err();
    let stop = stop_at_ctrl_c()?;
    let store = Store::open(&arguments.kept)?;
    let wanted = |point: &Point| {
        let named = arguments.points.as_ref();
        (!arguments.quick || point.is_quick()) && named.is_none_or(|part| point.id().contains(part))
    };
    let points: Vec<Point> = Point::all().into_iter().filter(wanted).collect();
    let not_run = match unprepared {
        Some(why) => points
            .iter()
            .map(|point| (*point, why.to_string()))
            .collect(),
        None => live::run(&points, arguments, &store, &stop)?,
    };
    let mut measured = Vec::new();
    for point in points {
        let reason = not_run.iter().find(|(refused, _)| *refused == point);
        let mut of_point = Measured {
            not_run: reason.map(|(_, why)| why.clone()),
            ..Measured::default()
        };
        for seed in 1..=arguments.seeds {
            collect(&point, seed, &store, &stop, &mut of_point)?;
        }
        measured.push((point, of_point));
    }
    report(arguments, &measured, &facts(&store, &measured), &stop)
}

/// The runs of one seed: the live one that is kept, and simulations over a link that is as late as it
/// was, and over one that is never late.
fn collect(
    point: &Point,
    seed: u64,
    store: &Store,
    stop: &AtomicBool,
    of_point: &mut Measured,
) -> Result<(), Box<dyn std::error::Error>> {
    let text = point.scenario(World::Live, seed)?.to_toml();
    let mut lateness = None;
    if let Some(record) = store.get(point, &Kind::Live, seed, &text) {
        of_point.late_runs += record.late_runs;
        lateness = live::lateness(&record.summary);
        of_point.live.push(record.summary);
    }
    if let Some(lateness) = lateness {
        let late = simulation(point, seed, Kind::Late(lateness), store, stop)?;
        of_point.sim.extend(late);
    }
    let punctual = simulation(point, seed, Kind::Punctual, store, stop)?;
    of_point.punctual.extend(punctual);
    Ok(())
}

/// What the tables were made of.
fn facts(store: &Store, measured: &[(Point, Measured)]) -> String {
    let live: Vec<&Summary> = measured
        .iter()
        .flat_map(|(_, measured)| &measured.live)
        .collect();
    let worst = live
        .iter()
        .filter_map(|run| live::lateness_ms(run))
        .fold(0.0, f64::max);
    let again: u32 = measured
        .iter()
        .map(|(_, measured)| measured.late_runs)
        .sum();
    let held = |differences: fn(&Measured) -> Vec<Difference>| {
        let all: Vec<Difference> = measured
            .iter()
            .flat_map(|(_, measured)| differences(measured))
            .collect();
        let held = all.iter().filter(|one| one.holds()).count();
        format!("{held} of {} bounds hold", all.len())
    };
    format!(
        "{} live runs with Linux {} on {} processors, and a simulation of each with the same seed. Each cell is \
         simulator / Linux, the mean of the runs ± its standard error. {}; {} where the simulated link is never late. The \
         live link was at most {worst:.2} ms late at the 99th percentile of a run; {again} runs that were later than {} ms \
         were thrown away and made again.\n",
        live.len(),
        store.kernel(),
        std::thread::available_parallelism().map_or(1, usize::from),
        held(Measured::differences),
        held(Measured::punctual_differences),
        live::TOLERABLE_MS,
    )
}

/// One simulation, or what is kept of it; `None` if it was stopped.
fn simulation(
    point: &Point,
    seed: u64,
    kind: Kind,
    store: &Store,
    stop: &AtomicBool,
) -> Result<Option<Summary>, Box<dyn std::error::Error>> {
    let scenario = point.scenario(World::Sim, seed)?;
    let text = scenario.to_toml();
    if let Some(record) = store.get(point, &kind, seed, &text) {
        return Ok(Some(record.summary));
    }
    let lateness = match &kind {
        Kind::Late(lateness) => Some(lateness.clone()),
        Kind::Punctual | Kind::Live => None,
    };
    let run = quell_lab::sim::run_late(&scenario, seed, lateness, stop, &mut Deaf)
        .map_err(|error| RunError::Failed(error.to_string()))?;
    if stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    store.put(point, &kind, seed, text, run.summary.clone(), 0)?;
    Ok(Some(run.summary))
}

/// Prints the misses, and writes the document if all points were asked for.
fn report(
    arguments: &Arguments,
    measured: &[(Point, Measured)],
    facts: &str,
    stop: &AtomicBool,
) -> Result<(), Box<dyn std::error::Error>> {
    for (point, of_point) in measured {
        for difference in of_point.differences() {
            let verdict = if difference.holds() { "" } else { "  miss" };
            println!(
                "{:28} {:16} sim {:9.3} ± {:7.3}  live {:9.3} ± {:7.3}  {:+6.1} %{verdict}",
                point.id(),
                difference.figure.title(),
                difference.sim.mean,
                difference.sim.standard_error.unwrap_or(0.0),
                difference.live.mean,
                difference.live.standard_error.unwrap_or(0.0),
                100.0 * (difference.sim.mean / difference.live.mean - 1.0),
            );
        }
        if let Some(why) = &of_point.not_run {
            println!("{:28} not run: {why}", point.id());
        }
    }
    if arguments.quick || arguments.points.is_some() || stop.load(Ordering::Relaxed) {
        println!("the document stays as it is: not every point was run");
        return Ok(());
    }
    let old = fs::read_to_string(&arguments.document)?;
    let path: &Path = &arguments.document;
    let new = table::replace(&old, measured, facts)
        .ok_or_else(|| format!("{} lacks the markers of the generated part", path.display()))?;
    fs::write(path, new)?;
    println!("written: {}", path.display());
    Ok(())
}

/// The first signal ends the comparison and keeps what is done; the second ends the process.
fn stop_at_ctrl_c() -> std::io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_shutdown(signal, 128 + signal, stop.clone())?;
        flag::register(signal, stop.clone())?;
    }
    Ok(stop)
}
