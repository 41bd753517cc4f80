//! What a session does for the end of its flow: it begins, opens and accepts connections, and serves their sockets.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use quell_app::{ConnectionId, Input, Session};
use rustix::io::Errno;

use super::SessionEnd;
use super::connection::{Connection, Phase};
use crate::traffic::clock::Alarm;
use crate::traffic::end::context::Context;
use crate::traffic::end::{End, State};
use crate::traffic::error::{FlowFailure, doing};
use crate::traffic::poller::{Interest, Readiness};
use crate::traffic::repaired::Sockets;
use crate::traffic::shared::{Announcement, Opening};
use crate::traffic::socket;

impl End {
    /// The session begins at this end: at the flow's start, or earlier if the other end was quicker to see that it is due.
    pub(in crate::traffic::end) fn begin_session(
        &mut self,
        context: &mut Context,
        session: Session,
    ) {
        if !matches!(self.state, State::Waiting) {
            return;
        }
        self.state = State::Session(SessionEnd::new(self.index, session, self.source));
        self.up = Some(context.now());
        if self.opener == context.host {
            self.poll(context, Input::Started);
        }
        self.drive(context);
    }

    pub(in crate::traffic::end) fn open_connection(
        &mut self,
        context: &mut Context,
        connection: ConnectionId,
    ) -> Result<(), FlowFailure> {
        let State::Session(session) = &mut self.state else {
            return Err(FlowFailure::WrongTransport);
        };
        if self.opener != context.host || session.numbers.contains_key(&connection) {
            return Err(FlowFailure::WrongTransport);
        }
        let serial = session.asked;
        session.asked += 1;
        session.lost.connections += 1;
        if let Err(failure) = self.request_connection(context, connection, serial)
            && let State::Session(session) = &mut self.state
        {
            session.lost.add(failure);
            session.inputs.push_back(Input::Failed { connection });
        }
        Ok(())
    }

    fn request_connection(
        &mut self,
        context: &mut Context,
        connection: ConnectionId,
        serial: u64,
    ) -> Result<(), FlowFailure> {
        let asked = context.now();
        let sockets = Arc::new(Sockets::default());
        let opening = |place| Opening {
            connection,
            serial,
            asked,
            sockets: sockets.clone(),
            _place: place,
        };
        let [mine, theirs] = context.shared.take_places().ok_or(FlowFailure::NoFiles)?;
        let socket = self.new_client()?;
        let addresses = self.request(
            context,
            &socket,
            Announcement {
                flow: self.index,
                opening: Some(opening(theirs)),
            },
        )?;
        let State::Session(session) = &mut self.state else {
            return Ok(());
        };
        let (slot, token) = session.reserve();
        let added = context
            .poller
            .add(&socket, token, Interest::WRITE)
            .and_then(|()| {
                Connection::new(
                    session.role(),
                    socket,
                    opening(mine),
                    Some(addresses),
                    session.framed,
                    Interest::WRITE,
                )
            });
        match added {
            Ok(connection) => session.insert(slot, connection),
            Err(source) => {
                session.free.push(slot);
                context.shared.retract(addresses, serial);
                return Err(doing("watch a socket")(source));
            }
        }
        let generation = session.slots[slot].generation;
        let by = asked + context.connect_within;
        session.given_up.push_back((by, slot, generation));
        session.arm(context);
        Ok(())
    }

    /// This host has accepted a connection of the session.
    pub(in crate::traffic::end) fn accept_connection(
        &mut self,
        context: &mut Context,
        socket: OwnedFd,
        opening: Opening,
        session: Session,
    ) {
        self.begin_session(context, session);
        if self.finished {
            return;
        }
        let paced = self.paced;
        let State::Session(session) = &mut self.state else {
            return;
        };
        let earlier = session.by_number(opening.connection);
        if earlier.is_some_and(|earlier| earlier.opening.serial > opening.serial) {
            return;
        }
        let late = session.supersede(context, opening.connection);
        session.lost.connections += 1;
        let number = opening.connection;
        let (slot, token) = session.reserve();
        let taken = socket::prepare_stream(&socket)
            .and_then(|()| match paced {
                true => socket::set_paced(&socket),
                false => Ok(()),
            })
            .and_then(|()| context.poller.add(&socket, token, Interest::READ))
            .and_then(|()| {
                let role = session.role();
                Connection::new(role, socket, opening, None, session.framed, Interest::READ)
            });
        match taken {
            Ok(connection) => {
                let opened = connection.opened();
                session.insert(slot, connection);
                session.inputs.push_back(opened);
                session.mark(slot);
            }
            Err(source) => {
                session.free.push(slot);
                session.lost.add(doing("take over a connection")(source));
                let connection = number;
                session.inputs.push_back(Input::Failed { connection });
            }
        }
        self.count_delivered(context, late);
        self.drive(context);
    }

    /// Something happened at the socket of a connection.
    pub(in crate::traffic) fn serve_connection(
        &mut self,
        context: &mut Context,
        slot: usize,
        generation: u32,
        readiness: Readiness,
    ) {
        let server = self.server;
        let State::Session(session) = &mut self.state else {
            return;
        };
        let Some(place) = session.slots.get(slot) else {
            return;
        };
        let Some(connection) = place
            .connection
            .as_ref()
            .filter(|_| place.generation == generation)
        else {
            return;
        };
        let mut bytes = 0;
        if connection.phase == Phase::Opening {
            let within = context.now() - connection.opening.asked;
            session.finish_opening(context, slot, |errno| match errno {
                Errno::CONNREFUSED => FlowFailure::Refused { at: server },
                Errno::TIMEDOUT => FlowFailure::NotConnected { within },
                errno => doing("connect")(errno),
            });
        } else {
            session.mark(slot);
            if readiness.readable {
                bytes = session.receive(context, slot);
            }
            if readiness.over
                && let Some(connection) = &session.slots[slot].connection
                && connection.phase == Phase::Up
                && let Err(errno) = connection.error()
            {
                session.break_down(context, slot, errno);
            }
        }
        self.count_delivered(context, bytes);
        self.drive(context);
    }

    /// Bytes of the stream have reached this end's application.
    fn count_delivered(&self, context: &Context, bytes: u64) {
        if !self.source && bytes > 0 {
            self.shared(context)
                .delivered
                .fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// Sends, tells the application what follows from that, and so on until nothing does.
    pub(in crate::traffic::end) fn flush_session(&mut self, context: &mut Context) {
        for _ in 0..Self::POLLS_PER_TURN {
            let State::Session(session) = &mut self.state else {
                return;
            };
            session.flush(context);
            let over = self.finished && session.is_empty();
            if !session.has_inputs() {
                if over {
                    self.end();
                }
                return;
            }
            while let Some(input) = self.next_input() {
                self.poll(context, input);
            }
        }
        // The other flows have their turn first.
        context.timers.set(context.now(), self.index, Alarm::Wake);
    }

    /// What is yet to be told to the application of a session.
    pub(in crate::traffic::end) fn next_input(&mut self) -> Option<Input> {
        match &mut self.state {
            State::Session(session) => session.next_input(),
            _ => None,
        }
    }
}
