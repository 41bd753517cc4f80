//! Simulated runs side by side, in a thread of their own, as `web/src/session.ts` has them in a page.
//!
//! They stand still while nobody watches.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use quell_units::{Bytes, Time};
use quell_watch::{Budget, Finished, Rows, Series, Watched};
use serde_json::Value;

use crate::ask::{Ask, Opening, Speed};
use crate::error::SessionError;
use crate::hub::Hub;
use crate::messages::{self, Message, News};
use crate::pace::{Pace, Simulated};

/// Time between two frames of a run that keeps up.
const FRAME: Duration = Duration::from_millis(16);
/// Time between two looks whether there is something to do.
const IDLE: Duration = Duration::from_millis(100);
/// Time between two messages of rows.
pub(crate) const ROWS_INTERVAL: Duration = Duration::from_millis(100);

/// The runs.
#[derive(Debug)]
struct Runs(Vec<Watched>);

impl Simulated for Runs {
    fn advance(&mut self, until: Time) -> Result<Time, SessionError> {
        let mut reached = None;
        for run in &mut self.0 {
            let here = run.advance(until)?;
            reached = reached.max(Some(here));
        }
        Ok(reached.unwrap_or(until))
    }
    fn is_over(&self) -> bool {
        self.0.iter().all(Watched::is_over)
    }
}

/// A session of simulated runs.
#[derive(Debug)]
pub(crate) struct Sim {
    hub: Arc<Hub>,
    pace: Pace,
    runs: Runs,
    /// What a stream that comes later is told of the runs.
    opened: Option<Message>,
    finished: Option<Message>,
    /// When the last message of rows went out.
    shown: Instant,
}

impl Sim {
    pub(crate) fn new(hub: Arc<Hub>, speed: Speed) -> Self {
        Self {
            hub,
            pace: Pace::new(speed),
            runs: Runs(Vec::new()),
            opened: None,
            finished: None,
            shown: Instant::now(),
        }
    }

    /// Hears what pages ask, and simulates, until `stop` is set.
    pub(crate) fn carry_on(mut self, asks: &Receiver<Ask>, stop: &AtomicBool) {
        let mut wait = Duration::ZERO;
        while !stop.load(Ordering::Relaxed) {
            let heard = match asks.recv_timeout(wait) {
                Ok(ask) => Some(ask),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            wait = self.safely(|session| {
                if let Some(ask) = heard {
                    session.hear(ask)?;
                }
                session.go_on()
            });
        }
    }

    /// Does `act`. What it refuses is told; if it panics, the runs are lost and the server is not.
    fn safely(
        &mut self,
        act: impl FnOnce(&mut Self) -> Result<Duration, SessionError>,
    ) -> Duration {
        match catch_unwind(AssertUnwindSafe(|| act(self))) {
            Ok(Ok(wait)) => wait,
            Ok(Err(why)) => {
                self.hub.tell(&messages::refused(&why.to_string()));
                Duration::ZERO
            }
            Err(panic) => {
                let why = format!("quell has an error: {}", words(&*panic));
                self.end(&why);
                IDLE
            }
        }
    }

    /// The runs are lost.
    fn end(&mut self, why: &str) {
        self.runs = Runs(Vec::new());
        (self.opened, self.finished) = (None, None);
        let ended = messages::ended(why);
        self.hub.tell(&ended);
        self.hub.greet(vec![ended]);
    }

    fn hear(&mut self, ask: Ask) -> Result<(), SessionError> {
        match ask {
            Ask::Open(opening) => self.open(&opening),
            Ask::Speed(speed) => {
                self.pace.set_speed(speed);
                Ok(())
            }
            Ask::Step(step) => {
                self.pace.step(step);
                Ok(())
            }
            Ask::Change { key, value, run } => self.change(&key, &value, run),
            Ask::Finish => match &self.finished {
                Some(finished) => {
                    self.hub.tell(finished);
                    Ok(())
                }
                None => self.finish(),
            },
        }
    }

    fn open(&mut self, opening: &Opening) -> Result<(), SessionError> {
        self.runs = Runs(open(opening)?);
        self.finished = None;
        self.pace.restart();
        let opened = self.describe();
        self.greet();
        self.hub.tell(&opened);
        Ok(())
    }

    /// What runs now. Whoever comes next is told of it before the others are: told twice is better than not at all.
    fn describe(&mut self) -> Message {
        let abouts: Vec<Value> = self.runs.0.iter().map(Watched::about).collect();
        let opened = messages::opened(&abouts);
        self.opened = Some(opened.clone());
        opened
    }

    fn greet(&self) {
        let greeting = self.opened.iter().chain(&self.finished);
        self.hub.greet(greeting.cloned().collect());
    }

    fn change(&mut self, key: &str, value: &str, which: Option<usize>) -> Result<(), SessionError> {
        let count = self.runs.0.len();
        if count == 0 {
            return Err(SessionError::NoRun);
        }
        if let Some(run) = which.filter(|run| *run >= count) {
            return Err(SessionError::NoSuchRun(run));
        }
        let mut changed = Vec::new();
        let mut refused = Ok(());
        let chosen = self.runs.0.iter_mut().enumerate();
        for (place, run) in chosen.filter(|(place, _)| which.is_none_or(|which| which == *place)) {
            refused = run.change(key, value);
            if refused.is_err() {
                break;
            }
            let scenario = run.scenario().to_toml();
            changed.push(messages::changed(place, &scenario, &run.about()));
        }
        self.describe();
        self.greet();
        changed.iter().for_each(|message| self.hub.tell(message));
        refused?;
        // Whoever has changed something waits for what comes of it.
        self.shown = self.shown.checked_sub(ROWS_INTERVAL).unwrap_or(self.shown);
        Ok(())
    }

    /// One frame. Returns how long to wait for the next.
    fn go_on(&mut self) -> Result<Duration, SessionError> {
        let is_active = !self.runs.0.is_empty() && self.pace.goes_on() && self.hub.is_watched();
        if !is_active {
            self.pace.stand_still();
            return Ok(IDLE);
        }
        let began = Instant::now();
        let is_there = match self.pace.frame(&mut self.runs, &mut Instant::now) {
            Ok(is_there) => is_there,
            Err(why) => {
                self.end(&why.to_string());
                return Ok(IDLE);
            }
        };
        if self.runs.is_over() {
            self.finish()?;
            return Ok(IDLE);
        }
        let has_stopped = !self.pace.goes_on();
        if has_stopped || began.saturating_duration_since(self.shown) >= ROWS_INTERVAL {
            self.shown = began;
            let news: Vec<News> = self.runs.0.iter_mut().map(news).collect();
            let frame = self.pace.frame_now(false);
            self.hub.tell(&messages::rows(frame, &news));
        }
        Ok(match is_there {
            true => FRAME.saturating_sub(began.elapsed()),
            false => Duration::ZERO,
        })
    }

    /// Ends every run, and tells the rows that are left, and its files.
    fn finish(&mut self) -> Result<(), SessionError> {
        if self.runs.0.is_empty() {
            return Err(SessionError::NoRun);
        }
        let mut all = Vec::new();
        let mut files: Vec<Finished> = Vec::new();
        for mut run in std::mem::take(&mut self.runs.0) {
            let packets = run.packets();
            let (finished, mut over) = run.finish()?;
            let mut news = of_rows(&mut over.rows);
            news.packets = Some(packets);
            all.push(news);
            files.push(finished);
        }
        let finished = messages::finished(&files);
        self.finished = Some(finished.clone());
        self.greet();
        self.hub
            .tell(&messages::rows(self.pace.frame_now(true), &all));
        self.hub.tell(&finished);
        Ok(())
    }
}

/// The name of a scenario that a simulated run takes.
pub(crate) fn name_of(opening: &Opening) -> Result<String, SessionError> {
    // Runs do not go from thread to thread: these only show that others will be there.
    let runs = open(opening)?;
    let name = runs.first().map(|run| run.scenario().name.clone());
    Ok(name.unwrap_or_default())
}

/// Runs at their beginning. If one is refused, there are none.
fn open(opening: &Opening) -> Result<Vec<Watched>, SessionError> {
    // What all of them need together is what one may need.
    let budget = Budget::PAGE.0.get() / opening.runs.len().max(1) as u64;
    let open = |changes: &Vec<String>| {
        let changes: Vec<&str> = changes.iter().map(String::as_str).collect();
        Watched::open(
            "scenario.toml",
            &opening.scenario,
            &changes,
            opening.seed,
            opening.preparation,
            Budget(Bytes::new(budget)),
        )
    };
    let opened: Result<Vec<Watched>, _> = opening.runs.iter().map(open).collect();
    Ok(opened?)
}

fn news(run: &mut Watched) -> News {
    let packets = run.packets();
    let mut news = of_rows(run.rows());
    news.packets = Some(packets);
    news
}

/// What waits in `rows`.
pub(crate) fn of_rows(rows: &mut Rows) -> News {
    let series = Series::ALL.map(|series| (rows.waiting(series), rows.take(series)));
    News {
        words: rows.words().iter().map(ToString::to_string).collect(),
        series,
        packets: None,
    }
}

/// The message of a panic.
fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("it panicked")
}
