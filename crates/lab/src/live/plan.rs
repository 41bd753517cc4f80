//! What a scenario means for hosts, link and recorders.

use std::net::SocketAddr;

use quell_app::{Report, Transport};
use quell_aqm::registry::Discipline;
use quell_aqm::{Bytes, Ecn, Link as LinkFacts, Random, Time};
use quell_hosts::cc::{self, Control};
use quell_hosts::topology::{GroupConfig as TopologyGroup, Topology, TopologyConfig};
use quell_hosts::traffic::{
    Direction as HostDirection, Epoch, FlowPlan, TrafficConfig, TrafficReport,
};
use quell_link::{
    Change, Descriptor, Direction as LinkDirection, DirectionConfig, GroupConfig, LinkConfig,
};
use quell_measure::{Direction, GroupInfo, Recorder, RecorderConfig, Summary, Timeline};
use serde_json::{Value, json};

use super::LiveError;
use crate::lifetimes::{Lifetime, lifetimes};
use crate::scenario::keys::MTU;
use crate::scenario::{AppConfig, EcnSetting, Group, Scenario, Setting, Side, bytes_in_flight};

/// Payload of a full-sized segment: 1 500 bytes less IPv4 and TCP headers with timestamps.
pub(super) const MSS: Bytes = Bytes::new(1_448);
/// The port of the first group's receivers.
const FIRST_PORT: u16 = 5_001;

/// A run, worked out.
pub(super) struct Plan<'a> {
    scenario: &'a Scenario,
    seed: u64,
    pub(super) duration: Time,
    pub(super) interval: Time,
    pub(super) timeline: Timeline,
    pub(super) lifetimes: Vec<Lifetime>,
    pub(super) topology: TopologyConfig,
    /// By group; `None` for datagrams.
    controls: Vec<Option<Control>>,
}

impl<'a> Plan<'a> {
    /// Works the run out, and makes sure of its congestion controls.
    pub(super) fn new(scenario: &'a Scenario, seed: u64) -> Result<Self, LiveError> {
        let controls = scenario
            .groups
            .iter()
            .map(control)
            .collect::<Result<_, _>>()?;
        let run = &scenario.run;
        let changes: Vec<Time> = scenario.changes.iter().map(|change| change.time).collect();
        Ok(Self {
            scenario,
            seed,
            duration: run.duration,
            interval: run.interval,
            timeline: Timeline::new(run.warmup, &changes, run.settle, run.duration),
            lifetimes: lifetimes(scenario, seed),
            topology: TopologyConfig {
                mtu: MTU.get() as u32,
                groups: scenario.groups.iter().map(topology_group).collect(),
                max_window: largest_window(scenario),
                ipv6: false,
            },
            controls,
        })
    }

    pub(super) fn groups(&self) -> usize {
        self.scenario.groups.len()
    }

    pub(super) fn scenario(&self) -> &Scenario {
        self.scenario
    }

    /// Ends of segments, the last of which is the end of the run.
    pub(super) fn cuts(&self) -> Vec<Time> {
        self.timeline
            .segments()
            .iter()
            .map(|segment| segment.span.end)
            .collect()
    }

    pub(super) fn group_infos(&self) -> Vec<GroupInfo> {
        let info = |group: &Group| GroupInfo {
            name: group.name.clone(),
            congestion_control: group.congestion_control.clone(),
            elastic: group.app.transport() == Transport::Stream,
        };
        self.scenario.groups.iter().map(info).collect()
    }

    /// An observer for each direction of the link.
    pub(super) fn recorders(&self) -> [Recorder; 2] {
        [Direction::Forward, Direction::Reverse].map(|direction| {
            let side = self.scenario.link.side(direction);
            Recorder::new(RecorderConfig {
                direction,
                queues: quell_aqm::Qdisc::<Descriptor>::queues(&discipline(
                    side,
                    Random::new(0, "names"),
                )),
                groups: self
                    .scenario
                    .groups
                    .iter()
                    .map(|group| group.direction)
                    .collect(),
                rate: side.rate,
                timeline: self.timeline.clone(),
                interval: Some(self.interval),
            })
        })
    }

    /// The link between the two hosts.
    pub(super) fn link(&self, epoch: Epoch) -> Result<LinkConfig, LiveError> {
        let link = &self.scenario.link;
        let mut config = LinkConfig::new(
            self.side(&link.forward, "queue"),
            self.side(&link.reverse, "reverse.queue"),
        );
        config.mtu = MTU.get() as u16;
        config.epoch = epoch.monotonic();
        config.groups = self
            .scenario
            .groups
            .iter()
            .enumerate()
            .map(link_group)
            .collect();
        config.changes = self.scenario.changes.iter().flat_map(changes).collect();
        let both = [Direction::Forward, Direction::Reverse];
        let in_flight: u64 = both
            .map(|direction| bytes_in_flight(self.scenario, direction).get())
            .iter()
            .sum();
        // Half of what is in flight may be small packets; a slot holds one, whatever its size.
        config.frames = (in_flight / 400 + 16_384).min(1 << 19) as u32;
        Ok(config)
    }

    fn side(&self, side: &Side, component: &str) -> DirectionConfig {
        DirectionConfig {
            rate: side.rate,
            framing: side.framing,
            discipline: discipline(side, Random::new(self.seed, component)),
        }
    }

    /// The flows of both hosts.
    pub(super) fn traffic(&self, epoch: Epoch, topology: &Topology) -> TrafficConfig {
        let plans = self
            .lifetimes
            .iter()
            .map(|lifetime| self.flow(lifetime, topology))
            .collect();
        TrafficConfig {
            epoch,
            interval: self.interval,
            boundaries: self.cuts(),
            ..TrafficConfig::new(self.duration, plans)
        }
    }

    fn flow(&self, lifetime: &Lifetime, topology: &Topology) -> FlowPlan {
        let group = &self.scenario.groups[lifetime.group];
        let addresses = topology.groups[lifetime.group];
        let component = format!("app.{}.{}", group.name, lifetime.flow);
        FlowPlan {
            group: lifetime.group,
            flow: lifetime.flow,
            direction: match group.direction {
                Direction::Forward => HostDirection::Download,
                Direction::Reverse => HostDirection::Upload,
            },
            sender: addresses.sender.into(),
            receiver: SocketAddr::new(addresses.receiver.into(), port(lifetime.group)),
            app: group.app.clone(),
            congestion_control: self.controls[lifetime.group]
                .as_ref()
                .map(|control| control.kernel_name().to_owned()),
            datagram_ecn: match group.ecn {
                EcnSetting::Off => Ecn::NotEct,
                EcnSetting::Ect0 => Ecn::Ect0,
                EcnSetting::Ect1 => Ecn::Ect1,
            },
            start: lifetime.start,
            stop: lifetime.stop,
            random: Random::new(self.seed, &component),
        }
    }

    /// Fills in what the applications report, for the whole and for each phase. Reports come for
    /// stretches between boundaries; those that lie inside count.
    pub(super) fn add_app_reports(&self, summary: &mut Summary, report: &TrafficReport) {
        let seconds = |seconds: f64| Time::from_nanos((seconds * 1e9).round() as u64);
        let whole = (seconds(summary.warmup_s), seconds(summary.duration_s));
        for (index, group) in self.scenario.groups.iter().enumerate() {
            let app = |(from, to)| app_json(&group.app, merged(report, index, from, to).as_ref());
            summary.figures.groups[index].app = app(whole);
            for phase in &mut summary.phases {
                phase.figures.groups[index].app =
                    app((seconds(phase.start_s), seconds(phase.end_s)));
            }
        }
    }
}

/// The reports of a group's flows between `from` and `to`, added up.
fn merged(report: &TrafficReport, group: usize, from: Time, to: Time) -> Option<Report> {
    let flows = report.flows.iter().filter(|flow| flow.group == group);
    let inside = flows
        .flat_map(|flow| &flow.stretches)
        .filter(|stretch| stretch.from >= from && stretch.to <= to);
    inside
        .map(|stretch| stretch.report.clone())
        .reduce(|mut sum, next| {
            sum.merge(&next);
            sum
        })
}

fn app_json(app: &AppConfig, report: Option<&Report>) -> Value {
    let ms = |time: Time| time.as_nanos() as f64 / 1e6;
    match report {
        Some(Report::Bulk { bytes }) => json!({ "kind": app.kind(), "bytes": bytes }),
        Some(Report::Cbr(cbr)) => json!({
            "kind": app.kind(),
            "sent": cbr.sent,
            "received": cbr.received,
            "lost": cbr.lost,
            "loss_ratio": cbr.loss_ratio(),
            "reordered": cbr.reordered,
            "one_way_delay_ms": cbr.delay.map(|delay| json!({
                "min": ms(delay.min), "mean": ms(delay.mean), "max": ms(delay.max),
            })),
            "jitter_ms": ms(cbr.jitter),
        }),
        None => json!({ "kind": app.kind() }),
    }
}

fn discipline(side: &Side, random: Random) -> Discipline<Descriptor> {
    let facts = LinkFacts {
        rate: side.rate,
        mtu: MTU,
    };
    Discipline::new(side.queue.kind, side.queue.settings.clone(), facts, random)
        .expect("the scenario's check has tried this queue")
}

fn control(group: &Group) -> Result<Option<Control>, LiveError> {
    let Some(name) = &group.congestion_control else {
        return Ok(None);
    };
    cc::load(name)
        .map(Some)
        .map_err(|error| LiveError::control(name, &error))
}

fn port(group: usize) -> u16 {
    FIRST_PORT + group as u16
}

fn topology_group(group: &Group) -> TopologyGroup {
    TopologyGroup {
        ecn: group.ecn != EcnSetting::Off && group.app.transport() == Transport::Stream,
    }
}

fn link_group((index, group): (usize, &Group)) -> GroupConfig {
    GroupConfig {
        port: port(index),
        delay: group.rtt / 2,
        ect1: group.ecn == EcnSetting::Ect1,
    }
}

/// A flow alone may fill the queue and the path: twice that, since the kernel counts overhead.
fn largest_window(scenario: &Scenario) -> u64 {
    let both = [Direction::Forward, Direction::Reverse];
    let largest = both
        .map(|direction| bytes_in_flight(scenario, direction).get())
        .into_iter()
        .max();
    (2 * largest.unwrap_or(0)).clamp(4 << 20, 1 << 30)
}

fn changes(change: &crate::scenario::Change) -> Vec<(Time, Change)> {
    let direction = |direction: Direction| match direction {
        Direction::Forward => LinkDirection::Forward,
        Direction::Reverse => LinkDirection::Reverse,
    };
    let each = change.set.iter().filter_map(|setting| match setting {
        Setting::Rate(way, rate) => Some(Change::SetRate {
            direction: direction(*way),
            rate: *rate,
        }),
        Setting::Queue {
            direction: way,
            key,
            value,
        } => Some(Change::Configure {
            direction: direction(*way),
            key: key.clone(),
            value: value.clone(),
        }),
        // The hosts start and stop flows.
        Setting::Count { .. } => None,
    });
    each.map(|set| (change.time, set)).collect()
}
