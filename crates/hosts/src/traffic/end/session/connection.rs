//! One connection of a session, at one end.
//!
//! Bodies of messages are discarded by the kernel where they are long, and read together with the headers behind them where they
//! are short: a system call costs more than the copy of some segments.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use quell_app::{Arrived, ConnectionId, Data, Deframer, Input, Piece, Repairs, Role};
use rustix::io::Errno;
use rustix::net::sockopt;
use rustix::net::{RecvFlags, Shutdown, recv, shutdown};

use super::outgoing::Outgoing;
use crate::traffic::end::stream_socket::{LEAST_UNSENT, PAUSING_UNSENT};
use crate::traffic::poller::Interest;
use crate::traffic::repaired::Registered;
use crate::traffic::shared::{Addresses, Opening};
use crate::traffic::socket;
use crate::traffic::tcp_info;

/// Reads in one turn, before others are served.
const READS_PER_TURN: usize = 16;
/// Bytes that a read copies.
const COPIED: usize = 64 << 10;

/// What stops a connection.
#[derive(Debug)]
pub(super) enum Broken {
    /// The kernel has given it up, or the other end has.
    Lost(Errno),
    /// What arrived is no message.
    Garbage,
}

impl From<Errno> for Broken {
    fn from(errno: Errno) -> Self {
        Self::Lost(errno)
    }
}

/// How far a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// It has been asked for.
    Opening,
    /// Both ends may send.
    Up,
    /// Both ends have finished, and the last segments of this one are not acknowledged.
    Closing,
}

/// One end of a connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) opening: Opening,
    /// Where it is announced until the other end takes it; `None` at the end that accepts.
    pub(super) announced: Option<Addresses>,
    pub(super) phase: Phase,
    pub(super) finished: bool,
    registered: Registered,
    socket: Arc<OwnedFd>,
    outgoing: Outgoing,
    /// Of connections that carry messages.
    deframer: Option<Deframer>,
    pauses: bool,
    write_ended: bool,
    read_ended: bool,
    wants_sent: bool,
    /// The interest that the poller has now.
    interest: Interest,
    unsent_limit: usize,
    /// It is in the list of those that have something to do.
    pub(super) is_dirty: bool,
}

impl Connection {
    /// The end `role` of a connection whose socket is, or will be, registered with the poller for `interest`.
    pub(super) fn new(
        role: Role,
        socket: OwnedFd,
        opening: Opening,
        announced: Option<Addresses>,
        framed: bool,
        interest: Interest,
    ) -> io::Result<Self> {
        socket::set_unsent_limit(&socket, LEAST_UNSENT)?;
        let socket = Arc::new(socket);
        let registered = Registered::new(opening.sockets.clone(), role, &socket);
        if announced.is_none() {
            registered.is_up();
        }
        Ok(Self {
            opening,
            registered,
            phase: match announced {
                Some(_) => Phase::Opening,
                None => Phase::Up,
            },
            announced,
            finished: false,
            socket,
            outgoing: Outgoing::default(),
            deframer: framed.then(Deframer::default),
            pauses: false,
            write_ended: false,
            read_ended: false,
            wants_sent: false,
            interest,
            unsent_limit: LEAST_UNSENT,
            is_dirty: false,
        })
    }

    pub(super) fn number(&self) -> ConnectionId {
        self.opening.connection
    }

    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// It is up at the end that opens.
    pub(super) fn come_up(&mut self) {
        self.phase = Phase::Up;
        self.registered.is_up();
    }

    /// What TCP has repaired so far.
    pub(super) fn repairs(&self) -> Repairs {
        self.opening.sockets.repairs()
    }

    /// What the application is told when it is up.
    pub(super) fn opened(&self) -> Input {
        Input::Opened {
            connection: self.number(),
            serial: self.opening.serial,
            asked: self.opening.asked,
        }
    }

    /// Why it is not up, or what went wrong since: the socket's pending error.
    pub(super) fn error(&self) -> Result<(), Errno> {
        sockopt::socket_error(&self.socket).unwrap_or_else(Err)
    }

    pub(super) fn send(&mut self, data: Data) {
        if self.finished {
            return;
        }
        match data {
            Data::Bytes(count) => self.outgoing.queue(count),
            Data::Message(message) => self.outgoing.queue_message(&message),
            Data::Endless => self.outgoing.queue(u64::MAX),
            Data::Resume => {
                self.pauses = true;
                self.outgoing.queue(u64::MAX);
            }
            Data::Pause => {
                // The poller reports a connection that is gone as well.
                let _ = self.write();
                self.outgoing.clear();
            }
        }
    }

    pub(super) fn when_sent(&mut self) {
        self.wants_sent = !self.finished;
    }

    /// Sends nothing that the socket has not taken, and nothing more.
    pub(super) fn stop(&mut self) {
        self.outgoing.clear();
        self.wants_sent = false;
        self.finished = true;
    }

    /// Whether both ends have finished, and this one has read and written everything.
    pub(super) fn has_ended(&self) -> bool {
        self.read_ended && self.write_ended
    }

    /// Whether the other end has everything, too.
    pub(super) fn is_closed(&self) -> bool {
        self.has_ended() && tcp_info::is_closed(&self.socket)
    }

    /// Reads what has arrived, up to one turn's share, and appends what the application is to be told. Returns the number of bytes.
    pub(super) fn read(
        &mut self,
        buffer: &mut [u8],
        inputs: &mut VecDeque<Input>,
    ) -> (u64, Result<(), Broken>) {
        let mut total = 0;
        for _ in 0..READS_PER_TURN {
            if self.read_ended {
                break;
            }
            match self.read_once(buffer, inputs) {
                Ok(Some((bytes, whole))) => {
                    total += bytes;
                    // The socket is empty; the poller tells of what comes later, and of the end.
                    if !whole {
                        break;
                    }
                }
                Ok(None) => break,
                Err(broken) => return (total, Err(broken)),
            }
        }
        (total, Ok(()))
    }

    /// The bytes read, and whether they are as many as were asked for, so that more may be there; `None` if nothing has arrived, or the other
    /// end has said that nothing more will come.
    fn read_once(
        &mut self,
        buffer: &mut [u8],
        inputs: &mut VecDeque<Input>,
    ) -> Result<Option<(u64, bool)>, Broken> {
        let body = match &self.deframer {
            None => u64::MAX,
            Some(deframer) => deframer.body_left(),
        };
        // tcp(7): with MSG_TRUNC received bytes are discarded instead of copied.
        let (most, flags) = if body >= COPIED as u64 {
            (body.min(buffer.len() as u64) as usize, RecvFlags::TRUNC)
        } else {
            (COPIED.min(buffer.len()), RecvFlags::empty())
        };
        let is_discarded = flags == RecvFlags::TRUNC;
        let received = recv(
            &self.socket,
            &mut buffer[..most],
            flags | RecvFlags::DONTWAIT,
        );
        let bytes = match received {
            Ok((_, 0)) => {
                self.read_ended = true;
                return Ok(None);
            }
            Ok((_, bytes)) => bytes as u64,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        let arrived = if is_discarded {
            Arrived::Count(bytes)
        } else {
            Arrived::Bytes(&buffer[..bytes as usize])
        };
        self.tell(arrived, bytes, inputs)?;
        Ok(Some((bytes, bytes == most as u64)))
    }

    /// Appends what the application is to be told of bytes that have arrived.
    fn tell(
        &mut self,
        mut arrived: Arrived<'_>,
        bytes: u64,
        inputs: &mut VecDeque<Input>,
    ) -> Result<(), Broken> {
        let connection = self.number();
        let Some(deframer) = &mut self.deframer else {
            inputs.push_back(Input::Bytes {
                connection,
                count: bytes,
            });
            return Ok(());
        };
        while let Some(piece) = deframer.next(&mut arrived, || None) {
            inputs.push_back(match piece {
                Piece::Message(message) => Input::Message {
                    connection,
                    message,
                },
                Piece::Body(count) => Input::Bytes { connection, count },
                Piece::Garbage => return Err(Broken::Garbage),
            });
        }
        Ok(())
    }

    fn write(&mut self) -> Result<(), Errno> {
        let room = match self.pauses {
            true => (PAUSING_UNSENT as u64).saturating_sub(self.unsent()?),
            false => u64::MAX,
        };
        self.outgoing.write(&self.socket, room)
    }

    /// Bytes that the socket has taken and not sent.
    fn unsent(&self) -> Result<u64, Errno> {
        let unsent = socket::unsent(&self.socket);
        unsent
            .map(|bytes| bytes as u64)
            .map_err(|error| errno(&error))
    }

    fn waits(&self) -> bool {
        !self.outgoing.is_empty() && !self.write_ended
    }

    fn set_unsent_limit(&mut self) -> Result<(), Errno> {
        let limit = match (self.waits(), self.wants_sent, self.pauses) {
            // Writable when all has been sent: tcp_stream_memory_free() of include/net/tcp.h.
            (false, true, _) => 1,
            (_, _, true) => PAUSING_UNSENT,
            _ => LEAST_UNSENT,
        };
        if limit != self.unsent_limit {
            socket::set_unsent_limit(&self.socket, limit).map_err(|error| errno(&error))?;
            self.unsent_limit = limit;
        }
        Ok(())
    }

    /// Writes, and ends writing once all has been written. Returns whether the application is to be told that all has been sent.
    pub(super) fn flush(&mut self) -> Result<bool, Errno> {
        self.set_unsent_limit()?;
        self.write()?;
        let all_written = self.outgoing.is_empty();
        if all_written && self.finished && !self.write_ended {
            self.write_ended = true;
            shutdown(&self.socket, Shutdown::Write)?;
        }
        let told = self.wants_sent && all_written && self.unsent()? == 0;
        self.wants_sent &= !told;
        Ok(told)
    }

    /// The interest that the poller should have, if it has another one.
    pub(super) fn new_interest(&mut self) -> Result<Option<Interest>, Errno> {
        self.set_unsent_limit()?;
        let wanted = Interest {
            read: !self.read_ended,
            write: self.waits() || self.wants_sent,
        };
        let is_new = wanted != self.interest;
        self.interest = wanted;
        Ok(is_new.then_some(wanted))
    }

    /// The other end has said that nothing more follows, and all of it has been read.
    pub(super) fn read_has_ended(&self) -> bool {
        self.read_ended
    }
}

pub(super) fn errno(error: &io::Error) -> Errno {
    error
        .raw_os_error()
        .map_or(Errno::IO, Errno::from_raw_os_error)
}
