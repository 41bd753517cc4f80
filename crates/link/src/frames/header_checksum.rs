//! IPv4's header checksum after a change of one word (RFC 1624).
//!
//! Section 3, equation 3, which unlike RFC 1141 is right in every corner case; a checksum that was
//! wrong stays wrong by the same amount.

/// The `checksum` of a header one 16-bit word of which changes from `old` to `new`:
/// "HC' = ~(~HC + ~m + m')  --  [Eqn. 3]", in ones' complement.
pub(crate) fn adjusted(checksum: u16, old: u16, new: u16) -> u16 {
    !folded(u64::from(!checksum) + u64::from(!old) + u64::from(new))
}

/// The sum of 16-bit words (RFC 1071), not folded; a last odd byte is the upper half of a word.
pub(crate) fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<2>();
    let words = words
        .iter()
        .map(|word| u64::from(u16::from_be_bytes(*word)));
    words.sum::<u64>() + rest.first().map_or(0, |&last| u64::from(last) << 8)
}

/// A sum in ones' complement.
pub(crate) fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Over a whole header without options: the slow way, to compare with.
#[cfg(test)]
pub(crate) fn computed(header: &[u8; 20]) -> u16 {
    let mut header = *header;
    header[10..12].fill(0);
    !folded(sum(&header))
}
