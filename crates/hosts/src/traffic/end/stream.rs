//! What an end does with its stream: see [`super::stream_socket`] for how much it writes and when it reads.

use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

use quell_app::{ConnectionId, Input};
use quell_units::Time;
use rustix::io::Errno;

use super::context::Context;
use super::stream_socket::StreamEnd;
use super::{End, State};
use crate::traffic::error::{FlowFailure, doing};
use crate::traffic::poller::{Interest, Readiness, Token};
use crate::traffic::shared::Opening;
use crate::traffic::socket;

impl End {
    /// This host has accepted this end's connection, which is `opening` in a session.
    pub(in crate::traffic) fn accepted(
        &mut self,
        context: &mut Context,
        socket: OwnedFd,
        opening: Option<Opening>,
    ) {
        if let (Some(opening), Some(session)) = (opening, self.session) {
            return self.accept_connection(context, socket, opening, session);
        }
        if matches!(self.state, State::Stream(_)) {
            // The other host opens a connection only when the one before is over: word of that is still on its way.
            self.closed(context);
        }
        if !matches!(self.state, State::Waiting) {
            return;
        }
        let paced = self.paced;
        let taken = socket::prepare_stream(&socket)
            .and_then(|()| match paced {
                true => socket::set_paced(&socket),
                false => Ok(()),
            })
            .and_then(|()| context.poller.add(&socket, self.token(), Interest::READ))
            .and_then(|()| StreamEnd::new(socket, Interest::READ));
        match taken {
            Ok(stream) => self.adopt(context, stream),
            Err(source) => self.fail(doing("take over a connection")(source)),
        }
    }

    /// Bytes delivered since the last call, which is at each regular tick, set the sizes of reads and writes.
    pub(in crate::traffic) fn adapt(&mut self, context: &Context, interval: Time) {
        let shared = self.shared(context);
        let delivered = shared.delivered.load(Ordering::Relaxed);
        let bytes = delivered - std::mem::replace(&mut self.delivered_before, delivered);
        if let State::Stream(stream) = &mut self.state
            && shared.endless.load(Ordering::Relaxed)
            && (self.source || self.reads_in_pieces)
        {
            let adapted = match self.source {
                true => stream.adapt_writes(bytes, interval),
                false => stream.adapt_reads(bytes),
            };
            if let Err(failure) = adapted.map_err(doing("set the size of reads and writes")) {
                self.fail(failure);
            }
        }
    }

    pub(super) fn serve_stream(&mut self, context: &mut Context, readiness: Readiness) {
        let State::Stream(stream) = &mut self.state else {
            return;
        };
        if readiness.over && stream.read_ended {
            // Reading has told the end already, so only this tells that the connection is gone.
            return self.died(context, Errno::PIPE);
        }
        if readiness.readable && !self.take_arrived(context) {
            return;
        }
        self.drive(context);
    }

    /// Takes the data that has arrived. Returns whether the connection stays open.
    fn take_arrived(&mut self, context: &mut Context) -> bool {
        let State::Stream(stream) = &mut self.state else {
            return false;
        };
        match stream.read(&mut context.read_buffer) {
            Ok(Some(bytes)) => {
                if !self.source {
                    context.shared.flows[self.index]
                        .delivered
                        .fetch_add(bytes, Ordering::Relaxed);
                }
                let connection = ConnectionId::ONLY;
                let count = bytes;
                self.poll(context, Input::Bytes { connection, count });
            }
            Ok(None) => {}
            Err(errno) => {
                self.died(context, errno);
                return false;
            }
        }
        true
    }

    /// Whether its reader is woken for more than one byte.
    pub(in crate::traffic) fn reads_late(&self) -> bool {
        matches!(&self.state, State::Stream(stream) if stream.wake_threshold > 1)
    }

    /// Reads what the socket holds, where its reader is woken only for more.
    pub(in crate::traffic) fn catch_up(&mut self, context: &mut Context) {
        if self.reads_late() && self.take_arrived(context) {
            self.drive(context);
        }
    }

    /// Writes, closes what is finished, and updates the interest of the poller.
    pub(super) fn flush_stream(&mut self, context: &mut Context) {
        let State::Stream(stream) = &mut self.state else {
            return;
        };
        let over = self.finished || (stream.read_ended && !self.source);
        let written = stream
            .write()
            .and_then(|()| if over { stream.end_writing() } else { Ok(()) });
        if let Err(errno) = written {
            return self.died(context, errno);
        }
        if stream.write_ended && stream.read_ended {
            return self.closed(context);
        }
        let wanted = stream.wanted();
        if wanted != stream.interest {
            stream.interest = wanted;
            if let Err(source) =
                context
                    .poller
                    .change(&stream.socket, Token::End(self.index), wanted)
            {
                self.fail(doing("watch a socket")(source));
            }
        }
    }

    fn died(&mut self, context: &mut Context, errno: Errno) {
        if self.finished || context.now() >= self.life.flow_stop() {
            // The other end may go first.
            self.closed(context);
        } else {
            self.fail(FlowFailure::Died {
                at: context.now(),
                source: errno.into(),
            });
        }
    }
}
