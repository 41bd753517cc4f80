//! Reads an Ethernet frame: the IP packet's place, length, ECN field and flow.
//!
//! Ethernet with any mix of IEEE 802.1Q and 802.1ad tags, IPv4 (RFC 791), IPv6 with its extension
//! headers (RFC 8200 section 4). Any bytes give an answer, and none a panic. Frames
//! that cannot be read as IP bypass the queue, and so do ARP and neighbour discovery (RFC 4861),
//! without which nothing else would arrive.
//!
//! Deviations and choices:
//! * a packet longer than its frame counts as long as what is there;
//! * a total or payload length of 0 (segmentation offload, jumbograms of RFC 2675) means the rest
//!   of the frame;
//! * Ethernet's padding is not part of the length, as in Linux;
//! * neighbour discovery counts as such only with hop limit 255, as RFC 4861 section 7.1 demands of
//!   valid messages, so that ordinary traffic cannot pass the queue in its disguise.

use quell_aqm::impair::rules::Kind;
use quell_units::Ecn;

use super::flow_key;

/// Tags in front of an IP packet that are followed; a frame with more is not IP to the link.
pub const MAX_TAGS: usize = 4;

/// IPv6 extension headers that are followed.
const MAX_EXTENSIONS: usize = 16;

/// The treatment of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contents {
    /// It goes through the queue.
    Ip(IpPacket),
    /// It bypasses the queue.
    Bypass(Bypass),
}

/// Why a frame bypasses the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bypass {
    /// Address resolution for IPv4 (RFC 826).
    Arp,
    /// Address resolution and router discovery for IPv6 (RFC 4861).
    NeighbourDiscovery,
    /// The frame is not IP, or not readable as such.
    Other,
}

/// The fields of an IP packet that the link needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IpPacket {
    /// Offset of the IP header in the frame; at most 14 + 4 · [`MAX_TAGS`].
    pub offset: u8,
    /// IP length in bytes, with the header.
    pub len: u16,
    /// The ECN field.
    pub ecn: Ecn,
    /// The protocol above IP, behind all extension headers.
    pub protocol: u8,
    /// Source and destination port; `None` for a fragment and for protocols without ports.
    pub ports: Option<(u16, u16)>,
    /// A 64-bit key that all packets of a flow share, from addresses, protocol and ports.
    pub flow: u64,
}

impl IpPacket {
    /// Whether it carries TCP.
    pub fn is_tcp(&self) -> bool {
        self.protocol == protocol::TCP
    }
}

/// Protocol numbers of IANA.
mod protocol {
    pub(super) const HOP_BY_HOP: u8 = 0;
    pub(super) const TCP: u8 = 6;
    pub(super) const UDP: u8 = 17;
    pub(super) const DCCP: u8 = 33;
    pub(super) const ROUTING: u8 = 43;
    pub(super) const FRAGMENT: u8 = 44;
    pub(super) const AUTHENTICATION: u8 = 51;
    pub(super) const ICMPV6: u8 = 58;
    pub(super) const DESTINATION_OPTIONS: u8 = 60;
    pub(super) const SCTP: u8 = 132;
    pub(super) const UDP_LITE: u8 = 136;
}

/// Reads `frame`.
pub fn parse(frame: &[u8]) -> Contents {
    let Some((offset, ether_type)) = network_layer(frame) else {
        return Contents::Bypass(Bypass::Other);
    };
    let packet = &frame[offset..];
    // At most 14 + 4·MAX_TAGS.
    let offset = offset as u8;
    let read = match ether_type {
        0x0800 => ipv4(packet, offset).map(Contents::Ip),
        0x86dd => ipv6(packet, offset),
        0x0806 => Some(Contents::Bypass(Bypass::Arp)),
        _ => None,
    };
    read.unwrap_or(Contents::Bypass(Bypass::Other))
}

/// The DSCP of a packet that [`parse`] has read, and what it is to rules. A fragment counts as data.
pub(super) fn seen(packet: &[u8]) -> (u8, Kind) {
    let (class, upper) = match packet {
        [first, class, ..] if *first >> 4 == 4 => {
            let upper = UpperLayer {
                protocol: packet[9],
                offset: usize::from(first & 15) * 4,
                fragment: u16::from_be_bytes([packet[6], packet[7]]) & 0x3fff != 0,
            };
            (*class, upper)
        }
        _ => (
            packet[0] << 4 | packet[1] >> 4,
            upper_layer(packet, packet[6]),
        ),
    };
    let kind = match packet
        .get(upper.offset..)
        .and_then(<[u8]>::first_chunk::<14>)
    {
        // RFC 9293 section 3.1.
        Some(header) if upper.protocol == protocol::TCP && !upper.fragment => {
            let has_payload = packet.len() > upper.offset + usize::from(header[12] >> 4) * 4;
            Kind::of_segment(header[13] & 2 != 0, header[13] & 16 != 0, has_payload)
        }
        _ => Kind::Data,
    };
    (class >> 2, kind)
}

/// The start of the payload behind the innermost tag, and its type.
pub(super) fn network_layer(frame: &[u8]) -> Option<(usize, u16)> {
    let mut offset = 12;
    for _ in 0..=MAX_TAGS {
        let ether_type = word(frame, offset)?;
        offset += 2;
        if !matches!(ether_type, 0x8100 | 0x88a8) {
            return Some((offset, ether_type));
        }
        offset += 2;
    }
    None
}

/// RFC 791 section 3.1.
fn ipv4(packet: &[u8], offset: u8) -> Option<IpPacket> {
    let header = packet.first_chunk::<20>()?;
    let header_len = usize::from(header[0] & 15) * 4;
    if header[0] >> 4 != 4 || header_len < 20 {
        return None;
    }
    let len = bounded(
        usize::from(u16::from_be_bytes([header[2], header[3]])),
        packet.len(),
    );
    if usize::from(len) < header_len {
        return None;
    }
    // More fragments to come, or not the first one.
    let fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0;
    let protocol = header[9];
    let ports = if fragment {
        None
    } else {
        ports(protocol, &packet[..usize::from(len)], header_len)
    };
    let addresses = [u64::from_be_bytes([
        header[12], header[13], header[14], header[15], header[16], header[17], header[18],
        header[19],
    ])];
    Some(IpPacket {
        offset,
        len,
        ecn: Ecn::from_bits(header[1]),
        protocol,
        ports,
        flow: flow_key::of(&addresses, protocol, ports),
    })
}

/// RFC 8200 section 3.
fn ipv6(packet: &[u8], offset: u8) -> Option<Contents> {
    let header = packet.first_chunk::<40>()?;
    if header[0] >> 4 != 6 {
        return None;
    }
    let payload = usize::from(u16::from_be_bytes([header[4], header[5]]));
    let len = bounded(if payload == 0 { 0 } else { payload + 40 }, packet.len());
    let packet = &packet[..usize::from(len)];
    let upper = upper_layer(packet, header[6]);
    let icmp_type = packet.get(upper.offset).copied().unwrap_or(0);
    if upper.protocol == protocol::ICMPV6
        && header[7] == 255
        && (133..=137).contains(&icmp_type)
        && !upper.fragment
    {
        return Some(Contents::Bypass(Bypass::NeighbourDiscovery));
    }
    let ports = if upper.fragment {
        None
    } else {
        ports(upper.protocol, packet, upper.offset)
    };
    let mut addresses = [0; 4];
    for (address, bytes) in addresses.iter_mut().zip(header[8..].as_chunks::<8>().0) {
        *address = u64::from_be_bytes(*bytes);
    }
    Some(Contents::Ip(IpPacket {
        offset,
        len,
        ecn: Ecn::from_bits(header[1] >> 4),
        protocol: upper.protocol,
        ports,
        flow: flow_key::of(&addresses, upper.protocol, ports),
    }))
}

/// The part of an IPv6 packet behind its extension headers.
struct UpperLayer {
    protocol: u8,
    offset: usize,
    fragment: bool,
}

/// Follows the extension headers (RFC 8200 section 4; the authentication header RFC 4302). A chain
/// that ends early or is too long ends with the header it ends at.
fn upper_layer(packet: &[u8], first: u8) -> UpperLayer {
    let mut upper = UpperLayer {
        protocol: first,
        offset: 40,
        fragment: false,
    };
    for _ in 0..MAX_EXTENSIONS {
        let Some(&[next, size]) = packet
            .get(upper.offset..)
            .and_then(|rest| rest.first_chunk::<2>())
        else {
            break;
        };
        let len = match upper.protocol {
            protocol::HOP_BY_HOP | protocol::ROUTING | protocol::DESTINATION_OPTIONS => {
                8 * (usize::from(size) + 1)
            }
            protocol::AUTHENTICATION => 4 * (usize::from(size) + 2),
            protocol::FRAGMENT => {
                // An atomic fragment (RFC 6946) is whole: offset 0, no more to come.
                let Some(field) = word(packet, upper.offset + 2) else {
                    break;
                };
                upper.fragment |= field & 0xfff9 != 0;
                8
            }
            _ => break,
        };
        if upper.offset + len > packet.len() {
            break;
        }
        upper.protocol = next;
        upper.offset += len;
        if upper.fragment {
            // What follows is a piece of the original packet.
            break;
        }
    }
    upper
}

/// Source and destination port, where the protocol has them in its first four bytes.
fn ports(protocol: u8, packet: &[u8], offset: usize) -> Option<(u16, u16)> {
    match protocol {
        protocol::TCP | protocol::UDP | protocol::DCCP | protocol::SCTP | protocol::UDP_LITE => {
            Some((word(packet, offset)?, word(packet, offset + 2)?))
        }
        _ => None,
    }
}

/// The length a header claims, or what is there if that is less or nothing is claimed.
fn bounded(claimed: usize, present: usize) -> u16 {
    let len = if claimed == 0 {
        present
    } else {
        claimed.min(present)
    };
    u16::try_from(len).unwrap_or(u16::MAX)
}

fn word(bytes: &[u8], offset: usize) -> Option<u16> {
    let pair = bytes.get(offset..)?.first_chunk::<2>()?;
    Some(u16::from_be_bytes(*pair))
}

#[cfg(test)]
mod tests;
