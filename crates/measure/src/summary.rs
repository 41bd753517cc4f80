//! `summary.json`: the figures of a run, named as in the file.
//!
//! A distribution without values and a fairness index of nothing are `null`; a ratio of nothing is 0.
//! `marks` and `drops` list every reason that exists, including those that the discipline does not use,
//! so that the keys are the same in every summary.

use std::collections::BTreeMap;

use quell_units::Time;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::app::AppSummary;
use crate::distribution::Dist;
use crate::figures::{GroupPackets, LinkFigures, LinkResults, QueueSummary};
use crate::flows::{FlowResults, GroupFlows};
use crate::jain::jain;
use crate::label::{Direction, Hop};

/// The version of the format.
pub const SCHEMA: u32 = 1;

/// The figures of one run, measured after its warm-up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Version of the format, [`SCHEMA`].
    pub schema: u32,
    /// Name of the scenario.
    pub scenario: String,
    /// `sim`, `virtual` or `live`.
    pub world: String,
    /// Seed of all randomness in the run.
    pub seed: u64,
    /// Length of the run including its warm-up, in seconds.
    pub duration_s: f64,
    /// Length of the warm-up, in seconds.
    pub warmup_s: f64,
    /// The run ended early.
    pub partial: bool,
    /// Reasons to doubt the result.
    pub warnings: Vec<String>,
    /// Figures of the whole.
    #[serde(flatten)]
    pub figures: Figures,
    /// Figures of each stretch between changes of the scenario; empty without changes.
    pub phases: Vec<Phase>,
}

/// One phase of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Start after its settling time, in seconds.
    pub start_s: f64,
    /// End, at the next change or at the end of the run, in seconds.
    pub end_s: f64,
    /// Figures of the time between.
    #[serde(flatten)]
    pub figures: Figures,
}

/// Figures of one stretch of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// The bottleneck.
    pub link: LinkSummary,
    /// Every queue, link by link: those of the forward direction, then those of the reverse one.
    pub queues: Vec<QueueSummary>,
    /// Every group, in the order of the scenario.
    pub groups: Vec<GroupSummary>,
    /// Fairness index over all flows of all elastic groups.
    pub jain: Option<f64>,
}

/// The link in forward direction, and its reverse direction where that is limited.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkSummary {
    /// Mean rate over time in bit/s; `null` if there was no limit for a while.
    pub rate_bps: Option<u64>,
    /// Share of the time in which the link transmitted.
    pub utilisation: f64,
    /// Packets lost outside the queue disciplines, in both directions.
    pub lost_outside: u64,
    /// The reverse direction, if its rate is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse: Option<ReverseLink>,
    /// Figures that only some worlds have, such as the lateness of the live one.
    #[serde(flatten)]
    pub extra: BTreeMap<String, Value>,
}

/// The reverse direction of the link.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ReverseLink {
    /// Mean rate over time in bit/s; `null` if there was no limit for a while.
    pub rate_bps: Option<u64>,
    /// Share of the time in which it transmitted.
    pub utilisation: f64,
}

/// One group of flows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupSummary {
    /// Name in the scenario.
    pub name: String,
    /// Number of flows that were alive in the measured time.
    pub count: usize,
    /// Name of the congestion control; `null` without one.
    pub congestion_control: Option<String>,
    /// Goodput of each flow in bit/s, in the order of their start: payload delivered to the application over the time in
    /// which the flow was alive.
    pub goodput_bps: Vec<f64>,
    /// Time in which each flow was alive, from its start to its stop, within the measured time, in seconds.
    #[serde(default)]
    pub alive_s: Vec<f64>,
    /// Fairness index over the flows of the group.
    pub jain: Option<f64>,
    /// Delivered packets.
    pub packets: u64,
    /// Newly marked packets.
    pub marked: u64,
    /// Dropped packets.
    pub dropped: u64,
    /// Retransmitted segments.
    pub retransmitted: u64,
    /// Sojourn times of delivered packets in milliseconds.
    pub delay_ms: Option<Dist>,
    /// Smoothed RTT in milliseconds, sampled each interval.
    pub rtt_ms: Option<Dist>,
    /// The report of the application; `null` until the world fills it in.
    pub app: Option<AppSummary>,
}

/// What a summary says about a run besides its figures.
#[derive(Debug, Clone, PartialEq)]
pub struct RunInfo {
    /// Name of the scenario.
    pub scenario: String,
    /// `sim`, `virtual` or `live`.
    pub world: String,
    /// Seed of all randomness in the run.
    pub seed: u64,
    /// Length of the run including its warm-up.
    pub duration: Time,
    /// Length of the warm-up.
    pub warmup: Time,
    /// The run ended early.
    pub partial: bool,
    /// Reasons to doubt the result.
    pub warnings: Vec<String>,
    /// The groups, by [`GroupId`](crate::GroupId).
    pub groups: Vec<GroupInfo>,
}

/// What a summary says about a group besides its figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupInfo {
    /// Name in the scenario.
    pub name: String,
    /// Name of the congestion control, if there is one.
    pub congestion_control: Option<String>,
    /// Its flows take all the capacity that they can get, so they count in the fairness index over all groups.
    pub elastic: bool,
}

impl Summary {
    /// Combines the results of all recorders, which share one timeline and one end. `links` has, link by
    /// link, the forward direction and then the reverse one where its rate is limited.
    pub fn new(info: RunInfo, links: &[&LinkResults], flows: &FlowResults) -> Self {
        let first = links.first().map_or(&[][..], |link| &link.phases);
        let phases = first.iter().enumerate().map(|(i, first)| {
            let links: Vec<&LinkFigures> = links.iter().filter_map(|l| l.phases.get(i)).collect();
            let flows = flows.phases.get(i).map_or(&[][..], Vec::as_slice);
            Phase {
                start_s: seconds(first.span.start),
                end_s: seconds(first.span.end),
                figures: Figures::new(&info.groups, &links, flows),
            }
        });
        let phases = phases.collect();
        let whole: Vec<&LinkFigures> = links.iter().map(|link| &link.whole).collect();
        let figures = Figures::new(&info.groups, &whole, &flows.whole);
        Self {
            schema: SCHEMA,
            scenario: info.scenario,
            world: info.world,
            seed: info.seed,
            duration_s: seconds(info.duration),
            warmup_s: seconds(info.warmup),
            partial: info.partial,
            warnings: info.warnings,
            figures,
            phases,
        }
    }

    /// True if the run lasted longer than its warm-up.
    pub fn has_measured(&self) -> bool {
        self.duration_s > self.warmup_s
    }
}

impl Figures {
    fn new(infos: &[GroupInfo], links: &[&LinkFigures], flows: &[GroupFlows]) -> Self {
        let groups: Vec<GroupSummary> = infos
            .iter()
            .enumerate()
            .map(|(i, info)| {
                let packets = links.iter().find_map(|link| *link.groups.get(i)?);
                GroupSummary::new(info, packets, flows.get(i))
            })
            .collect();
        let elastic = infos.iter().zip(&groups).filter(|(info, _)| info.elastic);
        let jain = jain(elastic.flat_map(|(_, group)| group.goodput_bps.iter().copied()));
        Self {
            link: LinkSummary::new(links),
            queues: links
                .iter()
                .flat_map(|link| link.queues.iter().cloned())
                .collect(),
            groups,
            jain,
        }
    }
}

impl LinkSummary {
    /// Of the first link; losses are those of all.
    fn new(links: &[&LinkFigures]) -> Self {
        let first = |direction| {
            let mut links = links.iter().filter(|link| link.hop == Hop::FIRST);
            links.find(|link| link.direction == direction)
        };
        let rate_bps = |link: &LinkFigures| (!link.rate.is_unlimited()).then(|| link.rate.as_bps());
        let forward = first(Direction::Forward);
        Self {
            rate_bps: forward.and_then(|link| rate_bps(link)),
            utilisation: forward.map_or(0.0, |link| link.utilisation()),
            lost_outside: links.iter().map(|link| link.lost_outside).sum(),
            reverse: first(Direction::Reverse).map(|link| ReverseLink {
                rate_bps: rate_bps(link),
                utilisation: link.utilisation(),
            }),
            extra: BTreeMap::new(),
        }
    }
}

impl GroupSummary {
    fn new(info: &GroupInfo, packets: Option<GroupPackets>, flows: Option<&GroupFlows>) -> Self {
        let goodput_bps = flows.map_or_else(Vec::new, |flows| flows.goodput_bps.clone());
        Self {
            name: info.name.clone(),
            count: goodput_bps.len(),
            congestion_control: info.congestion_control.clone(),
            jain: jain(goodput_bps.iter().copied()),
            goodput_bps,
            alive_s: flows.map_or_else(Vec::new, |flows| flows.alive_s.clone()),
            packets: packets.map_or(0, |group| group.packets),
            marked: packets.map_or(0, |group| group.marked),
            dropped: packets.map_or(0, |group| group.dropped),
            retransmitted: flows.map_or(0, |flows| flows.retransmitted),
            delay_ms: packets.and_then(|group| group.delay_ms),
            rtt_ms: flows.and_then(|flows| flows.rtt_ms),
            app: None,
        }
    }
}

fn seconds(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e9
}

#[cfg(test)]
pub(crate) mod tests;
