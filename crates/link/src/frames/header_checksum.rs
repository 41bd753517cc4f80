//! IPv4's header checksum after a change of one word (RFC 1624).
//!
//! Section 3, equation 3, which unlike RFC 1141 is right in every corner case; a checksum that was
//! wrong stays wrong by the same amount.

/// The `checksum` of a header one 16-bit word of which changes from `old` to `new`:
/// "HC' = ~(~HC + ~m + m')  --  [Eqn. 3]", in ones' complement.
pub(crate) fn adjusted(checksum: u16, old: u16, new: u16) -> u16 {
    let sum = u32::from(!checksum) + u32::from(!old) + u32::from(new);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    !(sum as u16)
}

/// RFC 1071, over a whole header without options: the slow way, to compare with.
#[cfg(test)]
pub(crate) fn computed(header: &[u8; 20]) -> u16 {
    let mut header = *header;
    header[10..12].fill(0);
    let mut sum: u32 = header
        .as_chunks::<2>()
        .0
        .iter()
        .map(|pair| u32::from(u16::from_be_bytes(*pair)))
        .sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
