//! A TCP segment as two modelled hosts exchange it.

use quell_aqm::{Bytes, Ecn, Time};

/// Control bits (RFC 9293, RFC 3168, RFC 9768).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(pub u16);

impl Flags {
    /// Opens a connection.
    pub const SYN: u16 = 1;
    /// Nothing follows.
    pub const FIN: u16 = 2;
    /// The acknowledgement field counts.
    pub const ACK: u16 = 4;
    /// ECN echo (RFC 3168), bit 0 of ACE (RFC 9768).
    pub const ECE: u16 = 8;
    /// Congestion window reduced (RFC 3168), bit 1 of ACE (RFC 9768).
    pub const CWR: u16 = 16;
    /// Accurate ECN, bit 2 of ACE (RFC 9768).
    pub const AE: u16 = 32;

    /// Whether all of `bits` are set.
    pub const fn has(self, bits: u16) -> bool {
        self.0 & bits == bits
    }
}

/// A range of bytes that arrived out of order: from `start` up to but without `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sack {
    /// First byte.
    pub start: u64,
    /// First byte that is no longer part of it.
    pub end: u64,
}

/// Up to three ranges, as fit beside a timestamp (RFC 2018 section 3); the most recent first. The
/// first may report a duplicate (RFC 2883).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlocks {
    blocks: [Sack; 3],
    count: u8,
}

impl SackBlocks {
    /// Appends a block; a fourth does not fit and is left out.
    pub fn push(&mut self, block: Sack) {
        if let Some(slot) = self.blocks.get_mut(usize::from(self.count)) {
            *slot = block;
            self.count += 1;
        }
    }
    /// The blocks.
    pub fn as_slice(&self) -> &[Sack] {
        &self.blocks[..usize::from(self.count)]
    }
}

/// A segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Segment {
    /// Offset of the first payload byte.
    pub sequence: u64,
    /// Offset of the next byte expected; counts with [`Flags::ACK`].
    pub acknowledgement: u64,
    /// Receive window in bytes, scaling already applied.
    pub window: u64,
    /// When it was sent, for the peer's echo: RFC 7323 timestamps with the resolution of the host.
    pub timestamp: Time,
    /// The timestamp echoed; zero if none.
    pub echo: Time,
    /// Selective acknowledgements.
    pub sacks: SackBlocks,
    /// Payload bytes.
    pub payload: u32,
    /// Control bits.
    pub flags: Flags,
    /// The ECN field of the IP header: as to be sent, and as it arrived.
    pub ecn: Ecn,
}

impl Segment {
    /// IPv4 header 20, TCP header 20, timestamps 12.
    pub const HEADERS: Bytes = Bytes::new(52);

    /// Length of the IP packet: headers, payload, and 4 + 8 bytes for each SACK block (padded to a
    /// multiple of four by the options themselves).
    pub fn ip_length(&self) -> Bytes {
        let blocks = self.sacks.as_slice().len() as u64;
        let sacks = if blocks == 0 { 0 } else { 4 + 8 * blocks };
        Self::HEADERS + Bytes::new(u64::from(self.payload) + sacks)
    }
    /// The first byte behind it.
    pub fn end(&self) -> u64 {
        self.sequence + u64::from(self.payload)
    }
}
