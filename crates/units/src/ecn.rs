//! The ECN field of the IP header.

/// The ECN field of the IP header (RFC 3168 section 5, RFC 9331 section 5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable: congestion is signalled by a drop.
    #[default]
    NotEct = 0,
    /// L4S-capable transport (RFC 9331).
    Ect1 = 1,
    /// Classic ECN-capable transport.
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

impl Ecn {
    /// The codepoint in the two low bits of the traffic class; higher bits are ignored.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }
    /// The two bits.
    pub const fn bits(self) -> u8 {
        self as u8
    }
    /// Whether congestion may be signalled by a mark.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}
