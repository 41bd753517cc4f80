//! Whether a test in real time passes, fails, or cannot be judged here.
//!
//! A run that keeps its bounds passes, whatever the machine did meanwhile. One that misses a bound fails, unless the machine was too
//! busy to judge by ([`Load::busy`]): then it is repeated, three runs in all, and in the end listed as
//! `not run: TEST: not judged: machine busy (…)`. How many such lines a whole run of the tests may hold is for `.ci/allowed-skips` to
//! say, so that tests which are never judged do not pass unnoticed.

use crate::load::{Late, Load, Ticks};
use crate::{Turn, not_run};

/// The most attempts at a run that a busy machine excuses.
pub const ATTEMPTS: usize = 3;

/// A bound on a rate or a delay that a run did not keep, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missed(String);

impl Missed {
    /// `what` names the expected and the found figure.
    #[must_use]
    pub fn new(what: String) -> Self {
        Self(what)
    }
}

/// Returns [`Missed`] from the function around it unless the condition holds: `bound!(ratio < 2.5, "{ratio}")`.
#[macro_export]
macro_rules! bound {
    ($holds:expr, $($message:tt)+) => {
        if !$holds {
            let what = format!($($message)+);
            return Err($crate::Missed::new(format!(
                "{}, {}:{}: {what}", stringify!($holds), file!(), line!()
            )));
        }
    };
}

/// One attempt of a live test. It collects how late its runs were.
#[derive(Debug, Default)]
pub struct Run {
    late: Vec<Late>,
    percentile: bool,
}

impl Run {
    /// What is judged is a 99th percentile of lateness, which a machine that is only a little busy moves.
    pub fn judges_a_percentile(&mut self) {
        self.percentile = true;
    }

    /// A link was `p99_ms` late at the 99th percentile, where `tolerable_ms` leaves a result in no doubt.
    pub fn was_late(&mut self, p99_ms: f64, tolerable_ms: f64) {
        self.late.push(Late {
            p99_ms,
            tolerable_ms,
        });
    }
}

/// The outcome of one attempt.
#[derive(Debug)]
pub struct Attempt {
    /// The bound that it missed, if any.
    pub outcome: Result<(), Missed>,
    /// How busy the machine was meanwhile.
    pub load: Load,
}

/// The verdict on a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// An attempt kept every bound.
    Passed,
    /// Each attempt missed a bound on a busy machine: the figures of the last one.
    NotJudged(String),
    /// An attempt missed this bound although the machine was quiet.
    Failed(String),
}

/// Judges at most [`ATTEMPTS`] attempts.
pub fn verdict(mut attempt: impl FnMut() -> Attempt) -> Verdict {
    let mut last = String::new();
    for _ in 0..ATTEMPTS {
        let Attempt { outcome, load } = attempt();
        let Err(Missed(what)) = outcome else {
            return Verdict::Passed;
        };
        match load.busy() {
            None => {
                let others = load.others.map_or_else(
                    || "an unknown share".to_owned(),
                    |others| format!("{:.1} %", 100.0 * others),
                );
                return Verdict::Failed(format!("{what} (others had {others} of the processors)"));
            }
            Some(figures) => {
                eprintln!("missed on a busy machine ({figures}): {what}");
                last = figures;
            }
        }
    }
    Verdict::NotJudged(last)
}

/// Runs a test in real time, alone on this machine; `attempt` is all of it.
///
/// # Panics
///
/// A bound is missed on a quiet machine; `attempt` panics.
pub fn live(test: &str, mut attempt: impl FnMut(&mut Run) -> Result<(), Missed>) {
    let _turn = Turn::take();
    let verdict = verdict(|| {
        let before = Ticks::now();
        let mut run = Run::default();
        let outcome = attempt(&mut run);
        let others = before
            .zip(Ticks::now())
            .map(|(before, now)| now.others_since(before));
        Attempt {
            outcome,
            load: Load {
                others,
                late: run.late,
                percentile: run.percentile,
            },
        }
    });
    match verdict {
        Verdict::Passed => {}
        Verdict::NotJudged(figures) => not_run(
            test,
            &format!("not judged: machine busy ({figures}; {ATTEMPTS} runs)"),
        ),
        Verdict::Failed(what) => panic!("{what}"),
    }
}
