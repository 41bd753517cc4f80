//! An end that sends and receives datagrams.
//!
//! The sender host has a connected socket for each flow; the receiver host has one for each group, at the group's port, and
//! distinguishes flows by the address that their datagrams come from. Lookup then costs the same for one flow and for thousands.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

use quell_app::{Content, Input};
use quell_units::{Bytes, Time};

use super::{Context, End, State};
use crate::traffic::datagram::{self, BATCH, Incoming, Layout, Outgoing};
use crate::traffic::error::{FlowFailure, doing};
use crate::traffic::poller::{Interest, Readiness, Token};

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
enum Outlet {
    /// The end's own, connected socket.
    Own(OwnedFd),
    /// The group's socket.
    Port { index: usize, to: SocketAddr },
}

/// An end that sends or receives datagrams.
#[derive(Debug)]
pub(in crate::traffic) struct DatagramEnd {
    outlet: Outlet,
    layout: Layout,
    next_sequence: u64,
    /// Taken from the application and not yet sent; at most one batch.
    waiting: Vec<Outgoing>,
    /// The socket has no room; an event follows when it has.
    blocked: bool,
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

    fn new(outlet: Outlet, layout: Layout) -> Self {
        Self {
            outlet,
            layout,
            next_sequence: 0,
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
    fn send(&mut self, ports: &[Port]) -> io::Result<()> {
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

impl End {
    pub(super) fn flush_datagrams(&mut self, context: &mut Context) {
        let State::Datagrams(datagrams) = &mut self.state else {
            return;
        };
        if datagrams.blocked {
            return;
        }
        match datagrams.send(&context.ports) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                datagrams.blocked = true;
                self.watch_for_room(context, true);
            }
            Err(error) => {
                let size = datagrams
                    .waiting
                    .first()
                    .map_or(Bytes::ZERO, |first| datagrams.layout.size(first.payload));
                self.fail(match error.raw_os_error() {
                    Some(libc::EMSGSIZE) => FlowFailure::DatagramTooLarge { size },
                    Some(libc::ECONNREFUSED) => FlowFailure::Refused { at: self.server },
                    _ => doing("send datagrams")(error),
                });
            }
        }
    }

    fn watch_for_room(&mut self, context: &mut Context, blocked: bool) {
        let State::Datagrams(datagrams) = &self.state else {
            return;
        };
        let watched = match &datagrams.outlet {
            Outlet::Own(socket) => context.poller.change(
                socket,
                Token::End(self.index),
                Interest {
                    read: true,
                    write: blocked,
                },
            ),
            Outlet::Port { index, .. } if blocked => {
                let port = &mut context.ports[*index];
                port.blocked.push(self.index);
                context.poller.change(
                    &port.socket,
                    Token::Port(*index),
                    Interest {
                        read: true,
                        write: true,
                    },
                )
            }
            Outlet::Port { .. } => Ok(()),
        };
        if let Err(source) = watched {
            self.fail(doing("watch a socket")(source));
        }
    }

    /// The socket for this end's datagrams, if it has one of its own.
    pub(in crate::traffic) fn own_datagram_socket(&self) -> Option<&OwnedFd> {
        match &self.state {
            State::Datagrams(DatagramEnd {
                outlet: Outlet::Own(socket),
                ..
            }) => Some(socket),
            _ => None,
        }
    }

    /// There is room again.
    pub(in crate::traffic) fn unblock(&mut self, context: &mut Context) {
        if let State::Datagrams(datagrams) = &mut self.state
            && datagrams.blocked
        {
            datagrams.blocked = false;
            self.watch_for_room(context, false);
            self.drive(context);
        }
    }

    pub(super) fn serve_datagrams(&mut self, context: &mut Context, readiness: Readiness) {
        if readiness.writable {
            self.unblock(context);
        }
        if readiness.readable {
            let mut arrived = Vec::new();
            let State::Datagrams(DatagramEnd {
                outlet: Outlet::Own(socket),
                layout,
                ..
            }) = &self.state
            else {
                return;
            };
            match take(socket, true, *layout, &mut arrived) {
                Ok(()) => {
                    // Some may have been sent since this turn began.
                    context.present.pass();
                    arrived
                        .iter()
                        .for_each(|incoming| self.deliver(context, incoming));
                }
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    self.fail(FlowFailure::Refused { at: self.server });
                }
                Err(error) => self.fail(doing("receive datagrams")(error)),
            }
        }
    }

    /// A datagram of this flow has arrived.
    pub(in crate::traffic) fn deliver(&mut self, context: &mut Context, incoming: &Incoming) {
        // The other host may have been quicker to see that the flow starts.
        self.go_up(context);
        let State::Datagrams(datagrams) = &self.state else {
            return;
        };
        let size = datagrams.layout.size(incoming.payload);
        if !self.source {
            self.shared(context)
                .delivered
                .fetch_add(incoming.payload as u64, Ordering::Relaxed);
        }
        self.poll(
            context,
            Input::Datagram {
                sequence: incoming.sequence,
                sent: incoming.sent,
                size,
                ecn: incoming.ecn,
                content: incoming.content,
            },
        );
        self.drive(context);
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
