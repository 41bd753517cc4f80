//! An end that sends and receives datagrams.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

use quell_app::Input;
use quell_units::Bytes;

use super::context::Context;
use super::datagram_socket::{DatagramEnd, Outlet, take};
use super::{End, State};
use crate::traffic::datagram::Incoming;
use crate::traffic::error::{FlowFailure, doing};
use crate::traffic::poller::{Interest, Readiness, Token};

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
        let State::Datagrams(datagrams) = &mut self.state else {
            return;
        };
        if !datagrams.recent.is_new(incoming.sequence) {
            return;
        }
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
