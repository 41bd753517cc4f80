//! How a server serves.

use std::net::SocketAddr;
use std::time::Duration;

use crate::ask::Speed;

/// How a server serves.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where it listens; port 0 is any free one.
    pub listen: SocketAddr,
    /// Whether pages may open and change nothing.
    pub read_only: bool,
    /// How fast runs go on, until a page changes it.
    pub speed: Speed,
    /// What it may take.
    pub limits: Limits,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            read_only: false,
            speed: Speed::Times(1.0),
            limits: Limits::default(),
        }
    }
}

/// The limits of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Connections at once: for one more the oldest that has not shown the token ends; if all have, it is answered with 503.
    pub connections: usize,
    /// Streams of events at once; more are answered with 503.
    pub streams: usize,
    /// Bytes of the body of a request.
    pub body: usize,
    /// How long the head of a request may take, and its body again.
    pub head: Duration,
    /// How long the other end of a connection may take nothing of an answer.
    pub stall: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 64,
            streams: 8,
            body: 64 << 10,
            head: Duration::from_secs(10),
            stall: Duration::from_secs(60),
        }
    }
}
