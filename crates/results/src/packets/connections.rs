//! Header fields of connections between modelled hosts that a capture needs and the model lacks: ports, initial sequence numbers,
//! the window scale, and the window of the end that only sends.
//!
//! They are chosen as on two Linux hosts. The ports of the end that opens connections count up within the group from 32 768, one per
//! connection. After 60 999 (`ip_local_port_range`) the next address of that end starts at the first port again, so no two connections
//! look like one. Initial sequence numbers are drawn from the seed. The window scale follows from the receive buffer and is the same at
//! both ends. A sender of data receives none, so its window stays that of its SYN; both ends of a session's connection receive.

use std::collections::BTreeMap;

use quell_hosts::topology::GroupAddresses;
use quell_measure::Direction;
use quell_scenario::Scenario;
use quell_scenario::sim::receive_buffer;
use quell_sim::Packet;
use quell_tcp::Flags;
use quell_units::Random;

/// The port of the first group's receivers.
pub const FIRST_PORT: u16 = 5_001;
/// The first of the senders' ports (`ip_local_port_range`).
const EPHEMERAL: u32 = 32_768;
const EPHEMERAL_PORTS: u32 = 61_000 - EPHEMERAL;
/// Window of a Linux SYN in bytes: whole segments of 1 460 bytes within 65 535.
const SYN_WINDOW: u32 = 64_240;

/// Address and port of one end.
pub(super) type End = ([u8; 4], u16);

/// One connection, or one flow of datagrams.
#[derive(Debug, Clone, Copy)]
pub(super) struct Connection {
    /// The sender's address and port.
    left: End,
    /// The receiver's.
    right: End,
    /// Initial sequence number of each direction, forward first.
    initial: [u32; 2],
    /// Window scale: bits by which windows are shifted, except in SYNs.
    pub(super) scale: u8,
    /// Direction of the data.
    data: Direction,
}

impl Connection {
    /// Source and destination of a packet in this direction.
    pub(super) fn ends(&self, direction: Direction) -> (End, End) {
        match direction {
            Direction::Forward => (self.left, self.right),
            Direction::Reverse => (self.right, self.left),
        }
    }
    /// Sequence number on the wire of byte `offset` in this direction. The SYN has the initial number.
    pub(super) fn number(&self, direction: Direction, offset: u64) -> u32 {
        self.syn_number(direction)
            .wrapping_add(1)
            .wrapping_add(offset as u32)
    }
    pub(super) fn syn_number(&self, direction: Direction) -> u32 {
        self.initial[usize::from(direction == Direction::Reverse)]
    }
    /// The window field of a segment.
    pub(super) fn window(&self, packet: &Packet) -> u16 {
        let is_syn = packet.flags().has(Flags::SYN);
        let window = if packet.direction() != self.data || packet.is_of_session() {
            packet.window().get()
        } else if is_syn {
            SYN_WINDOW.into()
        } else {
            u64::from(SYN_WINDOW).next_multiple_of(1 << self.scale)
        };
        let units = window >> if is_syn { 0 } else { self.scale };
        u16::try_from(units).unwrap_or(u16::MAX)
    }
}

/// Every connection so far.
#[derive(Debug)]
pub(super) struct Connections {
    random: Random,
    scale: u8,
    /// By group: the direction of its data, and the number of its connections so far.
    groups: Vec<(Direction, u32)>,
    /// By flow: the latest connection, and its number as packets carry it.
    latest: BTreeMap<u32, (u32, Connection)>,
    /// By flow and number: the connections of sessions, and whether an end has closed or reset them.
    sessions: BTreeMap<(u32, u32), (Connection, bool)>,
}

impl Connections {
    pub(super) fn new(scenario: &Scenario, seed: u64) -> Self {
        let groups = scenario.groups.iter().map(|group| (group.direction, 0));
        Self {
            random: Random::new(seed, "packets"),
            scale: receive_buffer(scenario).window_scale() as u8,
            groups: groups.collect(),
            latest: BTreeMap::new(),
            sessions: BTreeMap::new(),
        }
    }

    /// The connection of a packet that its host has just made.
    pub(super) fn of(&mut self, packet: &Packet) -> Connection {
        let (flow, number) = (packet.flow_id().0, packet.connection());
        match self.latest.get(&flow) {
            _ if packet.is_of_session() => self.of_session(packet),
            Some((latest, connection)) if *latest == number => *connection,
            _ => {
                let connection = self.open(packet);
                self.latest.insert(flow, (number, connection));
                connection
            }
        }
    }

    /// The connection of a session, of which there are several at once. Numbers return after many others.
    fn of_session(&mut self, packet: &Packet) -> Connection {
        let key = (packet.flow_id().0, packet.connection());
        let flags = packet.flags();
        let opens = flags.0 & (Flags::SYN | Flags::ACK) == Flags::SYN;
        let ends = flags.has(Flags::FIN) || flags.has(Flags::RST);
        match self.sessions.get_mut(&key) {
            Some((connection, has_ended)) if !(opens && *has_ended) => {
                *has_ended |= ends;
                *connection
            }
            _ => {
                let connection = self.open(packet);
                self.sessions.insert(key, (connection, ends));
                connection
            }
        }
    }

    fn open(&mut self, packet: &Packet) -> Connection {
        use quell_measure::Labelled as _;
        let group = packet.group().map_or(0, quell_measure::GroupId::index);
        let (data, before) = match self.groups.get_mut(group) {
            Some((data, count)) => {
                *count = count.wrapping_add(1);
                (*data, count.wrapping_sub(1))
            }
            None => (Direction::Forward, 0),
        };
        let addresses = GroupAddresses::of(group);
        let round = (before / EPHEMERAL_PORTS) as u8;
        let port = (EPHEMERAL + before % EPHEMERAL_PORTS) as u16;
        let opens = |[a, b, c, d]: [u8; 4]| ([a, b.wrapping_add(round), c, d], port);
        let accepts = |address| (address, FIRST_PORT + group as u16);
        let [sender, receiver] = [addresses.sender, addresses.receiver].map(|at| at.octets());
        // The first packet is from the end that opens.
        let (left, right) = match packet.direction() == data || !packet.is_of_session() {
            true => (opens(sender), accepts(receiver)),
            false => (accepts(sender), opens(receiver)),
        };
        Connection {
            left,
            right,
            initial: [self.random.u32(), self.random.u32()],
            scale: self.scale,
            data,
        }
    }
}
