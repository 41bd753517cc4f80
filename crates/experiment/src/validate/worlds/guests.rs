//! The runs in user-mode kernels: as many at once as there are jobs. They have no timing noise, so each counts.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use quell_lab::at_once::together;
use quell_lab::{GuestOptions, Options, RunError, World};

use crate::validate::worlds::Arguments;
use crate::validate::worlds::case::Case;
use crate::validate::worlds::live::NotRun;
use crate::validate::worlds::store::{Place, Store};

/// What is to be done, and what came of it.
struct Work {
    waiting: VecDeque<(Case, u64)>,
    done: usize,
    not_run: NotRun,
}

/// Makes those runs of `wanted` that are not kept, in this order. Cases that fail come back with the reason.
pub(crate) fn run(
    wanted: impl Iterator<Item = (Case, u64)>,
    arguments: &Arguments,
    store: &Store,
    stop: &AtomicBool,
) -> Result<NotRun, RunError> {
    let mut waiting = VecDeque::new();
    for (case, seed) in wanted {
        let text = case.scenario(World::Virtual, seed)?.to_toml();
        if !arguments.no_virtual && store.get(&case, &Place::Virtual, seed, &text).is_none() {
            waiting.push_back((case, seed));
        }
    }
    let all = waiting.len();
    let work = Mutex::new(Work {
        waiting,
        done: 0,
        not_run: Vec::new(),
    });
    let lock = || work.lock().unwrap_or_else(PoisonError::into_inner);
    let next = || {
        let mut work = lock();
        let go = !stop.load(Ordering::Relaxed);
        go.then(|| work.waiting.pop_front()).flatten()
    };
    together(arguments.jobs.get(), || {
        while let Some((case, seed)) = next() {
            let outcome = one(&case, seed, arguments, store, stop);
            let mut work = lock();
            work.done += 1;
            match outcome {
                Ok(note) => {
                    eprintln!("{} of {all}: {} seed {seed}{note}", work.done, case.id);
                }
                Err(why) => {
                    eprintln!("{} of {all}: {} seed {seed}: {why}", work.done, case.id);
                    work.waiting.retain(|(other, _)| *other != case);
                    work.not_run.push((case, why.to_string()));
                }
            }
        }
    });
    let work = work.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(work.not_run)
}

/// One run. Returns a remark.
fn one(
    case: &Case,
    seed: u64,
    arguments: &Arguments,
    store: &Store,
    stop: &AtomicBool,
) -> Result<String, RunError> {
    let scenario = case.scenario(World::Virtual, seed)?;
    let failed = |error: std::io::Error| RunError::Failed(error.to_string());
    let folder = tempfile::tempdir().map_err(failed)?;
    let started = std::time::Instant::now();
    let options = Options {
        out: Some(folder.path().join("run")),
        guest: GuestOptions {
            kernel: arguments.kernel.clone(),
            ..GuestOptions::default()
        },
        ..Options::new(World::Virtual, stop)
    };
    let outcome = quell_lab::run(&scenario, options, &mut |_| {})?;
    let Some(run) = outcome
        .runs
        .into_iter()
        .next()
        .filter(|_| !stop.load(Ordering::Relaxed))
    else {
        return Ok(": stopped, not kept".to_owned());
    };
    let mut note = format!(
        ", {:.1} times real time",
        run.summary.duration_s / started.elapsed().as_secs_f64()
    );
    for warning in &run.summary.warnings {
        note.push_str(&format!("\n    {warning}"));
    }
    let text = scenario.to_toml();
    store
        .put(case, &Place::Virtual, seed, text, run.summary, 0)
        .map_err(failed)?;
    Ok(note)
}
