//! Applications without sockets: the same code runs over modelled and over real hosts.
//!
//! An application is two ends of a flow. Each end is a state machine: its host polls it with what
//! happened and obeys the [`Action`] that comes back. An end never reads a clock and cannot tell
//! whether its host is real.
//!
//! * [`config`]: which application a group of flows runs, and with what.
//! * [`bulk`], [`cbr`]: one file per application; [`App`] is the enum over their ends.
//! * [`report`]: what the user of an application would tell of it.
//! * [`normal`]: normally distributed spans from an integer table.
//!
//! Finite and on/off transfers are to come: each is one more file and one more line in [`App`].

#![forbid(unsafe_code)]

mod application;
pub mod bulk;
pub mod cbr;
pub mod config;
pub mod normal;
pub mod report;

pub use application::App;
pub use config::{AppConfig, ConfigError, Interval};
pub use report::{CbrReport, Delay, Report};

use quell_aqm::{Bytes, Time};

/// What carries the application's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// An ordered, reliable byte stream: TCP.
    Stream,
    /// Single datagrams, each with a sequence number and its time of sending: UDP.
    Datagram,
}

/// Why an end is polled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// The flow is up. The first poll of each end.
    Started,
    /// The time that the end asked for has come.
    Wake,
    /// So many further bytes of the stream arrived in order.
    Bytes(u64),
    /// A datagram arrived.
    Datagram {
        /// Counted from 0 by the sending host, in the order of sending.
        sequence: u64,
        /// When the other end handed it to its host.
        sent: Time,
        /// IP length.
        size: Bytes,
    },
}

/// What an end wants to send now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Send {
    /// Nothing more than before.
    #[default]
    Nothing,
    /// So many further bytes of the stream.
    Bytes(u64),
    /// From now on there is always more to send.
    Endless,
    /// One datagram of this IP length.
    Datagram(Bytes),
}

/// The answer to a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Action {
    /// What to send.
    pub send: Send,
    /// When to poll with [`Input::Wake`]; replaces an earlier wish. A time that has passed means at
    /// once: a host that is late is polled until it has caught up.
    pub wake: Option<Time>,
    /// This end neither sends nor expects anything more.
    pub done: bool,
}

/// One end of an application.
pub trait Application {
    /// Something happened at `now`.
    fn poll(&mut self, now: Time, input: Input) -> Action;
}
