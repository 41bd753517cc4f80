//! The plan of the simulator for a scenario.

use quell_app::{AppChanges, Transport};
use quell_measure::{Carrier, Direction, GroupControl, GroupId, Hop, MarkFeedback};
use quell_sim::{
    Config, DirectionConfig, FlowConfig, Jitter, LinkChange, LinkConfig, Packet, TransportConfig,
};
use quell_tcp::{Codepoint, EcnMode, ReceiveBuffer, ReceiverConfig, SenderConfig, Ticks};
use quell_units::{Bytes, Ecn, Random, Time};

use super::SimError;
use crate::figures::{discipline, group_control, impairer, last_delays, noise, service};
use crate::keys::DEFAULT_CONTROL;
use crate::lifetimes::Lifetime;
use crate::markers::markers;
use crate::remark::passage;
use crate::{ControlSpec, EcnSetting, Group, Scenario, Setting, Side, in_flight, largest_window};

/// The simulation of `scenario` with `seed`, with receive windows of at least `window` bytes.
pub(super) fn config(
    scenario: &Scenario,
    seed: u64,
    lifetimes: &[Lifetime],
    window: u64,
) -> Result<Config, SimError> {
    let buffer = buffer(largest_window(in_flight(scenario)).max(window));
    let transports: Vec<TransportConfig> = scenario
        .groups
        .iter()
        .map(|group| transport(group, scenario, buffer))
        .collect::<Result<_, _>>()?;
    let changed: Vec<AppChanges> = (0..scenario.groups.len())
        .map(|group| scenario.app_changes(group))
        .collect();
    let flow = |lifetime: &Lifetime| {
        let group = &scenario.groups[lifetime.group];
        let component = format!("app.{}.{}", group.name, lifetime.flow);
        FlowConfig {
            group: GroupId(lifetime.group as u32),
            direction: group.direction,
            app: group.app.config().clone(),
            changes: changed[lifetime.group].clone(),
            random: Random::new(seed, &component),
            transport: on_hosts(&transports[lifetime.group], seed, &group.name, lifetime),
            access: group.access_rate,
            start: lifetime.start,
            stop: lifetime.stop,
        }
    };
    Ok(Config {
        links: scenario
            .hops()
            .iter()
            .map(|hop| link(scenario, hop, seed))
            .collect(),
        paths: scenario.groups.iter().map(|group| group.path).collect(),
        delays: scenario.groups.iter().map(|group| group.rtt / 2).collect(),
        jitter: Jitter {
            spans: noise(scenario),
            seed,
        },
        flows: lifetimes.iter().map(flow).collect(),
        changes: changes(scenario),
    })
}

/// Ticks per second of a host's timers: of the kernel that docs/evidence/validation.md compares with, and long Linux's default
/// (`kernel/Kconfig.hz`). It matters: where three flows share a queue of 16 packets, exact timers turn the shares round.
const HZ: u32 = 250;

/// The flow on hosts of its own: their clocks tick with phases drawn from the seed, and the congestion control draws from a stream
/// of its own.
fn on_hosts(
    transport: &TransportConfig,
    seed: u64,
    group: &str,
    lifetime: &Lifetime,
) -> TransportConfig {
    let mut transport = transport.clone();
    let flow = lifetime.flow;
    let mut random = Random::new(seed, &format!("ticks.{group}.{flow}"));
    let mut ticks = || {
        let nanos = random.below(1_000_000_000 / u64::from(HZ));
        Ticks::new(HZ, Time::from_nanos(nanos))
    };
    match &mut transport {
        TransportConfig::Stream(ends) => {
            ends.0.ticks = ticks();
            ends.1.ticks = ticks();
            ends.0.random = Random::new(seed, &format!("control.{group}.{flow}"));
        }
        TransportConfig::Session(hosts) => {
            // Both hosts send.
            for (component, ends) in ["control", "control.receiver"]
                .into_iter()
                .zip(&mut **hosts)
            {
                ends.0.ticks = ticks();
                ends.1.ticks = ends.0.ticks;
                ends.0.random = Random::new(seed, &format!("{component}.{group}.{flow}"));
            }
        }
        TransportConfig::Datagrams(_) => {}
    }
    transport
}

fn link(scenario: &Scenario, hop: Hop, seed: u64) -> LinkConfig {
    let [forward, reverse] = Direction::BOTH.map(|direction| {
        let side = Side { hop, direction };
        let spec = scenario.side(side);
        let component = side.queue_stream();
        DirectionConfig {
            rate: spec.rate,
            framing: spec.framing(),
            service: service(spec, seed, &component),
            impairer: impairer(spec, seed, &component),
            discipline: discipline::<Packet>(spec, Random::new(seed, &component)),
            markers: markers(scenario, side, seed),
            passage: passage(scenario, side, seed),
        }
    });
    LinkConfig {
        forward,
        reverse,
        delay: scenario.links[hop.index()].delay,
    }
}

/// The sizes of receive buffers (`tcp_rmem`) as the hosts of the other worlds have them: Linux's initial one, and four bytes of
/// memory for each of the largest window.
pub fn receive_buffer(scenario: &Scenario) -> ReceiveBuffer {
    buffer(largest_window(in_flight(scenario)))
}

fn buffer(window: u64) -> ReceiveBuffer {
    let most = window.saturating_mul(4);
    ReceiveBuffer {
        initial: Bytes::new(131_072),
        most: Bytes::new(most.min(i32::MAX as u64)),
    }
}

fn codepoint(group: &Group) -> Option<Codepoint> {
    match group.ecn {
        EcnSetting::Off => None,
        EcnSetting::Ect0 => Some(Codepoint::Ect0),
        EcnSetting::Ect1 => Some(Codepoint::Ect1),
    }
}

/// What the receiving host of a group agrees to.
fn receiver_ecn(group: &Group) -> EcnMode {
    let control = group.receiver_control();
    let config = control.and_then(|control| control.config()?.ok());
    let codepoint = codepoint(group).filter(|_| group.receiver_has_ecn());
    config.map_or(EcnMode::Off, |config| config.ecn(codepoint))
}

/// The model of a group's control, with what both of its hosts agree on.
pub(super) fn control(group: &Group) -> Option<GroupControl> {
    let control = group_control(group, Carrier::Model)?;
    let config = group.congestion_control.as_ref()?.config()?.ok()?;
    let feedback = match (config.ecn(codepoint(group)), receiver_ecn(group)) {
        (EcnMode::Off, _) | (_, EcnMode::Off) => MarkFeedback::Off,
        (EcnMode::Classic(_), _) => MarkFeedback::Classic,
        // A SYN of DCTCP is ECN-capable, which a host of RFC 3168 refuses.
        (EcnMode::Dctcp(_), EcnMode::Dctcp(_)) => MarkFeedback::Dctcp,
        (EcnMode::Dctcp(_), _) => MarkFeedback::Off,
        (EcnMode::Accurate(_), EcnMode::Accurate(_)) => MarkFeedback::AccEcn,
        (EcnMode::Accurate(_), _) if config.kind().scalable => MarkFeedback::Off,
        (EcnMode::Accurate(_), _) => MarkFeedback::Classic,
    };
    Some(GroupControl {
        feedback: vec![feedback],
        ..control
    })
}

fn transport(
    group: &Group,
    scenario: &Scenario,
    buffer: ReceiveBuffer,
) -> Result<TransportConfig, SimError> {
    if group.app.transport() == Transport::Datagram {
        return Ok(TransportConfig::Datagrams(match group.ecn {
            EcnSetting::Off => Ecn::NotEct,
            EcnSetting::Ect0 => Ecn::Ect0,
            EcnSetting::Ect1 => Ecn::Ect1,
        }));
    }
    let spec = group.congestion_control.clone();
    let spec = spec.unwrap_or_else(|| ControlSpec::new(DEFAULT_CONTROL));
    let control = match spec.config() {
        Some(Ok(control)) => control,
        Some(Err(error)) => return Err(SimError::Scenario(error.to_string())),
        None => {
            return Err(SimError::Scenario(format!(
                "group {}: the simulator has no congestion control {:?}",
                group.name,
                spec.name()
            )));
        }
    };
    let ecn = control.ecn(codepoint(group));
    // At most MOST_MSS.
    let mss = group.full_payload().get() as u32;
    let sender = SenderConfig {
        ecn,
        mss,
        initial_window: group.initial_window,
        pacing: group.pacing,
        gso: group.gso,
        ..SenderConfig::new(control)
    };
    let buffer = Some(buffer);
    // As the hosts of the other worlds wake the readers of bulk data.
    let reads = group.app.reads_in_pieces().then_some(scenario.run.interval);
    let receiver = |sender: &SenderConfig| ReceiverConfig {
        ect_scope: sender.ect_scope,
        needs_more_feedback: sender.congestion_control.kind().scalable,
        mss,
        buffer,
        reads,
        ..ReceiverConfig::new(sender.ecn)
    };
    // The host of the receiver; alike where it has nothing of its own.
    let other = match group.receiver_control().map(|control| control.config()) {
        Some(Some(Ok(control))) if group.receiver.is_some() => SenderConfig {
            ecn: receiver_ecn(group),
            ect_scope: control.kind().ect_scope,
            congestion_control: control,
            ..sender.clone()
        },
        _ => sender.clone(),
    };
    let there = ReceiverConfig {
        ack_every: if group.receiver_acks_each() { 1 } else { 2 },
        ..receiver(&other)
    };
    if group.app.session().is_none() {
        return Ok(TransportConfig::Stream(Box::new((sender, there))));
    }
    // Each half of an end has its scope. Applications with messages of their own switch Nagle's algorithm off (`TCP_NODELAY`).
    let here = receiver(&sender);
    let ends = [(sender, here), (other, there)];
    let ends = ends.map(|(sender, receiver)| {
        (
            SenderConfig {
                nagle: false,
                ..sender
            },
            receiver,
        )
    });
    Ok(TransportConfig::Session(Box::new(ends)))
}

/// What changes at the links, with its times.
pub(super) fn changes(scenario: &Scenario) -> Vec<(Time, LinkChange)> {
    let changes = scenario.changes.iter();
    let each = changes.flat_map(|change| change.set.iter().map(|set| (change.time, set)));
    each.flat_map(|(at, set)| link_changes(scenario, set).map(move |change| (at, change)))
        .collect()
}

fn link_changes(scenario: &Scenario, setting: &Setting) -> impl Iterator<Item = LinkChange> {
    let changes = match setting {
        Setting::Rate(side, rate) => vec![LinkChange::Rate {
            hop: side.hop,
            direction: side.direction,
            rate: *rate,
        }],
        Setting::Queue { side, key, value } => vec![LinkChange::Queue {
            hop: side.hop,
            direction: side.direction,
            key: key.clone(),
            value: value.clone(),
        }],
        Setting::Impair { side, spec, .. } => vec![LinkChange::Impair {
            hop: side.hop,
            direction: side.direction,
            impairment: Box::new(spec.impairment()),
        }],
        Setting::Rtt { group, rtt } => {
            let delays = last_delays(scenario, scenario.groups[*group].path, *rtt);
            let delays = delays.map(|(hop, direction, delay)| LinkChange::Delay {
                hop,
                direction,
                group: GroupId(*group as u32),
                delay,
            });
            delays.to_vec()
        }
        // Counts are in the lifetimes of flows, and these know how they change.
        Setting::Count { .. } | Setting::App { .. } => Vec::new(),
    };
    changes.into_iter()
}
