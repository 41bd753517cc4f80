//! The live world: one run at a time, with real packets and in real time, in a process of its own (`quell_lab::live::watched`).
//!
//! The first run begins when a page comes: it cannot stand still until somebody watches. What a page changes is told to the run, which
//! says when it happened; what repeats the run then has it as `[[at]]`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use quell_lab::live::Prepared;
use quell_lab::live::watched::{Happened, Watching};
use quell_lab::{LiveOptions, World};
use quell_scenario::{Override, Scenario};
use quell_units::Time;
use quell_watch::about;
use serde_json::Value;

use crate::ask::{Ask, Opening, Speed};
use crate::error::SessionError;
use crate::hub::Hub;
use crate::messages::{self, Message, News};
use crate::pace::Frame;

/// Time between two looks whether there is something to do.
const IDLE: Duration = Duration::from_millis(50);
/// The longest wait for what a run tells while pages may ask.
const TURN: Duration = Duration::from_millis(10);
/// Flows that each group may start besides its own where no page says.
const SPARE_FLOWS: u32 = 16;
/// How many times as fast as the scenario's the link may become where no page says.
const SPARE_RATE: u64 = 4;

/// A scenario that can run in the live world.
#[derive(Debug)]
struct Plan {
    scenario: Scenario,
    seed: u64,
    warnings: Vec<String>,
    prepared: Prepared,
}

impl Plan {
    fn of(opening: &Opening) -> Result<Self, SessionError> {
        let [changes] = &opening.runs[..] else {
            return Err(SessionError::OneQueue);
        };
        let overrides = changes.iter().map(|change| Override::set(change));
        let seed = opening.seed.map(|seed| Ok(Override::seed(seed)));
        let overrides = overrides.chain(seed).collect::<Result<Vec<_>, _>>();
        let overrides = overrides.map_err(|why| SessionError::Change(why.into()))?;
        let loaded = Scenario::load(
            "scenario.toml",
            &opening.scenario,
            &overrides,
            Some(World::Live),
        )?;
        let mut scenario = loaded.scenario;
        scenario.run.seeds.truncate(1);
        let rates = scenario.links.iter().map(|link| link.forward.rate.as_bps());
        let rate = rates.max().unwrap_or(0);
        let preparation = opening.preparation;
        Ok(Self {
            seed: scenario.run.seeds.first().copied().unwrap_or(1),
            warnings: loaded.warnings.iter().map(ToString::to_string).collect(),
            prepared: Prepared {
                flows: match preparation.flows {
                    0 => SPARE_FLOWS,
                    flows => flows,
                },
                fastest_bps: match preparation.rate {
                    None => rate.saturating_mul(SPARE_RATE),
                    Some(rate) => rate.as_bps(),
                },
            },
            scenario,
        })
    }

    fn about(&self) -> Value {
        about(&self.scenario, self.seed, &self.warnings)
    }

    fn opened(&self) -> Message {
        messages::opened(&[self.about()])
    }
}

/// The name of a scenario that the live world takes.
pub(crate) fn name_of(opening: &Opening) -> Result<String, SessionError> {
    Ok(Plan::of(opening)?.scenario.name)
}

/// A session of live runs.
#[derive(Debug)]
pub(crate) struct Live {
    hub: Arc<Hub>,
    options: LiveOptions,
    run: Option<Watching>,
    /// What runs, or ran last, as it is now.
    plan: Option<Plan>,
    /// What begins when somebody watches.
    pending: Option<Opening>,
    finished: Option<Message>,
    now: Time,
    /// Messages that the run lost because this program was too slow.
    lost: u64,
}

impl Live {
    pub(crate) fn new(hub: Arc<Hub>, options: LiveOptions) -> Self {
        Self {
            hub,
            options,
            run: None,
            plan: None,
            pending: None,
            finished: None,
            now: Time::ZERO,
            lost: 0,
        }
    }

    /// Hears what pages ask, and tells what happens, until `stop` is set. A run that goes on then is ended.
    pub(crate) fn carry_on(mut self, asks: &Receiver<Ask>, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            let wait = match self.run {
                Some(_) => Duration::ZERO,
                None => IDLE,
            };
            let done = match asks.recv_timeout(wait) {
                Ok(ask) => self.hear(ask),
                Err(RecvTimeoutError::Timeout) => self.go_on(),
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if let Err(why) = done {
                self.hub.tell(&messages::refused(&why.to_string()));
            }
        }
    }

    fn hear(&mut self, ask: Ask) -> Result<(), SessionError> {
        match ask {
            Ask::Open(opening) if self.plan.is_none() && !self.hub.is_watched() => {
                self.pending = Some(opening);
                Ok(())
            }
            Ask::Open(opening) => self.open(&opening),
            Ask::Speed(Speed::Times(1.0)) => Ok(()),
            Ask::Speed(_) | Ask::Step(_) => Err(SessionError::RealTime),
            Ask::Change { run: Some(1..), .. } => Err(SessionError::OneRun),
            Ask::Change { key, value, .. } => match &mut self.run {
                Some(run) => Ok(run.change(&key, &value)?),
                None => Err(SessionError::NoRun),
            },
            Ask::Finish => match (&mut self.run, &self.finished) {
                (Some(run), _) => Ok(run.end()?),
                (None, Some(finished)) => {
                    self.hub.tell(finished);
                    Ok(())
                }
                (None, None) => Err(SessionError::NoRun),
            },
        }
    }

    /// Ends what runs, and begins anew. What is refused leaves the run that goes on alone.
    fn open(&mut self, opening: &Opening) -> Result<(), SessionError> {
        self.pending = None;
        let plan = Plan::of(opening)?;
        // Its namespaces are gone when this returns.
        self.run = None;
        (self.finished, self.lost, self.now) = (None, 0, Time::ZERO);
        let run = Watching::begin(
            &plan.scenario,
            plan.seed,
            &plan.warnings,
            plan.prepared,
            &self.options,
        );
        self.run = Some(run?);
        let opened = plan.opened();
        self.plan = Some(plan);
        self.greet();
        self.hub.tell(&opened);
        Ok(())
    }

    fn greet(&self) {
        let opened = self.plan.as_ref().map(Plan::opened);
        let greeting = opened.into_iter().chain(self.finished.clone());
        self.hub.greet(greeting.collect());
    }

    fn go_on(&mut self) -> Result<(), SessionError> {
        if self.hub.is_watched()
            && let Some(opening) = self.pending.take()
        {
            return self.open(&opening);
        }
        let Some(run) = &mut self.run else {
            return Ok(());
        };
        match run.next(TURN) {
            Ok(None) => Ok(()),
            Ok(Some(happened)) => self.tell(happened),
            Err(error) => {
                self.run = None;
                // Who comes later learns why nothing happens.
                self.hub.greet(vec![messages::refused(&error.to_string())]);
                Err(error.into())
            }
        }
    }

    fn tell(&mut self, happened: Happened) -> Result<(), SessionError> {
        match happened {
            Happened::Rows {
                now,
                words,
                series,
                lost,
            } => {
                self.now = now;
                let news = News {
                    words,
                    series,
                    packets: None,
                };
                self.hub.tell(&messages::rows(self.frame(false), &[news]));
                let more = lost.saturating_sub(std::mem::replace(&mut self.lost, lost));
                match more {
                    0 => Ok(()),
                    more => Err(SessionError::LostRows(more)),
                }
            }
            Happened::Refused(why) => Err(SessionError::Change(why.into())),
            Happened::Changed(scenario) => {
                let changed = Scenario::parse(&scenario)?;
                let plan = self.plan.as_mut().ok_or(SessionError::NoRun)?;
                plan.scenario = changed;
                let changed = messages::changed(0, &scenario, &plan.about());
                self.greet();
                self.hub.tell(&changed);
                Ok(())
            }
            Happened::Finished(finished) => {
                self.run = None;
                let finished = messages::finished(&[finished]);
                self.finished = Some(finished.clone());
                self.greet();
                let news = News::default();
                self.hub.tell(&messages::rows(self.frame(true), &[news]));
                self.hub.tell(&finished);
                Ok(())
            }
        }
    }

    fn frame(&self, is_over: bool) -> Frame {
        Frame {
            now: self.now,
            wished: 1.0,
            reached: 1.0,
            is_over,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use quell_units::Rate;
    use quell_watch::Preparation;

    const TEXT: &str = "schema = 1\nname = \"small\"\n[link]\nrate = \"10mbit\"\nqueue = { kind = \"pie\" }\n\
        [[group]]\nname = \"a\"\nrtt = \"10ms\"\napp = { kind = \"bulk\" }\n[run]\nduration = \"6s\"\n";

    fn opening(runs: &[&[&str]]) -> Opening {
        let run = |changes: &&[&str]| changes.iter().map(ToString::to_string).collect();
        Opening {
            scenario: TEXT.to_owned(),
            runs: runs.iter().map(run).collect(),
            seed: None,
            preparation: Preparation::default(),
        }
    }

    #[test]
    fn a_run_is_prepared_for_some_more_than_its_scenario_says_unless_a_page_says_for_what() {
        let plan = Plan::of(&opening(&[&["link.rate=20mbit"]])).unwrap();
        let expected = Prepared {
            flows: 16,
            fastest_bps: 80_000_000,
        };
        assert_eq!((plan.prepared, plan.seed), (expected, 1));
        let asked = Opening {
            seed: Some(7),
            preparation: Preparation {
                flows: 3,
                rate: Some(Rate::from_mbps(1_000)),
            },
            ..opening(&[&[]])
        };
        // Of several links the fastest counts.
        let several = Opening {
            scenario: TEXT.replacen(
                "[link]",
                "[[link]]\nrate = \"30mbit\"\nqueue = \"pie\"\n[[link]]",
                1,
            ),
            ..opening(&[&[]])
        };
        let plan = Plan::of(&several).unwrap();
        assert_eq!(plan.prepared.fastest_bps, 120_000_000);
        let plan = Plan::of(&asked).unwrap();
        let expected = Prepared {
            flows: 3,
            fastest_bps: 1_000_000_000,
        };
        assert_eq!((plan.prepared, plan.seed), (expected, 7));
    }

    #[test]
    fn what_the_live_world_cannot_do_is_refused_in_words() {
        let why = |opening: &Opening| Plan::of(opening).unwrap_err().to_string();
        assert!(why(&opening(&[&[], &[]])).contains("one link at a time"));
        assert!(why(&opening(&[&["link.rate"]])).contains("KEY=VALUE"));
        assert!(why(&opening(&[&["group.a.rtt=0s"]])).contains("rtt"));
        let mut live = Live::new(Hub::new(1 << 20), LiveOptions::default());
        for (ask, part) in [
            (Ask::Speed(Speed::Times(0.0)), "real time"),
            (Ask::Step(Time::from_secs(1)), "real time"),
            (Ask::Finish, "no run"),
            (
                Ask::Change {
                    key: "link.rate".to_owned(),
                    value: "1mbit".to_owned(),
                    run: Some(1),
                },
                "one run only",
            ),
        ] {
            let why = live.hear(ask).unwrap_err().to_string();
            assert!(why.contains(part), "{why}");
        }
        live.hear(Ask::Speed(Speed::Times(1.0))).unwrap();
    }
}
