//! The live runs: several side by side as far as the machine carries them, again where it was late.
//!
//! Each run has namespaces and threads of its own, so runs share nothing but processors; what that
//! costs shows as lateness of the link, which each run reports.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use quell_lab::LiveOptions;
use quell_lab::at_once::together;
use quell_lab::live::{self, LiveError};
use quell_lab::sim::Lateness;
use quell_lab::{RunError, World};
use quell_measure::Summary;
use quell_units::Time;

use crate::validate::worlds::Arguments;
use crate::validate::worlds::case::Case;
use crate::validate::worlds::store::{Place, Store};

/// A run in which one departure of a hundred was later than this, in either direction, counts as
/// late: a tenth of the smallest base RTT.
pub(crate) const TOLERABLE_MS: f64 = 0.5;
/// A run is made again so often; the last is kept whatever it is.
const ATTEMPTS: u32 = 4;

/// A point that cannot run here, and why.
pub(crate) type NotRun = Vec<(Case, String)>;

/// What is to be done, and what came of it.
struct Work {
    waiting: VecDeque<(Case, u64)>,
    /// Mbit/s of the runs under way.
    busy_mbps: u32,
    done: usize,
    not_run: NotRun,
    failure: Option<RunError>,
}

/// Makes every run that is not kept. Cases that this machine cannot run come back with the reason.
pub(crate) fn run(
    cases: &[Case],
    arguments: &Arguments,
    store: &Store,
    stop: &AtomicBool,
) -> Result<NotRun, RunError> {
    let mut waiting = VecDeque::new();
    // Every point once, then every point again: whoever stops early has all of them.
    for seed in 1..=arguments.seeds {
        for case in cases {
            let text = case.scenario(World::Live, seed)?.to_toml();
            if !arguments.no_live && store.get(case, &Place::Live, seed, &text).is_none() {
                waiting.push_back((case.clone(), seed));
            }
        }
    }
    let all = waiting.len();
    let work = Mutex::new(Work {
        waiting,
        busy_mbps: 0,
        done: 0,
        not_run: Vec::new(),
        failure: None,
    });
    let changed = Condvar::new();
    let smallest = cases.iter().map(|case| case.rate_mbps).min();
    let threads = (arguments.side_by_side / smallest.unwrap_or(1).max(1)) as usize;
    together(threads, || {
        while let Some((case, seed)) = take(&work, &changed, arguments, stop) {
            let outcome = one(&case, seed, arguments, store, stop);
            let mut work = work.lock().unwrap_or_else(PoisonError::into_inner);
            work.busy_mbps -= case.rate_mbps;
            work.done += 1;
            match outcome {
                Ok(note) => {
                    eprintln!("{} of {all}: {} seed {seed}{note}", work.done, case.id);
                }
                Err(Trouble::NotHere(why)) => {
                    work.waiting.retain(|(other, _)| *other != case);
                    work.not_run.push((case, why));
                }
                Err(Trouble::Failed(error)) => work.failure = Some(error),
            }
            changed.notify_all();
        }
    });
    let work = work.into_inner().unwrap_or_else(PoisonError::into_inner);
    match work.failure {
        Some(failure) => Err(failure),
        None => Ok(work.not_run),
    }
}

/// The next run that the machine has room for; `None` when there is no more to do.
fn take(
    work: &Mutex<Work>,
    changed: &Condvar,
    arguments: &Arguments,
    stop: &AtomicBool,
) -> Option<(Case, u64)> {
    let mut work = work.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        if stop.load(Ordering::Relaxed) || work.failure.is_some() || work.waiting.is_empty() {
            return None;
        }
        let room = arguments.side_by_side.saturating_sub(work.busy_mbps);
        let idle = work.busy_mbps == 0;
        let fits = |(case, _): &(Case, u64)| idle || case.rate_mbps <= room;
        if let Some(next) = work.waiting.iter().position(fits)
            && let Some((case, seed)) = work.waiting.remove(next)
        {
            work.busy_mbps += case.rate_mbps;
            return Some((case, seed));
        }
        work = changed.wait(work).unwrap_or_else(PoisonError::into_inner);
    }
}

/// Why there is no result.
enum Trouble {
    /// This machine, or this user, cannot run it.
    NotHere(String),
    Failed(RunError),
}

/// One run, again while the machine is late. Returns a remark.
fn one(
    case: &Case,
    seed: u64,
    arguments: &Arguments,
    store: &Store,
    stop: &AtomicBool,
) -> Result<String, Trouble> {
    let scenario = case.scenario(World::Live, seed).map_err(Trouble::Failed)?;
    let is_root = rustix::process::geteuid().is_root();
    let options = LiveOptions {
        realtime: (is_root && arguments.realtime > 0).then_some(arguments.realtime),
        ..LiveOptions::default()
    };
    for attempt in 0..ATTEMPTS {
        let run = live::run(&scenario, seed, World::Live, &options, stop, &mut ());
        let summary = run.map_err(trouble)?.summary;
        if stop.load(Ordering::Relaxed) {
            return Ok(": stopped, not kept".to_owned());
        }
        let late = lateness_ms(&summary).unwrap_or(0.0);
        let spoilt = late > TOLERABLE_MS || summary.figures.link.lost_outside > 0;
        if spoilt && attempt + 1 < ATTEMPTS {
            continue;
        }
        let mut note = format!(", late by {late:.2} ms");
        for warning in &summary.warnings {
            note.push_str(&format!("\n    {warning}"));
        }
        let kept = store.put(
            case,
            &Place::Live,
            seed,
            scenario.to_toml(),
            summary,
            attempt,
        );
        kept.map_err(|error| Trouble::Failed(RunError::Failed(error.to_string())))?;
        return Ok(note);
    }
    Ok(String::new())
}

fn trouble(error: LiveError) -> Trouble {
    match error {
        LiveError::Environment(_) => Trouble::NotHere(error.to_string().replace('\n', " ")),
        error => Trouble::Failed(RunError::Failed(error.to_string())),
    }
}

/// The 99th percentile of how late departures were, in the worse direction, in ms.
pub(crate) fn lateness_ms(summary: &Summary) -> Option<f64> {
    let of = |key: &str| summary.figures.link.extra.get(key)?.get("p99")?.as_f64();
    let forward = of("lateness_ms")?;
    Some(forward.max(of("reverse_lateness_ms")?))
}

/// How late packets left because the link's thread woke late, for a simulated link that shall be as late.
pub(crate) fn lateness(summary: &Summary) -> Option<Lateness> {
    let figures = &summary.figures.link.extra;
    // Where the link looks ahead, the kernel releases packets: late are those alone that it was handed too late.
    let looks_ahead = figures.get("looks_ahead").and_then(|ahead| ahead.as_bool());
    let measured = figures.get(match looks_ahead {
        Some(true) => "lateness_ms",
        Some(false) | None => "oversleep_ms",
    })?;
    let quantile = |(share, key): (f64, &str)| {
        let ms = measured.get(key)?.as_f64()?;
        Some((share, Time::from_nanos((ms * 1e6) as u64)))
    };
    let quantiles = [
        (0.5, "p50"),
        (0.9, "p90"),
        (0.99, "p99"),
        (0.999, "p999"),
        (0.9999, "p9999"),
        (1.0, "max"),
    ];
    let quantiles: Vec<_> = quantiles.into_iter().filter_map(quantile).collect();
    Some(Lateness::from_quantiles(&quantiles))
}
