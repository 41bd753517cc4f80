//! Rewriting the ECN field, or the DSCP, of a packet in place.
//!
//! IPv4's header checksum covers both and is changed with it (RFC 1624); a checksum that was wrong
//! stays wrong by the same amount. IPv6 has none. No transport's checksum covers them.

use quell_units::Ecn;

use super::header_checksum::adjusted;

/// Sets the ECN field of the IP packet that starts at `packet`; anything else is left as it is.
pub fn set(packet: &mut [u8], ecn: Ecn) {
    replace(packet, 0x03, ecn.bits());
}

/// Sets the DSCP, below 64, of the IP packet that starts at `packet`; anything else is left as it is.
pub fn set_dscp(packet: &mut [u8], dscp: u8) {
    replace(packet, 0xfc, dscp << 2);
}

/// Replaces the bits in `mask` of the TOS byte, or of the traffic class.
fn replace(packet: &mut [u8], mask: u8, bits: u8) {
    match packet {
        [first, second, ..] if *first >> 4 == 6 => {
            // The traffic class straddles two bytes.
            *first = *first & !(mask >> 4) | bits >> 4;
            *second = *second & !(mask << 4) | bits << 4;
        }
        [version, tos, _, _, _, _, _, _, _, _, sum_high, sum_low, ..] if *version >> 4 == 4 => {
            let old = u16::from_be_bytes([*version, *tos]);
            *tos = *tos & !mask | bits;
            let new = u16::from_be_bytes([*version, *tos]);
            let sum = adjusted(u16::from_be_bytes([*sum_high, *sum_low]), old, new);
            [*sum_high, *sum_low] = sum.to_be_bytes();
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::header_checksum::computed;

    const ALL: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];

    #[test]
    fn the_incremental_checksum_equals_the_computed_one_for_every_header_sum() {
        // The identification runs through all values, and with it the sum over the header.
        let template: [u8; 20] = [
            0x45, 0, 0x05, 0xdc, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        ];
        for identification in 0..=u16::MAX {
            for from in ALL {
                let mut header = template;
                header[1] = 0xb8 | from.bits();
                header[4..6].copy_from_slice(&identification.to_be_bytes());
                let sum = computed(&header);
                header[10..12].copy_from_slice(&sum.to_be_bytes());
                for to in ALL {
                    let mut changed = header;
                    set(&mut changed, to);
                    assert_eq!(changed[1], 0xb8 | to.bits());
                    set_dscp(&mut changed, identification as u8 >> 2);
                    assert_eq!(changed[1], identification as u8 & 0xfc | to.bits());
                    assert_eq!(
                        u16::from_be_bytes([changed[10], changed[11]]),
                        computed(&changed)
                    );
                }
            }
        }
    }

    #[test]
    fn every_traffic_class_keeps_its_upper_bits() {
        for class in 0..=u8::MAX {
            for to in ALL {
                let mut header = [0x60 | class >> 4, class << 4 | 0x0f, 0xff, 0xff];
                set(&mut header, to);
                for dscp in [class >> 2, !class >> 2] {
                    set_dscp(&mut header, dscp);
                    let read = header[0] << 4 | header[1] >> 4;
                    assert_eq!(
                        (read, header[0] >> 4, header[1] & 15, header[2]),
                        (dscp << 2 | to.bits(), 6, 15, 0xff)
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_not_ip_is_left_alone() {
        for bytes in [&[][..], &[0x45], &[0x45, 0, 0, 0], &[0x60], &[0x12; 40]] {
            let mut changed = bytes.to_vec();
            set(&mut changed, Ecn::Ce);
            set_dscp(&mut changed, 63);
            assert_eq!(changed, bytes);
        }
    }
}
