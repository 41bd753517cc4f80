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
