//! The packets that a link is for; the rest passes it by.

use std::net::IpAddr;

use crate::frames::frame::IpPacket;

/// A kind of packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// All of a protocol above IP, by its number.
    Protocol(u8),
    /// What comes from a port of a protocol, or goes to it. Fragments have no ports.
    Port(u8, u16),
    /// What comes from an address of a network, or goes to one: an address, and the length of its prefix in bits.
    Network(IpAddr, u8),
}

/// The packets that a link is for: those of any of some kinds, or all but those.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Only {
    /// The kinds.
    pub kinds: Vec<Kind>,
    /// Whether the link is for the others.
    pub inverted: bool,
}

impl Only {
    /// Whether the link is for `packet`, whose IP header begins `bytes`.
    pub(crate) fn takes(&self, packet: &IpPacket, bytes: &[u8]) -> bool {
        let is_of = |kind: &Kind| match *kind {
            Kind::Protocol(number) => packet.protocol == number,
            Kind::Port(number, port) => {
                let ports = packet.ports.filter(|_| packet.protocol == number);
                ports.is_some_and(|(source, destination)| [source, destination].contains(&port))
            }
            Kind::Network(IpAddr::V4(network), length) => {
                let both = [bytes.get(12..16), bytes.get(16..20)];
                bytes[0] >> 4 == 4 && is_in(both, &network.octets(), length)
            }
            Kind::Network(IpAddr::V6(network), length) => {
                let both = [bytes.get(8..24), bytes.get(24..40)];
                bytes[0] >> 4 == 6 && is_in(both, &network.octets(), length)
            }
        };
        self.kinds.iter().any(is_of) != self.inverted
    }
}

/// Whether one of two addresses begins with so many bits of `network`.
fn is_in(addresses: [Option<&[u8]>; 2], network: &[u8], length: u8) -> bool {
    addresses.into_iter().flatten().any(|address| {
        let mut bits = u32::from(length);
        address.iter().zip(network).all(|(own, wanted)| {
            let here = bits.min(8);
            bits -= here;
            u32::from(own ^ wanted) >> (8 - here) == 0
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::frame::{Contents, parse};

    /// An Ethernet frame of UDP or TCP from 10.77.1.2, or fd00::2, to 192.0.2.9, or 2001:db8::9.
    fn frame(v6: bool, protocol: u8, ports: [u16; 2]) -> Vec<u8> {
        let mut bytes = vec![0; 12];
        if v6 {
            bytes.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 20, protocol, 64]);
            bytes.extend("fd00::2".parse::<std::net::Ipv6Addr>().unwrap().octets());
            bytes.extend(
                "2001:db8::9"
                    .parse::<std::net::Ipv6Addr>()
                    .unwrap()
                    .octets(),
            );
        } else {
            bytes.extend([8, 0, 0x45, 0, 0, 40, 0, 0, 0, 0, 64, protocol, 0, 0]);
            bytes.extend([10, 77, 1, 2, 192, 0, 2, 9]);
        }
        bytes.extend(ports.map(u16::to_be_bytes).concat());
        bytes.resize(bytes.len() + 16, 0);
        bytes
    }

    #[test]
    fn a_packet_is_of_any_of_the_kinds_in_either_direction() {
        let takes = |kinds: &[Kind], frame: &[u8]| {
            let Contents::Ip(ip) = parse(frame) else {
                panic!("{frame:?}")
            };
            let bytes = &frame[usize::from(ip.offset)..];
            let [only, but] = [false, true].map(|inverted| {
                let kinds = kinds.to_vec();
                Only { kinds, inverted }.takes(&ip, bytes)
            });
            assert_ne!(only, but);
            only
        };
        let network = |text: &str, length| Kind::Network(text.parse().unwrap(), length);
        let (tcp, udp) = (
            frame(false, 6, [40_000, 5432]),
            frame(true, 17, [443, 50_000]),
        );
        for (kind, expected) in [
            (Kind::Protocol(6), [true, false]),
            (Kind::Protocol(17), [false, true]),
            (Kind::Port(6, 5432), [true, false]),
            (Kind::Port(17, 443), [false, true]),
            (Kind::Port(6, 443), [false, false]),
            (network("192.0.2.0", 24), [true, false]),
            (network("192.0.2.8", 31), [true, false]),
            (network("192.0.2.8", 32), [false, false]),
            (network("10.77.1.2", 32), [true, false]),
            (network("2001:db8::", 32), [false, true]),
            (network("fd00::2", 128), [false, true]),
            (network("fd00::4", 126), [false, false]),
            (network("0.0.0.0", 0), [true, false]),
            (network("::", 0), [false, true]),
        ] {
            let found = [&tcp, &udp].map(|frame| takes(&[kind], frame));
            assert_eq!(found, expected, "{kind:?}");
        }
        let either = [Kind::Port(6, 5432), network("2001:db8::", 32)];
        assert!(takes(&either, &tcp) && takes(&either, &udp) && !takes(&[], &tcp));
    }
}
