//! The sockets of datagrams.
//!
//! The sender host has a connected socket for each flow; the receiver host has one for each group, at the group's port, and
//! distinguishes flows by the address that their datagrams come from. Lookup then costs the same for one flow and for thousands.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use quell_app::Content;
use quell_app::recent::Recent;
use quell_units::{Bytes, Time};

use crate::traffic::datagram::{self, BATCH, Incoming, Layout, Outgoing};
use crate::traffic::error::FlowFailure;

/// Batches taken from a socket in one turn, before others are served.
const BATCHES_PER_TURN: usize = 4;

/// The receiver host's socket for a group of datagrams.
#[derive(Debug)]
pub(in crate::traffic) struct Port {
    pub(in crate::traffic) socket: OwnedFd,
    pub(in crate::traffic) layout: Layout,
    /// Flows by the source address of their datagrams.
    pub(in crate::traffic) flows: HashMap<SocketAddr, usize>,
    /// Flows that wait for room to send.
    pub(in crate::traffic) blocked: Vec<usize>,
}

/// The socket that an end sends its datagrams through.
#[derive(Debug)]
pub(super) enum Outlet {
    /// The end's own, connected socket.
    Own(OwnedFd),
    /// The group's socket.
    Port { index: usize, to: SocketAddr },
}

/// An end that sends or receives datagrams.
#[derive(Debug)]
pub(in crate::traffic) struct DatagramEnd {
    pub(super) outlet: Outlet,
    pub(super) layout: Layout,
    pub(super) next_sequence: u64,
    pub(super) recent: Recent,
    /// Taken from the application and not yet sent; at most one batch.
    pub(super) waiting: Vec<Outgoing>,
    /// The socket has no room; an event follows when it has.
    pub(super) blocked: bool,
}

impl DatagramEnd {
    /// An end with a connected socket of its own, registered with the poller for reading.
    pub(in crate::traffic) fn own(socket: OwnedFd, layout: Layout) -> Self {
        Self::new(Outlet::Own(socket), layout)
    }

    /// An end that shares the socket of its group.
    pub(in crate::traffic) fn at_port(index: usize, to: SocketAddr, layout: Layout) -> Self {
        Self::new(Outlet::Port { index, to }, layout)
    }

    pub(super) fn new(outlet: Outlet, layout: Layout) -> Self {
        Self {
            outlet,
            layout,
            next_sequence: 0,
            recent: Recent::default(),
            waiting: Vec::new(),
            blocked: false,
        }
    }

    pub(super) fn queue(
        &mut self,
        now: Time,
        size: Bytes,
        content: Content,
    ) -> Result<(), FlowFailure> {
        let least = self.layout.least_size();
        let payload = self
            .layout
            .payload_length(size)
            .ok_or(FlowFailure::DatagramTooSmall { size, least })?;
        self.waiting.push(Outgoing {
            sequence: self.next_sequence,
            sent: now,
            payload,
            content,
        });
        self.next_sequence += 1;
        Ok(())
    }

    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= BATCH
    }

    pub(super) fn is_blocked(&self) -> bool {
        self.blocked
    }

    /// Sends the datagrams that wait. An error concerns the first that is left.
    pub(super) fn send(&mut self, ports: &[Port]) -> io::Result<()> {
        while !self.waiting.is_empty() {
            let sent = match &self.outlet {
                Outlet::Own(socket) => datagram::send(socket, None, self.layout, &self.waiting),
                Outlet::Port { index, to } => {
                    let socket = &ports[*index].socket;
                    datagram::send(socket, Some(*to), self.layout, &self.waiting)
                }
            };
            match sent {
                Ok(count) => drop(self.waiting.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Takes the datagrams that wait at a socket, up to the share of one turn.
pub(in crate::traffic) fn take(
    socket: &OwnedFd,
    connected: bool,
    layout: Layout,
    arrived: &mut Vec<Incoming>,
) -> io::Result<()> {
    for _ in 0..BATCHES_PER_TURN {
        match datagram::receive(socket, connected, layout, arrived) {
            Ok(BATCH) => {}
            Ok(_) => break,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) =>
            {
                break;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
