//! The control bits of a segment.

/// Control bits (RFC 9293, RFC 3168, RFC 9768).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(pub u16);

impl Flags {
    /// Opens a connection.
    pub const SYN: u16 = 1;
    /// Nothing follows. In an ACK: the peer's FIN has arrived and the stream is complete.
    pub const FIN: u16 = 2;
    /// The acknowledgement field is valid.
    pub const ACK: u16 = 4;
    /// ECN echo (RFC 3168), bit 0 of ACE (RFC 9768).
    pub const ECE: u16 = 8;
    /// Congestion window reduced (RFC 3168), bit 1 of ACE (RFC 9768).
    pub const CWR: u16 = 16;
    /// Accurate ECN, bit 2 of ACE (RFC 9768).
    pub const AE: u16 = 32;
    /// The end of a burst: the receiver's application should read now.
    pub const PSH: u16 = 64;
    /// The connection is gone, or never was.
    pub const RST: u16 = 128;

    /// Whether all of `bits` are set.
    pub const fn has(self, bits: u16) -> bool {
        self.0 & bits == bits
    }
}
