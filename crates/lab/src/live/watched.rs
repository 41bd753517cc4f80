//! A live run that somebody watches and changes: in a worker of the broker ([`super::privilege_separation`]), which writes nothing to disk and
//! tells what happens over its line.
//!
//! The link's thread waits for nobody: rows go through a channel to the thread that collects them, and from there into an [`Outbox`] with
//! a bound. A program that reads too slowly loses rows, whole messages at a time, and the next one that arrives says how many.
//!
//! Each message is a line of JSON; behind that of rows are their numbers, little-endian, the series one after the other, column by column.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use quell_hosts::broker::{Answer, Broker, Line, Outbox};
use quell_hosts::confine::capabilities::{CapabilitySet, keep_only};
use quell_hosts::confine::landlock::{Outside, write_only_beneath};
use quell_kernel::Reason;
use quell_scenario::contract::{Listener, Row, Unwritten};
use quell_units::Time;
use quell_watch::{Finished, Rows, Series};
use serde::{Deserialize, Serialize};

use super::error::LiveError;
use super::listener::LiveListener;
use super::prepared::Prepared;
use super::run::run as run_live;
use super::steer::NotChanged;
use super::worker::{WatchTask, Work, broker_of_this_process, resolved};
use crate::options::LiveOptions;
use crate::{RunError, Scenario, World};

/// Time of the run between two messages of rows.
const TOLD: Time = Time::from_millis(100);
/// Bytes of messages that wait for the program.
const ROOM: usize = 8 << 20;
/// The longest key or value of a change, in bytes: it goes over the line in one piece.
const LONGEST: usize = 1 << 10;
/// How long a run may take to end when it was asked to.
const FAREWELL: Duration = Duration::from_secs(20);

/// A request of the program.
#[derive(Debug, Serialize, Deserialize)]
enum Request {
    Change { key: String, value: String },
    End,
}

/// A message of the worker.
#[derive(Debug, Serialize, Deserialize)]
enum Said {
    Rows {
        /// Time of the run, in nanoseconds.
        now: u64,
        words: Vec<String>,
        counts: [usize; Series::ALL.len()],
        lost: u64,
    },
    /// A change was made; the scenario that repeats the run.
    Changed(String),
    /// A change was not made.
    NotChanged(String),
    Done {
        summary: String,
        histograms: String,
    },
    /// It could not begin.
    Refused {
        what: String,
        fix: Option<String>,
    },
    Failed(String),
}

/// What happened in a run that is watched.
#[derive(Debug, Clone, PartialEq)]
pub enum Happened {
    /// Rows, up to the time `now` of the run.
    Rows {
        /// Time of the run.
        now: Time,
        /// The words that stand for their places; there are only ever more of them.
        words: Vec<String>,
        /// Of each series, in the order of [`Series::ALL`], how many rows, and their numbers column by column.
        series: [(usize, Vec<f64>); Series::ALL.len()],
        /// Messages of rows that were lost so far, because this program was too slow.
        lost: u64,
    },
    /// A change was made; this scenario, as TOML, repeats the run.
    Changed(String),
    /// A change was not made, for this reason.
    Refused(String),
    /// The run is over; nothing follows.
    Finished(Finished),
}

/// A live run that goes on in a process of its own. It ends when this is dropped, and that waits for it.
#[derive(Debug)]
pub struct Watching {
    broker: MutexGuard<'static, Option<Broker>>,
    is_over: bool,
    /// Why it ended without a result.
    failed: Option<RunError>,
}

impl Watching {
    /// Begins a run of `scenario` with `seed`. `warnings` are those of its check, for the summary.
    ///
    /// # Errors
    ///
    /// This process has not been [separated](super::privilege_separation::separate_to_watch), or the other process is gone.
    pub fn begin(
        scenario: &Scenario,
        seed: u64,
        warnings: &[String],
        prepared: Prepared,
        live: &LiveOptions,
    ) -> Result<Self, RunError> {
        let mut broker = broker_of_this_process();
        let Some(there) = broker.as_mut() else {
            let why = "this program has nobody who sets up live runs for it";
            return Err(RunError::Failed(why.to_owned()));
        };
        let task = Work::Watch(WatchTask {
            scenario: scenario.to_toml(),
            seed,
            warnings: warnings.to_vec(),
            prepared,
            live: live.clone(),
        });
        let text = serde_json::to_vec(&task).map_err(|error| lost(error.into()))?;
        there.begin(&text).map_err(lost)?;
        Ok(Self {
            broker,
            is_over: false,
            failed: None,
        })
    }

    fn broker(&mut self) -> Result<&mut Broker, RunError> {
        let broker = self.broker.as_mut();
        broker.ok_or_else(|| lost(io::ErrorKind::NotConnected.into()))
    }

    /// Waits up to `patience` for what happens next; `None` if nothing did.
    ///
    /// # Errors
    ///
    /// The run could not begin, failed, or was lost; nothing follows.
    pub fn next(&mut self, patience: Duration) -> Result<Option<Happened>, RunError> {
        if self.is_over {
            return Ok(None);
        }
        match self.broker()?.next(patience).map_err(lost)? {
            None => Ok(None),
            Some(Answer::Ended(code)) => {
                self.is_over = true;
                let unknown = || {
                    let why = format!("the process of the live run ended early, with code {code}");
                    RunError::Failed(why)
                };
                Err(self.failed.take().unwrap_or_else(unknown))
            }
            Some(Answer::Said(what)) => match said(&what).map_err(lost)? {
                (Said::Refused { what, fix }, _) => {
                    self.failed = Some(RunError::Refused(Reason { what, fix }));
                    Ok(None)
                }
                (Said::Failed(why), _) => {
                    self.failed = Some(RunError::Failed(why));
                    Ok(None)
                }
                (Said::Changed(scenario), _) => Ok(Some(Happened::Changed(scenario))),
                (Said::NotChanged(why), _) => Ok(Some(Happened::Refused(why))),
                (
                    Said::Done {
                        summary,
                        histograms,
                    },
                    _,
                ) => {
                    self.wait(FAREWELL);
                    Ok(Some(Happened::Finished(Finished {
                        summary,
                        histograms,
                    })))
                }
                (
                    Said::Rows {
                        now,
                        words,
                        counts,
                        lost,
                    },
                    numbers,
                ) => Ok(Some(Happened::Rows {
                    now: Time::from_nanos(now),
                    words,
                    series: series(counts, numbers),
                    lost,
                })),
            },
        }
    }

    /// Asks for `key` to be `value` from now on, as after `--set`. The run answers with [`Happened::Changed`] or [`Happened::Refused`].
    ///
    /// # Errors
    ///
    /// Key or value is too long, or the run was lost.
    pub fn change(&mut self, key: &str, value: &str) -> Result<(), RunError> {
        if key.len().max(value.len()) > LONGEST {
            let why = format!("a key or value may have {LONGEST} bytes at most");
            return Err(RunError::refused(why));
        }
        self.ask(&Request::Change {
            key: key.to_owned(),
            value: value.to_owned(),
        })
    }

    /// Asks the run to end now, with what it measured.
    ///
    /// # Errors
    ///
    /// The run was lost.
    pub fn end(&mut self) -> Result<(), RunError> {
        self.ask(&Request::End)
    }

    fn ask(&mut self, request: &Request) -> Result<(), RunError> {
        let text = serde_json::to_vec(request).map_err(|error| lost(error.into()))?;
        self.broker()?.ask(&text).map_err(lost)
    }

    /// Waits until its process has ended.
    fn wait(&mut self, patience: Duration) {
        let began = Instant::now();
        while !self.is_over && began.elapsed() < patience {
            let next = self.broker().map(|broker| broker.next(patience));
            // What it says now is for nobody.
            self.is_over = !matches!(next, Ok(Ok(None | Some(Answer::Said(_)))));
        }
        if !self.is_over {
            // Without the line the broker ends, and ends the worker.
            *self.broker = None;
            self.is_over = true;
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        if !self.is_over && self.end().is_ok() {
            self.wait(FAREWELL);
        }
    }
}

fn lost(error: io::Error) -> RunError {
    RunError::Failed(format!("the live run was lost: {error}"))
}

/// A message, and what is behind its line.
fn said(what: &[u8]) -> io::Result<(Said, &[u8])> {
    let mut parts = what.splitn(2, |byte| *byte == b'\n');
    let line = parts.next().unwrap_or_default();
    let said = serde_json::from_slice(line)?;
    Ok((said, parts.next().unwrap_or_default()))
}

fn series(
    counts: [usize; Series::ALL.len()],
    mut numbers: &[u8],
) -> [(usize, Vec<f64>); Series::ALL.len()] {
    let mut all = Series::ALL.into_iter();
    counts.map(|count| {
        let width = all.next().map_or(0, |series| series.columns().len());
        let bytes = (count * width * 8).min(numbers.len());
        let (mine, rest) = numbers.split_at(bytes);
        numbers = rest;
        let eights = mine
            .chunks_exact(8)
            .filter_map(|eight| eight.try_into().ok());
        (count, eights.map(f64::from_le_bytes).collect())
    })
}

/// The work of a worker.
pub(super) fn work(task: WatchTask, line: &Line<'_>) -> u8 {
    let stop = AtomicBool::new(false);
    let mut told = ToProgram {
        line,
        stop: &stop,
        prepared: task.prepared,
        heard: Vec::new(),
        wishes: VecDeque::new(),
        rows: Rows::default(),
        told: Time::ZERO,
        now: Time::ZERO,
        lost: 0,
        outbox: Outbox::new(ROOM),
    };
    let said = run(&task, &stop, &mut told).unwrap_or_else(|error| match error {
        RunError::Refused(Reason { what, fix }) => Said::Refused { what, fix },
        error => Said::Failed(error.to_string()),
    });
    told.tell_rows();
    let text = serde_json::to_vec(&said).map_err(io::Error::from);
    let ended = told.outbox.empty(line).and_then(|()| line.say(&text?));
    u8::from(ended.is_err())
}

fn run(task: &WatchTask, stop: &AtomicBool, told: &mut ToProgram<'_>) -> Result<Said, RunError> {
    let scenario = resolved(&task.scenario)?;
    let measured = run_live(&scenario, task.seed, World::Live, &task.live, stop, told);
    let mut measured = measured.map_err(|error| match error {
        LiveError::Scenario(why) => RunError::refused(why),
        LiveError::Environment(reason) => RunError::Refused(reason),
        error => RunError::Failed(error.to_string()),
    })?;
    measured.add_warnings_of_check(&task.warnings);
    let failed = |error: serde_json::Error| RunError::Failed(error.to_string());
    Ok(Said::Done {
        summary: serde_json::to_string_pretty(&measured.summary).map_err(failed)? + "\n",
        histograms: serde_json::to_string_pretty(&measured.histograms).map_err(failed)? + "\n",
    })
}

/// Tells the program what happens, hears what it wants, and gives the rights of the process away as the run advances.
struct ToProgram<'a> {
    line: &'a Line<'a>,
    stop: &'a AtomicBool,
    prepared: Prepared,
    heard: Vec<u8>,
    wishes: VecDeque<(String, String)>,
    rows: Rows,
    /// When rows were told last.
    told: Time,
    now: Time,
    lost: u64,
    outbox: Outbox,
}

impl ToProgram<'_> {
    fn tell_rows(&mut self) {
        let series = Series::ALL.map(|series| (self.rows.waiting(series), self.rows.take(series)));
        let said = Said::Rows {
            now: self.now.as_nanos(),
            words: self.rows.words().iter().map(ToString::to_string).collect(),
            counts: series.each_ref().map(|(count, _)| *count),
            lost: self.lost,
        };
        let Ok(mut message) = serde_json::to_vec(&said) else {
            return;
        };
        message.push(b'\n');
        let numbers = series.iter().flat_map(|(_, numbers)| numbers);
        message.extend(numbers.flat_map(|number| number.to_le_bytes()));
        self.lost += u64::from(!self.outbox.put(&message));
    }

    /// Hears what the program wants; a program that is gone wants the run to end.
    fn hear(&mut self) -> io::Result<()> {
        while let Some(request) = self.line.hear(&mut self.heard)? {
            match serde_json::from_slice(&request)? {
                Request::Change { key, value } => self.wishes.push_back((key, value)),
                Request::End => self.stop.store(true, Ordering::Relaxed),
            }
        }
        self.outbox.flush(self.line)
    }
}

impl Listener for ToProgram<'_> {
    fn progress(&mut self, now: Time) {
        self.now = now;
        if now >= self.told + TOLD {
            self.told = now;
            self.tell_rows();
        }
        if self.hear().is_err() {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
    fn row(&mut self, row: Row) -> Result<(), Unwritten> {
        self.rows.row(row)
    }
}

impl LiveListener for ToProgram<'_> {
    fn prepared(&self) -> Option<Prepared> {
        Some(self.prepared)
    }
    fn wished(&mut self) -> Option<(String, String)> {
        self.wishes.pop_front()
    }
    fn answered(&mut self, answer: Result<String, NotChanged>) {
        let said = match answer {
            Ok(scenario) => Said::Changed(scenario),
            Err(why) => Said::NotChanged(why.to_string()),
        };
        // Answers are few: where there is no room for one, nobody has read anything for long.
        if let Ok(text) = serde_json::to_vec(&said) {
            let _ = self.outbox.put(&text);
        }
    }
    fn is_built(&mut self) -> Result<(), quell_hosts::confine::Error> {
        write_only_beneath(&[Path::new("/dev/null")], Outside::Allowed).map(drop)
    }
    fn has_begun(&mut self) -> Result<(), quell_hosts::confine::Error> {
        keep_only(CapabilitySet::empty()).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quell_scenario::columns::{FLOW_COLUMNS, QUEUE_COLUMNS};

    #[test]
    fn rows_arrive_as_they_were_told() {
        let counts = [2, 1, 0];
        let numbers = 2 * QUEUE_COLUMNS.len() + FLOW_COLUMNS.len();
        let numbers: Vec<f64> = (0..numbers).map(|number| number as f64 / 3.0).collect();
        let line = serde_json::to_vec(&Said::Rows {
            now: 7,
            words: vec!["a\nb".to_owned()],
            counts,
            lost: 3,
        });
        let mut message = line.unwrap();
        message.push(b'\n');
        message.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        let (Said::Rows { words, counts, .. }, bytes) = said(&message).unwrap() else {
            panic!();
        };
        assert_eq!(words, ["a\nb"]);
        let [queues, flows, events] = series(counts, bytes);
        let (first, rest) = numbers.split_at(2 * QUEUE_COLUMNS.len());
        assert_eq!(queues, (2, first.to_vec()));
        assert_eq!(flows, (1, rest.to_vec()));
        assert_eq!(events, (0, Vec::new()));
    }

    /// A message that is cut short, or is none, is an error or short rows: no panic.
    #[test]
    fn what_is_no_message_is_an_error() {
        for wrong in [&b""[..], b"\n", b"{}", b"{\"Rows\":1}\n", &[0xff; 40]] {
            assert!(said(wrong).is_err(), "{wrong:?}");
        }
        let [(count, numbers), ..] = series([1_000, 0, 0], &[0; 20]);
        assert_eq!((count, numbers.len()), (1_000, 2));
    }
}
