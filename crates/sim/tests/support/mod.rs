//! What the tests of the simulator have in common.
#![allow(dead_code)] // each test binary uses a part

use std::sync::atomic::AtomicBool;

use quell_app::{Bulk, Cbr, Interval};
use quell_aqm::departure_clock::Framing;
use quell_aqm::disciplines::find;
use quell_aqm::impair::Impairer;
use quell_aqm::{Departure, Discipline, Drop, Link, MarkReason, Observer, QueueId};
use quell_measure::{Direction, FlowId, GroupId, Hop};
use quell_sim::{
    Config, DirectionConfig, FlowConfig, Jitter, LinkChange, LinkConfig, Packet, Simulator,
    TransportConfig,
};
use quell_tcp::{CcConfig, Codepoint, ReceiverConfig, SenderConfig};
use quell_units::{Bytes, Ecn, Random, Rate, Settings, Time};

/// Counts, and remembers the last departure.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Counter {
    pub(crate) delivered: u64,
    pub(crate) dropped: u64,
    pub(crate) marked: u64,
    /// Marks by reason, packets and sojourn times by queue.
    pub(crate) marks: [u64; 5],
    pub(crate) queues: [(u64, u128); 2],
    pub(crate) sojourn: u128,
    pub(crate) longest: Time,
    pub(crate) last_end: Time,
    /// A hash of all events, in order.
    pub(crate) digest: u64,
}

impl Counter {
    fn mix(&mut self, what: u64, packet: &Packet, at: Time) {
        for word in [
            what,
            u64::from(packet.flow_id().0),
            packet.sequence(),
            at.as_nanos(),
        ] {
            self.digest = (self.digest ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

impl Observer<Packet> for Counter {
    fn dequeued(&mut self, queue: QueueId, packet: &Packet, now: Time) {
        let sojourn = quell_aqm::Packet::sojourn(packet, now);
        self.queues[queue.index()].0 += 1;
        self.queues[queue.index()].1 += u128::from(sojourn.as_nanos());
        self.delivered += 1;
        self.sojourn += u128::from(sojourn.as_nanos());
        self.longest = self.longest.max(sojourn);
        self.mix(1, packet, now);
    }
    fn marked(&mut self, _queue: QueueId, packet: &Packet, reason: MarkReason, now: Time) {
        self.marked += 1;
        self.marks[reason.index()] += 1;
        self.mix(2, packet, now);
    }
    fn dropped(&mut self, packet: Packet, _drop: Drop, now: Time) {
        self.dropped += 1;
        self.mix(3, &packet, now);
    }
    fn departed(&mut self, _packet: &Packet, departure: &Departure) {
        self.last_end = departure.end;
    }
}

pub(crate) const MTU: Bytes = Bytes::new(1_500);

pub(crate) fn discipline(kind: &str, settings: &[(&str, &str)], rate: Rate) -> Discipline<Packet> {
    let mut values = Settings::new(find(kind).expect("a kind").parameters);
    for (key, value) in settings {
        values.set(key, value).expect("a setting");
    }
    let random = Random::new(1, "queue");
    Discipline::new(kind, values, Link { rate, mtu: MTU }, random).expect("a queue")
}

pub(crate) fn side(kind: &str, settings: &[(&str, &str)], rate: Rate) -> DirectionConfig {
    DirectionConfig {
        rate,
        framing: Framing::default(),
        service: Default::default(),
        impairer: Impairer::new(None, 0, "none"),
        markers: Vec::new(),
        passage: None,
        discipline: discipline(kind, settings, rate),
    }
}

/// A way back that is always free.
pub(crate) fn free() -> DirectionConfig {
    side("fifo", &[("limit", "1000000p")], Rate::UNLIMITED)
}

/// Datagrams of `size` bytes every `mean`, from `start`.
pub(crate) fn cbr(group: u32, size: u64, mean: Time, stddev: Time, start: Time) -> FlowConfig {
    FlowConfig {
        group: GroupId(group),
        direction: Direction::Forward,
        app: Cbr {
            size: Bytes::new(size),
            interval: Interval { mean, stddev },
        }
        .into(),
        changes: Default::default(),
        random: Random::new(1, "app"),
        transport: TransportConfig::Datagrams(Ecn::NotEct),
        access: Rate::UNLIMITED,
        start,
        stop: None,
    }
}

pub(crate) fn config(forward: DirectionConfig, delay: Time, flows: Vec<FlowConfig>) -> Config {
    Config {
        links: vec![LinkConfig::new(forward, free())],
        delays: vec![delay],
        paths: Vec::new(),
        jitter: Jitter::default(),
        flows,
        changes: Vec::new(),
    }
}

pub(crate) fn simulator(config: Config) -> Simulator<Counter> {
    Simulator::new(config, |_, _| Counter::default()).expect("a simulation")
}

pub(crate) fn run(simulator: &mut Simulator<Counter>, until: Time) {
    let reached = simulator
        .run(until, &AtomicBool::new(false))
        .expect("a run");
    assert_eq!(reached, until);
}

pub(crate) fn rate_change(at: Time, rate: Rate) -> (Time, LinkChange) {
    let direction = Direction::Forward;
    let hop = Hop::FIRST;
    let change = LinkChange::Rate {
        hop,
        direction,
        rate,
    };
    (at, change)
}

/// What the receiver of a constant-rate flow reports.
pub(crate) fn cbr_report(
    simulator: &mut Simulator<Counter>,
    flow: u32,
) -> quell_app::DatagramReport {
    match simulator.take_report(FlowId(flow)) {
        Some(quell_app::Report::Cbr(report)) => report,
        other => panic!("{other:?}"),
    }
}

/// A flow without end over TCP with `control` and its default ECN, or this codepoint.
pub(crate) fn bulk(group: u32, control: &str, ecn: Option<Codepoint>, start: Time) -> FlowConfig {
    let control = CcConfig::new(control, &[])
        .expect("a control")
        .expect("no options");
    let mut sender = SenderConfig::new(control);
    if ecn.is_some() {
        sender.ecn = sender.congestion_control.ecn(ecn);
    }
    let receiver = ReceiverConfig::new(sender.ecn);
    FlowConfig {
        group: GroupId(group),
        direction: Direction::Forward,
        app: Bulk::default().into(),
        changes: Default::default(),
        random: Random::new(1, "app"),
        transport: TransportConfig::Stream(Box::new((sender, receiver))),
        access: Rate::UNLIMITED,
        start,
        stop: None,
    }
}
