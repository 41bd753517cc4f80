//! What a router says to the sender of a packet that is too long for its next link: ICMP's "fragmentation needed and DF set" with the MTU of
//! that link (RFC 1191 section 4), and ICMPv6's "packet too big" (RFC 4443 section 3.2), in the slot of the packet.
//!
//! Deviations: it comes from the packet's own destination, since the far edge stands for all that is behind it. There is no limit of their
//! rate, which RFC 4443 section 2.4 asks of a router that has others to serve. A packet of IPv4 that may be fragmented is dropped in silence: no
//! fragments are made. Nothing looks whether the packet was an error of ICMP, for no such error is as long (RFC 1812 section 4.3.2.3).

use quell_units::Bytes;

use super::descriptor::Descriptor;
use super::frame::{self, Contents};
use super::header_checksum::{folded, sum};
use super::offload::Offload;
use super::pool::Pool;

/// Bytes of a header of ICMP.
const ICMP: usize = 8;
/// The most bytes of the packet that come along: an error of ICMP is at most 576 long (RFC 1812 section 4.3.2.3), one of ICMPv6 at most 1 280.
const QUOTED: [usize; 2] = [576 - 20 - ICMP, 1_280 - 40 - ICMP];

/// Makes the packet what its sender hears: that `fits` bytes fit. `None` where nothing is sent.
pub(crate) fn answer(packet: &Descriptor, fits: Bytes, pool: &mut Pool) -> Option<Descriptor> {
    let (mut frame, offset) = (packet.frame(), packet.ip_offset());
    let (link, ip) = pool.bytes_mut(frame).split_at_mut(offset);
    let is_v6 = ip[0] >> 4 == 6;
    // Where a header ends, the source in it begins, and how long an address is.
    let (header, source, length) = if is_v6 { (40, 8, 16) } else { (20, 12, 4) };
    let quoted = QUOTED[usize::from(is_v6)];
    let to_many = if is_v6 { ip[24] == 0xff } else { ip[16] >= 224 };
    let may_be_cut = !is_v6 && ip[6] & 0x40 == 0;
    if to_many || may_be_cut || ip.len() < header + ICMP + quoted {
        return None;
    }
    let (to, from) = link.split_at_mut(6);
    to.swap_with_slice(&mut from[..6]);
    ip.copy_within(..quoted, header + ICMP);
    let (first, behind) = ip.split_at_mut(header);
    let icmp = &mut behind[..ICMP + quoted];
    let above = (icmp.len() as u16).to_be_bytes();
    first[source..].rotate_left(length);
    let [high, low] = (fits.get() as u16).to_be_bytes();
    let pseudo = match is_v6 {
        false => {
            let [all_high, all_low] = ((header + icmp.len()) as u16).to_be_bytes();
            // Internetwork control, DF, 64 hops, as Linux sends them.
            first[..12]
                .copy_from_slice(&[0x45, 0xc0, all_high, all_low, 0, 0, 0x40, 0, 64, 1, 0, 0]);
            let checksum = !folded(sum(first));
            first[10..12].copy_from_slice(&checksum.to_be_bytes());
            icmp[..ICMP].copy_from_slice(&[3, 4, 0, 0, 0, 0, high, low]);
            0
        }
        true => {
            first[..8].copy_from_slice(&[0x60, 0, 0, 0, above[0], above[1], 58, 64]);
            icmp[..ICMP].copy_from_slice(&[2, 0, 0, 0, 0, 0, high, low]);
            sum(&first[source..]) + sum(&above) + 58
        }
    };
    let checksum = !folded(pseudo + sum(icmp));
    icmp[2..4].copy_from_slice(&checksum.to_be_bytes());
    frame.len = (offset + header + ICMP + quoted) as u16;
    pool.describe(frame, &Offload::default());
    match frame::parse(pool.bytes(frame)) {
        Contents::Ip(ip) => Some(Descriptor::new(frame, &ip, packet.group())),
        Contents::Bypass(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Frame;
    use super::*;

    /// The live tests have Linux look at the checksums.
    #[test]
    fn its_sender_hears_it_with_the_begin_of_the_packet_unless_that_may_be_cut_or_is_for_many() {
        let v4 = |flags, to| {
            let first = [0x45, 0, 5, 0xdc, 0, 1, flags, 0, 64, 17, 0, 0];
            [&first[..], &[10, 0, 0, 1, to, 0, 0, 2], &[7; 1_480]].concat()
        };
        let v6 = [0x60, 0, 0, 0, 5, 0xb4, 17, 64];
        let v6 = [&v6[..], &[0xfd; 16], &[0xfe; 16], &[7; 1_460]].concat();
        for (ip, kind, addresses, said, whole) in [
            (v4(0x40, 10), [8, 0], 12..20, [3, 4], 576),
            (v6, [0x86, 0xdd], 8..40, [2, 0], 1_280),
            (v4(0, 10), [8, 0], 12..20, [0; 2], 0),
            (v4(0x40, 224), [8, 0], 12..20, [0; 2], 0),
        ] {
            let mut pool = Pool::new(1, 1_500).unwrap();
            let (id, len, start) = (pool.take().unwrap(), ip.len() as u16 + 14, 16);
            let frame = Frame { id, len, start };
            let link = [&[2; 6][..], &[3; 6], &kind].concat();
            let bytes = pool.bytes_mut(frame);
            bytes.copy_from_slice(&[&link[..], &ip].concat());
            let Contents::Ip(read) = frame::parse(bytes) else {
                panic!("{ip:?}")
            };
            let packet = Descriptor::new(frame, &read, Some(3));
            let Some(heard) = answer(&packet, Bytes::new(1_400), &mut pool) else {
                assert_eq!(whole, 0, "{ip:?}");
                continue;
            };
            assert_eq!(heard.group(), Some(3));
            let (link, packet) = pool.bytes(heard.frame()).split_at(14);
            assert_eq!(link, [&[3; 6][..], &[2; 6], &kind].concat());
            let mut turned = ip[addresses.clone()].to_vec();
            turned.rotate_left(addresses.len() / 2);
            assert_eq!(
                (packet.len(), &packet[addresses.clone()]),
                (whole, &turned[..])
            );
            let icmp = &packet[addresses.end..];
            assert_eq!((&icmp[..2], &icmp[4..8]), (&said[..], &[0, 0, 5, 0x78][..]));
            assert_eq!(icmp[8..], ip[..icmp.len() - 8]);
        }
    }
}
