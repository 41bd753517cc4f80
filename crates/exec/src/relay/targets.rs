//! Where a connection of the program really goes.
//!
//! Everything goes where the program said, with these exceptions: the addresses that stand for the host's name servers and for its
//! loopback go there, the latter only if that was allowed; and nothing else reaches a loopback, link-local, multicast or unspecified
//! address of the host.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::network::NAME_SERVICE;
use crate::subnet::Subnet;

/// Which services on the host's loopback the program may reach.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Loopback {
    /// None.
    #[default]
    Closed,
    /// All.
    Open,
    /// Those at these ports.
    Ports(Vec<u16>),
}

impl Loopback {
    fn allows(&self, port: u16) -> bool {
        match self {
            Self::Closed => false,
            Self::Open => true,
            Self::Ports(ports) => ports.contains(&port),
        }
    }
}

/// The rules.
#[derive(Debug, Clone)]
pub struct Targets {
    /// The network inside.
    pub subnet: Subnet,
    /// Name servers of the host.
    pub servers: Vec<SocketAddr>,
    /// Services on its loopback.
    pub loopback: Loopback,
}

impl Targets {
    /// Where what the program sends to `to` goes; `None` where it goes nowhere.
    pub fn of(&self, to: SocketAddr) -> Option<SocketAddr> {
        let address = to.ip().to_canonical();
        if self.subnet.host().contains(&address) {
            let loopback: IpAddr = match address {
                IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
                IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
            };
            return self
                .loopback
                .allows(to.port())
                .then_some(SocketAddr::new(loopback, to.port()));
        }
        if self.subnet.contains(address) {
            let mut servers = self.servers.iter().enumerate();
            let server = servers.find(|(index, _)| self.subnet.names(*index).contains(&address))?;
            return (to.port() == NAME_SERVICE).then_some(*server.1);
        }
        let is_outside = !address.is_loopback()
            && !address.is_unspecified()
            && !address.is_multicast()
            && match address {
                IpAddr::V4(address) => {
                    !address.is_broadcast() && !address.is_link_local() && address.octets()[0] != 0
                }
                IpAddr::V6(address) => !address.is_unicast_link_local(),
            };
        is_outside.then_some(SocketAddr::new(address, to.port()))
    }
}

/// The same port of the host's loopback in the other family: many services listen in one alone.
pub(super) fn beside(target: SocketAddr) -> Option<SocketAddr> {
    let other: IpAddr = match target.ip() {
        IpAddr::V4(Ipv4Addr::LOCALHOST) => Ipv6Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::LOCALHOST) => Ipv4Addr::LOCALHOST.into(),
        _ => return None,
    };
    Some(SocketAddr::new(other, target.port()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by a panic")]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_allowed_reaches_the_host_itself() {
        let targets = |loopback| Targets {
            subnet: Subnet::new(2),
            servers: vec![
                "127.0.0.53:53".parse().unwrap(),
                "[::1]:53".parse().unwrap(),
            ],
            loopback,
        };
        let some = targets(Loopback::Ports(vec![8080]));
        let of = |to: &str| some.of(to.parse().unwrap()).map(|to| to.to_string());
        for (to, expected) in [
            ("198.51.100.7:443", Some("198.51.100.7:443")),
            ("[2001:db8::7]:443", Some("[2001:db8::7]:443")),
            ("10.77.3.1:80", Some("10.77.3.1:80")),
            // Names.
            ("10.77.2.53:53", Some("127.0.0.53:53")),
            ("10.77.2.54:53", Some("[::1]:53")),
            ("[fd77:0:2::35]:53", None),
            ("10.77.2.55:53", None),
            ("10.77.2.53:80", None),
            // The host.
            ("10.77.2.254:8080", Some("127.0.0.1:8080")),
            ("10.77.2.254:22", None),
            ("[fd77:0:2::fe]:8080", Some("[::1]:8080")),
            // Nothing else of it.
            ("127.0.0.1:8080", None),
            ("[::ffff:127.0.0.1]:8080", None),
            ("[::1]:8080", None),
            ("0.0.0.0:1", None),
            ("0.1.2.3:1", None),
            ("[::]:1", None),
            ("224.0.0.1:1", None),
            ("255.255.255.255:1", None),
            ("169.254.169.254:80", None),
            ("[fe80::1]:1", None),
            ("[ff02::1]:1", None),
            ("10.77.2.9:1", None),
        ] {
            // fd77:0:2::35 is 53 in hexadecimal digits, which is the first server.
            let expected = match to {
                "[fd77:0:2::35]:53" => Some("127.0.0.53:53"),
                _ => expected,
            };
            assert_eq!(of(to).as_deref(), expected, "{to}");
        }
        let host = "10.77.2.254:22".parse().unwrap();
        assert!(targets(Loopback::Open).of(host).is_some());
        assert!(targets(Loopback::Closed).of(host).is_none());
    }
}
