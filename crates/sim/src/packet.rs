//! A packet between two modelled hosts: one cache line.
//!
//! Queues and wires hold packets by value, so a packet is copied a few times on its way, always
//! from one sequential buffer to another. The packet holds a TCP segment without its SACK blocks and
//! AccECN counters: few segments have them, so they are in a store of their own. With the
//! blocks in the packet, 88 bytes, the simulator is 3 % slower with 10 flows, 13 % with 10 000 and 23 % at
//! 100 Gbit/s (`crates/quell/benches/speed.rs`).
//!
//! Packets of sessions carry a longer number of their connection, in the upper bits of both
//! timestamps: no time is as late as 2^54 ns ([`HORIZON`]).

use quell_app::Content;
use quell_aqm::impair::rules::{Header, Kind};
use quell_measure::{Direction, FlowId, GroupId, Labelled};
use quell_tcp::{Flags, Segment};
use quell_units::{Bytes, Ecn, Time};

use crate::options::OptionStore;
use crate::sources::HORIZON;

/// IPv4 and UDP headers.
pub(crate) const DATAGRAM_HEADERS: Bytes = Bytes::new(20 + 8);

/// Set in [`Packet::kind`] for a datagram.
const DATAGRAM: u8 = 1;
/// Set in [`Packet::kind`] for a packet in reverse direction.
const REVERSE: u8 = 2;
/// The place of the connection's number in [`Packet::kind`]; a session has its lowest bits there.
const CONNECTION_SHIFT: u32 = 2;
/// Set in [`Packet::flags`] for a segment of a session.
const SESSION: u16 = 1 << 15;
/// Set in [`Packet::flags`] once the packet is damaged: the host at the end of its way drops it.
const DAMAGED: u16 = 1 << 14;
/// Bits of the number of a session's connection in [`Packet::kind`] and in each timestamp.
const LOW: u32 = u8::BITS - CONNECTION_SHIFT;
const HIGH: u32 = HORIZON.as_nanos().leading_zeros();
/// Bits of a timestamp that are a time.
const TIME: u64 = u64::MAX >> HIGH;
/// Bits of the number of a session's connection.
pub(crate) const PORT_BITS: u32 = LOW + 2 * HIGH;

/// A packet.
#[derive(Debug, Clone, Copy)]
pub struct Packet {
    /// The arrival while it is queued, the release from the wire afterwards.
    time: Time,
    sequence: u64,
    acknowledgement: u64,
    timestamp: Time,
    echo: Time,
    flow: FlowId,
    /// Place in the [`OptionStore`].
    options: u32,
    window: u32,
    len: u16,
    payload: u16,
    flags: u16,
    value: u16,
    group: u16,
    ecn: Ecn,
    kind: u8,
}

/// Bytes of a [`Packet`], on every platform.
pub const PACKET_MEMORY: u64 = 64;

const _: () = assert!(size_of::<Packet>() as u64 == PACKET_MEMORY);

/// Flow and direction of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Label {
    pub(crate) flow: FlowId,
    pub(crate) group: u16,
    pub(crate) direction: Direction,
    /// Number of the flow's connection, modulo [`CONNECTIONS`].
    pub(crate) connection: u8,
}

/// Connections of a flow that packets distinguish; packets of older ones are long gone.
pub(crate) const CONNECTIONS: u8 = 1 << (u8::BITS - CONNECTION_SHIFT);

impl Label {
    const fn kind(self) -> u8 {
        let direction = match self.direction {
            Direction::Forward => 0,
            Direction::Reverse => REVERSE,
        };
        direction | self.connection << CONNECTION_SHIFT
    }
}

impl Packet {
    /// Puts `segment` into a packet.
    #[inline(always)]
    pub(crate) fn stream(label: Label, segment: &Segment, options: &mut OptionStore) -> Self {
        Self {
            time: Time::ZERO,
            sequence: segment.sequence,
            acknowledgement: segment.acknowledgement,
            timestamp: segment.timestamp,
            echo: segment.echo,
            flow: label.flow,
            options: options.put(segment),
            window: segment.window,
            len: small(segment.ip_length().get()),
            payload: small(u64::from(segment.payload)),
            flags: segment.flags.0,
            value: 0,
            group: label.group,
            ecn: segment.ecn,
            kind: label.kind(),
        }
    }

    /// Puts `segment` of a session's connection into a packet; `port` has [`PORT_BITS`] bits and
    /// takes the place of the label's connection.
    #[inline]
    pub(crate) fn session(
        label: Label,
        port: u32,
        segment: &Segment,
        options: &mut OptionStore,
    ) -> Self {
        let connection = (port % u32::from(CONNECTIONS)) as u8;
        let mut packet = Self::stream(
            Label {
                connection,
                ..label
            },
            segment,
            options,
        );
        let with = |time: Time, bits: u32| {
            let high = u64::from(bits) << (u64::BITS - HIGH);
            Time::from_nanos(time.as_nanos() & TIME | high)
        };
        packet.flags |= SESSION;
        packet.timestamp = with(packet.timestamp, port >> LOW);
        packet.echo = with(packet.echo, port >> (LOW + HIGH));
        packet
    }

    /// Datagram number `sequence` of one end of a flow, handed to its host at `sent`.
    pub(crate) fn datagram(label: Label, sequence: u64, sent: Time, len: Bytes, ecn: Ecn) -> Self {
        Self {
            time: Time::ZERO,
            sequence,
            acknowledgement: 0,
            timestamp: sent,
            echo: Time::ZERO,
            flow: label.flow,
            options: OptionStore::NONE,
            window: 0,
            len: small(len.get()),
            payload: small((len - DATAGRAM_HEADERS).get()),
            flags: 0,
            value: 0,
            group: label.group,
            ecn,
            kind: label.kind() | DATAGRAM,
        }
    }

    /// Gives the datagram a place among the `options`, if it has one.
    pub(crate) fn placed(mut self, options: &mut OptionStore) -> Self {
        self.options = options.put_nothing();
        self
    }

    /// Gives the datagram its content for the other end. It stands where a segment has its
    /// acknowledgement and the time that it echoes.
    pub(crate) const fn with_content(mut self, content: Content) -> Self {
        self.acknowledgement = content[0];
        self.echo = Time::from_nanos(content[1]);
        self
    }
    /// The content of a datagram.
    pub(crate) const fn content(&self) -> Content {
        [self.acknowledgement, self.echo.as_nanos()]
    }

    /// Takes the segment out. The packet must not be used any more.
    #[inline]
    pub(crate) fn segment(&self, options: &mut OptionStore) -> Segment {
        let options = options.take(self.options);
        Segment {
            sequence: self.sequence,
            acknowledgement: self.acknowledgement,
            window: self.window,
            timestamp: self.timestamp,
            echo: self.echo,
            sacks: options.sacks,
            accecn: options.accecn,
            payload: u32::from(self.payload),
            flags: Flags(self.flags),
            ecn: self.ecn,
        }
    }

    /// Takes the segment out of a packet of a session.
    #[inline]
    pub(crate) fn session_segment(&self, options: &mut OptionStore) -> Segment {
        Segment {
            timestamp: self.timestamp(),
            echo: self.echo(),
            flags: self.flags(),
            ..self.segment(options)
        }
    }

    /// Number of its flow's connection: modulo 64, or of a session different for all connections of
    /// which packets are in flight.
    #[inline]
    pub const fn connection(&self) -> u32 {
        let low = (self.kind >> CONNECTION_SHIFT) as u32;
        if self.is_of_session() {
            let middle = (self.timestamp.as_nanos() >> (u64::BITS - HIGH)) as u32;
            let high = (self.echo.as_nanos() >> (u64::BITS - HIGH)) as u32;
            low | middle << LOW | high << (LOW + HIGH)
        } else {
            low
        }
    }
    /// Whether it is a segment of a session: either end sends data and opens and closes its direction.
    #[inline]
    pub const fn is_of_session(&self) -> bool {
        self.flags & SESSION != 0
    }
    pub(crate) fn options(&self) -> u32 {
        self.options
    }
    /// Gives a copy a place of its own among the options.
    pub(crate) fn set_options(&mut self, place: u32) {
        self.options = place;
    }
    /// Shows rules its header, and takes over what they change. Modelled hosts set no DSCP.
    pub(crate) fn judged_by<T>(&mut self, judge: impl FnOnce(&mut Header) -> T) -> T {
        let (flags, has_payload) = (self.flags(), self.payload > 0);
        let kind = Kind::of_segment(flags.has(Flags::SYN), flags.has(Flags::ACK), has_payload);
        let mut header = Header {
            ecn: self.ecn,
            dscp: 0,
            kind: if self.is_datagram() { Kind::Data } else { kind },
            length: self.len,
            ..Header::default()
        };
        let judged = judge(&mut header);
        self.ecn = header.ecn;
        judged
    }
    pub(crate) fn damage(&mut self) {
        self.flags |= DAMAGED;
    }
    pub(crate) fn is_damaged(&self) -> bool {
        self.flags & DAMAGED != 0
    }
    /// Time at which it leaves the wire; set behind the queue.
    pub(crate) fn release(&self) -> Time {
        self.time
    }
    pub(crate) fn set_release(&mut self, at: Time) {
        self.time = at;
    }
    pub(crate) fn group_index(&self) -> usize {
        usize::from(self.group)
    }

    /// Flow of the packet.
    pub const fn flow_id(&self) -> FlowId {
        self.flow
    }
    /// Direction in which it travels.
    pub const fn direction(&self) -> Direction {
        if self.kind & REVERSE == 0 {
            Direction::Forward
        } else {
            Direction::Reverse
        }
    }
    /// Whether it is a datagram, not a TCP segment.
    pub const fn is_datagram(&self) -> bool {
        self.kind & DATAGRAM != 0
    }
    /// Offset of the first byte in the stream, or number of the datagram.
    pub const fn sequence(&self) -> u64 {
        self.sequence
    }
    /// Offset of the next byte that its sender expects; for a datagram the first number of its
    /// content.
    pub const fn acknowledgement(&self) -> u64 {
        self.acknowledgement
    }
    /// Payload bytes.
    pub const fn payload(&self) -> Bytes {
        Bytes::new(self.payload as u64)
    }
    /// TCP flags; none for a datagram.
    pub const fn flags(&self) -> Flags {
        Flags(self.flags & !(SESSION | DAMAGED))
    }
    /// Receive window that it offers; 0 for a datagram.
    pub const fn window(&self) -> Bytes {
        Bytes::new(self.window as u64)
    }
    /// The timestamp that it echoes; zero if none. For a datagram the second number of its content.
    pub const fn echo(&self) -> Time {
        self.time_of(self.echo)
    }
    /// TCP's timestamp; for a datagram the time at which its host got it.
    pub const fn timestamp(&self) -> Time {
        self.time_of(self.timestamp)
    }
    const fn time_of(&self, field: Time) -> Time {
        if self.is_of_session() {
            Time::from_nanos(field.as_nanos() & TIME)
        } else {
            field
        }
    }
}

/// Lengths are those of IP packets of at most 65 535 bytes.
fn small(length: u64) -> u16 {
    u16::try_from(length).unwrap_or(u16::MAX)
}

impl quell_aqm::Packet for Packet {
    fn len(&self) -> Bytes {
        Bytes::new(u64::from(self.len))
    }
    /// The memory that Linux charges for the packet (`truesize`): 256 bytes of `sk_buff`, and a buffer of a power of
    /// two, at least 512, that holds 64 bytes of headroom, the Ethernet header, the packet and 320
    /// bytes of `skb_shared_info`: 2 304 for 1 500 bytes, 768 for an acknowledgement, as
    /// in the live world.
    #[inline]
    fn memory(&self) -> Bytes {
        let buffer = (u64::from(self.len) + 64 + 14 + 320)
            .next_power_of_two()
            .max(512);
        Bytes::new(256 + buffer)
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn mark_ce(&mut self) {
        debug_assert!(self.ecn.is_capable(), "CE only on ECT");
        self.ecn = Ecn::Ce;
    }
    /// Differs between the directions and connections of a flow, as addresses and ports would.
    fn flow(&self) -> u64 {
        let direction = u64::from(self.kind & REVERSE != 0);
        u64::from(self.connection()) << 32 | u64::from(self.flow.0) << 1 | direction
    }
    fn value(&self) -> u16 {
        self.value
    }
    fn set_value(&mut self, value: u16) {
        self.value = value;
    }
    fn arrival(&self) -> Time {
        self.time
    }
    fn set_arrival(&mut self, at: Time) {
        self.time = at;
    }
}

impl Labelled for Packet {
    fn group(&self) -> Option<GroupId> {
        Some(GroupId(u32::from(self.group)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quell_aqm::Packet as _;
    use quell_tcp::{AccEcnOption, Order, Sack, SackBlocks};

    const LABEL: Label = Label {
        flow: FlowId(7),
        group: 3,
        direction: Direction::Reverse,
        connection: 63,
    };

    #[test]
    fn a_segment_comes_out_as_it_went_in() {
        let mut blocks = SackBlocks::default();
        blocks.push(
            (1 << 41) + 1,
            Sack {
                start: (1 << 41) + 5,
                end: (1 << 41) + 9,
            },
        );
        let segment = Segment {
            sequence: 1 << 40,
            acknowledgement: (1 << 41) + 1,
            window: 1 << 30,
            timestamp: Time::from_secs(3),
            echo: Time::from_secs(2),
            sacks: blocks,
            accecn: AccEcnOption::new(Order::One, &[9_000, 7]),
            payload: 1_448,
            flags: Flags(Flags::ACK | Flags::AE),
            ecn: Ecn::Ect1,
        };
        let mut options = OptionStore::default();
        let packet = Packet::stream(LABEL, &segment, &mut options);
        assert_eq!(packet.len(), segment.ip_length());
        assert_eq!(
            (packet.direction(), packet.flow_id(), packet.group()),
            (Direction::Reverse, FlowId(7), Some(GroupId(3)))
        );
        assert_eq!((packet.connection(), packet.is_datagram()), (63, false));
        assert_eq!(options.in_use(), 1);
        assert_eq!(packet.segment(&mut options), segment);
        assert_eq!(options.in_use(), 0);
        let plain = Segment {
            sacks: SackBlocks::default(),
            accecn: AccEcnOption::NONE,
            ..segment
        };
        let packet = Packet::stream(LABEL, &plain, &mut options);
        assert_eq!((packet.options(), options.in_use()), (OptionStore::NONE, 0));
        assert_eq!(packet.segment(&mut options), plain);
    }

    #[test]
    fn a_segment_of_a_session_carries_the_whole_number_of_its_connection() {
        let segment = Segment {
            sequence: u64::MAX,
            acknowledgement: u64::MAX,
            timestamp: HORIZON - Time::from_nanos(1),
            echo: Time::from_millis(1),
            flags: Flags(0x3fff),
            ..Segment::default()
        };
        let mut options = OptionStore::default();
        let mut keys = Vec::new();
        assert_eq!(PORT_BITS, 26);
        for bit in 0..PORT_BITS {
            let port = 1 << bit | 1;
            let packet = Packet::session(LABEL, port, &segment, &mut options);
            assert_eq!((packet.connection(), packet.is_of_session()), (port, true));
            assert_eq!(packet.session_segment(&mut options), segment);
            assert_eq!(packet.timestamp(), segment.timestamp);
            keys.push(packet.flow());
        }
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), PORT_BITS as usize, "a key for each connection");
    }

    #[test]
    fn a_datagram_carries_its_number_and_its_time() {
        let len = Bytes::new(186);
        let packet = Packet::datagram(LABEL, 9, Time::from_secs(1), len, Ecn::NotEct);
        assert_eq!(packet.content(), [0; 2]);
        let packet = packet.with_content([u64::MAX, 7]);
        assert_eq!(packet.content(), [u64::MAX, 7]);
        assert!(packet.is_datagram());
        assert_eq!((packet.len(), packet.payload()), (len, Bytes::new(158)));
        assert_eq!(
            (packet.sequence(), packet.timestamp()),
            (9, Time::from_secs(1))
        );
    }

    #[test]
    fn memory_is_what_linux_charges() {
        let memory = |len| {
            Packet::datagram(LABEL, 0, Time::ZERO, Bytes::new(len), Ecn::NotEct)
                .memory()
                .get()
        };
        assert_eq!([52, 1_500].map(memory), [768, 2_304]);
    }
}
