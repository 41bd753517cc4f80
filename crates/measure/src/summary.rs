//! `summary.json`: the figures of a run, named as in the file.
//!
//! A distribution without values and a fairness index of nothing are `null`; a ratio of nothing is 0.
//! `marks` and `drops` list every reason that exists, including those that the discipline does not use,
//! so that the keys are the same in every summary.

use std::collections::BTreeMap;

use quell_aqm::impair::Counts;
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
    /// The bottleneck; of several links in a row the first one, with the losses of all.
    pub link: LinkSummary,
    /// Every link, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<NamedLink>,
    /// Every queue, link by link: those of the forward direction, then those of the reverse one.
    pub queues: Vec<QueueSummary>,
    /// Every group, in the order of the scenario.
    pub groups: Vec<GroupSummary>,
    /// Fairness index over all flows of all elastic groups, where their data crosses the same links in the same direction.
    pub jain: Option<f64>,
    /// Jain's index at each direction of each link that such flows cross; empty where [`Figures::jain`] says it all, because there is one
    /// link and they all cross it forward.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fairness: Vec<Fairness>,
    /// Every rule for packets behind a queue, in the order of the queues; not there without.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleSummary>,
}

/// The packets that came to a rule behind a queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleSummary {
    /// Name in the scenario.
    pub name: String,
    /// Name of the link.
    pub hop: String,
    /// Its direction.
    pub direction: Direction,
    /// Packets that it matched.
    pub matched: u64,
    /// All packets: a row for each ECN field with which they came, in the order of its bits (not-ect, ect1, ect0, ce), and in it a column
    /// for each with which they went on, and one for those that were dropped.
    pub codes: [[u64; 5]; 4],
}

/// Fairness at one direction of a link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fairness {
    /// Name of the link.
    pub hop: String,
    /// Its direction.
    pub direction: Direction,
    /// Flows of elastic groups whose data crosses it.
    pub flows: usize,
    /// Fairness index over them.
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
    /// Copies that the path made of packets, in both directions; not there without.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub duplicated: u64,
    /// Packets that the path damaged, in both directions; not there without.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub corrupted: u64,
    /// The reverse direction, if its rate is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse: Option<ReverseLink>,
    /// Figures that only some worlds have, such as the lateness of the live one.
    #[serde(flatten)]
    pub extra: BTreeMap<String, Value>,
}

/// One of several links in a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NamedLink {
    /// Name in the scenario.
    pub name: String,
    /// Mean rate over time in bit/s; `null` if there was no limit for a while.
    pub rate_bps: Option<u64>,
    /// Share of the time in which it transmitted.
    pub utilisation: f64,
    /// Share of the time in which packets waited for it.
    pub bottleneck_share: f64,
    /// Packets lost outside its queue disciplines, in both directions.
    pub lost_outside: u64,
    /// Copies that the path made of packets, in both directions; not there without.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub duplicated: u64,
    /// Packets that the path damaged, in both directions; not there without.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub corrupted: u64,
    /// The reverse direction, if its rate is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse: Option<NamedReverse>,
}

/// The reverse direction of one of several links.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NamedReverse {
    /// Mean rate over time in bit/s; `null` if there was no limit for a while.
    pub rate_bps: Option<u64>,
    /// Share of the time in which it transmitted.
    pub utilisation: f64,
    /// Share of the time in which packets waited for it.
    pub bottleneck_share: f64,
}

/// The packets of a group at one of several links.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupLink {
    /// Name of the link.
    pub name: String,
    /// Delivered packets.
    pub packets: u64,
    /// Newly marked packets.
    pub marked: u64,
    /// Dropped packets.
    pub dropped: u64,
    /// Sojourn times of delivered packets in milliseconds.
    pub delay_ms: Option<Dist>,
    /// Share of the time in which packets, of whatever group, waited for the link in this direction.
    pub bottleneck_share: f64,
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
    /// Retransmitted segments; `null` where the TCP of a sender is not known.
    pub retransmitted: Option<u64>,
    /// Sojourn times of delivered packets in milliseconds; over several links the sum of those at each.
    pub delay_ms: Option<Dist>,
    /// Figures at each link that the group's data crosses, in that order; only if there are several links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<GroupLink>,
    /// Smoothed RTT in milliseconds, sampled each interval.
    pub rtt_ms: Option<Dist>,
    /// The report of the application; `null` until the world fills it in.
    pub app: Option<AppSummary>,
}

/// Facts of a run in a summary besides its figures.
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

/// Facts of a group in a summary besides its figures.
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
        let is_one = links.iter().all(|link| link.hop == Hop::FIRST);
        let groups: Vec<GroupSummary> = infos
            .iter()
            .enumerate()
            .map(|(i, info)| {
                let crossed: Vec<_> = links
                    .iter()
                    .filter_map(|link| Some((*link, (*link.groups.get(i)?)?)))
                    .collect();
                GroupSummary::new(info, &crossed, flows.get(i), is_one)
            })
            .collect();
        let (jain, fairness) = Fairness::all(infos, &groups, links);
        Self {
            link: LinkSummary::new(links),
            links: match is_one {
                true => Vec::new(),
                false => NamedLink::all(links),
            },
            queues: links
                .iter()
                .flat_map(|link| link.queues.iter().cloned())
                .collect(),
            groups,
            jain,
            fairness,
            rules: links
                .iter()
                .flat_map(|link| RuleSummary::all(link))
                .collect(),
        }
    }
}

impl RuleSummary {
    fn all(link: &LinkFigures) -> impl Iterator<Item = Self> {
        let rules = link.outside.rules.iter();
        rules.map(|rule| Self {
            name: rule.name.clone(),
            hop: name_of(link),
            direction: link.direction,
            matched: rule.matched,
            codes: rule.codes,
        })
    }
}

impl Fairness {
    /// The index over all flows, if they all compete for the same, and those of each direction of each link, if there are others than
    /// the forward one of the only link.
    fn all(
        infos: &[GroupInfo],
        groups: &[GroupSummary],
        links: &[&LinkFigures],
    ) -> (Option<f64>, Vec<Self>) {
        let is_elastic =
            |&group: &usize| infos[group].elastic && !groups[group].goodput_bps.is_empty();
        let elastic: Vec<usize> = (0..groups.len()).filter(is_elastic).collect();
        let crosses =
            |link: &LinkFigures, group: usize| link.groups.get(group).is_some_and(Option::is_some);
        let index = |groups_of: &[usize]| {
            let flows = groups_of
                .iter()
                .flat_map(|&group| &groups[group].goodput_bps)
                .copied()
                .collect::<Vec<f64>>();
            (flows.len(), jain(flows))
        };
        let way = |&group: &usize| -> Vec<bool> {
            links.iter().map(|link| crosses(link, group)).collect()
        };
        let mut ways: Vec<Vec<bool>> = elastic.iter().map(way).collect();
        ways.dedup();
        let whole = index(&elastic).1.filter(|_| ways.len() == 1);
        let each = links.iter().filter_map(|link| {
            let of_link: Vec<usize> = elastic
                .iter()
                .copied()
                .filter(|&group| crosses(link, group))
                .collect();
            let (flows, jain) = index(&of_link);
            (flows > 0).then(|| Self {
                hop: name_of(link),
                direction: link.direction,
                flows,
                jain,
            })
        });
        let each: Vec<Self> = each.collect();
        let says_all = links.iter().all(|link| link.hop == Hop::FIRST)
            && each.iter().all(|one| one.direction == Direction::Forward)
            && ways.len() < 2;
        (whole, if says_all { Vec::new() } else { each })
    }
}

/// What is not there is left out.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The mean rate, if there was one all the time.
fn rate_bps(link: &LinkFigures) -> Option<u64> {
    (!link.rate.is_unlimited()).then(|| link.rate.as_bps())
}

impl NamedLink {
    /// The summaries in the order of `links`, in which the forward direction of each link comes first.
    fn all(links: &[&LinkFigures]) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for link in links {
            let share = link.bottleneck_share().unwrap_or(0.0);
            match link.direction {
                Direction::Forward => all.push(Self {
                    name: name_of(link),
                    rate_bps: rate_bps(link),
                    utilisation: link.utilisation(),
                    bottleneck_share: share,
                    lost_outside: link.outside.lost,
                    duplicated: link.outside.duplicated,
                    corrupted: link.outside.corrupted,
                    reverse: None,
                }),
                Direction::Reverse => {
                    if let Some(named) = all.last_mut() {
                        named.lost_outside += link.outside.lost;
                        named.duplicated += link.outside.duplicated;
                        named.corrupted += link.outside.corrupted;
                        named.reverse = Some(NamedReverse {
                            rate_bps: rate_bps(link),
                            utilisation: link.utilisation(),
                            bottleneck_share: share,
                        });
                    }
                }
            }
        }
        all
    }
}

/// The name that its queues give it.
fn name_of(link: &LinkFigures) -> String {
    let queue = link.queues.first();
    queue.map_or_else(String::new, |queue| queue.hop.clone())
}

impl LinkSummary {
    /// The summary of the first link; losses are those of all.
    fn new(links: &[&LinkFigures]) -> Self {
        let first = |direction| {
            let mut links = links.iter().filter(|link| link.hop == Hop::FIRST);
            links.find(|link| link.direction == direction)
        };
        let forward = first(Direction::Forward);
        let outside = links.iter().map(|link| &link.outside);
        let outside = outside.fold(Counts::default(), Counts::plus);
        Self {
            rate_bps: forward.and_then(|link| rate_bps(link)),
            utilisation: forward.map_or(0.0, |link| link.utilisation()),
            lost_outside: outside.lost,
            duplicated: outside.duplicated,
            corrupted: outside.corrupted,
            reverse: first(Direction::Reverse).map(|link| ReverseLink {
                rate_bps: rate_bps(link),
                utilisation: link.utilisation(),
            }),
            extra: BTreeMap::new(),
        }
    }
}

impl GroupSummary {
    /// The summary of a group from its figures at each link, by hop.
    fn new(
        info: &GroupInfo,
        crossed: &[(&LinkFigures, GroupPackets)],
        flows: Option<&GroupFlows>,
        is_one: bool,
    ) -> Self {
        let goodput_bps = flows.map_or_else(Vec::new, |flows| flows.goodput_bps.clone());
        let sum =
            |count: fn(&GroupPackets) -> u64| crossed.iter().map(|(_, seen)| count(seen)).sum();
        // Packets that leave the last link are delivered, and there the sum of the delays is known.
        let (first, last) = (crossed.first(), crossed.last());
        let exit = match last {
            Some((link, _)) if link.direction == Direction::Reverse => first,
            last => last,
        };
        let delay_ms = exit.and_then(|(_, seen)| match crossed.len() {
            1 => seen.delay_ms,
            _ => seen.crossed_ms,
        });
        let mut links: Vec<GroupLink> = crossed
            .iter()
            .filter(|_| !is_one)
            .map(|(link, seen)| GroupLink {
                name: name_of(link),
                packets: seen.packets,
                marked: seen.marked,
                dropped: seen.dropped,
                delay_ms: seen.delay_ms,
                bottleneck_share: link.bottleneck_share().unwrap_or(0.0),
            })
            .collect();
        if exit.is_some_and(|(link, _)| link.direction == Direction::Reverse) {
            links.reverse();
        }
        Self {
            name: info.name.clone(),
            count: goodput_bps.len(),
            congestion_control: info.congestion_control.clone(),
            jain: jain(goodput_bps.iter().copied()),
            goodput_bps,
            alive_s: flows.map_or_else(Vec::new, |flows| flows.alive_s.clone()),
            packets: exit.map_or(0, |(_, seen)| seen.packets),
            marked: sum(|seen| seen.marked),
            dropped: sum(|seen| seen.dropped),
            retransmitted: flows.map_or(Some(0), |flows| flows.retransmitted),
            delay_ms,
            links,
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
