//! A request for a card: its queues, each with the buffer of the card, its congestion controls, and its test cases.

use std::sync::Arc;

use quell_lab::scenario::Override;
use quell_lab::{Scenario, World};

use crate::characterize::error::Error;
use crate::characterize::figures::LEVEL;
use crate::characterize::profile::{PACKET, Profile};
use crate::characterize::queue::{entry, is_given, marks, numbers, scaled, with};
use crate::characterize::suite::Suite;
use crate::characterize::test_case::{Back, First, Run, TestCase};
use crate::characterize::traffic::{FIRST, SECOND, choice};

/// NewReno as the RFC's formulas have it: RFC 5681 equation 3, which counts ACKs. Linux counts segments.
const NEWRENO: &str = "reno:growth=acks";
/// The queue that every card compares with.
pub const DROP_TAIL: &str = "fifo";
/// Numbers of seeds after which a cell is looked at, where the card chooses how many it has, each with its part of the 5 % that a verdict may
/// be wrong. Early looks have little of it (O'Brien and Fleming, Biometrics 1979), so that the last one is nearly that of a card of 10 seeds.
pub(crate) const LOOKS: [(u64, f64); 4] = [(3, 0.001), (4, 0.001), (5, 0.005), (10, 0.043)];
/// The key of the queue where there is one link, and that of its other direction.
const LINK: &str = "link.queue";
const BACK: &str = "link.reverse.queue";

/// The key of the queue of one of two links.
fn of_link(name: &str) -> String {
    format!("link.{name}.queue")
}

/// A request for a card.
#[derive(Debug, Clone)]
pub struct Request {
    /// Queue that the card is about, `KIND[:KEY=VALUE,…]`.
    pub queue: String,
    /// Queues to compare with, beside drop-tail.
    pub against: Vec<String>,
    /// Path of the traffic.
    pub profile: Profile,
    /// Suite of test cases.
    pub suite: Suite,
    /// Names of the test cases to run; all of the suite if empty.
    pub only: Vec<String>,
    /// World to run in.
    pub world: World,
    /// Congestion controls of standard flows, `NAME[:KEY=VALUE,…]`; NewReno if empty.
    pub controls: Vec<String>,
    /// Runs of each cell, with seeds from 1 on; `None` for as many as its figures and verdicts need.
    pub seeds: Option<u64>,
}

/// A queue of a card.
#[derive(Debug, Clone, PartialEq)]
pub struct Queue {
    /// Queue as it was asked for.
    pub name: String,
    /// Queue with the buffer of the card.
    pub spec: String,
    /// Remark on the buffer, where it is not that of the card.
    pub note: Option<String>,
}

impl Request {
    /// Confidence level of the interval that decides a verdict on so many seeds.
    pub(crate) fn level_of_verdict(&self, seeds: usize) -> f64 {
        let mut looks = LOOKS.iter().filter(|_| self.seeds.is_none());
        let look = looks.find(|(look, _)| *look >= seeds as u64);
        look.map_or(LEVEL, |(_, wrong)| 1.0 - wrong)
    }

    /// The test cases, in the order of the card.
    pub(crate) fn test_cases(&self) -> Result<Vec<Arc<TestCase>>, Error> {
        let mut test_cases = self.suite.test_cases();
        for word in &self.only {
            if !test_cases.iter().any(|test_case| test_case.is_called(word)) {
                let ids = test_cases.iter().map(|test_case| test_case.id.clone());
                let ids: Vec<String> = ids.collect();
                let meant = quell_lab::scenario::closest(word, ids.iter().map(String::as_str));
                return Err(Error::NoTestCase {
                    word: word.clone(),
                    suite: self.suite.name().to_owned(),
                    meant: meant.map(str::to_owned),
                    known: ids,
                });
            }
        }
        if !self.only.is_empty() {
            test_cases.retain(|test_case| self.only.iter().any(|word| test_case.is_called(word)));
        }
        Ok(test_cases)
    }

    /// NewReno as this world has it: a real kernel counts segments.
    pub(crate) fn newreno(&self) -> String {
        let name = if self.world == World::Sim {
            NEWRENO
        } else {
            "reno"
        };
        name.to_owned()
    }

    /// Congestion controls of standard flows.
    pub(crate) fn controls(&self) -> Vec<String> {
        if self.controls.is_empty() {
            vec![self.newreno()]
        } else {
            self.controls.clone()
        }
    }

    /// A queue with a buffer of this number of packets, unless it was given another or cannot have one.
    pub(crate) fn queue(&self, name: &str, packets: u64) -> Result<Queue, Error> {
        let kind = name.split(':').next().unwrap_or(name);
        let entry = entry(kind)?;
        let of = |spec: String, note: Option<&str>| Queue {
            name: name.to_owned(),
            spec,
            note: note.map(str::to_owned),
        };
        self.check_queue(name)?;
        if is_given(name, "limit") {
            return Ok(of(name.to_owned(), Some("a buffer of its own, as given")));
        }
        if entry.parameters.iter().all(|one| one.name != "limit") {
            let note = "a buffer of its own: it has no parameter limit";
            return Ok(of(name.to_owned(), Some(note)));
        }
        let join = if name.contains(':') { "," } else { ":" };
        let limits = [format!("{packets}p"), format!("{}B", packets * PACKET)];
        let mut specs = limits
            .map(|limit| format!("{name}{join}limit={limit}"))
            .into_iter();
        match specs.find(|spec| self.check_queue(spec).is_ok()) {
            Some(spec) => Ok(of(spec, None)),
            None => {
                let note = "a buffer of its own: its other parameters do not fit that of the card";
                Ok(of(name.to_owned(), Some(note)))
            }
        }
    }

    /// A queue as a run has it: with a buffer of so many packets, and with ECN where the run wants marks and the request leaves it open.
    pub(crate) fn of_run(&self, queue: &Queue, run: &Run, packets: u64) -> Result<String, Error> {
        let spec = self.queue(&queue.name, packets)?.spec;
        let is_asked = is_given(&queue.name, "ecn") || is_given(&queue.name, "noecn");
        if run.marks && !is_asked && marks(&spec) == Some(false) {
            let marking = with(&spec, "ecn", "true");
            if self.check_queue(&marking).is_ok() {
                return Ok(marking);
            }
        }
        Ok(spec)
    }

    /// The queues of a run with `spec`, each under its key. The first of two links comes last. `queue` is the queue before the run changed its
    /// buffer, `back` the buffer of the other direction.
    pub(crate) fn set(
        &self,
        run: &Run,
        spec: &str,
        queue: &Queue,
        back: Option<u64>,
    ) -> Result<Vec<(String, String)>, Error> {
        let mut set = Vec::new();
        let mut add = |key: String, spec: &str| set.push((key, spec.to_owned()));
        match run.first {
            None => add(LINK.to_owned(), spec),
            Some(first) => {
                add(of_link(SECOND), spec);
                match first {
                    First::Written => {}
                    First::Same => add(of_link(FIRST), spec),
                    First::Doubled => add(of_link(FIRST), &self.doubled(spec)),
                }
            }
        }
        match (run.back, back) {
            (Some(Back::OwnBuffer), Some(packets)) => {
                add(BACK.to_owned(), &self.queue(&queue.name, packets)?.spec);
            }
            (Some(_), _) => add(BACK.to_owned(), spec),
            (None, _) => {}
        }
        Ok(set)
    }

    /// A queue with one parameter doubled: its target, if that may be, else the first that may.
    fn doubled(&self, spec: &str) -> String {
        let mut all = numbers(spec).unwrap_or_default();
        all.sort_by_key(|(name, _)| *name != "target");
        let double = |(name, value)| {
            let value = scaled(value, 2, 1)?;
            let spec = with(spec, name, &value.to_string());
            self.check_queue(&spec).is_ok().then_some(spec)
        };
        all.into_iter()
            .find_map(double)
            .unwrap_or_else(|| spec.to_owned())
    }

    /// Checks that a plain scenario runs with the queue.
    fn check_queue(&self, spec: &str) -> Result<(), Error> {
        let checked = self.check(spec, "reno");
        checked.map_err(|error| Error::Queue(Box::new(error)))
    }

    /// Checks that a plain scenario runs with the queue and the control.
    pub(crate) fn check(&self, queue: &str, control: &str) -> Result<(), Error> {
        let path = &self.profile;
        let text = format!(
            "schema = 1\nname = \"queue\"\n[link]\nrate = \"{}\"\nqueue = {{ kind = \"{DROP_TAIL}\", limit = \"{}p\" }}\n[[group]]\nname = \"bulk\"\n\
             congestion-control = {}\nrtt = \"{}\"\napp = \"bulk\"\n[run]\nduration = \"{}\"\nwarmup = \"{}\"\ninterval = \"1s\"\n",
            path.rate,
            path.buffer(),
            choice("name", control),
            path.rtt,
            path.warmup() + path.duration,
            path.warmup(),
        );
        let set = [(LINK.to_owned(), queue.to_owned())];
        self.resolve("queue.toml", &text, &set).map(drop)
    }

    /// A scenario with queues, each under its key.
    pub(crate) fn resolve(
        &self,
        file: &str,
        text: &str,
        set: &[(String, String)],
    ) -> Result<Scenario, Error> {
        let mut overrides = Vec::new();
        for (key, spec) in set {
            let written = match key.as_str() {
                LINK => Override::queue(spec),
                BACK => Override::reverse_queue(spec),
                key => {
                    let link = key.trim_start_matches("link.").trim_end_matches(".queue");
                    Override::queue(&format!("{link}={spec}"))
                }
            };
            overrides.extend(written.map_err(|why| Error::Override(why.to_string()))?);
        }
        let loaded = Scenario::load(file, text, &overrides, Some(self.world));
        loaded
            .map(|loaded| loaded.scenario)
            .map_err(Error::Scenario)
    }
}
