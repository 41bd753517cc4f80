//! Ctrl-C and similar signals. The first signal ends the runs and keeps what was measured; the second ends the process. With
//! `--parent-pipe` the end of the process that started this one counts as a hangup.
//!
//! A program that was interrupted ends *by* the signal, after it has written its results: a shell shows that as 128 + signal
//! (130 for Ctrl-C), and ends a loop or a script around the program only then. A program that merely exits with 130 counts as
//! one that has dealt with the signal, and the loop goes on.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use quell_hosts::parent_pipe;
use quell_lab::{Outcome, Scenario};
use signal_hook::consts::{SIGHUP, SIGINT, SIGIO, SIGTERM};
use signal_hook::{flag, low_level};

use crate::failure::Failure;
use crate::signals::is_ignored;

/// The signals that end a run: Ctrl-C, `kill`, and a closed terminal.
const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// The descriptor of `--parent-pipe`.
static PARENT_PIPE: OnceLock<i32> = OnceLock::new();

/// Runs are to end, too, when the other end of this pipe closes.
pub(crate) fn end_with(pipe: Option<i32>) {
    if let Some(pipe) = pipe {
        PARENT_PIPE.get_or_init(|| pipe);
    }
}

/// The signal that asked this process to end, if one came.
#[derive(Debug)]
pub(crate) struct Interrupt {
    stop: Arc<AtomicBool>,
    /// The signal that came; 0 before.
    signal: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Catches signals from now on.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let interrupt = Self {
            stop: Arc::default(),
            signal: Arc::default(),
        };
        // Under nohup(1) a run outlives its terminal.
        let wanted = |signal: &i32| *signal != SIGHUP || !is_ignored(SIGHUP);
        for signal in SIGNALS.into_iter().filter(wanted) {
            interrupt.catch(signal).map_err(Failure::failed)?;
        }
        if let Some(&pipe) = PARENT_PIPE.get() {
            interrupt.watch(pipe).map_err(|error| {
                Failure::input(format!(
                    "--parent-pipe {pipe}: must be the descriptor of a pipe that this process was started with: {error}"
                ))
            })?;
        }
        Ok(interrupt)
    }

    fn watch(&self, pipe: i32) -> std::io::Result<()> {
        // As a hangup: nobody waits any more, and no second one follows that would end the process before it has written its results.
        flag::register_usize(SIGIO, self.signal.clone(), SIGHUP as usize)?;
        flag::register(SIGIO, self.stop.clone())?;
        if parent_pipe::watch(pipe)? {
            self.signal.store(SIGHUP as usize, Ordering::Relaxed);
            self.stop.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    fn catch(&self, signal: i32) -> std::io::Result<()> {
        // In this order: the second signal finds the flag set by the first. A shell passes a hangup on once more than the
        // terminal does, so a second one of those means nothing.
        match signal {
            SIGHUP => {}
            _ if is_init() => {
                flag::register_conditional_shutdown(signal, 128 + signal, self.stop.clone())?;
            }
            _ => {
                flag::register_conditional_default(signal, self.stop.clone())?;
            }
        }
        flag::register_usize(signal, self.signal.clone(), signal as usize)?;
        flag::register(signal, self.stop.clone())?;
        Ok(())
    }

    /// True once a run has to end.
    pub(crate) fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    /// True after a signal.
    pub(crate) fn has_come(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The signal that has come.
    pub(crate) fn signal(&self) -> Option<i32> {
        let signal = i32::try_from(self.signal.load(Ordering::Relaxed));
        signal.ok().filter(|&signal| signal != 0)
    }

    /// Fails after a signal, with the fate of each run.
    pub(crate) fn check(&self, fates: &[Fate]) -> Result<(), Failure> {
        match self.signal() {
            Some(signal) => Err(Failure::interrupted(signal, told(fates))),
            None => Ok(()),
        }
    }

    /// A failure that a signal caused ends the process by that signal.
    pub(crate) fn explain(&self, failure: Failure) -> Failure {
        match self.signal() {
            Some(signal) => Failure::interrupted(signal, failure.message),
            None => failure,
        }
    }
}

/// Ends the process by `signal`, as if it had not been caught. Returns where that is impossible.
pub(crate) fn die_of(signal: i32) {
    // The first process of a machine or container does not die of a signal that it does not catch.
    if !is_init() {
        let _ = low_level::emulate_default_handler(signal);
    }
}

fn is_init() -> bool {
    std::process::id() == 1
}

/// The fate of a run.
#[derive(Debug)]
pub(crate) struct Fate {
    /// Distinguishes the run from the others; empty if there is no other.
    name: String,
    /// Planned end, in seconds.
    planned: f64,
    /// Actual end, in seconds; `None` if the run did not begin.
    ended: Option<f64>,
}

impl Fate {
    /// The fate of each seed of `scenario`, which is one of several if it has a `label`.
    pub(crate) fn of_all(
        label: Option<&str>,
        scenario: &Scenario,
        outcome: Option<&Outcome>,
    ) -> Vec<Self> {
        let seeds = &scenario.run.seeds;
        let fate = |&seed: &u64| {
            let mut runs = outcome.iter().flat_map(|outcome| &outcome.runs);
            let run = runs.find(|run| run.seed == seed);
            let seed = (seeds.len() > 1).then(|| format!("seed {seed}"));
            let parts = label.map(str::to_owned).into_iter().chain(seed);
            Self {
                name: parts.collect::<Vec<_>>().join(" "),
                planned: scenario.run.duration.as_nanos() as f64 / 1e9,
                ended: run.map(|run| run.summary.duration_s),
            }
        };
        seeds.iter().map(fate).collect()
    }
}

/// `interrupted at 20.3 s of 200 s (pie); codel, dualpi2 did not run`
fn told(fates: &[Fate]) -> String {
    let mut text = "interrupted".to_owned();
    let cut = fates.iter().filter_map(|fate| {
        let ended = fate.ended.filter(|&ended| ended < fate.planned)?;
        let at = format!("{} s of {} s", tenths(ended), tenths(fate.planned));
        Some(match fate.name.as_str() {
            "" => at,
            name => format!("{at} ({name})"),
        })
    });
    let cut: Vec<String> = cut.collect();
    if !cut.is_empty() {
        let _ = write!(text, " at {}", cut.join(", "));
    }
    let missing = fates.iter().filter(|fate| fate.ended.is_none());
    let missing: Vec<&str> = missing.map(|fate| fate.name.as_str()).collect();
    match missing[..] {
        [] if cut.is_empty() => text.push_str(" after everything was done"),
        [] => {}
        [""] => text.push_str("; nothing ran"),
        _ => {
            let _ = write!(text, "; {} did not run", missing.join(", "));
        }
    }
    text
}

/// In seconds: 20.3, 200.
fn tenths(seconds: f64) -> f64 {
    (seconds * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fate(name: &str, ended: Option<f64>) -> Fate {
        Fate {
            name: name.to_owned(),
            planned: 200.0,
            ended,
        }
    }

    #[test]
    fn says_when_each_run_ended_and_which_did_not_run() {
        let (whole, never) = (Some(200.0), None);
        for (fates, expected) in [
            (
                vec![fate("", Some(20.2612))],
                "interrupted at 20.3 s of 200 s",
            ),
            (
                vec![fate("", whole)],
                "interrupted after everything was done",
            ),
            (vec![fate("", never)], "interrupted; nothing ran"),
            (
                vec![
                    fate("seed 1", whole),
                    fate("seed 2", Some(7.0)),
                    fate("seed 3", never),
                ],
                "interrupted at 7 s of 200 s (seed 2); seed 3 did not run",
            ),
            (
                vec![fate("fifo", Some(7.0)), fate("pie", Some(8.0))],
                "interrupted at 7 s of 200 s (fifo), 8 s of 200 s (pie)",
            ),
            (
                vec![
                    fate("fifo", whole),
                    fate("pie", never),
                    fate("codel", never),
                ],
                "interrupted; pie, codel did not run",
            ),
        ] {
            assert_eq!(told(&fates), expected);
        }
    }
}
