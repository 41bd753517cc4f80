//! A packet in the queue: 32 bytes beside the frame, which stays in its slot.
//!
//! Marking CE here changes this descriptor only; the frame's own field is written once, when the
//! frame leaves. So a queued frame's bytes are not touched between arrival and departure. Packet values
//! in headers are written where a link ends that says so ([`OnWire`](super::OnWire)).

use std::num::NonZeroU16;

use quell_aqm::Packet;
use quell_aqm::impair::rules::{Header, Kind};
use quell_measure::{GroupId, Labelled};
use quell_units::{Bytes, Ecn, Time};

use super::ecn_field;
use super::frame::{self, IpPacket};
use super::offload::Offload;
use super::pool::{Frame, FrameId, Pool};

/// A packet in the queue.
#[derive(Debug)]
pub struct Descriptor {
    flow: u64,
    arrival: Time,
    id: FrameId,
    /// Length of the frame, and its start in the slot.
    len: u16,
    start: u8,
    /// The DSCP in its low bits, the [`Kind`] above: see [`Self::look`].
    seen: u8,
    ip_len: u16,
    value: u16,
    /// Group + 1.
    group: Option<NonZeroU16>,
    ip_offset: u8,
    /// The ECN field in its two low bits, [`MARKED`] and [`REMARKED`] above.
    ecn: u8,
}

const _: () = assert!(size_of::<Descriptor>() == 32);

/// The frame's ECN field still has to be written.
const MARKED: u8 = 0x80;
/// So does its DSCP.
const REMARKED: u8 = 0x40;

/// The number of UDP among protocols, and the length of its header.
const UDP: u8 = 17;
const UDP_HEADER: usize = 8;

impl Descriptor {
    /// The packet `ip` of `group`, which lies in `frame`.
    pub fn new(frame: Frame, ip: &IpPacket, group: Option<u16>) -> Self {
        Self {
            flow: ip.flow,
            arrival: Time::ZERO,
            id: frame.id,
            len: frame.len,
            start: frame.start,
            seen: 0,
            ip_len: ip.len,
            value: 0,
            group: group.and_then(|group| NonZeroU16::new(group.wrapping_add(1))),
            ip_offset: ip.offset,
            ecn: ip.ecn.bits(),
        }
    }
    /// The same packet in the same frame, for a while: a frame is given back once.
    pub(crate) fn twin(&self) -> Self {
        Self { ..*self }
    }
    /// The packet, copied into a free slot of `pool`; `None` without one.
    pub(crate) fn in_slot_of_its_own(&self, pool: &mut Pool) -> Option<Self> {
        let Frame { id, len, start } = pool.copy(self.frame())?;
        let twin = self.twin();
        Some(Self {
            id,
            len,
            start,
            ..twin
        })
    }
    /// Flips a bit behind the IP header, at `place` in 2⁻⁶⁴ of them all. The checksum stays as it was, and is finished if it was not. Where it
    /// `is_hidden`, it is a bit of the payload of a datagram, whose checksum is made right; other packets stay as they are.
    pub(crate) fn damage(&self, pool: &mut Pool, place: u64, is_hidden: bool) {
        let frame = self.frame();
        let checksum = pool.offload(frame).checksum(pool.bytes(frame));
        let bytes = pool.bytes_mut(frame);
        if let Some((at, sum)) = checksum {
            bytes[at..at + 2].copy_from_slice(&sum);
        }
        let packet = &mut bytes[self.ip_offset()..][..usize::from(self.ip_len)];
        let (header, protocol) = match packet[0] >> 4 {
            4 => (usize::from(packet[0] & 15) * 4, packet[9]),
            _ => (40, packet[6]),
        };
        let behind = &mut packet[header..];
        let first = if is_hidden { UDP_HEADER } else { 0 };
        let bits = 8 * behind.len().saturating_sub(first);
        let bit = ((u128::from(place) * bits as u128) >> 64) as usize;
        let (at, mask) = (first + bit / 8, 1 << (bit % 8));
        if bits > 0 && !is_hidden {
            behind[at] ^= mask;
        } else if bits > 0 && protocol == UDP {
            let word = |bytes: &[u8], at: usize| {
                let low = bytes.get(at + 1).copied().unwrap_or(0);
                u16::from_be_bytes([bytes[at], low])
            };
            let before = word(behind, at & !1);
            behind[at] ^= mask;
            let (after, sum) = (word(behind, at & !1), word(behind, 6));
            // RFC 1624; zero is no checksum.
            let whole = u32::from(!sum) + u32::from(!before) + u32::from(after);
            let folded = (whole & 0xffff) + (whole >> 16);
            let new = !((folded & 0xffff) + (folded >> 16)) as u16;
            if sum != 0 {
                let new = if new == 0 { 0xffff } else { new };
                behind[6..8].copy_from_slice(&new.to_be_bytes());
            }
        }
        // Nothing is left to do, so that the host at the end looks at the checksum.
        pool.describe(frame, &Offload::default());
    }
    /// The frame that holds the packet.
    pub fn frame(&self) -> Frame {
        let (id, len, start) = (self.id, self.len, self.start);
        Frame { id, len, start }
    }
    /// Reads what rules want to know of its header.
    pub(crate) fn look(&mut self, pool: &Pool) {
        let bytes = &pool.bytes(self.frame())[self.ip_offset()..];
        let (dscp, kind) = frame::seen(&bytes[..usize::from(self.ip_len)]);
        self.seen = dscp | (kind as u8) << 6;
    }
    /// Shows rules its header, and takes over what they change.
    pub(crate) fn judged_by<T>(&mut self, judge: impl FnOnce(&mut Header) -> T) -> T {
        let (ecn, dscp) = (self.ecn(), self.seen & 63);
        let kind = [Kind::Syn, Kind::SynAck, Kind::Ack, Kind::Data][usize::from(self.seen >> 6)];
        let length = self.ip_len;
        let mut header = Header {
            ecn,
            dscp,
            kind,
            length,
            ..Header::default()
        };
        let judged = judge(&mut header);
        if header.dscp != dscp {
            self.ecn |= MARKED | REMARKED;
            self.seen = self.seen & !63 | header.dscp;
        }
        if header.ecn != ecn {
            self.ecn = self.ecn & !3 | MARKED | header.ecn.bits();
        }
        judged
    }
    /// Writes what has changed into its frame.
    pub(crate) fn write(&self, pool: &mut Pool) {
        let bytes = &mut pool.bytes_mut(self.frame())[self.ip_offset()..];
        ecn_field::set(bytes, self.ecn());
        if self.ecn & REMARKED != 0 {
            ecn_field::set_dscp(bytes, self.seen & 63);
        }
    }
    /// Offset of the IP header in the frame.
    pub fn ip_offset(&self) -> usize {
        usize::from(self.ip_offset)
    }
    /// Index of the group of flows that it belongs to.
    pub fn group(&self) -> Option<u16> {
        self.group.map(|group| group.get() - 1)
    }
    /// Whether its ECN field or its DSCP has changed since it arrived.
    pub fn is_marked(&self) -> bool {
        self.ecn & MARKED != 0
    }
}

impl Packet for Descriptor {
    fn len(&self) -> Bytes {
        Bytes::new(u64::from(self.ip_len))
    }
    /// The memory that Linux charges for the packet (`truesize`): 256 bytes of `sk_buff`, and a buffer of a power of
    /// two, at least 512, that holds 64 bytes of headroom, the Ethernet header, the packet and 320
    /// bytes of `skb_shared_info`. That gives the well-known 2 304 for 1 500 bytes and 768 for an
    /// acknowledgement. The slot of the pool is not counted: it has one size for all.
    fn memory(&self) -> Bytes {
        let buffer = (u64::from(self.ip_len) + 64 + 14 + 320)
            .next_power_of_two()
            .max(512);
        Bytes::new(256 + buffer)
    }
    fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.ecn)
    }
    fn mark_ce(&mut self) {
        debug_assert!(self.ecn().is_capable(), "CE only on ECT");
        self.ecn |= MARKED | Ecn::Ce.bits();
    }
    fn flow(&self) -> u64 {
        self.flow
    }
    fn value(&self) -> u16 {
        self.value
    }
    fn set_value(&mut self, value: u16) {
        self.value = value;
    }
    fn arrival(&self) -> Time {
        self.arrival
    }
    fn set_arrival(&mut self, at: Time) {
        self.arrival = at;
    }
}

impl Labelled for Descriptor {
    fn group(&self) -> Option<GroupId> {
        Self::group(self).map(|group| GroupId(u32::from(group)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descriptor(len: u16, group: Option<u16>) -> Descriptor {
        let frame = Frame {
            id: FrameId::for_test(7),
            len: len + 14,
            start: 16,
        };
        let ip = IpPacket {
            offset: 14,
            len,
            ecn: Ecn::Ect1,
            protocol: 6,
            ports: None,
            flow: 9,
        };
        Descriptor::new(frame, &ip, group)
    }

    #[test]
    fn memory_is_what_linux_charges() {
        // 1 500 bytes: 2 304, an acknowledgement: 768 (ss -m, /proc/net/udp on veth with small heads).
        for (len, expected) in [(40, 768), (52, 768), (1_500, 2_304), (9_000, 16_640)] {
            assert_eq!(
                descriptor(len, None).memory(),
                Bytes::new(expected),
                "{len}"
            );
        }
    }

    #[test]
    fn a_mark_is_remembered_until_the_frame_leaves() {
        let mut packet = descriptor(1_500, Some(0));
        assert!(!packet.is_marked() && packet.ecn() == Ecn::Ect1);
        packet.mark_ce();
        assert!(packet.is_marked() && packet.ecn() == Ecn::Ce);
        assert_eq!((packet.len(), packet.flow()), (Bytes::new(1_500), 9));
    }

    #[test]
    fn group_zero_is_a_group() {
        for group in [None, Some(0), Some(65_534)] {
            assert_eq!(descriptor(100, group).group(), group);
        }
    }
}
