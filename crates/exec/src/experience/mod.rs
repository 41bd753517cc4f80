//! What the user felt: how much longer than on an idle link a click or a key took, in one sentence and as data.
//!
//! All of it is measured: a click, a key and a word of a call cross the link in packets, and wait in its queues as the packets of the program
//! did, there and back. Of L4S and Classic packets each has its own figures. Where a discipline has a queue for each flow, a click waits for
//! less than the packets of a download, so the figures are the most that it waits.
//!
//! The thresholds are those of others, named where they are used.

mod impact;
mod sentence;
#[cfg(test)]
mod tests;
mod together;

use std::collections::{BTreeMap, BTreeSet};

use quell_link::LinkReport;
use quell_measure::{Direction, Dist, QueueSummary, Summary};
use quell_scenario::Side;

use crate::plan::Plan;
pub use impact::{State, Traffic, UserImpact};
use sentence::{Circumstances, NOTHING_MS, sentence};
use together::together;

/// Of fewer packets a 99th percentile says nothing: all of them count.
const FEW_PACKETS: u64 = 100;

/// What the summary does not say.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    /// Base RTT of the link in milliseconds.
    pub(crate) rtt_ms: f64,
    /// Whether any direction of any link has a rate at any time.
    pub(crate) is_limited: bool,
    /// The links and directions in which a queue of its own waits for each flow.
    pub(crate) apart: Vec<(String, Direction)>,
    /// Whether data flowed in any interval, in either direction.
    pub(crate) has_data: bool,
    /// Packets that were lost outside of the queues, towards the program and from it.
    pub(crate) lost_outside: [u64; 2],
    /// Packets that came to the link, in the same order; a direction without a rate has no queue in the summary.
    pub(crate) came: [u64; 2],
}

impl Known {
    /// Of this link, in whose intervals data flowed or not.
    pub(crate) fn of(plan: &Plan, has_data: bool, report: &LinkReport) -> Self {
        let scenario = plan.scenario();
        let apart = scenario.sides().filter(|side| {
            let kind = scenario.side(*side).queue.kind;
            kind.starts_with("fq_")
        });
        let name = |side: Side| scenario.links()[side.hop.index()].name().to_owned();
        let apart = apart.map(|side| (name(side), side.direction)).collect();
        Self {
            rtt_ms: plan.rtt().as_nanos() as f64 / 1e6,
            is_limited: scenario.sides().any(|side| plan.is_ever_limited(side)),
            apart,
            has_data,
            lost_outside: Direction::BOTH.map(|way| lost_outside(report, way)),
            came: Direction::BOTH.map(|way| {
                let of = report.direction(way);
                of.received + of.lost.socket
            }),
        }
    }
}

/// What a user felt of the link that this is the summary of.
pub(crate) fn impact(summary: &Summary, known: &Known) -> UserImpact {
    let queues: Vec<&QueueSummary> = summary.figures.queues.iter().collect();
    let crossed: u64 = queues.iter().map(|queue| queue.packets).sum();
    let state = match known {
        _ if crossed == 0 => State::Unused,
        Known {
            is_limited: false, ..
        } => State::Unlimited,
        Known {
            has_data: false, ..
        } => State::Idle,
        _ => State::Busy,
    };
    let names = kinds(&queues);
    let traffic = match names.is_empty() {
        true => vec![traffic(&queues, None, known)],
        false => names
            .iter()
            .map(|name| traffic(&queues, Some(name.as_str()), known))
            .collect(),
    };
    let lost = |way: Direction| {
        let outside = known.lost_outside[way.index()];
        let came = came(&queues, way).max(known.came[way.index()]).max(1);
        [outside, outside + dropped(&queues, way)].map(|count| count as f64 / came as f64)
    };
    let [[outside_down, lost_down], [outside_up, lost_up]] = Direction::BOTH.map(lost);
    let mut impact = UserImpact {
        state,
        partial: summary.partial,
        traffic,
        lost_down,
        lost_up,
        lost_outside_down: outside_down,
        lost_outside_up: outside_up,
        lost_outside: known.lost_outside.iter().sum(),
        sentence: String::new(),
    };
    let waits_apart = queues.iter().any(|queue| {
        let mut apart = known.apart.iter();
        let waited = queue.delay_ms.is_some_and(|delay| delay.p99 >= NOTHING_MS);
        waited && apart.any(|(hop, direction)| (hop, *direction) == (&queue.hop, queue.direction))
    });
    let circumstances = Circumstances {
        rtt_ms: known.rtt_ms,
        is_at_most: waits_apart,
        few: crossed < FEW_PACKETS,
    };
    impact.sentence = sentence(&impact, circumstances);
    impact
}

/// The names of the queues between which a discipline divides packets, where more than one had any.
fn kinds(queues: &[&QueueSummary]) -> BTreeSet<String> {
    let used = queues.iter().filter(|queue| queue.packets > 0);
    let divided = used.filter(|queue| {
        let here = queues.iter().filter(|other| is_beside(queue, other));
        here.count() > 1
    });
    let names: BTreeSet<String> = divided.map(|queue| queue.name.clone()).collect();
    match names.len() {
        0 | 1 => BTreeSet::new(),
        _ => names,
    }
}

fn is_beside(one: &QueueSummary, other: &QueueSummary) -> bool {
    (&one.hop, one.direction) == (&other.hop, other.direction)
}

/// The waits of packets of one kind in the queues on their way in one direction. Where a link has no queue of that name, or it had no packets,
/// they wait in the one that had most.
fn waits(queues: &[&QueueSummary], kind: Option<&str>, direction: Direction) -> Vec<Dist> {
    let mut hops: Vec<&str> = queues.iter().map(|queue| queue.hop.as_str()).collect();
    hops.dedup();
    let of_hop = |hop: &str| {
        let here = queues.iter();
        let here = here.filter(|queue| queue.hop == hop && queue.direction == direction);
        let here = here.filter(|queue| queue.packets > 0);
        let most = here.max_by_key(|queue| (Some(queue.name.as_str()) == kind, queue.packets));
        most.and_then(|queue| queue.delay_ms)
    };
    hops.into_iter().filter_map(of_hop).collect()
}

fn traffic(queues: &[&QueueSummary], kind: Option<&str>, known: &Known) -> Traffic {
    let down = waits(queues, kind, Direction::Forward);
    let up = waits(queues, kind, Direction::Reverse);
    let both = together(&[down.clone(), up.clone()].concat());
    let crossed: u64 = queues.iter().map(|queue| queue.packets).sum();
    let few = crossed < FEW_PACKETS;
    let one_way = |waits: &[Dist]| {
        let waits = together(waits);
        known.rtt_ms / 2.0 + if few { waits.max } else { waits.p99 }
    };
    Traffic {
        name: kind.map(str::to_owned),
        longer_ms_median: both.median,
        longer_ms_p99: match few {
            true => both.max,
            false => both.p99,
        },
        longer_ms_max: both.max,
        one_way_ms_down: one_way(&down),
        one_way_ms_up: one_way(&up),
    }
}

/// Packets of a direction that something other than a queue lost, or damaged, so that a host drops them.
pub(crate) fn lost_outside(report: &LinkReport, way: Direction) -> u64 {
    let of = report.direction(way);
    of.lost.total() + of.impaired.lost + of.impaired.corrupted
}

/// Packets that the queues of a direction dropped.
fn dropped(queues: &[&QueueSummary], way: Direction) -> u64 {
    let here = queues.iter().filter(|queue| queue.direction == way);
    here.map(|queue| queue.dropped).sum()
}

/// Packets that came to the queues of a direction.
fn came(queues: &[&QueueSummary], way: Direction) -> u64 {
    // Of several links, those that left the last one.
    let mut left = BTreeMap::new();
    for queue in queues.iter().filter(|queue| queue.direction == way) {
        *left.entry(queue.hop.as_str()).or_insert(0) += queue.packets;
    }
    left.into_values().min().unwrap_or(0) + dropped(queues, way)
}
