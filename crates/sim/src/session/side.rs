//! One end of a connection of a session: its TCP, and what its application knows of it.

use std::collections::VecDeque;

use quell_app::{Arrived, ConnectionId, Deframer, EndRepairs, Input, Message, Piece};
use quell_tcp::{Connection, ReceiverConfig, SenderConfig};
use quell_units::{Bytes, Random};

/// The life of an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// It has not seen the SYN.
    Unborn,
    Live,
    /// It was reset; its host no longer has the connection.
    Gone,
}

/// The application's knowledge of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Knows {
    /// It does not know that the connection is up.
    Nothing,
    /// The connection is up.
    Open,
    /// It knows of the end, or has aborted: the number is free.
    End,
}

/// An end.
#[derive(Debug)]
pub(super) struct Side {
    pub(super) tcp: Connection,
    pub(super) phase: Phase,
    pub(super) knows: Knows,
    /// It waits for its number, which an earlier connection has at this end.
    pub(super) waits: bool,
    /// The application sends nothing more.
    pub(super) has_finished: bool,
    /// The application wishes to know when nothing waits to be sent.
    pub(super) wants_sent: bool,
    /// The application knows that the other end sends nothing more.
    knows_end: bool,
    /// Bytes of the other end's stream that the application knows of, with headers that are not whole.
    known: u64,
    deframer: Deframer,
    /// Headers that this end has sent and the other one does not know of.
    headers: VecDeque<Message>,
    /// Bytes of its packets in the queue for its host's own link.
    pub(super) local: Bytes,
}

impl Side {
    pub(super) fn new(sender: &SenderConfig, receiver: &ReceiverConfig) -> Self {
        Self {
            tcp: Connection::new(sender, receiver),
            phase: Phase::Unborn,
            knows: Knows::Nothing,
            waits: false,
            has_finished: false,
            wants_sent: false,
            knows_end: false,
            known: 0,
            deframer: Deframer::default(),
            headers: VecDeque::new(),
            local: Bytes::ZERO,
        }
    }

    /// Starts again for the next connection, in the memory of the one before.
    pub(super) fn reset(&mut self) {
        self.phase = Phase::Unborn;
        self.knows = Knows::Nothing;
        self.waits = false;
        self.has_finished = false;
        self.wants_sent = false;
        self.knows_end = false;
        self.known = 0;
        self.deframer = Deframer::default();
        self.headers.clear();
        self.local = Bytes::ZERO;
    }

    /// Lives from now on. The control of each connection draws from a stream of its own.
    pub(super) fn begin(&mut self, sender: &mut SenderConfig, receiver: &ReceiverConfig) {
        sender.random = Random::new(sender.random.u64(), "control");
        self.tcp.renew(sender, receiver);
        self.phase = Phase::Live;
    }

    /// The repairs of its TCP; zero before it sees the SYN.
    pub(super) fn repairs(&self) -> EndRepairs {
        if self.phase == Phase::Unborn {
            return EndRepairs::ZERO;
        }
        let stats = self.tcp.sender().stats();
        EndRepairs {
            handshake: Some(self.tcp.handshake_retries()),
            timeouts: Some(stats.rto_count),
            recoveries: Some(stats.recoveries),
            probes: Some(stats.probes),
            retransmitted: Some(stats.retransmitted),
        }
    }

    /// Whether it lives and TCP is not done with it.
    pub(super) fn is_alive(&self) -> bool {
        self.phase == Phase::Live && !self.tcp.is_reset() && !self.tcp.is_over()
    }

    /// The application sends a message.
    pub(super) fn write_message(&mut self, message: Message) {
        self.tcp.write(message.length);
        self.headers.push_back(message);
    }

    /// Whether the application waits for all to be sent, and all has been sent.
    pub(super) fn has_sent(&self) -> bool {
        let may_be_told = self.knows == Knows::Open && !self.tcp.is_reset();
        self.wants_sent && may_be_told && self.tcp.unsent() == 0
    }

    /// Whether it is the application's turn to know that the connection is up.
    pub(super) fn is_up(&self) -> bool {
        self.knows == Knows::Nothing && self.tcp.is_established() && !self.tcp.is_reset()
    }

    /// Whether something has arrived that the application does not know of.
    #[inline]
    pub(super) fn has_news(&self) -> bool {
        self.tcp.delivered() != self.known && self.knows == Knows::Open
    }

    /// The input for data that the application does not know of, which [is there](Self::has_news), up to the
    /// next header; `other` is the other end. Returns payload bytes, with those of a header that is not whole.
    pub(super) fn take_arrived(
        &mut self,
        other: &mut Self,
        connection: ConnectionId,
        framed: bool,
    ) -> (u64, Option<Input>) {
        let all = self.tcp.delivered() - self.known;
        let (count, input) = if framed {
            let mut left = Arrived::Count(all);
            let piece = self.deframer.next(&mut left, || other.headers.pop_front());
            let Arrived::Count(left) = left else {
                return (0, None);
            };
            let input = match piece {
                Some(Piece::Message(message)) => Some(Input::Message {
                    connection,
                    message,
                }),
                Some(Piece::Body(count)) => Some(Input::Bytes { connection, count }),
                // Only if an application has sent bytes that are no message.
                Some(Piece::Garbage) | None => None,
            };
            (all - left, input)
        } else {
            let count = all;
            (count, Some(Input::Bytes { connection, count }))
        };
        self.known += count;
        (count, input)
    }

    /// The next change of the connection for an application that knows of all that has arrived.
    pub(super) fn take_change(&mut self, connection: ConnectionId) -> Option<Input> {
        if self.has_sent() {
            self.wants_sent = false;
            return Some(Input::Sent { connection });
        }
        if self.knows == Knows::End {
            return None;
        }
        if self.tcp.is_reset() {
            self.knows = Knows::End;
            return Some(Input::Failed { connection });
        }
        if self.knows == Knows::Nothing || !self.tcp.has_peer_finished() {
            return None;
        }
        if self.has_finished {
            self.knows = Knows::End;
            return Some(Input::Closed { connection });
        }
        let is_news = !std::mem::replace(&mut self.knows_end, true);
        is_news.then_some(Input::Ended { connection })
    }
}
