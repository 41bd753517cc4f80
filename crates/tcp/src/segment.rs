//! A TCP segment as two modelled hosts exchange it.

use quell_units::{Bytes, Ecn, Time};

use crate::ecn::option::AccEcnOption;
use crate::flags::Flags;

/// A range of bytes that arrived out of order: from `start` up to, but not including, `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sack {
    /// First byte.
    pub start: u64,
    /// First byte after it.
    pub end: u64,
}

/// Up to three ranges, as many as fit beside a timestamp (RFC 2018 section 3), the most recent first.
/// The first may report a duplicate (RFC 2883).
///
/// They are kept as 32-bit distances from the acknowledgement, which covers the largest window that
/// TCP can have (1 GiB, RFC 7323 section 2.3) and keeps a segment small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlocks {
    /// An empty range is a free slot.
    blocks: [(i32, i32); 3],
}

impl SackBlocks {
    /// Appends a block of a segment with this `acknowledgement`; omits a fourth block and a block more
    /// than 2 GiB away.
    pub fn push(&mut self, acknowledgement: u64, block: Sack) {
        let distance = |n: u64| i32::try_from(n.wrapping_sub(acknowledgement) as i64).ok();
        let free = self.len();
        if let Some(slot) = self.blocks.get_mut(free)
            && let (Some(start), Some(end)) = (distance(block.start), distance(block.end))
            && start != end
        {
            *slot = (start, end);
        }
    }
    /// Keeps only the first `count` blocks.
    pub fn truncate(&mut self, count: usize) {
        for block in self.blocks.iter_mut().skip(count) {
            *block = (0, 0);
        }
    }
    /// The blocks of a segment with this `acknowledgement`.
    pub fn iter(&self, acknowledgement: u64) -> impl Iterator<Item = Sack> + '_ {
        let offset = move |n: i32| acknowledgement.wrapping_add_signed(i64::from(n));
        self.blocks[..self.len()].iter().map(move |block| Sack {
            start: offset(block.0),
            end: offset(block.1),
        })
    }
    /// Number of blocks.
    #[inline]
    pub fn len(&self) -> usize {
        self.blocks.iter().take_while(|(a, b)| a != b).count()
    }
    /// Whether there is no block.
    pub fn is_empty(&self) -> bool {
        self.blocks[0].0 == self.blocks[0].1
    }
}

/// A segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Segment {
    /// Offset of the first payload byte.
    pub sequence: u64,
    /// Offset of the next byte expected; valid with [`Flags::ACK`].
    pub acknowledgement: u64,
    /// Time of departure, which the peer echoes: an RFC 7323 timestamp with the host's resolution
    /// (TSval).
    pub timestamp: Time,
    /// The timestamp echoed (TSecr); zero if none.
    pub echo: Time,
    /// Selective acknowledgements.
    pub sacks: SackBlocks,
    /// The AccECN option with its byte counters, if there is one.
    pub accecn: AccEcnOption,
    /// Receive window in bytes with scaling applied, at most 1 GiB (RFC 7323 section 2.3).
    pub window: u32,
    /// Payload bytes.
    pub payload: u32,
    /// Control bits; without [`Flags::SYN`] three of them are AccECN's ACE counter.
    pub flags: Flags,
    /// ECN field of the IP header: as sent, and after transit as it arrived.
    pub ecn: Ecn,
}

impl Segment {
    /// IPv4 header 20, TCP header 20, timestamps 12.
    pub const HEADERS: Bytes = Bytes::new(52);

    /// Length of the IP packet: headers, payload, 4 bytes and 8 for each SACK block, and the AccECN
    /// option, each padded to a multiple of four.
    #[inline]
    pub fn ip_length(&self) -> Bytes {
        let blocks = self.sacks.len() as u64;
        let sacks = if blocks == 0 { 0 } else { 4 + 8 * blocks };
        let accecn = self.accecn.padded_length(blocks > 0);
        Self::HEADERS + Bytes::new(u64::from(self.payload) + sacks + accecn)
    }
    /// The first sequence number after it; a FIN occupies one.
    pub fn end(&self) -> u64 {
        let fin = u64::from(self.flags.has(Flags::FIN));
        self.sequence.saturating_add(u64::from(self.payload) + fin)
    }
    /// The blocks that it selectively acknowledges.
    pub fn sack_blocks(&self) -> impl Iterator<Item = Sack> + '_ {
        self.sacks.iter(self.acknowledgement)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ecn::option::Order;

    #[test]
    fn blocks_keep_their_place_on_both_sides_of_the_acknowledgement() {
        let mut sacks = SackBlocks::default();
        let blocks = [
            (90, 100),
            (u64::from(u32::MAX), 1 << 33),
            (200, 300),
            (400, 500),
        ];
        for (start, end) in blocks {
            sacks.push(100, Sack { start, end });
        }
        sacks.push(
            100,
            Sack {
                start: 600,
                end: 700,
            },
        );
        let read: Vec<_> = sacks.iter(100).map(|b| (b.start, b.end)).collect();
        assert_eq!(read, [(90, 100), (200, 300), (400, 500)]);
    }

    #[test]
    fn a_segment_stays_small_and_knows_its_length() {
        assert_eq!(size_of::<Segment>(), 80);
        let mut segment = Segment {
            payload: 1_448,
            ..Segment::default()
        };
        assert_eq!(segment.ip_length(), Bytes::new(1_500));
        segment.sacks.push(0, Sack { start: 1, end: 2 });
        assert_eq!(segment.ip_length(), Bytes::new(1_512));
        // 5 bytes, one of them in the padding of the SACK blocks.
        segment.accecn = AccEcnOption::new(Order::One, &[1]);
        assert_eq!(segment.ip_length(), Bytes::new(1_516));
        segment.sacks.truncate(0);
        assert_eq!(segment.ip_length(), Bytes::new(1_508));
    }

    #[test]
    fn blocks_are_left_out_from_the_end() {
        let mut sacks = SackBlocks::default();
        for (start, end) in [(1, 2), (3, 4), (5, 6)] {
            sacks.push(0, Sack { start, end });
        }
        sacks.truncate(2);
        assert_eq!(sacks.iter(0).last(), Some(Sack { start: 3, end: 4 }));
        assert_eq!(sacks.len(), 2);
    }
}
