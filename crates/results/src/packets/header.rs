//! The IP and transport headers of a packet, as a capture contains them.
//!
//! In the live world they are the real headers. Modelled packets have none, so they are made from the model's state: IPv4 with the
//! addresses and ports of the live world, and UDP, or TCP (RFC 9293) with the model's sequence numbers, flags, window, timestamps
//! (RFC 7323), SACK blocks (RFC 2018) and AccECN counters (RFC 9768). Checksums are correct for a payload of zeros. Fields that the
//! model lacks come from [`super::connections`]. A SYN has no timestamps: MSS, SACK-permitted and window scale take their 12 bytes,
//! so that its length is the one that the model counts. The IP identification is the number of a datagram, and 0 for a segment
//! (RFC 6864), until a link writes the packet's value there.

use quell_aqm::Packet as _;
use quell_link::{ecn_field, value_field};
use quell_measure::Direction;
use quell_sim::Packet;
use quell_tcp::{AccEcnOption, Flags, Segment};
use quell_units::Ecn;

use super::connections::Connection;

/// Bytes stored of a packet that is cut: IPv6 and TCP headers with all options.
pub(super) const KEPT: usize = 100;
/// What is not longer is stored whole: an acknowledgement of QUIC is encrypted, and can be read as a whole only.
const WHOLE: usize = 256;
const IPV4: usize = 20;
const TCP: usize = 20;
const UDP: usize = 8;
const NO_OPERATION: u8 = 1;

/// The first bytes of one packet.
#[derive(Clone)]
pub(super) struct Header {
    bytes: Box<[u8]>,
}

impl Header {
    /// The beginning of the IP packet `bytes`, or all of a short one, and of one of QUIC's handshake or of RTCP.
    pub(super) fn captured(bytes: &[u8]) -> Self {
        let is_cut = bytes.len() > WHOLE && !is_kept_whole(bytes);
        let kept = if is_cut { &bytes[..KEPT] } else { bytes };
        Self { bytes: kept.into() }
    }

    /// For a packet of `connection` between modelled hosts; `segment` is `None` for a datagram.
    pub(super) fn modelled(
        packet: &Packet,
        segment: Option<&Segment>,
        connection: &Connection,
    ) -> Self {
        let mut bytes = Vec::with_capacity(KEPT);
        let (source, destination) = connection.ends(packet.direction());
        ipv4(&mut bytes, packet, source.0, destination.0);
        let transport = bytes.len();
        let payload = packet.payload().get() as usize;
        let protocol = match segment {
            None => {
                udp(&mut bytes, source.1, destination.1, UDP + payload);
                17
            }
            Some(segment) => {
                bytes.extend(source.1.to_be_bytes());
                bytes.extend(destination.1.to_be_bytes());
                tcp(&mut bytes, packet, segment, connection);
                6
            }
        };
        // Zeros add nothing to the sum, so the payload adds only its length.
        let length = (bytes.len() - transport + payload) as u16;
        let mut sum = Sum::default();
        sum.add(&bytes[12..IPV4]);
        sum.add(&[0, protocol]);
        sum.add(&length.to_be_bytes());
        sum.add(&bytes[transport..]);
        let (at, sum) = match (protocol, sum.checksum()) {
            // RFC 768: "If the computed checksum is zero, it is transmitted as all ones".
            (17, 0) => (6, 0xffff),
            (17, sum) => (6, sum),
            (_, sum) => (16, sum),
        };
        bytes[transport + at..transport + at + 2].copy_from_slice(&sum.to_be_bytes());
        Self::captured(&bytes)
    }

    /// Writes the ECN field.
    pub(super) fn set_ecn(&mut self, ecn: Ecn) {
        ecn_field::set(&mut self.bytes, ecn);
    }

    /// Writes the packet's value where [`value_field`] has it, unless this packet cannot carry one.
    pub(super) fn set_value(&mut self, value: u16) {
        value_field::set(&mut self.bytes, value);
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl std::fmt::Debug for Header {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Header({} B)", self.bytes.len())
    }
}

/// Whether a datagram begins with the two bits that a long header of QUIC has (RFC 9000 section 17.2), and RTP, STUN and DTLS have not, or with
/// the first of them and version 1 (RFC 9287); or as RTCP does (RFC 5761 section 4), whose reports on many packets are long.
fn is_kept_whole(bytes: &[u8]) -> bool {
    let (protocol, transport) = match bytes.first().map(|first| first >> 4) {
        Some(4) => (bytes.get(9), usize::from(bytes[0] & 0xf) * 4),
        Some(6) => (bytes.get(6), 40),
        _ => return false,
    };
    let payload = bytes.get(transport + UDP..transport + UDP + 5);
    let is_whole = |begin: &[u8]| match begin[0] >> 6 {
        0b11 => true,
        0b10 => (200..208).contains(&begin[1]) || begin[1..] == [0, 0, 0, 1],
        _ => false,
    };
    protocol == Some(&17) && payload.is_some_and(is_whole)
}

fn ipv4(out: &mut Vec<u8>, packet: &Packet, source: [u8; 4], destination: [u8; 4]) {
    const DO_NOT_FRAGMENT: u16 = 0x4000;
    let (number, protocol) = match packet.is_datagram() {
        true => (packet.sequence() as u16, 17),
        false => (0, 6),
    };
    out.extend([0x45, packet.ecn().bits()]);
    out.extend((packet.len().get() as u16).to_be_bytes());
    out.extend(number.to_be_bytes());
    out.extend(DO_NOT_FRAGMENT.to_be_bytes());
    out.extend([64, protocol, 0, 0]);
    out.extend(source);
    out.extend(destination);
    let mut sum = Sum::default();
    sum.add(out);
    let sum = sum.checksum();
    out[10..12].copy_from_slice(&sum.to_be_bytes());
}

fn udp(out: &mut Vec<u8>, source: u16, destination: u16, length: usize) {
    out.extend(source.to_be_bytes());
    out.extend(destination.to_be_bytes());
    out.extend((length as u16).to_be_bytes());
    out.extend([0, 0]);
}

/// What follows the ports.
fn tcp(out: &mut Vec<u8>, packet: &Packet, segment: &Segment, connection: &Connection) {
    let flags = packet.flags();
    let is_syn = flags.has(Flags::SYN);
    let (there, back) = match packet.direction() {
        Direction::Forward => (Direction::Forward, Direction::Reverse),
        Direction::Reverse => (Direction::Reverse, Direction::Forward),
    };
    let sequence = match is_syn {
        true => connection.syn_number(there),
        false => connection.number(there, packet.sequence()),
    };
    let peers = |offset| connection.number(back, offset);
    let acknowledgement = match flags.has(Flags::ACK) {
        true => peers(packet.acknowledgement()),
        false => 0,
    };
    let room =
        (packet.len().get() as usize).saturating_sub(IPV4 + TCP + packet.payload().get() as usize);
    // Four bits hold the header's length in words of four bytes.
    let room = (room & !3).min(40);
    out.extend(sequence.to_be_bytes());
    out.extend(acknowledgement.to_be_bytes());
    let offset = ((TCP + room) / 4) as u8;
    out.push(offset << 4 | u8::from(flags.has(Flags::AE)));
    out.push(control_bits(packet));
    out.extend(connection.window(packet).to_be_bytes());
    out.extend([0; 4]);
    let mut options = Vec::with_capacity(room);
    if is_syn {
        options.extend([2, 4, 0x05, 0xb4, 4, 2, 3, 3, connection.scale]);
    } else {
        options.extend(timestamps(packet));
    }
    let mut rest = selective_acknowledgements(segment, peers);
    rest.extend(accurate_ecn(&segment.accecn));
    // Padding goes in between, because the options end where the header ends.
    options.resize(
        room.saturating_sub(rest.len()).max(options.len()),
        NO_OPERATION,
    );
    options.extend(rest);
    options.truncate(room);
    out.extend(options);
}

fn control_bits(packet: &Packet) -> u8 {
    let flags = packet.flags();
    let bits = [
        (Flags::FIN, 0x01),
        (Flags::SYN, 0x02),
        (Flags::RST, 0x04),
        (Flags::PSH, 0x08),
        (Flags::ACK, 0x10),
        (Flags::ECE, 0x40),
        (Flags::CWR, 0x80),
    ];
    let set = bits.iter().filter(|(flag, _)| flags.has(*flag));
    set.fold(0, |all, (_, bit)| all | bit)
}

fn timestamps(packet: &Packet) -> [u8; 12] {
    let milliseconds =
        |time: quell_units::Time| ((time.as_nanos() / 1_000_000) as u32).to_be_bytes();
    let mut option = [NO_OPERATION, NO_OPERATION, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0];
    option[4..8].copy_from_slice(&milliseconds(packet.timestamp()));
    option[8..].copy_from_slice(&milliseconds(packet.echo()));
    option
}

/// `number` gives the sequence number on the wire of a byte from the peer.
fn selective_acknowledgements(segment: &Segment, number: impl Fn(u64) -> u32) -> Vec<u8> {
    if segment.sacks.is_empty() {
        return Vec::new();
    }
    let mut option = vec![5, 2 + 8 * segment.sacks.len() as u8];
    for block in segment.sack_blocks() {
        for edge in [block.start, block.end] {
            option.extend(number(edge).to_be_bytes());
        }
    }
    option
}

fn accurate_ecn(accecn: &AccEcnOption) -> Vec<u8> {
    let Some(order) = accecn.order() else {
        return Vec::new();
    };
    let mut option = vec![order.kind(), accecn.length() as u8];
    for (_, counter) in accecn.counters() {
        option.extend(&counter.to_be_bytes()[1..]);
    }
    option
}

/// The sum of RFC 1071.
#[derive(Default)]
struct Sum(u32);

impl Sum {
    /// Of an even number of bytes.
    fn add(&mut self, bytes: &[u8]) {
        let (pairs, _) = bytes.as_chunks::<2>();
        self.0 += pairs
            .iter()
            .map(|&pair| u32::from(u16::from_be_bytes(pair)))
            .sum::<u32>();
    }
    fn checksum(&self) -> u16 {
        let sum = (self.0 & 0xffff) + (self.0 >> 16);
        !((sum & 0xffff) + (sum >> 16)) as u16
    }
}

#[cfg(test)]
mod tests;
