//! Groups that are known by their addresses and not by a port: those of programs, which choose their ports themselves. Nobody else
//! counts what arrives of them, so that the payload that passes is counted here.

use std::net::Ipv4Addr;

use quell_measure::Direction;

/// Header lengths that do not vary, in bytes.
const UDP_HEADER: u64 = 8;
const LEAST_TCP_HEADER: u64 = 20;
const LEAST_IP_HEADER: usize = 20;

/// The groups with addresses of their own, and the payload that has passed of each.
#[derive(Debug, Clone, Default)]
pub(crate) struct Addressed {
    /// Address and group, sorted by the address.
    groups: Vec<(Ipv4Addr, u16)>,
    /// Payload by direction and group; empty where there is no such group.
    payload: [Vec<u64>; 2],
}

impl Addressed {
    /// Takes the addresses of each group behind port A and behind port B, if these identify its packets.
    pub(crate) fn new(addresses: impl IntoIterator<Item = Option<[Ipv4Addr; 2]>>) -> Self {
        let numbered = (0..u16::MAX).zip(addresses);
        let all = numbered.flat_map(|(group, both)| {
            both.into_iter()
                .flatten()
                .map(move |address| (address, group))
        });
        let mut groups: Vec<(Ipv4Addr, u16)> = all.collect();
        groups.sort();
        let most = groups
            .iter()
            .map(|(_, group)| usize::from(*group) + 1)
            .max();
        let counts = vec![0; most.unwrap_or(0)];
        Self {
            groups,
            payload: [counts.clone(), counts],
        }
    }

    /// The group of the IP packet `packet`, if one of its addresses is that of a group. The one behind port A decides.
    pub(crate) fn group(&self, packet: &[u8], direction: Direction) -> Option<u16> {
        if self.groups.is_empty() || version(packet) != Some(4) {
            return None;
        }
        let address = |offset: usize| {
            let bytes: &[u8; 4] = packet.get(offset..)?.first_chunk()?;
            self.find(Ipv4Addr::from(*bytes))
        };
        let (source, destination) = (address(12), address(16));
        match direction {
            Direction::Forward => source.or(destination),
            Direction::Reverse => destination.or(source),
        }
    }

    fn find(&self, address: Ipv4Addr) -> Option<u16> {
        let at = self
            .groups
            .binary_search_by_key(&address, |(known, _)| *known);
        at.ok().map(|index| self.groups[index].1)
    }

    /// The packet of `group` passes.
    pub(crate) fn pass(&mut self, packet: &[u8], group: Option<u16>, direction: Direction) {
        let counts = &mut self.payload[direction.index()];
        if let Some(count) = group.and_then(|group| counts.get_mut(usize::from(group))) {
            *count += payload(packet);
        }
    }

    /// Bytes of payload of `group` that have passed, retransmitted ones included; 0 for a group without addresses.
    pub(crate) fn passed(&self, group: u16, direction: Direction) -> u64 {
        let counts = &self.payload[direction.index()];
        counts.get(usize::from(group)).copied().unwrap_or(0)
    }
}

fn version(packet: &[u8]) -> Option<u8> {
    packet.first().map(|byte| byte >> 4)
}

/// The bytes behind the transport header of an IPv4 packet, or behind the IP header if the protocol has no transport header.
fn payload(packet: &[u8]) -> u64 {
    let (Some(first), Some(&[high, low]), Some(protocol)) = (
        packet.first(),
        packet.get(2..4).and_then(<[u8]>::first_chunk::<2>),
        packet.get(9),
    ) else {
        return 0;
    };
    let header = (usize::from(first & 0x0f) * 4).max(LEAST_IP_HEADER);
    let transport = match protocol {
        6 => packet
            .get(header + 12)
            .map_or(LEAST_TCP_HEADER, |byte| u64::from(byte >> 4) * 4),
        17 => UDP_HEADER,
        _ => 0,
    };
    u64::from(u16::from_be_bytes([high, low])).saturating_sub(header as u64 + transport)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An IPv4 packet with options of the given lengths, and a payload.
    fn packet(protocol: u8, addresses: [[u8; 4]; 2], transport: usize, payload: usize) -> Vec<u8> {
        let mut packet = vec![0; 24 + transport + payload];
        packet[0] = 0x46;
        let length = (packet.len() as u16).to_be_bytes();
        packet[2..4].copy_from_slice(&length);
        packet[9] = protocol;
        packet[12..16].copy_from_slice(&addresses[0]);
        packet[16..20].copy_from_slice(&addresses[1]);
        packet[24 + 12.min(transport + payload - 1)] = (transport / 4 * 16) as u8;
        packet
    }

    const A: [u8; 4] = [10, 77, 0, 2];
    const B: [u8; 4] = [10, 77, 128, 2];
    const OTHER: [u8; 4] = [10, 77, 128, 3];

    fn addressed() -> Addressed {
        Addressed::new([
            None,
            Some([A.into(), B.into()]),
            Some([[10, 77, 0, 3].into(), OTHER.into()]),
        ])
    }

    #[test]
    fn an_address_names_the_group_in_both_directions_whatever_the_ports() {
        let known = addressed();
        for (addresses, expected) in [
            ([A, B], [Some(1), Some(1)]),
            ([B, A], [Some(1), Some(1)]),
            // Where they differ, the one behind A decides.
            ([A, OTHER], [Some(1), Some(2)]),
            ([[10, 77, 0, 1], [10, 77, 128, 1]], [None, None]),
        ] {
            let packet = packet(6, addresses, 32, 100);
            let found = Direction::BOTH.map(|direction| known.group(&packet, direction));
            assert_eq!(found, expected, "{addresses:?}");
        }
        for short in [&[][..], &[0x45], &[0x60; 40]] {
            assert_eq!(known.group(short, Direction::Forward), None);
        }
        assert_eq!(
            Addressed::default().group(&packet(6, [A, B], 20, 1), Direction::Forward),
            None
        );
    }

    #[test]
    fn payload_is_what_stands_behind_the_headers() {
        let mut known = addressed();
        for (protocol, transport, bytes) in [(6, 32, 1_448), (6, 20, 0), (17, 8, 172), (1, 0, 64)] {
            let before = known.passed(1, Direction::Reverse);
            known.pass(
                &packet(protocol, [A, B], transport, bytes),
                Some(1),
                Direction::Reverse,
            );
            assert_eq!(known.passed(1, Direction::Reverse) - before, bytes as u64);
        }
        assert_eq!(known.passed(1, Direction::Forward), 0);
        // Groups that are not counted, and what is no packet.
        known.pass(&packet(17, [A, B], 8, 9), None, Direction::Forward);
        known.pass(&packet(17, [A, B], 8, 9), Some(7), Direction::Forward);
        known.pass(&[0x45], Some(1), Direction::Forward);
        assert_eq!(known.passed(1, Direction::Forward), 0);
    }
}
