//! A link that carries a program (`quell exec --page`): this crate neither made it nor ends it. Pages watch it, and change it while the
//! program runs.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Duration;

use quell_scenario::Scenario;
use quell_scenario::contract::{Listener as _, Row};
use quell_units::Time;
use quell_watch::{Finished, Rows, Series, about};

use crate::ask::{Ask, Speed};
use crate::error::SessionError;
use crate::hub::Hub;
use crate::messages::{self, News};
use crate::pace::Frame;

/// The longest wait for an ask or for news.
const TURN: Duration = Duration::from_millis(10);

/// A program is not repeated; a page wants a number.
const SEED: u64 = 1;

/// What happens on a link.
#[derive(Debug, Clone)]
pub enum Happened {
    /// Rows, up to the time `now` of the link.
    Rows {
        /// Time since the link began.
        now: Time,
        /// What happened.
        rows: Vec<Row>,
        /// Messages of rows that were lost so far on their way here.
        lost: u64,
    },
    /// It has changed, by whomever; this scenario has all of its changes.
    Changed(Box<Scenario>),
    /// The program has ended; nothing follows.
    Finished(Finished),
}

/// Why a key of the link does not get a value.
pub type NoChange = Box<dyn Error + Send + Sync>;

/// Gives a key of the link a value.
type Change = Box<dyn FnMut(&str, &str) -> Result<(), NoChange> + Send>;

/// A link that carries a program.
pub struct ExecLink {
    /// The link, resolved, without groups.
    pub scenario: Scenario,
    /// What happens; it is closed at the end, with which the server ends, too.
    pub heard: Receiver<Happened>,
    /// What a page asks.
    pub change: Change,
    /// Set at the end: what [`Server::run`](crate::Server::run) was given to stop.
    pub stop: Arc<AtomicBool>,
}

impl fmt::Debug for ExecLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecLink").finish_non_exhaustive()
    }
}

impl ExecLink {
    /// Hears what pages ask, and tells what happens, until the link has ended or `stop` is set.
    pub(crate) fn carry_on(mut self, hub: &Hub, asks: &Receiver<Ask>, stop: &AtomicBool) {
        let about = |scenario: &Scenario| about(scenario, SEED, &[]);
        let opened = |scenario: &Scenario| messages::opened(&[about(scenario)]);
        hub.greet(vec![opened(&self.scenario)]);
        hub.tell(&opened(&self.scenario));
        let (mut rows, mut lost_before) = (Rows::default(), 0);
        while !stop.load(Ordering::Relaxed) {
            match asks.recv_timeout(TURN) {
                Ok(ask) => {
                    if let Err(why) = self.hear(ask) {
                        hub.tell(&messages::refused(&why.to_string()));
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            loop {
                match self.heard.try_recv() {
                    Ok(Happened::Rows {
                        now,
                        rows: new,
                        lost,
                    }) => {
                        for row in new {
                            // Columns take every row.
                            let _ = rows.row(row);
                        }
                        hub.tell(&messages::rows(frame(now, false), &[news(&mut rows)]));
                        if lost > std::mem::replace(&mut lost_before, lost) {
                            let why = "this machine is too busy: messages of rows were lost; the program is not disturbed";
                            hub.tell(&messages::refused(why));
                        }
                    }
                    Ok(Happened::Changed(scenario)) => {
                        // Who comes later sees all of its changes.
                        hub.greet(vec![opened(&scenario)]);
                        let text = scenario.to_toml();
                        hub.tell(&messages::changed(0, &text, &about(&scenario)));
                        self.scenario = *scenario;
                    }
                    Ok(Happened::Finished(finished)) => {
                        let finished = messages::finished(&[finished]);
                        hub.greet(vec![opened(&self.scenario), finished.clone()]);
                        hub.tell(&finished);
                        self.stop.store(true, Ordering::Relaxed);
                        return;
                    }
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => {
                        self.stop.store(true, Ordering::Relaxed);
                        return;
                    }
                }
            }
        }
    }

    fn hear(&mut self, ask: Ask) -> Result<(), SessionError> {
        match ask {
            Ask::Change { run: Some(1..), .. } => Err(SessionError::OneLink),
            Ask::Change { key, value, .. } => {
                (self.change)(&key, &value).map_err(SessionError::Change)
            }
            Ask::Speed(Speed::Times(1.0)) => Ok(()),
            Ask::Speed(_) | Ask::Step(_) => Err(SessionError::ProgramTime),
            Ask::Open(_) => Err(SessionError::CarriesProgram),
            Ask::Finish => Err(SessionError::EndsWithProgram),
        }
    }
}

fn news(rows: &mut Rows) -> News {
    News {
        words: rows.words().iter().map(ToString::to_string).collect(),
        series: Series::ALL.map(|series| (rows.waiting(series), rows.take(series))),
        packets: None,
    }
}

fn frame(now: Time, is_over: bool) -> Frame {
    Frame {
        now,
        wished: 1.0,
        reached: 1.0,
        is_over,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    const TEXT: &str = "schema = 1\nname = \"exec\"\n[link]\nrate = \"10mbit\"\nqueue = \"pie\"\n[[group]]\nname = \"a\"\n\
        rtt = \"9ms\"\napp = \"bulk\"\n[run]\nduration = \"6s\"\n";

    #[test]
    fn pages_change_the_link_and_nothing_else() {
        let (changed, changes) = mpsc::channel();
        let (_happens, heard) = mpsc::channel();
        let mut link = ExecLink {
            scenario: Scenario::parse(TEXT).unwrap(),
            heard,
            change: Box::new(move |key, value| {
                changed.send(format!("{key}={value}")).unwrap();
                match value {
                    "fast" => Err("no rate".into()),
                    _ => Ok(()),
                }
            }),
            stop: Arc::default(),
        };
        let change = |value: &str, run| Ask::Change {
            key: "link.rate".to_owned(),
            value: value.to_owned(),
            run,
        };
        link.hear(change("1mbit", Some(0))).unwrap();
        link.hear(Ask::Speed(Speed::Times(1.0))).unwrap();
        for (ask, part) in [
            (change("fast", None), "no rate"),
            (change("1mbit", Some(1)), "one link"),
            (Ask::Speed(Speed::Times(0.0)), "real time"),
            (Ask::Step(Time::from_secs(1)), "real time"),
            (Ask::Finish, "with its program"),
        ] {
            let why = link.hear(ask).unwrap_err().to_string();
            assert!(why.contains(part), "{why}");
        }
        let asked: Vec<String> = changes.try_iter().collect();
        assert_eq!(asked, ["link.rate=1mbit", "link.rate=fast"]);
    }

    #[test]
    fn it_ends_with_its_news() {
        let (happens, heard) = mpsc::channel();
        let stop = Arc::new(AtomicBool::new(false));
        let link = ExecLink {
            scenario: Scenario::parse(TEXT).unwrap(),
            heard,
            change: Box::new(|_, _| Ok(())),
            stop: stop.clone(),
        };
        let hub = Hub::new(1 << 20);
        let page = hub.subscribe();
        let (_asks, asked) = mpsc::channel();
        let finished = Finished {
            summary: "{}".to_owned(),
            histograms: "{}".to_owned(),
        };
        happens.send(Happened::Finished(finished)).unwrap();
        link.carry_on(&hub, &asked, &AtomicBool::new(false));
        assert!(stop.load(Ordering::Relaxed));
        let mut told = String::new();
        while let crate::hub::Next::Event(event) = page.take() {
            told += &event;
        }
        assert!(
            told.contains("opened") && told.contains("finished"),
            "{told}"
        );
    }
}
