//! A packet value in real headers, for a marker and a bottleneck on different machines.
//!
//! | packet | field | not carried by |
//! | --- | --- | --- |
//! | IPv4 | identification, 16 bits | datagrams that are not atomic (RFC 6864 section 4: DF set, not a fragment), which need it for reassembly; those under an authentication header, whose check covers it (RFC 4302 section 3.3.3.1.1.1) |
//! | IPv6 | the low 16 bits of the flow label; the upper 4 stay | - (mutable for RFC 4302, in no transport's checksum, no part of reassembly) |
//!
//! Published work names no field: this is a choice of our own for networks under one administration, and it
//! breaks two rules. RFC 6864 says "The IPv4 ID field MUST NOT be used for purposes other than
//! fragmentation and reassembly", but also that an atomic datagram's is ignored by all who look;
//! RFC 6437 section 3 wants one flow label for all packets of a flow: a router that hashes the label
//! over several paths reorders such a flow. Receivers that join segments (GRO) join fewer of them.
//!
//! Hosts fill both fields on their own, and nothing in a packet distinguishes their numbers from
//! values. So nothing is read unless the configuration says that a marker writes ([`OnWire`]), and a
//! marker also writes the 0 of an unmarked packet.

use super::header_checksum::adjusted;

/// Whether one direction of a link reads and writes values in headers. The default is neither: values live
/// beside the packets, in the process, also from one link to the next of several in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct OnWire {
    /// Packets come from a port with the value of their header, which a marker wrote into every one of
    /// them. Without this they come unmarked. A marker of this link decides afterwards.
    pub read: bool,
    /// Packets leave with their value in the header, 0 for an unmarked one: through a port, or to the
    /// next link, which reads it there and gets nothing else of it. It is written when the packet
    /// leaves, into every wire packet: nothing splits it into segments afterwards.
    pub write: bool,
}

/// The authentication header, of IANA's protocol numbers.
const AUTHENTICATION: u8 = 51;

/// Bits of the third word of an IPv4 header (RFC 791 section 3.1).
const DONT_FRAGMENT: u16 = 0x4000;
/// More fragments, and the fragment's offset.
const FRAGMENT: u16 = 0x3fff;

/// The value of the IP packet that starts at `packet`; `None` where it cannot carry one.
pub fn get(packet: &[u8]) -> Option<u16> {
    let at = field(packet)?;
    Some(u16::from_be_bytes([packet[at], packet[at + 1]]))
}

/// Writes `value` into the IP packet that starts at `packet`. Returns whether the packet can carry a
/// value; one that cannot is left as it is.
pub fn set(packet: &mut [u8], value: u16) -> bool {
    let Some(at) = field(packet) else {
        return false;
    };
    if packet[0] >> 4 == 4 {
        let old = u16::from_be_bytes([packet[at], packet[at + 1]]);
        let sum = adjusted(u16::from_be_bytes([packet[10], packet[11]]), old, value);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
    }
    packet[at..at + 2].copy_from_slice(&value.to_be_bytes());
    true
}

/// Offset of the two bytes of the value.
fn field(packet: &[u8]) -> Option<usize> {
    match packet.first()? >> 4 {
        4 => {
            let header = packet.first_chunk::<20>()?;
            let flags = u16::from_be_bytes([header[6], header[7]]);
            let is_atomic = flags & DONT_FRAGMENT != 0 && flags & FRAGMENT == 0;
            (is_atomic && header[9] != AUTHENTICATION).then_some(4)
        }
        // Version 4 bits, traffic class 8, flow label 20 (RFC 8200 section 3).
        6 => packet.first_chunk::<40>().map(|_| 2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::header_checksum::computed;
    use proptest::prelude::*;

    /// A header of 20 bytes with a right checksum.
    fn ipv4(flags: u16, protocol: u8, identification: u16) -> [u8; 20] {
        let mut header = [
            0x45, 0xb8, 0x05, 0xdc, 0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        ];
        header[4..6].copy_from_slice(&identification.to_be_bytes());
        header[6..8].copy_from_slice(&flags.to_be_bytes());
        let sum = computed(&header);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
        header
    }

    #[test]
    fn the_incremental_checksum_equals_the_computed_one_for_every_value() {
        for value in 0..=u16::MAX {
            for before in [0, 1, 0x1234, 0xa5a5, 0xffff] {
                let old = ipv4(DONT_FRAGMENT, 6, before);
                let mut header = old;
                assert!(set(&mut header, value));
                assert_eq!(get(&header), Some(value));
                assert_eq!(header, ipv4(DONT_FRAGMENT, 6, value), "{before} to {value}");
                assert!(set(&mut header, before));
                assert_eq!(header, old);
            }
        }
    }

    #[test]
    fn only_atomic_ipv4_datagrams_carry_a_value() {
        // RFC 6864 section 4: "(DF==1)&&(MF==0)&&(frag_offset==0)".
        for (flags, carries) in [
            (0x4000, true),
            (0x0000, false),
            (0x2000, false),
            (0x6000, false),
            (0x0001, false),
            (0x4001, false),
            (0x5fff, false),
            // The reserved bit says nothing about fragments.
            (0xc000, true),
            (0x8000, false),
        ] {
            let header = ipv4(flags, 17, 0x4242);
            assert_eq!(get(&header), carries.then_some(0x4242), "{flags:#x}");
            let mut changed = header;
            assert_eq!(set(&mut changed, 7), carries, "{flags:#x}");
            assert_eq!(changed == header, !carries, "{flags:#x}");
        }
    }

    #[test]
    fn what_is_authenticated_with_its_identification_is_left_alone() {
        let header = ipv4(DONT_FRAGMENT, AUTHENTICATION, 5);
        let mut changed = header;
        assert!(!set(&mut changed, 7));
        assert_eq!((changed, get(&header)), (header, None));
    }

    #[test]
    fn ipv6_keeps_the_upper_four_bits_of_its_flow_label() {
        let mut header = [0; 40];
        header[..4].copy_from_slice(&0x6b8a_1234_u32.to_be_bytes());
        assert_eq!(get(&header), Some(0x1234));
        for value in 0..=u16::MAX {
            assert!(set(&mut header, value));
            assert_eq!(get(&header), Some(value));
            assert_eq!(header[..2], [0x6b, 0x8a]);
            assert!(header[4..].iter().all(|&byte| byte == 0));
        }
    }

    #[test]
    fn what_is_not_a_whole_ip_header_carries_none() {
        for bytes in [&[][..], &[0x45], &[0x45; 19], &[0x60; 39], &[0x12; 40]] {
            let mut changed = bytes.to_vec();
            assert_eq!((set(&mut changed, 9), get(bytes)), (false, None));
            assert_eq!(changed, bytes);
        }
    }

    proptest! {
        /// Whatever the header: a right checksum stays right, a wrong one wrong by the same amount, and nothing else changes.
        #[test]
        fn nothing_but_the_field_and_its_checksum_changes(mut header in any::<[u8; 20]>(), value in any::<u16>()) {
            header[0] = 0x45;
            let mut changed = header;
            let carries = set(&mut changed, value);
            prop_assert_eq!(carries, get(&header).is_some());
            let off = |header: &[u8; 20]| {
                // The difference in ones' complement, in which 0 and 0xffff are one number.
                let stored = u16::from_be_bytes([header[10], header[11]]);
                (u32::from(stored) + u32::from(!computed(header))) % 0xffff
            };
            prop_assert_eq!(off(&changed), off(&header));
            if carries {
                prop_assert_eq!(get(&changed), Some(value));
                let (mut before, mut after) = (header, changed);
                for header in [&mut before, &mut after] {
                    header[4..6].fill(0);
                    header[10..12].fill(0);
                }
                prop_assert_eq!(before, after);
            } else {
                prop_assert_eq!(changed, header);
            }
        }
    }
}
