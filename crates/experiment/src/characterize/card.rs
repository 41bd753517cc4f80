//! The report card, as `card.json` holds it: figures of every scenario and queue, and what is judged of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::characterize::figures::Figure;
use crate::characterize::losses::Losses;
use crate::characterize::request::DROP_TAIL;
use crate::characterize::verdict::Verdict;

/// The version of the format.
pub const SCHEMA: u32 = 1;

/// A report card.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// Version of the format.
    pub schema: u32,
    /// Name of the suite.
    pub suite: String,
    /// Where it ran.
    pub world: String,
    /// The path.
    pub profile: PathRecord,
    /// Seeds of each cell, from 1 on: the most that one has.
    pub seeds: u64,
    /// The queue, drop-tail, the others.
    pub queues: Vec<QueueRecord>,
    /// Shares of all samples, from 0 to 1: a distribution is the smallest value that so many samples do not exceed.
    pub shares: Vec<f64>,
    /// Every scenario that ran, in the order of the suite.
    pub scenarios: Vec<ScenarioRecord>,
    /// Each parameter of the queue, halved and doubled.
    pub parameters: Vec<Sensitivity>,
    /// What did not run, and why.
    pub not_run: Vec<NotRun>,
    /// What is judged, each with its source.
    pub verdicts: Vec<Verdict>,
    /// What a reader has to know.
    pub notes: Vec<String>,
}

/// The path, and what follows from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PathRecord {
    /// Its name.
    pub name: String,
    /// Rate of the bottleneck.
    pub rate_bps: u64,
    /// Base RTT.
    pub rtt_ms: f64,
    /// What is measured of a run.
    pub measured_s: f64,
    /// What precedes it.
    pub warmup_s: f64,
    /// What every queue may hold: one bandwidth-delay product.
    pub buffer_packets: u64,
    /// S: what path and buffer hold.
    pub held_packets: u64,
    /// N of mild, medium and heavy congestion.
    pub flows: [u64; 3],
}

/// A queue of the card.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueueRecord {
    /// As it was asked for.
    pub name: String,
    /// With the buffer of the card.
    pub spec: String,
    /// What it is (RFC 7928 section 4.6).
    pub summary: String,
    /// Where the algorithm is defined.
    pub source: String,
    /// What of the buffer is different.
    pub note: Option<String>,
}

/// A scenario with every queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScenarioRecord {
    /// Its name.
    pub id: String,
    /// The congestion control of standard flows, where there are several.
    pub control: Option<String>,
    /// Where it comes from.
    pub source: String,
    /// What the source says of it.
    pub weight: String,
    /// What it is.
    pub title: String,
    /// In the order of the card's queues.
    pub results: Vec<Outcome>,
}

impl ScenarioRecord {
    /// Its name, with its control where there are several.
    pub fn label(&self) -> String {
        match &self.control {
            Some(control) => format!("{} {control}", self.id),
            None => self.id.clone(),
        }
    }
}

/// A scenario with one queue, over the seeds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The queue, by its name.
    pub queue: String,
    /// Figures of the link; over several links of the whole way, and the use of the busiest link.
    pub whole: BTreeMap<String, Figure>,
    /// Figures of each group of flows.
    pub classes: Vec<Class>,
    /// Figures of each link, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkRecord>,
    /// Figures of each direction, where they are reported by themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directions: Vec<LinkRecord>,
    /// Figures of the link in each phase.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseRecord>,
    /// Distributions.
    pub distribution: Distribution,
    /// Losses of the first seed, where they are looked at one by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub losses: Option<Losses>,
    /// Mean delay in ms and goodput in bit/s of each seed: the points of the graph of section 2.7.
    pub points: Vec<(f64, f64)>,
    /// Reasons to doubt a result, each once.
    pub warnings: Vec<String>,
}

/// Distributions (RFC 7928 section 2.7): a value for each of the card's shares.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Distribution {
    /// Sojourn time of packets in ms, of all seeds together; empty without packets.
    pub delay_ms: Vec<f64>,
    /// Goodput in windows of ten base RTTs, in bit/s, of the first seed; empty where no run is looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub goodput_bps: Vec<f64>,
}

impl Outcome {
    /// What the figure `ratio` is of: goodputs of two groups.
    pub fn ratio_of(&self) -> String {
        match &self.classes[..] {
            [first, second] if first.name == "I" => format!("{}/{}", second.name, first.name),
            [first, second] => format!("{}/{}", first.name, second.name),
            _ => String::new(),
        }
    }
}

/// A group of flows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// Its figures.
    pub figures: BTreeMap<String, Figure>,
    /// Mean delay in ms and goodput of a flow in bit/s, of each seed.
    pub points: Vec<(f64, f64)>,
}

/// One of several links in a row, or one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkRecord {
    /// Its name.
    pub name: String,
    /// Its figures, in the direction of the data.
    pub figures: BTreeMap<String, Figure>,
}

/// A phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseRecord {
    /// Start in s.
    pub start_s: f64,
    /// End in s.
    pub end_s: f64,
    /// Figures of the link.
    pub figures: BTreeMap<String, Figure>,
}

/// The queue with another value of one parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sensitivity {
    /// The parameter; `null` of the queue as it is.
    pub parameter: Option<String>,
    /// The value, and whether it is half or double.
    pub value: Option<String>,
    /// Figures of the link.
    pub figures: BTreeMap<String, Figure>,
}

/// What did not run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NotRun {
    /// Its name.
    pub id: String,
    /// What it is.
    pub title: String,
    /// Where it comes from.
    pub source: String,
    /// What is missing.
    pub why: String,
}

impl Card {
    /// Says of every figure where it lies beside that of drop-tail.
    pub(crate) fn compare(&mut self) {
        for scenario in &mut self.scenarios {
            let is_base = |outcome: &&Outcome| outcome.queue == DROP_TAIL;
            let Some(base) = scenario.results.iter().find(is_base).cloned() else {
                continue;
            };
            for outcome in &mut scenario.results {
                if outcome.queue == DROP_TAIL {
                    continue;
                }
                beside(&mut outcome.whole, &base.whole);
                for (class, base) in outcome.classes.iter_mut().zip(&base.classes) {
                    beside(&mut class.figures, &base.figures);
                }
                for (link, base) in outcome.links.iter_mut().zip(&base.links) {
                    beside(&mut link.figures, &base.figures);
                }
                for (direction, base) in outcome.directions.iter_mut().zip(&base.directions) {
                    beside(&mut direction.figures, &base.figures);
                }
                for (phase, base) in outcome.phases.iter_mut().zip(&base.phases) {
                    beside(&mut phase.figures, &base.figures);
                }
            }
        }
        if let Some((base, others)) = self.parameters.split_first_mut() {
            for other in others {
                beside(&mut other.figures, &base.figures);
            }
        }
    }

    /// The queue that the card is about.
    pub fn queue(&self) -> &str {
        self.queues.first().map_or("", |queue| queue.name.as_str())
    }
}

fn beside(figures: &mut BTreeMap<String, Figure>, base: &BTreeMap<String, Figure>) {
    for (name, figure) in figures {
        figure.beside = base.get(name).and_then(|base| figure.beside(base));
    }
}
