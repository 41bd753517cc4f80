//! Changes of the link while the program runs, whoever wants them: the control socket and a page use the same handle.
//!
//! Each change is one more `[[at]]` of the scenario, and checked as such. The link says when it happens, because it cannot take anything
//! back: the first time that it has not decided on yet. What repeats the link is the scenario with all of them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quell_link::{LinkChange, monotonic};
use quell_measure::Summary;
use quell_scenario::World;
use quell_units::{Rate, Time};
use rustix::process::Pid;

use crate::changes::Made;
use crate::experience::{Known, UserImpact, impact};
use crate::link::{Ask, Linked};
use crate::plan::Plan;
use crate::relay::cut::{Cut, How, Scissors};
use crate::summary::summarise;

/// The most changes of one run: all of them are checked together with each new one.
pub const MOST_CHANGES: usize = 5_000;
/// The most keys of one change, and the longest key or value, in bytes.
pub const MOST_KEYS: usize = 32;
/// See [`MOST_KEYS`].
pub const LONGEST: usize = 1 << 10;

/// Why the link has not changed, or says nothing of itself.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// No key, or more than [`MOST_KEYS`].
    #[error("from 1 to {MOST_KEYS} keys can change at once")]
    Keys,
    /// A key or value is longer than [`LONGEST`].
    #[error("a key or value may have {LONGEST} bytes at most")]
    Long,
    /// There were [`MOST_CHANGES`] already.
    #[error("this link has changed {MOST_CHANGES} times")]
    Often,
    /// No key or value of a scenario.
    #[error("{}", without_option(.0))]
    Wrong(#[source] crate::Error),
    /// A rate that the link has no room for.
    #[error("this link is prepared for {0} at most; start it with a higher rate")]
    Fast(Rate),
    /// Nothing that a relay could cut.
    #[error("only connections of --net relay, in the live world, can be cut")]
    NoRelay,
    /// A base RTT that the link has no room for.
    #[error("this link is prepared for a base RTT of {0} at most; start it with a longer one")]
    LongRtt(Time),
    /// The link is gone with the program.
    #[error("the program has ended")]
    Over,
}

/// A link that carries a program, to look at and to change from any thread.
#[derive(Debug, Clone)]
pub struct Remote {
    link: Sender<Ask>,
    scissors: Option<Scissors>,
    /// The number of the program's process, once it runs.
    program: Arc<AtomicI32>,
    /// The instant of CLOCK_MONOTONIC that times count from.
    epoch: Time,
    state: Arc<Mutex<State>>,
    /// Whether data has flowed so far.
    has_data: Arc<AtomicBool>,
    world: World,
}

#[derive(Debug)]
struct State {
    plan: Plan,
    /// What the link is prepared for.
    fastest: Rate,
    longest: Time,
    made: Vec<Made>,
    is_over: bool,
}

impl Remote {
    /// With the relay, once there is one.
    pub(crate) fn with(self, scissors: Option<Scissors>) -> Self {
        Self { scissors, ..self }
    }

    pub(crate) fn new(link: Sender<Ask>, epoch: Time, plan: Plan, world: World) -> Self {
        let state = State {
            fastest: plan.fastest(),
            longest: plan.prepared_rtt(),
            plan,
            made: Vec::new(),
            is_over: false,
        };
        Self {
            link,
            scissors: None,
            program: Arc::default(),
            epoch,
            state: Arc::new(Mutex::new(state)),
            has_data: Arc::default(),
            world,
        }
    }

    /// The program runs.
    pub(crate) fn program_runs(&self, program: Pid) {
        let number = program.as_raw_nonzero().get();
        self.program.store(number, Ordering::Relaxed);
    }

    /// The process of the program, while it runs.
    pub(crate) fn program(&self) -> Option<Pid> {
        let number = self.program.load(Ordering::Relaxed);
        Pid::from_raw(number).filter(|_| !self.state().is_over)
    }

    /// Data has flowed.
    pub(crate) fn data_flows(&self) {
        self.has_data.store(true, Ordering::Relaxed);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives each of these keys its value, as after `--at`, all at the same time, which is returned: since the link began.
    ///
    /// # Errors
    ///
    /// Nothing has changed.
    pub fn change(
        &self,
        wishes: &[(String, String)],
        by: &'static str,
    ) -> Result<Time, ChangeError> {
        if wishes.is_empty() || wishes.len() > MOST_KEYS {
            return Err(ChangeError::Keys);
        }
        let is_long = |(key, value): &(String, String)| key.len().max(value.len()) > LONGEST;
        if wishes.iter().any(is_long) {
            return Err(ChangeError::Long);
        }
        let mut state = self.state();
        if state.is_over {
            return Err(ChangeError::Over);
        }
        if state.made.len() >= MOST_CHANGES {
            return Err(ChangeError::Often);
        }
        // At time zero a change is one of the scenario itself; the first nanosecond is as good.
        let now = (monotonic() - self.epoch).max(Time::from_nanos(1));
        let (mut next, changes) = state
            .plan
            .with_changes(now, wishes)
            .map_err(ChangeError::Wrong)?;
        let cuts = next.cuts().iter().filter(|cut| cut.at == now);
        let cuts: Vec<Cut> = cuts.map(|cut| cut.cut).collect();
        let scissors = self.scissors.as_ref();
        if !cuts.is_empty() && scissors.is_none() {
            return Err(ChangeError::NoRelay);
        }
        let fastest = state.fastest;
        let is_too_fast = |change: &LinkChange| matches!(change, LinkChange::SetRate { rate, .. } if !rate.is_unlimited() && *rate > fastest);
        if changes.iter().any(is_too_fast) {
            return Err(ChangeError::Fast(fastest));
        }
        let longest = state.longest;
        let mut rtts = next.rtts().iter();
        if rtts.any(|(at, rtt)| *at == now && *rtt > longest) {
            return Err(ChangeError::LongRtt(longest));
        }
        let (made, at) = mpsc::channel();
        let asked = self.link.send(Ask::Change(changes, made));
        let at = asked.ok().and_then(|()| at.recv().ok());
        let at = at.ok_or(ChangeError::Over)?;
        for cut in cuts {
            // The relay ends after the link, or just before it.
            scissors.and_then(|scissors| scissors.cut(cut));
        }
        // It was checked a moment earlier, and the link has done it.
        if let Ok((exact, _)) = state.plan.with_changes(at, wishes) {
            next = exact;
        }
        state.plan = next;
        state.made.push(Made {
            time_s: at.as_nanos() as f64 / 1e9,
            set: wishes.iter().cloned().collect(),
            by,
        });
        Ok(at)
    }

    /// Cuts connections, or says what happens to new ones; how many there were. `words` say it in results.
    ///
    /// # Errors
    ///
    /// There is no relay, or it has ended.
    pub fn cut(&self, cut: Cut, words: String, by: &'static str) -> Result<usize, ChangeError> {
        let scissors = self.scissors.as_ref();
        let scissors = scissors.ok_or(ChangeError::NoRelay)?;
        if self.changes() >= MOST_CHANGES {
            return Err(ChangeError::Often);
        }
        let count = scissors.cut(cut).ok_or(ChangeError::Over)?;
        let key = cut.how.key();
        let wish = (key.to_owned(), words.clone());
        let words = match cut.how {
            How::New(_) => words,
            _ => format!("{words}: {count}"),
        };
        let now = monotonic() - self.epoch;
        let mut state = self.state();
        // It was read as such before.
        if let Ok((plan, _)) = state.plan.with_changes(now, &[wish]) {
            state.plan = plan;
        }
        let set = BTreeMap::from([(key.to_owned(), words)]);
        let time_s = now.as_nanos() as f64 / 1e9;
        state.made.push(Made { time_s, set, by });
        Ok(count)
    }

    /// What was measured so far, as of this moment.
    ///
    /// # Errors
    ///
    /// The link has ended.
    pub fn summary(&self) -> Result<Summary, ChangeError> {
        let linked = self.linked()?;
        Ok(summarise(&self.state().plan, self.world, &linked, true).0)
    }

    fn linked(&self) -> Result<Linked, ChangeError> {
        let (measured, measures) = mpsc::channel();
        let asked = self.link.send(Ask::Measure(measured));
        let so_far = asked.ok().and_then(|()| measures.recv().ok());
        Ok(so_far.ok_or(ChangeError::Over)?.linked())
    }

    /// What the user felt so far.
    ///
    /// # Errors
    ///
    /// The link has ended.
    pub fn impact(&self) -> Result<UserImpact, ChangeError> {
        let linked = self.linked()?;
        let plan = self.plan();
        let summary = summarise(&plan, self.world, &linked, true).0;
        let has_data = self.has_data.load(Ordering::Relaxed);
        Ok(impact(
            &summary,
            &Known::of(&plan, has_data, &linked.report),
        ))
    }

    /// The link with all of its changes so far.
    pub fn plan(&self) -> Plan {
        self.state().plan.clone()
    }

    /// The link in a few words, with what it was told to be since.
    pub fn describe(&self) -> String {
        let state = self.state();
        let sets = state.made.iter().flat_map(|made| &made.set);
        let latest: BTreeMap<&String, &String> = sets.collect();
        let since = latest.iter().map(|(key, value)| format!("{key}={value}"));
        let words = std::iter::once(state.plan.describe()).chain(since);
        words.collect::<Vec<_>>().join(", ")
    }

    /// How many changes were made so far.
    pub fn changes(&self) -> usize {
        self.state().made.len()
    }

    /// Nothing changes any more; what was changed, and the link with all of it.
    pub(crate) fn close(&self) -> (Plan, Vec<Made>) {
        let mut state = self.state();
        state.is_over = true;
        (state.plan.clone(), state.made.clone())
    }
}

/// The words of an error, without the option that nobody has written.
fn without_option(error: &crate::Error) -> String {
    let text = error.to_string();
    let lines = text.lines().map(|line| match line.strip_prefix("--at ") {
        Some(rest) => rest.split_once(": ").map_or(line, |(_, rest)| rest),
        None => line,
    });
    lines.collect::<Vec<_>>().join("; ")
}
