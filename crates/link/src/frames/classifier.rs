//! Which group of flows a packet belongs to.
//!
//! A group is identified by one port number, that of its receivers on the far side of the link: the
//! destination port of packets that travel forward and the source port of those that travel in
//! reverse, for IPv4 and IPv6 and every transport with ports. Fragments carry no reliable ports and
//! belong to no group.

use super::frame::IpPacket;
use quell_measure::Direction;

/// The group of each port.
#[derive(Debug, Clone)]
pub(crate) struct Classifier {
    /// Group + 1 by port; 0 is none. 128 KiB, of which a run touches a few lines.
    group_plus_one: Box<[u16]>,
}

impl Classifier {
    /// The group at index `i` has the port `ports[i]`; if a port occurs twice, the first one wins.
    pub(crate) fn new(ports: impl IntoIterator<Item = u16>) -> Self {
        let mut group_plus_one = vec![0; 1 << 16].into_boxed_slice();
        for (group, port) in ports.into_iter().take(usize::from(u16::MAX)).enumerate() {
            let entry = &mut group_plus_one[usize::from(port)];
            if *entry == 0 {
                *entry = group as u16 + 1;
            }
        }
        Self { group_plus_one }
    }

    /// The group of `packet`, if it has one.
    pub(crate) fn group(&self, packet: &IpPacket, direction: Direction) -> Option<u16> {
        let (source, destination) = packet.ports?;
        let port = match direction {
            Direction::Forward => destination,
            Direction::Reverse => source,
        };
        self.group_of_port(port)
    }

    /// The group whose receivers have this port.
    pub(crate) fn group_of_port(&self, port: u16) -> Option<u16> {
        self.group_plus_one[usize::from(port)].checked_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quell_units::Ecn;

    #[test]
    fn the_far_side_port_names_the_group_in_both_directions() {
        let classifier = Classifier::new([5_001, 5_002, 65_535]);
        let packet = |ports| IpPacket {
            offset: 14,
            len: 40,
            ecn: Ecn::NotEct,
            protocol: 6,
            ports,
            flow: 0,
        };
        for (ports, forward, reverse) in [
            (Some((40_000, 5_001)), Some(0), None),
            (Some((5_002, 40_000)), None, Some(1)),
            (Some((5_001, 5_002)), Some(1), Some(0)),
            (Some((1, 65_535)), Some(2), None),
            (Some((0, 0)), None, None),
            (None, None, None),
        ] {
            assert_eq!(
                classifier.group(&packet(ports), Direction::Forward),
                forward,
                "{ports:?}"
            );
            assert_eq!(
                classifier.group(&packet(ports), Direction::Reverse),
                reverse,
                "{ports:?}"
            );
        }
    }
}
