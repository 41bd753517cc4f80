//! Finds the group of flows that a packet belongs to.
//!
//! A group is identified by one port number, that of its listeners on one side of the link: behind port B it is the
//! destination port of packets that travel forward and the source port of those that travel in reverse, and behind port A
//! the other way round; for IPv4 and IPv6 and every transport with ports. The other port of a packet does not matter, so
//! clients may have any; where both ports of a packet name a group, the one behind port B decides. Fragments carry no
//! reliable ports and belong to no group.

use super::frame::IpPacket;
use quell_measure::Direction;

/// A side of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Side {
    /// Behind port A, where forward packets come from.
    A,
    /// Behind port B, where they go.
    #[default]
    B,
}

/// The group of each port.
#[derive(Debug, Clone)]
pub(crate) struct Classifier {
    /// For each side, group + 1 by port; 0 is none. 128 KiB each, of which a run touches a few lines.
    group_plus_one: [Box<[u16]>; 2],
}

impl Classifier {
    /// The group at index `i` has the port `ports[i]`, on that side; if a port occurs twice, the first one wins.
    pub(crate) fn new(ports: impl IntoIterator<Item = (u16, Side)>) -> Self {
        let mut group_plus_one = [(); 2].map(|()| vec![0; 1 << 16].into_boxed_slice());
        let numbered = ports.into_iter().take(usize::from(u16::MAX)).enumerate();
        for (group, (port, side)) in numbered {
            let entry = &mut group_plus_one[side as usize][usize::from(port)];
            if *entry == 0 {
                *entry = group as u16 + 1;
            }
        }
        Self { group_plus_one }
    }

    /// The group of `packet`, if it has one.
    pub(crate) fn group(&self, packet: &IpPacket, direction: Direction) -> Option<u16> {
        self.group_of_ports(packet.ports?, direction)
    }

    /// The group of a packet with this source and destination port.
    pub(crate) fn group_of_ports(
        &self,
        (source, destination): (u16, u16),
        direction: Direction,
    ) -> Option<u16> {
        let (behind_a, behind_b) = match direction {
            Direction::Forward => (source, destination),
            Direction::Reverse => (destination, source),
        };
        self.find(Side::B, behind_b)
            .or_else(|| self.find(Side::A, behind_a))
    }

    fn find(&self, side: Side, port: u16) -> Option<u16> {
        self.group_plus_one[side as usize][usize::from(port)].checked_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quell_units::Ecn;

    fn groups(classifier: &Classifier, ports: Option<(u16, u16)>) -> [Option<u16>; 2] {
        let packet = IpPacket {
            offset: 14,
            len: 40,
            ecn: Ecn::NotEct,
            protocol: 6,
            ports,
            flow: 0,
        };
        Direction::BOTH.map(|direction| classifier.group(&packet, direction))
    }

    #[test]
    fn the_listeners_port_names_the_group_in_both_directions() {
        let classifier = Classifier::new([5_001, 5_002, 65_535].map(|port| (port, Side::B)));
        for (ports, expected) in [
            (Some((40_000, 5_001)), [Some(0), None]),
            (Some((5_002, 40_000)), [None, Some(1)]),
            (Some((5_001, 5_002)), [Some(1), Some(0)]),
            (Some((1, 65_535)), [Some(2), None]),
            (Some((0, 0)), [None, None]),
            (None, [None, None]),
        ] {
            assert_eq!(groups(&classifier, ports), expected, "{ports:?}");
        }
    }

    #[test]
    fn a_listener_may_be_on_either_side_whatever_port_its_client_has() {
        let classifier = Classifier::new([(5_001, Side::B), (5_002, Side::A)]);
        for (ports, expected) in [
            ((40_000, 5_001), [Some(0), None]),
            ((5_001, 40_000), [None, Some(0)]),
            ((5_002, 40_000), [Some(1), None]),
            ((40_000, 5_002), [None, Some(1)]),
            // A client on side A has the port of a listener there.
            ((5_002, 5_001), [Some(0), None]),
            ((5_001, 5_002), [None, Some(0)]),
            // Or on side B; and one that talks to nobody.
            ((5_002, 5_002), [Some(1), Some(1)]),
            ((1, 2), [None, None]),
        ] {
            assert_eq!(groups(&classifier, Some(ports)), expected, "{ports:?}");
        }
        // On each side a port is another one.
        let classifier = Classifier::new([(5_001, Side::A), (5_001, Side::B)]);
        assert_eq!(groups(&classifier, Some((5_001, 9))), [Some(0), Some(1)]);
    }
}
