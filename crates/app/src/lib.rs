//! Applications without sockets: the same code runs over modelled and over real hosts.
//!
//! An application is two ends of a flow. Each end is a state machine: its host polls it with what
//! happened and obeys the [`Action`] that comes back. An end never reads a clock and cannot tell
//! whether its host is real.
//!
//! * [`config`]: which application a group of flows runs, and with what.
//! * [`bulk`], [`cbr`], [`transfer`], [`on_off`]: one file per application; [`App`] is the enum over
//!   their ends.
//! * [`report`]: what the user of an application would tell of it; [`durations`]: how long things
//!   took.
//! * [`period`]: lengths of time, fixed or drawn; [`normal`], [`exponential`]: the draws, from
//!   integer tables.
//!
//! # The life of a flow
//!
//! 1. [`Input::Started`]: the connection is up. The receiving end may be told earlier, once the
//!    connection has been asked for, but never later than of its first byte.
//! 2. Wakes and arrivals, in any number.
//! 3. An end that answers [`Action::done`] has no more to send: its host closes its direction when
//!    all has been sent. [`Input::Closed`] tells both ends that the connection is over.
//! 4. Where an end answers that with [`Action::again`], the host that opens connections opens
//!    another at that time, and the flow begins anew. The other host ignores it.
//!
//! A flow that is stopped from outside ends as if its sender were done.

#![forbid(unsafe_code)]

mod application;
pub mod bulk;
pub mod cbr;
pub mod config;
pub mod durations;
pub mod exponential;
pub mod normal;
pub mod on_off;
pub mod period;
pub mod report;
pub mod transfer;

pub use application::App;
pub use config::{AppConfig, ConfigError, Datagrams, Interval};
pub use durations::Durations;
pub use period::{Distribution, Period};
pub use report::{CbrReport, Delay, Delays, OnOffReport, Report, TransferReport};

use quell_units::{Bytes, Time};

/// How far a stream's transport reads ahead of what it has sent between [`Send::Resume`] and
/// [`Send::Pause`]: a socket buffer of 16 KiB beyond the data in flight.
pub const UNSENT: Bytes = Bytes::new(16 << 10);

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
    /// The flow is up, or up again. The first poll of each end.
    Started {
        /// When its connection was asked for; for datagrams the present.
        opened: Time,
    },
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
    /// The stream is over: all that the other end sent has arrived, and nothing follows.
    Closed,
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
    /// There is more to send until [`Send::Pause`]. The transport reads at most [`UNSENT`] ahead.
    Resume,
    /// Nothing follows what the transport has read.
    Pause,
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
    /// This end sends nothing more on this connection.
    pub done: bool,
    /// In answer to [`Input::Closed`]: when the next connection is to be opened.
    pub again: Option<Time>,
}

/// One end of an application.
pub trait Application {
    /// Something happened at `now`.
    fn poll(&mut self, now: Time, input: Input) -> Action;
}
