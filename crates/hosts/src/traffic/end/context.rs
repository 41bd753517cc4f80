//! What the ends of a host share.

use std::sync::Arc;

use quell_app::{Action, Recorded};
use quell_units::Time;

use super::datagram_socket::Port;
use crate::traffic::clock::{Present, Timers};
use crate::traffic::endpoint::Host;
use crate::traffic::poller::Poller;
use crate::traffic::shared::Shared;

/// The state that the ends of a host share.
pub(in crate::traffic) struct Context {
    pub(in crate::traffic) host: Host,
    pub(in crate::traffic) present: Present,
    pub(in crate::traffic) connect_within: Time,
    pub(in crate::traffic) shared: Arc<Shared>,
    pub(in crate::traffic) poller: Poller,
    pub(in crate::traffic) timers: Timers,
    /// The sockets of the receiver host's groups of datagrams.
    pub(in crate::traffic) ports: Vec<Port>,
    /// Buffer for reads; its content is never used.
    pub(in crate::traffic) read_buffer: Vec<u8>,
    /// Room for what an application asks for, so that none is allocated each time.
    pub(in crate::traffic) actions: Vec<Action>,
    /// What applications have recorded since the last tick, with the index of the flow.
    pub(in crate::traffic) events: Vec<(usize, Recorded)>,
}

impl Context {
    /// The time of the run at the present event; zero before it has begun.
    pub(in crate::traffic) fn now(&self) -> Time {
        self.present.now().unwrap_or(Time::ZERO)
    }
}
