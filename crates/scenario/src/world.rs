//! The worlds in which a scenario can run.

use quell_app::MIN_DATAGRAM;
use quell_units::{Bytes, Time};

/// The most flows of all groups together, in the world that has room for most.
pub(crate) const MOST_FLOWS: u64 = 100_000;

/// A world: it decides who sends the packets and who moves the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum World {
    /// Modelled hosts in virtual time.
    #[default]
    Sim,
    /// The real Linux TCP stack in a user-mode kernel, in virtual time.
    Virtual,
    /// The real Linux TCP stack of this host, in real time.
    Live,
}

impl World {
    /// Every world.
    pub const ALL: &'static [Self] = &[Self::Sim, Self::Virtual, Self::Live];

    /// The word on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sim => "sim",
            Self::Virtual => "virtual",
            Self::Live => "live",
        }
    }

    /// The most flows of all groups together. A flow of a real stack is a pair of sockets and its memory in the kernel.
    pub const fn most_flows(self) -> u64 {
        match self {
            Self::Sim => MOST_FLOWS,
            Self::Virtual | Self::Live => 10_000,
        }
    }

    /// The smallest datagram of an application, as IP length. A real host writes a sequence number and a time into each, 16 bytes
    /// behind the headers of IP and UDP, and where the ends report to each other, 16 bytes more; a modelled one keeps them
    /// beside it.
    pub const fn smallest_datagram(self, content: bool) -> Bytes {
        match self {
            Self::Sim => MIN_DATAGRAM,
            Self::Virtual | Self::Live if content => Bytes::new(60),
            Self::Virtual | Self::Live => Bytes::new(44),
        }
    }

    /// The smallest base RTT that the world reproduces. The simulator has no host between two packets; a real stack answers
    /// some tens of microseconds late, in real time more so, and the error should stay below a tenth.
    pub const fn smallest_rtt(self) -> Time {
        match self {
            Self::Sim => Time::ZERO,
            Self::Virtual => Time::from_micros(100),
            Self::Live => Time::from_millis(1),
        }
    }
}
