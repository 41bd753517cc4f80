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

/// Bytes of the description.
pub(crate) const DESCRIPTION: usize = 10;
/// The most bytes in front of the payload of a super-packet that is taken.
pub(crate) const MOST_HEADERS: usize = 192;

const NEEDS_CHECKSUM: u8 = 1;
const TCP_OVER_IPV4: u8 = 1;
const TCP_OVER_IPV6: u8 = 4;
/// The first segment has CWR.
const WITH_CWR: u8 = 0x80;

// Flags of TCP (RFC 9293 section 3.1).
const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const CWR: u8 = 0x80;

/// What is left to the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Offload {
    flags: u8,
    /// Kind of super-packet; 0 for a wire packet.
    kind: u8,
    header_len: u16,
    /// Payload of a segment in bytes, also in the description of a wire packet that was cut from a super-packet.
    segment: u16,
    /// Offset of the first byte of the sum, and from there to the checksum.
    sum_start: u16,
    sum_offset: u16,
}

impl Offload {
    /// Reads a description.
    pub(crate) fn read(bytes: &[u8; DESCRIPTION]) -> Self {
        let [flags, kind, a, b, c, d, e, f, g, h] = *bytes;
        let [header_len, segment, sum_start, sum_offset] =
            [[a, b], [c, d], [e, f], [g, h]].map(u16::from_ne_bytes);
        Self {
            flags,
            kind,
            header_len,
            segment,
            sum_start,
            sum_offset,
        }
    }
    /// Writes it.
    pub(crate) fn write(&self, bytes: &mut [u8]) {
        let words = [
            self.header_len,
            self.segment,
            self.sum_start,
            self.sum_offset,
        ];
        bytes[..2].copy_from_slice(&[self.flags, self.kind]);
        for (to, word) in bytes[2..].chunks_exact_mut(2).zip(words) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
    }
    /// Whether the frame has to be cut.
    pub(crate) fn is_super_packet(&self) -> bool {
        self.kind != 0
    }
    /// The description once `bytes` more stand in front of everything else.
    pub(crate) fn moved(self, bytes: u16) -> Self {
        let moved = |offset: u16| match offset {
            0 => 0,
            offset => offset + bytes,
        };
        Self {
            header_len: moved(self.header_len),
            sum_start: moved(self.sum_start),
            ..self
        }
    }
    /// The checksum of `frame` and its offset, if it is left to do.
    pub(crate) fn checksum(&self, frame: &[u8]) -> Option<(usize, [u8; 2])> {
        let start = usize::from(self.sum_start);
        let at = start + usize::from(self.sum_offset);
        if self.flags & NEEDS_CHECKSUM == 0 || at + 2 > frame.len() {
            return None;
        }
        // skb_checksum_help() of net/core/dev.c: a sum of zero is written as its other zero.
        let sum = match !folded(sum(&frame[start..])) {
            0 => u16::MAX,
            sum => sum,
        };
        Some((at, sum.to_be_bytes()))
    }
}

/// The headers of a TCP super-packet, from which those of each segment follow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SuperPacket {
    headers: [u8; MOST_HEADERS],
    ip: usize,
    tcp: usize,
    /// Offset of the payload.
    payload: usize,
    offload: Offload,
}

impl SuperPacket {
    /// Reads the headers of `frame`, of which at least these are there. `None` where the super-packet is of another kind than the link can cut.
    pub(crate) fn of(frame: &[u8], offload: &Offload) -> Option<Self> {
        let (ip, _) = network_layer(frame)?;
        let tcp = usize::from(offload.sum_start);
        let least = match frame.get(ip)? >> 4 {
            4 => 20,
            6 => 40,
            _ => return None,
        };
        let payload = tcp + usize::from(*frame.get(tcp + 12)? >> 4) * 4;
        let is_tcp = matches!(offload.kind & !WITH_CWR, 0 | TCP_OVER_IPV4 | TCP_OVER_IPV6);
        let is_whole = offload.flags & NEEDS_CHECKSUM != 0 && offload.sum_offset == 16;
        if !is_tcp || !is_whole || offload.segment == 0 || tcp < ip + least || payload < tcp + 20 {
            return None;
        }
        let mut headers = [0; MOST_HEADERS];
        headers
            .get_mut(..payload)?
            .copy_from_slice(frame.get(..payload)?);
        let offload = Offload {
            kind: 0,
            header_len: payload as u16,
            ..*offload
        };
        Some(Self {
            headers,
            ip,
            tcp,
            payload,
            offload,
        })
    }
    /// Bytes in front of the payload.
    pub(crate) fn headers(&self) -> usize {
        self.payload
    }
    /// Payload of a segment in bytes; the last one may have less.
    pub(crate) fn segment(&self) -> usize {
        usize::from(self.offload.segment)
    }
    /// Segments of a super-packet whose frame has `len` bytes.
    pub(crate) fn count(&self, len: usize) -> usize {
        let payload = len.saturating_sub(self.payload);
        payload.div_ceil(self.segment()).max(1)
    }
    /// Writes the headers of the segment `index`, with so many bytes of payload, to the beginning of `frame`. Returns what is left to do
    /// for it.
    pub(crate) fn cut(
        &self,
        index: usize,
        payload: usize,
        is_last: bool,
        frame: &mut [u8],
    ) -> Offload {
        let headers = &mut frame[..self.payload];
        headers.copy_from_slice(&self.headers[..self.payload]);
        if headers[self.ip] >> 4 == 4 {
            change(headers, self.ip + 4, |id: u16| {
                id.wrapping_add(index as u16)
            });
        }
        let sent = (index * self.segment()) as u32;
        let sequence = u32::from_be_bytes(word_pair(headers, self.tcp + 4)).wrapping_add(sent);
        headers[self.tcp + 4..][..4].copy_from_slice(&sequence.to_be_bytes());
        let not_here = if is_last { 0 } else { FIN | PSH } | if index == 0 { 0 } else { CWR };
        headers[self.tcp + 13] &= !not_here;
        self.measure(headers, payload);
        self.offload
    }
    /// Writes lengths and sums for so many bytes of payload; the checksum of TCP is that of its pseudo header.
    fn measure(&self, headers: &mut [u8], payload: usize) {
        let (ip, tcp) = (self.ip, self.tcp);
        let above = (self.payload - tcp + payload) as u16;
        let addresses = if headers[ip] >> 4 == 4 {
            change(headers, ip + 2, |_| (tcp - ip) as u16 + above);
            change(headers, ip + 10, |_| 0);
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
}

/// Segments that leave at once, as a super-packet.
#[derive(Debug)]
pub(crate) struct Joined {
    whole: SuperPacket,
    segments: usize,
    /// Bytes of payload.
    payload: usize,
    /// Nothing fits behind the last segment.
    is_full: bool,
}

impl Joined {
    /// Begins with the wire packet `frame`; `None` if it is none that was cut from a super-packet.
    pub(crate) fn begin(frame: &[u8], offload: &Offload) -> Option<Self> {
        let whole = SuperPacket::of(frame, offload)?;
        let payload = frame.len() - whole.payload;
        Some(Self {
            is_full: payload != whole.segment() || frame[whole.tcp + 13] & (FIN | PSH) != 0,
            whole,
            segments: 1,
            payload,
        })
    }
    /// Adds `frame` if it is what cutting would give next.
    pub(crate) fn add(&mut self, frame: &[u8], offload: &Offload) -> bool {
        let headers = self.whole.payload;
        let payload = frame.len().saturating_sub(headers);
        if self.is_full
            || *offload != self.whole.offload
            || !(1..=self.whole.segment()).contains(&payload)
            || headers + self.payload + payload > usize::from(u16::MAX)
        {
            return false;
        }
        let mut expected = [0; MOST_HEADERS];
        self.whole
            .cut(self.segments, payload, false, &mut expected[..headers]);
        let flags = self.whole.tcp + 13;
        let ends = frame[flags] & (FIN | PSH);
        expected[flags] |= ends;
        if expected[..headers] != frame[..headers] {
            return false;
        }
        self.segments += 1;
        self.payload += payload;
        self.whole.headers[flags] |= ends;
        self.is_full = ends != 0 || payload < self.whole.segment();
        true
    }
    /// Segments so far.
    pub(crate) fn segments(&self) -> usize {
        self.segments
    }
    /// Bytes in front of the payload of each segment.
    pub(crate) fn headers(&self) -> usize {
        self.whole.payload
    }
    /// Writes the description of the super-packet and its headers; returns how many bytes these are.
    pub(crate) fn write(&self, to: &mut [u8]) -> usize {
        let SuperPacket {
            headers, ip, tcp, ..
        } = &self.whole;
        let kind = match headers[*ip] >> 4 {
            4 => TCP_OVER_IPV4,
            _ => TCP_OVER_IPV6,
        };
        let with_cwr = if headers[tcp + 13] & CWR == 0 {
            0
        } else {
            WITH_CWR
        };
        let offload = Offload {
            kind: kind | with_cwr,
            ..self.whole.offload
        };
        offload.write(&mut to[..DESCRIPTION]);
        let to = &mut to[DESCRIPTION..][..self.whole.payload];
        to.copy_from_slice(&headers[..self.whole.payload]);
        self.whole.measure(to, self.payload);
        DESCRIPTION + to.len()
    }
}

fn word_pair(bytes: &[u8], at: usize) -> [u8; 4] {
    [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]
}

fn change(bytes: &mut [u8], at: usize, new: impl FnOnce(u16) -> u16) {
    let new = new(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
    bytes[at..at + 2].copy_from_slice(&new.to_be_bytes());
}

/// The sum of 16-bit words (RFC 1071), not folded; a last odd byte is the upper half of a word.
fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<2>();
    let words = words
        .iter()
        .map(|word| u64::from(u16::from_be_bytes(*word)));
    words.sum::<u64>() + rest.first().map_or(0, |&last| u64::from(last) << 8)
}

fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A super-packet of TCP, as a host would hand it over: with numbers, flags and options that it may have.
    #[derive(Debug, Clone)]
    struct Sent {
        v6: bool,
        tags: usize,
        options: usize,
        numbers: [u32; 3],
        flags: u8,
        segment: usize,
        payload: Vec<u8>,
    }

    impl Sent {
        /// The wire packet with this part of the payload, by RFC 791, 8200 and 9293 with complete checksums: what a host sends without
        /// offloads. `index` counts packets, whose flags are `flags`.
        fn packet(&self, index: usize, part: &[u8], flags: u8) -> Vec<u8> {
            let mut packet = vec![2; 12];
            packet.extend([0x81, 0, 0, 7].repeat(self.tags));
            packet.extend(if self.v6 { [0x86, 0xdd] } else { [8, 0] });
            let ip = packet.len();
            let above = 20 + self.options * 4 + part.len();
            if self.v6 {
                packet.extend([0x60, 0x20, 0, 9]);
                packet.extend((above as u16).to_be_bytes());
                packet.extend([6, 64]);
                packet.extend([0xfd; 32]);
            } else {
                packet.extend([0x45, 2]);
                packet.extend((20 + above as u16).to_be_bytes());
                packet.extend(
                    (self.numbers[0] as u16)
                        .wrapping_add(index as u16)
                        .to_be_bytes(),
                );
                packet.extend([0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
                let sum = !folded(sum(&packet[ip..]));
                packet[ip + 10..ip + 12].copy_from_slice(&sum.to_be_bytes());
            }
            let tcp = packet.len();
            packet.extend([0x9c, 0x40, 0x13, 0x89]);
            let sequence = self.numbers[1].wrapping_add((index * self.segment) as u32);
            packet.extend(sequence.to_be_bytes());
            packet.extend(self.numbers[2].to_be_bytes());
            packet.extend([(5 + self.options as u8) << 4, flags, 1, 2, 0, 0, 0, 0]);
            packet.extend([1].repeat(self.options * 4));
            packet.extend(part);
            let addresses = if self.v6 { ip + 8..tcp } else { ip + 12..tcp };
            let pseudo = sum(&packet[addresses]) + 6 + above as u64;
            // Zero has two forms, of which the other one is sent.
            let checksum = match !folded(pseudo + sum(&packet[tcp..])) {
                0 => u16::MAX,
                checksum => checksum,
            };
            packet[tcp + 16..tcp + 18].copy_from_slice(&checksum.to_be_bytes());
            packet
        }
        /// Its packets: "tcp_gso_segment": FIN and PSH in the last one, CWR in the first one.
        fn packets(&self) -> Vec<Vec<u8>> {
            let parts: Vec<_> = self.payload.chunks(self.segment).collect();
            let last = parts.len() - 1;
            let flags = |index: usize| {
                let ends = if index == last {
                    self.flags
                } else {
                    self.flags & !(FIN | PSH)
                };
                if index == 0 { ends } else { ends & !CWR }
            };
            let parts = parts.iter().enumerate();
            let packets = parts.map(|(index, part)| self.packet(index, part, flags(index)));
            packets.collect()
        }
        fn offload(&self) -> Offload {
            let start = 14 + self.tags * 4 + if self.v6 { 40 } else { 20 };
            Offload {
                flags: NEEDS_CHECKSUM,
                kind: if self.v6 {
                    TCP_OVER_IPV6
                } else {
                    TCP_OVER_IPV4
                },
                header_len: 0,
                segment: self.segment as u16,
                sum_start: start as u16,
                sum_offset: 16,
            }
        }
    }

    fn sent() -> impl Strategy<Value = Sent> {
        let payload = prop::collection::vec(any::<u8>(), 1..6_000);
        let shape = (any::<bool>(), 0_usize..3, 0_usize..11, 40_usize..1_460);
        (shape, any::<[u32; 3]>(), any::<u8>(), payload).prop_map(
            |((v6, tags, options, segment), numbers, flags, payload)| Sent {
                v6,
                tags,
                options,
                numbers,
                flags,
                segment,
                payload,
            },
        )
    }

    /// Cuts a frame, as the receiving half of a port does.
    fn cut(frame: &[u8], offload: &Offload) -> Vec<(Vec<u8>, Offload)> {
        let whole = SuperPacket::of(frame, offload).unwrap();
        let parts = frame[whole.headers()..].chunks(whole.segment());
        let count = whole.count(frame.len());
        assert_eq!(count, parts.len());
        let segment = |(index, part): (usize, &[u8])| {
            let mut segment = vec![0; whole.headers()];
            let offload = whole.cut(index, part.len(), index + 1 == count, &mut segment);
            segment.extend(part);
            (segment, offload)
        };
        parts.enumerate().map(segment).collect()
    }

    /// What stands on the wire.
    fn finished(mut frame: Vec<u8>, offload: &Offload) -> Vec<u8> {
        if let Some((at, sum)) = offload.checksum(&frame) {
            frame[at..at + 2].copy_from_slice(&sum);
        }
        frame
    }

    /// Joins what leaves, as the sending half of a port does, and cuts it again, as the receiving host's kernel would. Returns the
    /// packets and the number of frames that they left in.
    fn joined(packets: &[(Vec<u8>, Offload)]) -> (Vec<Vec<u8>>, usize) {
        let (mut wire, mut frames, mut next) = (Vec::new(), 0, 0);
        while let Some((first, offload)) = packets.get(next) {
            let mut joined = Joined::begin(first, offload).unwrap();
            let behind = packets[next + 1..].iter();
            let count = 1 + behind
                .take_while(|(frame, offload)| joined.add(frame, offload))
                .count();
            assert_eq!(count, joined.segments());
            let mut frame = vec![0; DESCRIPTION + MOST_HEADERS];
            let len = joined.write(&mut frame);
            frame.truncate(len);
            for (packet, _) in &packets[next..next + count] {
                frame.extend(&packet[joined.headers()..]);
            }
            let whole = Offload::read(frame.first_chunk().unwrap());
            let cut = cut(&frame[DESCRIPTION..], &whole).into_iter();
            wire.extend(cut.map(|(packet, offload)| finished(packet, &offload)));
            (next, frames) = (next + count, frames + 1);
        }
        (wire, frames)
    }

    proptest! {
        /// Segments of a super-packet are the packets of a host without offloads, byte for byte; and joined again they are one frame.
        #[test]
        fn a_super_packet_is_the_wire_packets_that_it_stands_for(sent in sent()) {
            let whole = sent.packet(0, &sent.payload, sent.flags);
            let segments = cut(&whole, &sent.offload());
            let wire: Vec<_> = segments.iter().map(|(frame, offload)| finished(frame.clone(), offload)).collect();
            prop_assert_eq!(&wire, &sent.packets());
            let (again, frames) = joined(&segments);
            prop_assert_eq!(&again, &wire);
            prop_assert_eq!(frames, 1);
        }

        /// Whatever the queue does to each packet, joining changes nothing of what is on the wire: drops, marks, another order.
        #[test]
        fn joining_is_invisible(first in sent(), second in sent(), fates in prop::collection::vec(0_u8..6, 400)) {
            let mut segments = Vec::new();
            let whole = |sent: &Sent| sent.packet(0, &sent.payload, sent.flags);
            for sent in [&first, &second, &first] {
                segments.extend(cut(&whole(sent), &sent.offload()));
            }
            let mut leaving: Vec<(Vec<u8>, Offload)> = Vec::new();
            for ((mut frame, offload), fate) in segments.into_iter().zip(fates.into_iter().cycle()) {
                match fate {
                    0 => continue,
                    1 => {
                        let (ip, _) = network_layer(&frame).unwrap();
                        crate::frames::ecn_field::set(&mut frame[ip..], quell_units::Ecn::Ce);
                    }
                    _ => {}
                }
                let place = leaving.len() - usize::from(fate == 2 && !leaving.is_empty());
                leaving.insert(place, (frame, offload));
            }
            let alone: Vec<_> = leaving.iter().map(|(frame, offload)| finished(frame.clone(), offload)).collect();
            let (wire, _) = joined(&leaving);
            prop_assert_eq!(wire, alone);
        }

        /// Any bytes give an answer.
        #[test]
        fn any_frame_is_cut_or_refused(frame in prop::collection::vec(any::<u8>(), 0..200), description in any::<[u8; DESCRIPTION]>()) {
            let offload = Offload::read(&description);
            let _ = offload.checksum(&frame);
            if let Some(whole) = SuperPacket::of(&frame, &offload) {
                prop_assert!(whole.headers() <= frame.len() && whole.segment() > 0);
            }
        }
    }

    #[test]
    fn a_description_reads_as_it_was_written_and_moves_with_a_tag() {
        let bytes: [u8; DESCRIPTION] = [1, 1, 66, 0, 0xa8, 5, 34, 0, 16, 0].map(|byte: u8| byte);
        let offload = Offload::read(&bytes);
        let mut written = [0; DESCRIPTION];
        offload.write(&mut written);
        assert_eq!(written, bytes);
        let moved = offload.moved(4);
        assert_eq!(
            (moved.sum_start, moved.sum_offset, moved.header_len),
            (38, 16, 70)
        );
        assert_eq!(Offload::default().moved(4), Offload::default());
    }
}
