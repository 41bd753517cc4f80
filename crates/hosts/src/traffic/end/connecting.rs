//! How an end that opens connections makes them.

use std::io;
use std::mem;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{connect, sockopt};

use quell_units::Time;

use super::context::Context;
use super::stream_socket::StreamEnd;
use super::{End, State};
use crate::traffic::clock::Alarm;
use crate::traffic::error::{FlowFailure, doing};
use crate::traffic::poller::Interest;
use crate::traffic::shared::{Addresses, Announcement};
use crate::traffic::socket;

impl End {
    /// Opens a connection: the first at the flow's start, or a further one.
    pub(super) fn connect(&mut self, context: &mut Context) -> Result<(), FlowFailure> {
        let socket = self.begin_connecting(context)?;
        self.state = State::Connecting(socket);
        self.connect_by = context.now() + context.connect_within;
        context
            .timers
            .set(self.connect_by, self.index, Alarm::ConnectBy);
        Ok(())
    }

    /// A socket to connect from.
    pub(super) fn new_client(&self) -> Result<OwnedFd, FlowFailure> {
        let socket = socket::client(self.client).map_err(doing("open a socket"))?;
        if let Some(name) = &self.congestion_control {
            socket::set_control(&socket, name).map_err(doing("choose the congestion control"))?;
        }
        if self.paced {
            socket::set_paced(&socket).map_err(doing("pace a socket"))?;
        }
        Ok(socket)
    }

    /// Asks for a connection, which the other host is told of first.
    pub(super) fn request(
        &self,
        context: &Context,
        socket: &OwnedFd,
        announcement: Announcement,
    ) -> Result<Addresses, FlowFailure> {
        context.shared.announce(announcement, || {
            match connect(socket, &self.server) {
                Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => {}
                Err(errno) => return Err(self.why_not_connected(context, errno.into())),
            }
            let client =
                socket::local_address(socket).map_err(doing("learn a socket's address"))?;
            Ok(Addresses {
                client,
                server: self.server,
            })
        })
    }

    pub(super) fn begin_connecting(&self, context: &mut Context) -> Result<OwnedFd, FlowFailure> {
        let socket = self.new_client()?;
        // Before connecting: the other host may see the connection before connect() returns.
        self.shared(context).open(context.now());
        let announcement = Announcement {
            flow: self.index,
            opening: None,
        };
        self.request(context, &socket, announcement)?;
        context
            .poller
            .add(&socket, self.token(), Interest::WRITE)
            .map_err(doing("watch a socket"))?;
        Ok(socket)
    }

    pub(super) fn finish_connecting(&mut self, context: &mut Context) {
        let State::Connecting(socket) = mem::replace(&mut self.state, State::Ended) else {
            return;
        };
        match sockopt::socket_error(&socket).map_err(io::Error::from) {
            Ok(Ok(())) => match StreamEnd::new(socket, Interest::WRITE) {
                Ok(stream) => self.adopt(context, stream),
                Err(source) => self.fail(doing("prepare a socket")(source)),
            },
            Ok(Err(errno)) => self.fail(self.why_not_connected(context, errno.into())),
            Err(source) => self.fail(doing("learn whether a connection is up")(source)),
        }
    }

    pub(super) fn why_not_connected(&self, context: &Context, source: io::Error) -> FlowFailure {
        match source.kind() {
            io::ErrorKind::ConnectionRefused => FlowFailure::Refused { at: self.server },
            io::ErrorKind::TimedOut => FlowFailure::NotConnected {
                within: self.tried(context),
            },
            _ => FlowFailure::System {
                doing: "connect",
                source,
            },
        }
    }

    /// For how long the current connection has been tried.
    pub(super) fn tried(&self, context: &Context) -> Time {
        context.now() - self.shared(context).opened().1
    }

    /// Takes over a connection that is up, and announces it to the application.
    pub(super) fn adopt(&mut self, context: &mut Context, stream: StreamEnd) {
        self.state = State::Stream(stream);
        let now = context.now();
        self.up.get_or_insert(now);
        let (connections, opened) = self.shared(context).opened();
        if connections > self.told {
            self.told = connections;
            let opened = self.opened(opened);
            self.poll(context, opened);
        }
        self.drive(context);
    }
}
