//! A flow whose packets the test carries itself.

use quell_app::{Period, Transfer};
use quell_aqm::departure_clock::Framing;
use quell_aqm::disciplines::find;
use quell_aqm::impair::Impairer;
use quell_aqm::{Discipline, Link};
use quell_measure::{GroupId, Hops};
use quell_tcp::{CcConfig, Flags, Segment};
use quell_units::{Random, Rate, Settings};

use super::*;
use crate::config::{DirectionConfig, Jitter, LinkConfig};
use quell_app::Report;
use quell_units::Bytes;

/// Sees nothing.
struct Blind;
impl Observer<Packet> for Blind {
    fn dropped(&mut self, _packet: Packet, _drop: quell_aqm::Drop, _now: Time) {}
}

fn network() -> Network<Blind> {
    let side = || {
        let (rate, mtu) = (Rate::from_mbps(10), Bytes::new(1_500));
        let settings = Settings::new(find("fifo").unwrap().parameters);
        let random = Random::new(1, "queue");
        DirectionConfig {
            rate,
            framing: Framing::default(),
            service: Default::default(),
            impairer: Impairer::new(None, 0, "none"),
            markers: Vec::new(),
            passage: None,
            discipline: Discipline::new("fifo", settings, Link { rate, mtu }, random).unwrap(),
        }
    };
    let jitter = Jitter::default();
    let link = LinkConfig::new(side(), side());
    let groups = [(Time::ZERO, Hops::all(1))];
    Network::new(vec![link], &groups, &jitter, vec![Blind, Blind]).unwrap()
}

fn flow(size: u64) -> Flow {
    let sender = SenderConfig::new(CcConfig::new("reno", &[]).unwrap().unwrap());
    let receiver = ReceiverConfig::new(sender.ecn);
    let config = FlowConfig {
        group: GroupId(0),
        direction: Direction::Forward,
        app: Transfer {
            size: Bytes::new(size),
            repeat: Some(Period::fixed(Time::from_secs(1))),
        }
        .into(),
        changes: Default::default(),
        random: Random::new(1, "app"),
        access: Rate::UNLIMITED,
        transport: TransportConfig::Stream(Box::new((sender, receiver))),
        start: Time::ZERO,
        stop: None,
    };
    Flow::new(FlowId(0), &config)
}

/// Opens a connection as if the one before, if any, were over.
fn reopen(flow: &mut Flow, now: Time, network: &mut Network<Blind>) {
    flow.state = ConnectionState::Idle;
    flow.open(now, network);
}

/// A segment to the receiver of `connection`.
fn to_receiver(connection: u8, flags: u16, sequence: u64, payload: u32, now: Time) -> Packet {
    let label = Label {
        flow: FlowId(0),
        group: 0,
        direction: Direction::Forward,
        connection,
    };
    let segment = Segment {
        sequence,
        payload,
        timestamp: now,
        flags: Flags(flags),
        ..Segment::default()
    };
    Packet::stream(label, &segment, &mut OptionStore::default())
}

#[test]
fn segments_of_an_earlier_connection_are_nothing_to_the_next() {
    let (mut network, mut options) = (network(), OptionStore::default());
    let mut flow = flow(2_000);
    flow.start(Time::ZERO, &mut network, &mut options);
    let mut receive = |flow: &mut Flow, network: &mut _, packet, ms| {
        let now = Time::from_millis(ms);
        flow.receive(&packet, now, network, &mut options);
        flow.sample().delivered.get()
    };
    let at = Time::from_millis;
    receive(
        &mut flow,
        &mut network,
        to_receiver(0, Flags::SYN, 0, 0, at(1)),
        1,
    );
    let data = to_receiver(0, Flags::ACK | Flags::FIN, 0, 2_000, at(2));
    assert_eq!(receive(&mut flow, &mut network, data, 2), 2_000);
    // As after the FIN's acknowledgement and a pause.
    reopen(&mut flow, at(2_000), &mut network);
    receive(
        &mut flow,
        &mut network,
        to_receiver(1, Flags::SYN, 0, 0, at(2_001)),
        2_001,
    );
    // A copy of the old connection's data, which the new one has not had yet.
    let copy = to_receiver(0, Flags::ACK, 0, 1_448, at(1_999));
    assert_eq!(receive(&mut flow, &mut network, copy, 2_002), 2_000);
    let data = to_receiver(1, Flags::ACK, 0, 1_448, at(2_003));
    assert_eq!(receive(&mut flow, &mut network, data, 2_003), 3_448);
    let Some(Report::Transfer(report)) = flow.take_report(at(2_003)) else {
        panic!()
    };
    assert_eq!((report.completed(), report.in_flight), (1, 1));
    assert_eq!(report.completion.max(), Some(at(2)));
    assert_eq!(report.bytes, 3_448);
}

#[test]
fn the_number_of_a_connection_wraps_and_a_single_transfer_has_one_only() {
    let (mut network, mut flow) = (network(), flow(1));
    for _ in 0..=CONNECTIONS {
        reopen(&mut flow, Time::ZERO, &mut network);
    }
    assert_eq!(flow.connection, 0);
    flow.renewal = None;
    reopen(&mut flow, Time::ZERO, &mut network);
    assert_eq!(flow.connection, 0);
}
