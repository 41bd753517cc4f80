//! What connections are cut while the program runs, and how; and what happens to new ones.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};

use quell_units::{Time, notation};

use crate::option_error::OptionError;

/// How a connection is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// Both ends get a reset.
    Rst,
    /// Both ends get the end of the stream, after what is on its way.
    Fin,
    /// Nothing comes any more, and what is sent is acknowledged until the buffers are full.
    Silent,
    /// Nothing that is open is cut: this happens to what the program opens from now on.
    New(Treatment),
}

/// What happens to a new connection of the program. The far edge has accepted it before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Treatment {
    /// It is begun as ever.
    Accept,
    /// It is reset.
    Refuse,
    /// Nothing ever comes, and what is sent is acknowledged until the buffers are full.
    Blackhole,
    /// It is begun so much later.
    Delay(Time),
    /// It is reset when so many bytes have arrived, in both directions together.
    Limit(u64),
}

impl How {
    /// The key of a change that asks for it.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::New(_) => "new",
            Self::Rst | Self::Fin | Self::Silent => "cut",
        }
    }
}

impl FromStr for How {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        let (word, value) = text.split_once('=').unwrap_or((text, ""));
        let how = match (word, value) {
            ("rst", "") => Some(Self::Rst),
            ("fin", "") => Some(Self::Fin),
            ("silent", "") => Some(Self::Silent),
            ("accept", "") => Some(Self::New(Treatment::Accept)),
            ("refuse", "") => Some(Self::New(Treatment::Refuse)),
            ("blackhole", "") => Some(Self::New(Treatment::Blackhole)),
            ("accept-delay", _) => notation::time(value)
                .ok()
                .map(Treatment::Delay)
                .map(Self::New),
            ("limit", _) => {
                let bytes = notation::bytes(value).ok();
                bytes.map(|bytes| Self::New(Treatment::Limit(bytes.get())))
            }
            _ => None,
        };
        how.ok_or_else(|| OptionError::How(text.to_owned()))
    }
}

/// Which connections: those to this address, this port, or both; of the program's own server those of clients of this address, too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Filter {
    ip: Option<IpAddr>,
    port: Option<u16>,
}

impl FromStr for Filter {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        let wrong = |_| OptionError::Connections;
        if let Ok(both) = text.parse::<SocketAddr>() {
            let (ip, port) = (Some(both.ip()), Some(both.port()));
            return Ok(Self { ip, port });
        }
        Ok(match text.strip_prefix(':') {
            Some(port) => Self {
                ip: None,
                port: Some(port.parse().map_err(|_| OptionError::Connections)?),
            },
            None => Self {
                ip: Some(text.parse().map_err(wrong)?),
                port: None,
            },
        })
    }
}

/// What a connection leads to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way {
    /// Where the program wants to go, or the client that it serves.
    pub(super) to: SocketAddr,
    /// Where it serves the client.
    pub(super) inside: Option<SocketAddr>,
}

impl Filter {
    /// Whether it is meant. Of a client's connection the port is the server's, unless the client's address is named.
    pub(super) fn fits(&self, way: Way) -> bool {
        match way.inside {
            None => self.has(way.to),
            Some(inside) => self.has(inside) || self.ip.is_some() && self.has(way.to),
        }
    }

    fn has(&self, to: SocketAddr) -> bool {
        self.ip.is_none_or(|ip| ip == to.ip().to_canonical())
            && self.port.is_none_or(|port| port == to.port())
    }
}

/// What is cut.
#[derive(Debug, Clone, Copy)]
pub struct Cut {
    /// How.
    pub how: How,
    /// Which connections.
    pub filter: Filter,
    /// Those that are at least so old.
    pub older: Time,
}

impl FromStr for Cut {
    type Err = OptionError;

    /// Such as `rst to :443 older than 10s`.
    fn from_str(text: &str) -> Result<Self, OptionError> {
        let mut words = text.split_whitespace();
        let how = words.next().unwrap_or_default();
        let mut cut = Self {
            how: how.parse()?,
            filter: Filter::default(),
            older: Time::ZERO,
        };
        while let Some(word) = words.next() {
            match (word, words.next()) {
                ("to", Some(to)) => cut.filter = to.parse()?,
                ("older", Some("than")) if matches!(cut.how, How::New(_)) => {
                    return Err(OptionError::NoAge(how.to_owned()));
                }
                ("older", Some("than")) => {
                    cut.older = notation::time(words.next().unwrap_or_default())?;
                }
                _ => return Err(OptionError::How(text.to_owned())),
            }
        }
        Ok(cut)
    }
}

/// Where cuts are asked for.
#[derive(Debug, Clone)]
pub(crate) struct Scissors {
    asks: Sender<(Cut, Sender<usize>)>,
    wake: Arc<OwnedFd>,
}

/// Where they come.
pub(super) type Cuts = Receiver<(Cut, Sender<usize>)>;

impl Scissors {
    pub(super) fn new(wake: Arc<OwnedFd>) -> (Self, Cuts) {
        let (asks, cuts) = mpsc::channel();
        (Self { asks, wake }, cuts)
    }

    /// Cuts; how many connections there were. `None` once the relay has ended.
    pub(crate) fn cut(&self, cut: Cut) -> Option<usize> {
        let (answer, answered) = mpsc::channel();
        self.asks.send((cut, answer)).ok()?;
        let _ = rustix::io::write(&*self.wake, &1_u64.to_ne_bytes());
        answered.recv().ok()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by a panic")]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_an_address_a_port_or_both() {
        let to = |text: &str| text.parse::<SocketAddr>().unwrap();
        let (web, other, v6) = (
            to("192.0.2.1:443"),
            to("192.0.2.2:443"),
            to("[2001:db8::1]:80"),
        );
        for (text, expected) in [
            (":443", [true, true, false]),
            ("192.0.2.1", [true, false, false]),
            ("192.0.2.1:443", [true, false, false]),
            ("192.0.2.1:80", [false, false, false]),
            ("2001:db8::1", [false, false, true]),
            ("[2001:db8::1]:80", [false, false, true]),
        ] {
            let filter: Filter = text.parse().unwrap();
            assert_eq!(
                [web, other, v6].map(|to| filter.has(to)),
                expected,
                "{text}"
            );
        }
        for text in ["", ":", "443", ":http", "example.org:443"] {
            assert!(text.parse::<Filter>().is_err(), "{text}");
        }
        assert!(Filter::default().has(web));
        // A client of the program's own server.
        let client = to("192.0.2.9:8080");
        let inside = Some(to("10.77.0.2:80"));
        let served = Way { to: client, inside };
        for (text, expected) in [
            (":80", true),
            (":8080", false),
            ("192.0.2.9", true),
            ("10.77.0.2:80", true),
        ] {
            let filter: Filter = text.parse().unwrap();
            assert_eq!(filter.fits(served), expected, "{text}");
        }
    }

    #[test]
    fn what_happens_to_connections_is_a_word_perhaps_with_a_value() {
        let delay = Treatment::Delay(Time::from_secs(3));
        for (text, expected) in [
            ("rst", Some(How::Rst)),
            ("refuse", Some(How::New(Treatment::Refuse))),
            ("accept-delay=3s", Some(How::New(delay))),
            ("limit=1MB", Some(How::New(Treatment::Limit(1_000_000)))),
            ("reset", None),
            ("refuse=1s", None),
            ("accept-delay", None),
            ("limit=3s", None),
        ] {
            assert_eq!(text.parse().ok(), expected, "{text}");
        }
        let cut: Cut = "fin to :443  older than 10s".parse().unwrap();
        assert_eq!((cut.how, cut.older), (How::Fin, Time::from_secs(10)));
        assert_eq!(cut.filter, ":443".parse().unwrap());
        for (text, part) in [
            ("", "must be rst"),
            ("rst to", "must be rst"),
            ("rst to web", "by where they go"),
            ("rst older than", "a time with"),
            ("refuse older than 1s", "which have no age"),
        ] {
            let why = text.parse::<Cut>().unwrap_err().to_string();
            assert!(why.contains(part), "{text}: {why}");
        }
    }
}
