//! Work that a host leaves to its interface: the checksum above IP, and cutting super-packets of TCP into segments.
//!
//! The kernel describes it in ten bytes in front of a frame (PACKET_VNET_HDR of packet(7); struct virtio_net_hdr of
//! include/uapi/linux/virtio_net.h, in the machine's byte order). The link hands unfinished checksums on, since a virtual
//! wire needs none. A super-packet is cut on arrival by the rules of Linux (tcp_gso_segment() of net/ipv4/tcp_offload.c,
//! inet_gso_segment() of net/ipv4/af_inet.c), so the queue sees wire packets; those that leave at once are joined again if
//! cutting them would give the very same packets.
//!
//! Not taken: super-packets of UDP, of tunnels, and of AccECN, whose CWR stays in every segment (RFC 9768 section 3.2.2).

use super::frame::network_layer;
use super::header_checksum::{folded, sum};

/// Bytes of the description.
pub(crate) const DESCRIPTION: usize = 10;
/// The most bytes in front of the payload of a super-packet that is taken.
const MOST_HEADERS: usize = 192;

// Offsets behind the flags: kind of super-packet, or 0; bytes of headers; payload of a segment, also in one; begin of the sum, and from there to it.
const KIND: usize = 1;
const HEADER_LEN: usize = 2;
const SEGMENT: usize = 4;
const SUM_START: usize = 6;
const SUM_OFFSET: usize = 8;

const NEEDS_CHECKSUM: u8 = 1;
const TCP_OVER_IPV4: u8 = 1;
const TCP_OVER_IPV6: u8 = 4;
/// The first segment has CWR.
const WITH_CWR: u8 = 0x80;

// Flags of TCP (RFC 9293 section 3.1).
const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const CWR: u8 = 0x80;

/// What is left to the interface: the description itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Offload(pub(crate) [u8; DESCRIPTION]);

impl Offload {
    fn word(&self, at: usize) -> usize {
        usize::from(u16::from_ne_bytes([self.0[at], self.0[at + 1]]))
    }
    fn with(mut self, at: usize, word: usize) -> Self {
        self.0[at..at + 2].copy_from_slice(&(word as u16).to_ne_bytes());
        self
    }
    /// Whether the frame has to be cut.
    pub(crate) fn is_super_packet(&self) -> bool {
        self.0[KIND] != 0
    }
    /// The description once `bytes` more stand in front of everything else.
    pub(crate) fn moved(self, bytes: usize) -> Self {
        let moved = |at| self.word(at) + bytes;
        self.with(HEADER_LEN, moved(HEADER_LEN))
            .with(SUM_START, moved(SUM_START))
    }
    /// The checksum of `frame` and its offset, if it is left to do.
    pub(crate) fn checksum(&self, frame: &[u8]) -> Option<(usize, [u8; 2])> {
        let start = self.word(SUM_START);
        let at = start + self.word(SUM_OFFSET);
        if self.0[0] & NEEDS_CHECKSUM == 0 || at + 2 > frame.len() {
            return None;
        }
        let sum = !folded(sum(&frame[start..]));
        // Zero means none to UDP alone, which has its other form (RFC 768).
        let is_none = sum == 0 && self.word(SUM_OFFSET) == 6;
        let sum = if is_none { u16::MAX } else { sum };
        Some((at, sum.to_be_bytes()))
    }
}

/// A TCP super-packet, or the first of its segments with those that leave together with it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SuperPacket {
    bytes: [u8; MOST_HEADERS],
    ip: usize,
    tcp: usize,
    /// Bytes in front of the payload.
    pub(crate) headers: usize,
    /// Payload of a segment in bytes; the last one may have less.
    pub(crate) segment: usize,
    /// Of a segment.
    offload: Offload,
    /// Segments and bytes of payload; nothing fits behind the last one where it `is_full`.
    pub(crate) segments: usize,
    payload: usize,
    is_full: bool,
}

impl SuperPacket {
    /// Of the frame with these first bytes, which are `len` in all. `None` where it is of another kind than the link can cut.
    pub(crate) fn of(frame: &[u8], len: usize, offload: &Offload) -> Option<Self> {
        let (ip, _) = network_layer(frame)?;
        let (tcp, segment) = (offload.word(SUM_START), offload.word(SEGMENT));
        let least = if *frame.get(ip)? >> 4 == 4 { 20 } else { 40 };
        let headers = tcp + usize::from(*frame.get(tcp + 12)? >> 4) * 4;
        let kind = offload.0[KIND] & !WITH_CWR;
        let is_tcp = matches!(kind, 0 | TCP_OVER_IPV4 | TCP_OVER_IPV6);
        let has_sum = offload.0[0] & NEEDS_CHECKSUM != 0 && offload.word(SUM_OFFSET) == 16;
        if !(is_tcp && has_sum) || segment == 0 || tcp < ip + least || headers < tcp + 20 {
            return None;
        }
        let mut bytes = [0; MOST_HEADERS];
        let read = frame.get(..headers)?;
        bytes.get_mut(..headers)?.copy_from_slice(read);
        let mut offload = offload.with(HEADER_LEN, headers);
        offload.0[KIND] = 0;
        let payload = len - headers;
        Some(Self {
            is_full: payload != segment || bytes[tcp + 13] & (FIN | PSH) != 0,
            segments: payload.div_ceil(segment).max(1),
            bytes,
            ip,
            tcp,
            headers,
            segment,
            offload,
            payload,
        })
    }
    /// Writes the headers of segment `index`, with so many bytes of payload, into `frame`. Returns what is left to do for it.
    pub(crate) fn cut(&self, index: usize, payload: usize, frame: &mut [u8]) -> Offload {
        let headers = &mut frame[..self.headers];
        headers.copy_from_slice(&self.bytes[..self.headers]);
        if headers[self.ip] >> 4 == 4 {
            change(headers, self.ip + 4, |id| id.wrapping_add(index as u16));
        }
        let sent = (index * self.segment) as u32;
        let sequence = self.bytes[self.tcp + 4..].first_chunk().copied();
        let sequence = u32::from_be_bytes(sequence.unwrap_or_default()).wrapping_add(sent);
        headers[self.tcp + 4..self.tcp + 8].copy_from_slice(&sequence.to_be_bytes());
        let ends = if index + 1 == self.segments {
            0
        } else {
            FIN | PSH
        };
        let begins = if index == 0 { 0 } else { CWR };
        headers[self.tcp + 13] &= !(ends | begins);
        self.measure(headers, payload);
        self.offload
    }
    /// Writes lengths and sums for so many bytes of payload; the checksum of TCP is that of its pseudo header.
    fn measure(&self, headers: &mut [u8], payload: usize) {
        let (ip, tcp) = (self.ip, self.tcp);
        let above = (self.headers - tcp + payload) as u16;
        let addresses = if headers[ip] >> 4 == 4 {
            change(headers, ip + 2, |_| (tcp - ip) as u16 + above);
            headers[ip + 10..ip + 12].fill(0);
            let checksum = !folded(sum(&headers[ip..tcp]));
            change(headers, ip + 10, |_| checksum);
            ip + 12..ip + 20
        } else {
            change(headers, ip + 4, |_| (tcp - ip - 40) as u16 + above);
            ip + 8..ip + 40
        };
        let pseudo = sum(&headers[addresses]) + 6 + u64::from(above);
        change(headers, tcp + 16, |_| folded(pseudo));
    }
    /// Adds the wire packet `frame`, if it is what cutting would give next.
    pub(crate) fn join(&mut self, frame: &[u8], offload: &Offload) -> bool {
        let payload = frame.len().saturating_sub(self.headers);
        if self.is_full
            || *offload != self.offload
            || !(1..=self.segment).contains(&payload)
            || self.headers + self.payload + payload > usize::from(u16::MAX)
        {
            return false;
        }
        let flags = self.tcp + 13;
        let ends = frame[flags] & (FIN | PSH);
        let mut expected = [0; MOST_HEADERS];
        self.cut(self.segments, payload, &mut expected);
        expected[flags] |= ends;
        if expected[..self.headers] != frame[..self.headers] {
            return false;
        }
        self.segments += 1;
        self.payload += payload;
        self.bytes[flags] |= ends;
        self.is_full = ends != 0 || payload < self.segment;
        true
    }
    /// Writes the headers of the whole to the beginning of `frame`, and returns its description.
    pub(crate) fn write(&self, frame: &mut [u8]) -> Offload {
        let headers = &mut frame[..self.headers];
        headers.copy_from_slice(&self.bytes[..self.headers]);
        self.measure(headers, self.payload);
        let mut offload = self.offload;
        let is_v4 = headers[self.ip] >> 4 == 4;
        offload.0[KIND] = if is_v4 { TCP_OVER_IPV4 } else { TCP_OVER_IPV6 };
        // CWR and this flag are the same bit.
        offload.0[KIND] |= headers[self.tcp + 13] & CWR & WITH_CWR;
        offload
    }
}

fn change(bytes: &mut [u8], at: usize, new: impl FnOnce(u16) -> u16) {
    let new = new(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
    bytes[at..at + 2].copy_from_slice(&new.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{IpHeaders, IpNumber, Ipv4Header, Ipv6Header, PacketBuilder, TcpHeader};
    use proptest::prelude::*;

    type Packet = (Vec<u8>, Offload);

    /// What a host sends: over IPv6 or not, identification and sequence number, FIN, PSH and CWR, payload of a segment, payload.
    type Sent = (bool, u32, [bool; 3], usize, Vec<u8>);

    /// A packet of a host without offloads that carries `part`, complete, `index` segments behind the first one.
    fn packet(sent: &Sent, index: usize, part: &[u8], is_first: bool, is_last: bool) -> Vec<u8> {
        let (v6, number, [fin, psh, cwr], segment, _) = sent;
        let mut v4 = Ipv4Header::new(0, 64, IpNumber::TCP, [10; 4], [9; 4]).unwrap();
        v4.identification = (*number as u16).wrapping_add(index as u16);
        let ip = match v6 {
            true => IpHeaders::Ipv6(Ipv6Header::default(), Default::default()),
            false => IpHeaders::Ipv4(v4, Default::default()),
        };
        let sequence = number.wrapping_add((index * segment) as u32);
        let mut tcp = TcpHeader::new(40_000, 5_001, sequence, 100);
        (tcp.fin, tcp.psh, tcp.cwr) = (*fin && is_last, *psh && is_last, *cwr && is_first);
        tcp.set_options_raw(&[1, 1, 2, 4, 5, 6, 7, 8]).unwrap();
        let mut bytes = Vec::new();
        let ethernet = PacketBuilder::ethernet2([2; 6], [3; 6]).ip(ip);
        ethernet.tcp_header(tcp).write(&mut bytes, part).unwrap();
        bytes
    }

    /// Cuts a frame, as the receiving half of a port does.
    fn cut(frame: &[u8], offload: &Offload) -> Vec<Packet> {
        let whole = SuperPacket::of(frame, frame.len(), offload).unwrap();
        let parts = frame[whole.headers..].chunks(whole.segment).enumerate();
        let segment = |(index, part): (usize, &[u8])| {
            let mut segment = frame[..whole.headers].to_vec();
            let offload = whole.cut(index, part.len(), &mut segment);
            ([&segment, part].concat(), offload)
        };
        parts.map(segment).collect()
    }

    fn finished((frame, offload): &Packet) -> Vec<u8> {
        let mut frame = frame.clone();
        let (at, sum) = offload.checksum(&frame).unwrap();
        frame[at..at + 2].copy_from_slice(&sum);
        frame
    }

    /// Joins what leaves and cuts it again, as the next kernel would. Returns the packets and how many frames they left in.
    fn joined(mut rest: &[Packet]) -> (Vec<Vec<u8>>, usize) {
        let (mut wire, mut frames) = (Vec::new(), 0);
        while let [(first, offload), behind @ ..] = rest {
            let mut whole = SuperPacket::of(first, first.len(), offload).unwrap();
            let fits = |(frame, offload): &&Packet| whole.join(frame, offload);
            behind.iter().take_while(fits).for_each(drop);
            let (here, later) = rest.split_at(whole.segments);
            let mut frame = first[..whole.headers].to_vec();
            let offload = whole.write(&mut frame);
            here.iter()
                .for_each(|(packet, _)| frame.extend(&packet[whole.headers..]));
            wire.extend(cut(&frame, &offload).iter().map(finished));
            (rest, frames) = (later, frames + 1);
        }
        (wire, frames)
    }

    proptest! {
        /// Segments are the packets of a host without offloads, byte for byte. Whatever the queue does to them then, drops, marks,
        /// another order, joining changes nothing of what is on the wire.
        #[test]
        fn a_super_packet_is_the_wire_packets_that_it_stands_for(
            sent in (any::<bool>(), any::<u32>(), any::<[bool; 3]>(), 40_usize..1_460, prop::collection::vec(any::<u8>(), 1..6_000)),
            fates in prop::collection::vec(0_u8..6, 150),
        ) {
            let (v6, _, _, segment, payload) = &sent;
            let start = if *v6 { 54 } else { 34 };
            let offload = Offload([NEEDS_CHECKSUM, TCP_OVER_IPV4, 0, 0, 0, 0, 0, 0, 0, 0]);
            let offload = offload.with(SEGMENT, *segment).with(SUM_START, start).with(SUM_OFFSET, 16);
            let segments = cut(&packet(&sent, 0, payload, true, true), &offload);
            let wire: Vec<_> = segments.iter().map(finished).collect();
            let last = segments.len() - 1;
            for (index, part) in payload.chunks(*segment).enumerate() {
                prop_assert_eq!(&wire[index], &packet(&sent, index, part, index == 0, index == last));
            }
            prop_assert_eq!(joined(&segments), (wire, 1));
            let mut leaving: Vec<Packet> = Vec::new();
            for (mut packet, fate) in segments.into_iter().zip(fates) {
                if fate == 1 {
                    crate::frames::ecn_field::set(&mut packet.0[14..], quell_units::Ecn::Ce);
                }
                let place = leaving.len() - usize::from(fate == 2 && !leaving.is_empty());
                leaving.insert(place, packet);
                leaving.truncate(leaving.len() - usize::from(fate == 0));
            }
            let alone: Vec<_> = leaving.iter().map(finished).collect();
            prop_assert_eq!(joined(&leaving).0, alone);
        }
    }
}
