//! What a capture needs of connections between modelled hosts and the model has not: ports, initial sequence numbers, the
//! window scale, and the window of the end that only sends.
//!
//! As two Linux hosts have them. Ports of senders count up in the group from 32 768, one for each connection, and after 60 999
//! (`ip_local_port_range`) the next address of the sender begins at the first port again, so no two connections look like one.
//! Initial sequence numbers are drawn from the seed. The window scale follows from the receive buffer, the same at both ends. A
//! sender of data receives none and never uses its buffer, so its window stays that of its SYN.

use std::collections::BTreeMap;

use quell_hosts::topology::GroupAddresses;
use quell_measure::Direction;
use quell_scenario::Scenario;
use quell_scenario::sim::receive_buffer;
use quell_sim::Packet;
use quell_tcp::{Flags, Segment};
use quell_units::Random;

use super::header::{FIRST_PORT, Header};

/// Senders' ports (`ip_local_port_range`).
const EPHEMERAL: u32 = 32_768;
const EPHEMERAL_PORTS: u32 = 61_000 - EPHEMERAL;
/// What Linux offers in a SYN: whole segments of 1 460 bytes in 65 535.
const SYN_WINDOW: u32 = 64_240;

/// Address and port of where a packet comes from, or of where it goes.
pub(super) type End = ([u8; 4], u16);

/// One connection, or one flow of datagrams.
#[derive(Debug, Clone, Copy)]
pub(super) struct Connection {
    /// The sender's address and port.
    left: End,
    /// The receiver's.
    right: End,
    /// Initial sequence number of what goes in each direction.
    initial: [u32; 2],
    /// By how many bits windows are shifted, but for those of SYNs.
    pub(super) scale: u8,
    /// Which way data goes.
    data: Direction,
}

impl Connection {
    /// Where a packet of this direction comes from, and where it goes.
    pub(super) fn ends(&self, direction: Direction) -> (End, End) {
        match direction {
            Direction::Forward => (self.left, self.right),
            Direction::Reverse => (self.right, self.left),
        }
    }
    /// The number on the wire of byte `offset` of what goes in this direction: the SYN has the initial one.
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
        let window = if packet.direction() != self.data {
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

/// Every connection that there was.
#[derive(Debug)]
pub(super) struct Connections {
    random: Random,
    scale: u8,
    /// By group: which way its data goes, and how many connections it has had.
    groups: Vec<(Direction, u32)>,
    /// By flow: the number of its latest connection, as packets have it, and the connection.
    latest: BTreeMap<u32, (u8, Connection)>,
}

impl Connections {
    pub(super) fn new(scenario: &Scenario, seed: u64) -> Self {
        let groups = scenario.groups.iter().map(|group| (group.direction, 0));
        Self {
            random: Random::new(seed, "packets"),
            scale: receive_buffer(scenario).window_scale() as u8,
            groups: groups.collect(),
            latest: BTreeMap::new(),
        }
    }

    /// The header of a packet that its host has just made.
    pub(super) fn header(&mut self, packet: &Packet, segment: Option<&Segment>) -> Header {
        let (flow, number) = (packet.flow_id().0, packet.connection());
        let connection = match self.latest.get(&flow) {
            Some((latest, connection)) if *latest == number => *connection,
            _ => {
                let connection = self.open(packet);
                self.latest.insert(flow, (number, connection));
                connection
            }
        };
        Header::modelled(packet, segment, &connection)
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
        let [a, b, c, d] = addresses.sender.octets();
        let round = (before / EPHEMERAL_PORTS) as u8;
        let port = EPHEMERAL + before % EPHEMERAL_PORTS;
        Connection {
            left: ([a, b.wrapping_add(round), c, d], port as u16),
            right: (addresses.receiver.octets(), FIRST_PORT + group as u16),
            initial: [self.random.u32(), self.random.u32()],
            scale: self.scale,
            data,
        }
    }
}
