//! Ports of this host whose clients reach the program, through the link: `--publish`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::OwnedFd;
use std::str::FromStr;

use quell_hosts::relayed;

use crate::error::{Doing as _, Result};
use crate::option_error::OptionError;

/// What `--publish` takes: `[ADDR:]PORT[/udp][:INSIDE]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Published {
    /// Where clients come. Port 0 is one that is free.
    pub at: SocketAddr,
    /// Datagrams, not connections.
    pub is_udp: bool,
    /// The port at which the program serves.
    pub inside: u16,
}

impl FromStr for Published {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        let address = |ip: &str| ip.parse::<IpAddr>().ok();
        let bracketed = text
            .strip_prefix('[')
            .and_then(|rest| rest.split_once("]:"));
        let (ip, rest) = match bracketed.or_else(|| text.split_once(':')) {
            Some((ip, rest)) if address(ip).is_some() => (address(ip), rest),
            _ => (None, text),
        };
        let (port, inside) = match rest.split_once(':') {
            Some((port, inside)) => (port, Some(inside)),
            None => (rest, None),
        };
        let (port, is_udp) = match port.split_once('/') {
            None | Some((_, "tcp")) => (port.split('/').next().unwrap_or(port), false),
            Some((port, "udp")) => (port, true),
            Some(_) => return Err(OptionError::Publish),
        };
        let number = |text: &str| text.parse::<u16>().map_err(|_| OptionError::Publish);
        let port = number(port)?;
        let inside = inside.map_or(Ok(port), number)?;
        // A port that gets its number later serves one that has it.
        if inside == 0 {
            return Err(OptionError::Publish);
        }
        // Answers leave by sockets that are made when the right to such ports has gone.
        if is_udp && (1..1024).contains(&port) {
            return Err(OptionError::PublishedPort);
        }
        Ok(Self {
            at: SocketAddr::new(ip.unwrap_or(Ipv4Addr::LOCALHOST.into()), port),
            is_udp,
            inside,
        })
    }
}

/// A port that is open for clients; nobody answers yet.
#[derive(Debug)]
pub struct Door {
    pub(crate) socket: OwnedFd,
    /// With the number of the port.
    pub published: Published,
}

impl Door {
    /// Opens it.
    ///
    /// # Errors
    ///
    /// Somebody has the port, or this user may not have it.
    pub fn open(mut published: Published) -> Result<Self> {
        let Published { at, is_udp, .. } = published;
        let opened = || match is_udp {
            true => {
                // Sockets of exchanges share the port; somebody else's do not.
                drop(UdpSocket::bind(at)?);
                let socket = relayed::datagrams_at(at)?;
                let socket = UdpSocket::from(socket);
                Ok((socket.local_addr()?, OwnedFd::from(socket)))
            }
            false => {
                let socket = TcpListener::bind(at)?;
                socket.set_nonblocking(true)?;
                Ok((socket.local_addr()?, OwnedFd::from(socket)))
            }
        };
        let opened: std::io::Result<_> = opened();
        let kind = if is_udp { "/udp" } else { "" };
        let (at, socket) = opened.doing(&format!("publish {at}{kind}"))?;
        published.at = at;
        Ok(Self { socket, published })
    }

    /// Whom the program sees when `client` comes: the client itself, or for one of this host what stands for this host.
    pub(crate) fn shown(&self, client: SocketAddr, host: [IpAddr; 2]) -> SocketAddr {
        let ip = client.ip().to_canonical();
        let [v4, v6] = host;
        let ip = match ip {
            IpAddr::V4(own) if own.is_loopback() => v4,
            IpAddr::V6(own) if own.is_loopback() || own.is_unicast_link_local() => v6,
            other => other,
        };
        SocketAddr::new(ip, client.port())
    }

    /// Where the program serves, for a client of this family.
    pub(crate) fn inside(&self, shown: SocketAddr, inside: [IpAddr; 2]) -> SocketAddr {
        let [v4, v6] = inside;
        let ip = if shown.is_ipv4() { v4 } else { v6 };
        SocketAddr::new(ip, self.published.inside)
    }

    /// Whether others than this host's own programs come here.
    pub fn is_for_others(&self) -> bool {
        !self.published.at.ip().is_loopback()
    }

    /// Whether clients may come by IPv6.
    pub(crate) fn needs_ipv6(&self) -> bool {
        self.published.at.is_ipv6() && self.published.at.ip() != IpAddr::V6(Ipv6Addr::UNSPECIFIED)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by a panic")]
mod tests {
    use super::*;

    #[test]
    fn a_published_port_is_read_as_it_is_written() {
        for (text, at, is_udp, inside) in [
            ("8080", "127.0.0.1:8080", false, 8080),
            ("8080/tcp", "127.0.0.1:8080", false, 8080),
            ("8080:80", "127.0.0.1:8080", false, 80),
            ("7777/udp", "127.0.0.1:7777", true, 7777),
            ("0.0.0.0:7777/udp:9000", "0.0.0.0:7777", true, 9000),
            ("[::1]:8080:80", "[::1]:8080", false, 80),
            ("0:80", "127.0.0.1:0", false, 80),
        ] {
            let published: Published = text.parse().unwrap();
            let expected = Published {
                at: at.parse().unwrap(),
                is_udp,
                inside,
            };
            assert_eq!(published, expected, "{text}");
        }
        for text in [
            "",
            "0",
            "http",
            "8080/sctp",
            "80:80:80",
            "65536",
            "8080:0",
            "[::1]",
            "::1:80",
            "53/udp",
        ] {
            assert!(text.parse::<Published>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_port_that_somebody_has_is_not_opened_again() {
        for kind in ["", "/udp"] {
            let first = Door::open(format!("0{kind}:80").parse().unwrap()).unwrap();
            let at = first.published.at;
            assert_ne!(at.port(), 0);
            let again = format!("{}{kind}", at.port()).parse().unwrap();
            let why = Door::open(again).unwrap_err().to_string();
            assert!(why.contains(&format!("cannot publish {at}{kind}")), "{why}");
        }
    }

    #[test]
    fn the_program_sees_the_client_and_of_this_host_what_stands_for_it() {
        let door = Door::open("0:80".parse().unwrap()).unwrap();
        let host = ["10.77.0.254", "fd77::fe"].map(|ip| ip.parse().unwrap());
        for (client, expected) in [
            ("127.0.0.1:5", "10.77.0.254:5"),
            ("[::1]:6", "[fd77::fe]:6"),
            ("[::ffff:192.0.2.1]:7", "192.0.2.1:7"),
            ("[2001:db8::1]:8", "[2001:db8::1]:8"),
        ] {
            let shown = door.shown(client.parse().unwrap(), host);
            assert_eq!(shown, expected.parse().unwrap(), "{client}");
        }
    }
}
