//! What a scenario means for hosts, link and recorders.

use std::borrow::Cow;
use std::net::SocketAddr;

use quell_app::{Report, Transport};
use quell_hosts::cc::{self, Control, Modules};
use quell_hosts::kernel_queue::KernelQueue;
use quell_hosts::topology::{
    GroupAddresses, GroupConfig as TopologyGroup, Topology, TopologyConfig,
};
use quell_hosts::traffic::{
    EcnFeedback, Epoch, FlowPlan, Host, RunEnd, TcpInfo, TrafficConfig, TrafficReport, opener,
};
use quell_link::{
    CrossingConfig, DirectionConfig, Ect1, GroupConfig, LinkChange, LinkConfig, NextLink, Noise,
    OnWire, Side as PortSide,
};
use quell_measure::{Carrier, GroupControl, MarkFeedback};
use quell_measure::{Direction, GroupInfo, Hop, Recorder, Summary, Timeline};
use quell_results::packets::FIRST_PORT;
use quell_scenario::amended::with_spare;
use quell_scenario::causes::SlowEvents;
use quell_scenario::figures::{self, Stretch};
use quell_scenario::keys::{MOST_MSS, MTU};
use quell_scenario::{
    Carried, ControlSpec, EcnSetting, Group, Scenario, Setting, Side, in_flight, largest_window,
};
use quell_scenario::{Lifetime, all_flows, lifetimes};
use quell_scenario::{markers, passage};
use quell_units::{Bytes, Ecn, Random, Rate, Time};

use super::error::LiveError;
use super::groups::{programs_of, source};
use super::kernel;
use super::prepared::Prepared;
use crate::World;

/// The plan of a run.
pub(super) struct Plan<'a> {
    /// As quell's link carries it.
    scenario: Cow<'a, Scenario>,
    seed: u64,
    /// IP bytes in flight in both directions together.
    in_flight: u64,
    world: World,
    pub(super) duration: Time,
    pub(super) interval: Time,
    pub(super) timeline: Timeline,
    pub(super) lifetimes: Vec<Lifetime>,
    pub(super) topology: TopologyConfig,
    /// By group, of the source and of the other end; `None` for datagrams.
    controls: Vec<Option<[Control; 2]>>,
    /// What it may become, where somebody watches it.
    prepared: Option<Prepared>,
}

impl<'a> Plan<'a> {
    /// Plans the run, and loads its congestion controls.
    pub(super) fn new(
        scenario: &'a Scenario,
        seed: u64,
        world: World,
        kernel_queue: Option<&KernelQueue>,
        modules: Modules,
        prepared: Option<Prepared>,
    ) -> Result<Self, LiveError> {
        let in_flight = most_in_flight(scenario, prepared);
        let max_window = largest_window(in_flight);
        let lifetimes = match prepared {
            None => lifetimes(scenario, seed),
            Some(prepared) => {
                let groups = 0..scenario.groups.len();
                let flows = groups
                    .map(|group| (all_flows(scenario, group) + u64::from(prepared.flows)) as usize);
                with_spare(scenario, seed, &flows.collect::<Vec<_>>())
            }
        };
        let scenario = match kernel_queue {
            Some(queue) => Cow::Owned(kernel::carried(scenario, queue)?),
            None => Cow::Borrowed(scenario),
        };
        let controls: Vec<Option<[Control; 2]>> = scenario
            .groups
            .iter()
            .map(|group| controls(group, modules))
            .collect::<Result<_, _>>()?;
        refuse_less_feedback(&scenario)?;
        let run = &scenario.run;
        Ok(Self {
            seed,
            in_flight: in_flight.iter().sum(),
            world,
            duration: run.duration,
            interval: run.interval,
            timeline: figures::timeline(&scenario),
            lifetimes,
            topology: TopologyConfig {
                mtu: MTU.get() as u32,
                groups: (scenario.groups.iter().zip(&controls))
                    .map(|(group, controls)| topology_group(group, controls.as_ref()))
                    .collect(),
                max_window,
                ipv6: false,
                accurate_ecn: is_all_prague(&scenario),
                refuses_ecn: Direction::BOTH.map(|direction| {
                    let mut groups = scenario.groups.iter();
                    groups.any(|group| group.direction != direction && !group.receiver_has_ecn())
                }),
                gso: Direction::BOTH.map(|direction| offloads(&scenario, direction)),
                offloads: &[],
                kernel_queue: kernel_queue.cloned(),
            },
            controls,
            scenario,
            prepared,
        })
    }

    /// The window that a flow needs that is alone, in bytes: half of what its buffers may count.
    pub(super) fn needed_window(&self) -> u64 {
        self.topology.max_window / 2
    }

    /// Whether somebody watches, and changes it.
    pub(super) fn is_watched(&self) -> bool {
        self.prepared.is_some()
    }

    pub(super) fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Groups of programs, with the direction of their data.
    pub(super) fn programs(&self) -> impl Iterator<Item = (usize, Direction)> {
        let groups = self.scenario.groups.iter().enumerate();
        let all = groups.filter(|(_, group)| programs_of(group).is_some());
        all.map(|(index, group)| (index, group.direction))
    }

    /// What to say where most data of a group of programs goes against its direction.
    pub(super) fn turned_round(&self, passed: &[(usize, [u64; 2])]) -> Vec<String> {
        let turned = passed.iter().filter_map(|&(index, both)| {
            let group = &self.scenario.groups[index];
            let along = both[group.direction.index()];
            let against = both[1 - group.direction.index()];
            (against > along && against > NOTEWORTHY).then(|| {
                format!(
                    "group {}: {against} bytes went against its direction and {along} along it; app.sends names the program that sends",
                    group.name
                )
            })
        });
        turned.collect()
    }

    /// Ends of segments, the last of which is the end of the run.
    pub(super) fn cuts(&self) -> Vec<Time> {
        figures::cuts(&self.timeline)
    }

    pub(super) fn group_infos(&self) -> Vec<GroupInfo> {
        figures::group_infos(&self.scenario)
    }

    /// An observer for each direction of each link.
    pub(super) fn recorders(&self) -> Vec<Recorder> {
        let (scenario, timeline) = (&self.scenario, &self.timeline);
        let sides = scenario.sides();
        sides
            .map(|side| figures::recorder(scenario, timeline, side.hop, side.direction))
            .collect()
    }

    /// The link between the two hosts.
    pub(super) fn link(&self, epoch: Epoch) -> Result<LinkConfig, LiveError> {
        let [forward, reverse] = self.directions(Hop::FIRST);
        let mut config = LinkConfig::new(forward, reverse);
        let links = &self.scenario.links;
        config.delay = links[0].delay;
        let behind = self.scenario.hops().iter().skip(1);
        let behind = behind.map(|hop| {
            let [forward, reverse] = self.directions(hop);
            NextLink {
                forward,
                reverse,
                delay: links[hop.index()].delay,
            }
        });
        config.behind = behind.collect();
        config.mtu = MTU.get() as u16;
        config.exact_clock = self.world == World::Virtual;
        config.epoch = epoch.monotonic();
        config.groups = self
            .scenario
            .groups
            .iter()
            .enumerate()
            .map(link_group)
            .collect();
        // A machine whose clock stands still while it works answers at once.
        if self.world == World::Virtual {
            config.noise = Noise {
                spans: figures::noise(&self.scenario),
                seed: self.seed,
            };
        }
        config.changes = changes(&self.scenario);
        config.fastest = self.prepared.map_or(Rate::ZERO, Prepared::fastest);
        // Only sessions and programs say something.
        config.zeros =
            !self.scenario.groups.iter().any(|group| {
                group.app.config().session().is_some() || programs_of(group).is_some()
            });
        config.frames = pool_frames(&self.scenario, self.in_flight);
        Ok(config)
    }

    /// The stretch between the two places where packets are watched; packets that enter between two stamps count.
    pub(super) fn crossing(&self, from: i64, until: i64) -> CrossingConfig {
        let forward = &self.scenario.links[0].forward;
        let groups = self.scenario.groups.iter().enumerate().map(link_group);
        CrossingConfig {
            groups: groups.collect(),
            rate: forward.rate,
            framing: forward.framing(),
            from,
            until,
        }
    }

    fn directions(&self, hop: Hop) -> [DirectionConfig; 2] {
        Direction::BOTH.map(|direction| self.direction(Side { hop, direction }))
    }

    fn direction(&self, which: Side) -> DirectionConfig {
        let side = self.scenario.side(which);
        let component = which.queue_stream();
        DirectionConfig {
            rate: side.rate,
            framing: side.framing(),
            service: figures::service(side, self.seed, &component),
            impairer: figures::impairer(side, self.seed, &component),
            discipline: figures::discipline(side, Random::new(self.seed, &component)),
            markers: markers(&self.scenario, which, self.seed),
            passage: passage(&self.scenario, which, self.seed),
            values: OnWire {
                // Hosts write numbers of their own into the field.
                read: false,
                write: self.scenario.links[which.hop.index()].values == Carried::Header,
            },
        }
    }

    /// The flows of both hosts.
    pub(super) fn traffic(&self, epoch: Epoch, topology: &Topology, end: RunEnd) -> TrafficConfig {
        let ours =
            |lifetime: &&Lifetime| programs_of(&self.scenario.groups[lifetime.group]).is_none();
        let plans = self
            .lifetimes
            .iter()
            .filter(ours)
            .map(|lifetime| self.flow(lifetime, topology))
            .collect();
        TrafficConfig {
            epoch,
            end,
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
            source: source(group),
            sender: addresses.sender.into(),
            receiver: SocketAddr::new(addresses.receiver.into(), port(lifetime.group)),
            app: group.app.config().clone(),
            changes: self.scenario.app_changes(lifetime.group),
            congestion_control: self.controls[lifetime.group].as_ref().map(|both| {
                both.each_ref()
                    .map(|control| control.kernel_name().to_owned())
            }),
            datagram_ecn: match group.ecn {
                EcnSetting::Off => Ecn::NotEct,
                EcnSetting::Ect0 => Ecn::Ect0,
                EcnSetting::Ect1 => Ecn::Ect1,
            },
            paced: group.pacing == Some(true),
            start: lifetime.start,
            stop: lifetime.stop,
            random: Random::new(self.seed, &component),
        }
    }

    /// What each group's control was.
    pub(super) fn ran(&self, report: &TrafficReport) -> Vec<GroupControl> {
        let groups = self.scenario.groups.iter().enumerate().zip(&self.controls);
        let ran = groups.filter_map(|((index, group), controls)| {
            let is_bpf = controls.as_ref()?[0].is_bpf();
            let carrier = if is_bpf {
                Carrier::Bpf
            } else {
                Carrier::Kernel
            };
            let mut ran = figures::group_control(group, carrier)?;
            let flows = report.flows.iter().filter(|flow| flow.group == index);
            let tcp: Vec<TcpInfo> = flows.filter_map(|flow| flow.tcp).collect();
            let feedback = tcp.iter().map(|tcp| match tcp.feedback {
                EcnFeedback::Off => MarkFeedback::Off,
                EcnFeedback::Flag if group.is_scalable() => MarkFeedback::Dctcp,
                EcnFeedback::Flag => MarkFeedback::Classic,
                EcnFeedback::Accurate => MarkFeedback::AccEcn,
            });
            ran.feedback = feedback.collect();
            ran.feedback.sort();
            ran.feedback.dedup();
            // Of the connections of programs nothing is known.
            let of_program = programs_of(group).is_some();
            ran.reported_ce = (!of_program).then(|| tcp.iter().map(|tcp| tcp.reported_ce).sum());
            // The host of the virtual world knows whether the control is quell's.
            if self.world == World::Live && !is_bpf {
                ran.variant = None;
            }
            if matches!(group.control_name(), Some("bbr2" | "bbr3")) {
                let all = [FLIGHTS, ORDER];
                let kept = if is_bpf { 2 } else { 1 };
                ran.approximations = all[..kept].iter().map(|&text| text.to_owned()).collect();
            }
            Some(ran)
        });
        ran.collect()
    }

    /// Fills in what the applications report, for the whole and for each phase.
    pub(super) fn add_app_reports(
        &self,
        summary: &mut Summary,
        report: &TrafficReport,
        (programs, ended): (&[(usize, Report)], Time),
        slow: &SlowEvents,
    ) {
        let of_programs = programs.iter().map(|(group, report)| Stretch {
            group: *group,
            flow: 0,
            from: self.scenario.run.warmup,
            to: ended,
            report,
        });
        let stretches: Vec<Stretch<'_>> = report
            .flows
            .iter()
            .flat_map(|flow| {
                flow.stretches.iter().map(|part| Stretch {
                    group: flow.group,
                    flow: flow.flow,
                    from: part.from,
                    to: part.to,
                    report: &part.report,
                })
            })
            .chain(of_programs)
            .collect();
        figures::add_app_reports(&self.scenario, summary, &stretches, slow);
    }
}

/// Bytes of payload against the direction of a group that are no mere requests.
const NOTEWORTHY: u64 = 100_000;

/// Of BBR v2 and v3, whose own kernels keep it with each segment: bpf/core/bbr_ring.h.
const FLIGHTS: &str = "what was in flight and lost when a segment left: found from a ring of ACKs, without retransmissions in between";
/// The same as BPF.
const ORDER: &str = "which segments are lost: taken to be the first ones that are not acknowledged";

/// Of the source and of the other end.
fn controls(group: &Group, modules: Modules) -> Result<Option<[Control; 2]>, LiveError> {
    let find = |control: &ControlSpec| {
        let name = control.kernel_name();
        cc::find(name, modules).map_err(|error| LiveError::control(name, &error))
    };
    match (&group.congestion_control, group.receiver_control()) {
        (Some(own), Some(other)) => Ok(Some([find(own)?, find(other)?])),
        _ => Ok(None),
    }
}

/// Before Linux 7.0 a control cannot say that RFC 3168's feedback is not enough for it, so Prague takes it for DCTCP's.
fn refuse_less_feedback(scenario: &Scenario) -> Result<(), LiveError> {
    let lacking = scenario
        .groups
        .iter()
        .find(|group| group.lacks_accurate_ecn());
    let system = rustix::system::uname();
    let release = system.release().to_string_lossy();
    let major = release
        .split('.')
        .next()
        .and_then(|major| major.parse::<u32>().ok());
    match lacking {
        Some(group) if major.is_some_and(|major| major < 7) => Err(LiveError::Scenario(format!(
            "group.{}.receiver: a host without AccECN beside {} needs Linux 7.0, and this is {release}; use --world virtual or sim",
            group.name,
            group.control_name().unwrap_or_default(),
        ))),
        _ => Ok(()),
    }
}

/// Whether the host whose data goes this way offloads; its groups agree.
fn offloads(scenario: &Scenario, direction: Direction) -> bool {
    let mut senders = scenario
        .groups
        .iter()
        .filter(|group| group.direction == direction && group.app.transport() == Transport::Stream);
    senders.next().is_none_or(|group| group.gso)
}

/// Whether every stream is Prague's, which wants AccECN: then the hosts may ask for it, as a kernel before Linux 7.0 does for all connections
/// or for none. Where others share the hosts, such a kernel gives Prague DCTCP's feedback.
fn is_all_prague(scenario: &Scenario) -> bool {
    let mut streams = scenario
        .groups
        .iter()
        .filter(|group| group.app.transport() == Transport::Stream)
        .peekable();
    let accurate =
        |group: &Group| group.control_name() == Some("prague") && !group.lacks_accurate_ecn();
    streams.peek().is_some() && streams.all(accurate)
}

fn port(group: usize) -> u16 {
    FIRST_PORT + group as u16
}

/// Initial window of Linux in segments (`TCP_INIT_CWND`).
const INITIAL_WINDOW: u32 = 10;

fn topology_group(group: &Group, controls: Option<&[Control; 2]>) -> TopologyGroup {
    if group.app.transport() == Transport::Datagram {
        return TopologyGroup::default();
    }
    // Flows choose theirs themselves.
    let controls = controls.filter(|_| programs_of(group).is_some());
    let name = |index: usize| controls.map(|both| both[index].kernel_name().to_owned());
    let asks = group.ecn != EcnSetting::Off;
    // First what is of the source.
    let (ecn, control, quick_ack) = (
        [asks, asks && group.receiver_has_ecn()],
        [name(0), name(1)],
        [false, group.receiver_acks_each()],
    );
    let is_forward = group.direction == Direction::Forward;
    TopologyGroup {
        ecn: in_order(ecn, is_forward),
        // Nothing is asked of the kernel that it does anyway.
        initial_window: Some(group.initial_window).filter(|segments| *segments != INITIAL_WINDOW),
        mss: Some(group.mss)
            .filter(|mss| *mss != MOST_MSS)
            .map(|mss| mss.get() as u32),
        control: in_order(control, is_forward),
        quick_ack: in_order(quick_ack, is_forward),
    }
}

/// What is of the source and of the other end, by host.
fn in_order<T>([source, other]: [T; 2], is_forward: bool) -> [T; 2] {
    match is_forward {
        true => [source, other],
        false => [other, source],
    }
}

fn link_group((index, group): (usize, &Group)) -> GroupConfig {
    let addresses = GroupAddresses::of(index);
    GroupConfig {
        port: port(index),
        // The sender host is behind port A, and connections are made from the other side.
        listens: match opener(group.app.config(), source(group)) {
            Host::Sender => PortSide::B,
            Host::Receiver => PortSide::A,
        },
        delay: group.rtt / 2,
        path: Some(group.path),
        ect1: match group.ecn == EcnSetting::Ect1 {
            true => Ect1::All,
            false => Ect1::None,
        },
        addresses: programs_of(group).map(|_| [addresses.sender, addresses.receiver]),
    }
}

/// Slots of the link's pool. Half of what is in flight may be small packets; a slot holds one, whatever its size.
fn pool_frames(scenario: &Scenario, in_flight: u64) -> u32 {
    let full = scenario
        .groups
        .iter()
        .map(|group| group.full_packet().get());
    let packet = full.min().unwrap_or(400).min(400);
    (in_flight / packet + 16_384).min(1 << 19) as u32
}

/// The most memory that the link's pool takes.
pub(crate) fn pool_bytes(scenario: &Scenario) -> Bytes {
    let frames = pool_frames(scenario, in_flight(scenario).iter().sum());
    // A slot is a packet with room for its Ethernet header and a tag.
    Bytes::new(u64::from(frames) * (MTU.get() + 64))
}

/// What is in flight if the link becomes as fast as it may.
fn most_in_flight(scenario: &Scenario, prepared: Option<Prepared>) -> [u64; 2] {
    let planned = in_flight(scenario);
    let Some(prepared) = prepared else {
        return planned;
    };
    let mut fastest = scenario.clone();
    for link in &mut fastest.links {
        let forward = &mut link.forward;
        if !forward.rate.is_unlimited() {
            forward.rate = forward.rate.max(prepared.fastest());
        }
    }
    let fastest = in_flight(&fastest);
    [0, 1].map(|direction| planned[direction].max(fastest[direction]))
}

/// What changes at the links, with its times.
pub(super) fn changes(scenario: &Scenario) -> Vec<(Time, LinkChange)> {
    let changes = scenario.changes.iter();
    let each = changes.flat_map(|change| change.set.iter().map(|set| (change.time, set)));
    each.flat_map(|(at, set)| {
        link_changes(scenario, set)
            .into_iter()
            .map(move |change| (at, change))
    })
    .collect()
}

fn link_changes(scenario: &Scenario, setting: &Setting) -> Vec<LinkChange> {
    match setting {
        Setting::Rate(side, rate) => vec![LinkChange::SetRate {
            hop: side.hop,
            direction: side.direction,
            rate: *rate,
        }],
        Setting::Queue { side, key, value } => vec![LinkChange::Configure {
            hop: side.hop,
            direction: side.direction,
            key: key.clone(),
            value: value.clone(),
        }],
        Setting::Impair { side, spec, .. } => vec![LinkChange::Impair {
            hop: side.hop,
            direction: side.direction,
            impairment: spec.impairment(),
        }],
        Setting::Rtt { group, rtt } => {
            let delays = figures::last_delays(scenario, scenario.groups[*group].path, *rtt);
            let delays = delays.map(|(hop, direction, delay)| LinkChange::SetDelay {
                hop,
                direction,
                group: Some(*group as u16),
                delay,
            });
            delays.to_vec()
        }
        // The hosts start and stop flows, and the flows know how they change.
        Setting::Count { .. } | Setting::App { .. } => Vec::new(),
    }
}
