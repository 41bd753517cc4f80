//! The contract between an application and its host.

use quell_units::{Bytes, Ecn, Time};

use crate::{Carrier, ConnectionId, Event, Message};

/// Distance by which a stream's transport reads ahead of what it has sent between [`Data::Resume`] and
/// [`Data::Pause`]: a socket buffer of 16 KiB beyond the data in flight.
pub const UNSENT: Bytes = Bytes::new(16 << 10);

/// The transport of the application's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// An ordered, reliable byte stream: TCP.
    Stream,
    /// Single datagrams, each with a sequence number and its time of sending: UDP.
    Datagram,
}

/// Which end of a flow: the direction of a group is from its sender to its receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The end from which most of the data comes.
    Sender,
    /// The end of the user, whose experience is reported.
    Receiver,
}

/// A kind's use of the connections of a flow, where one connection after another, with data from the
/// sender to the receiver, is not enough ([`ApplicationKind::session`](crate::ApplicationKind::session)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Session {
    /// The end that opens connections; it gets [`Input::Started`]. Its SYN crosses the link on the way
    /// from it to the other end.
    pub opener: Role,
    /// Whether connections carry messages ([`Data::Message`], [`Input::Message`]), and nothing else.
    pub framed: bool,
    /// The most connections that are open at once; at most [`Session::MOST`].
    pub connections: u32,
}

impl Session {
    /// The most connections of one flow that are open at once.
    pub const MOST: u32 = 16_384;
}

/// Contents of a datagram for the other end, beside its sequence number and time: two numbers
/// that the kind of application defines.
pub type Content = [u64; 2];

/// The reason why an end is polled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// The flow begins, and this end may open connections or send datagrams: both ends of datagrams,
    /// and of a stream the end whose host opens connections.
    Started,
    /// The time that the end asked for has come.
    Wake,
    /// A connection is up. An end that sends nothing on it may learn this as soon as the connection has
    /// been asked for; no end learns it later than of the first byte.
    Opened {
        /// The connection.
        connection: ConnectionId,
        /// Counts the connections of the flow from 0, in the order in which they were asked for. Both
        /// ends get the same number.
        serial: u64,
        /// Time of the request for it.
        asked: Time,
    },
    /// Further bytes of a stream arrived in order. Of a connection that carries messages, bytes of the
    /// body of the newest message.
    Bytes {
        /// Their connection.
        connection: ConnectionId,
        /// Their number.
        count: u64,
    },
    /// The header of a message arrived, in order. Its body follows as [`Input::Bytes`], unless it has
    /// none.
    Message {
        /// Its connection.
        connection: ConnectionId,
        /// The header.
        message: Message,
    },
    /// The other end of the session's connection sends nothing more, and all that it sent has arrived.
    /// This end may still send. Left out where [`Input::Closed`] says the same at the same time.
    Ended {
        /// The connection.
        connection: ConnectionId,
    },
    /// A connection of a session is over without having been closed by both ends: it was reset, or could
    /// not be opened. Nothing follows, and its number is free.
    Failed {
        /// The connection.
        connection: ConnectionId,
    },
    /// The answer to [`Action::WhenSent`]: every byte that this end has given to the connection has been
    /// sent at least once. Some may be in flight, or lost and not repaired yet.
    Sent {
        /// The connection.
        connection: ConnectionId,
    },
    /// A datagram arrived.
    Datagram {
        /// Counted from 0 by the sending host, in the order of sending.
        sequence: u64,
        /// Time at which the other end handed it to its host.
        sent: Time,
        /// IP length.
        size: Bytes,
        /// Its ECN field on arrival; [`Ecn::NotEct`] in a real host unless datagrams have content.
        ecn: Ecn,
        /// The contents that the other end gave it.
        content: Content,
    },
    /// A connection is over: all that the other end sent has arrived, and nothing follows. In a session
    /// both ends have finished, and its number is free.
    Closed {
        /// The connection.
        connection: ConnectionId,
    },
}

/// A request of an end to its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Send on a connection that is up.
    Open(ConnectionId),
    /// Send on a connection that is up.
    Send(ConnectionId, Data),
    /// Tell with [`Input::Sent`], once, when nothing that this end has given to the connection of a
    /// session waits to be sent for the first time, neither in the transport nor in the host in front
    /// of it. It is how an application that makes its data as late as possible learns that the next
    /// piece may follow.
    ///
    /// * If nothing waits when the host carries this out, it answers at the same time, but after the poll
    ///   that asked: never from within it.
    /// * A later [`Action::Send`] on the connection belongs to what is waited for. A second wish
    ///   before the answer changes nothing.
    /// * What waits in a queue behind the transport (the host's own link) has been sent.
    /// * The wish ends without an answer with the connection.
    ///
    /// A modelled host asks its connection for the bytes that it has not sent. On Linux these are
    /// `SIOCOUTQNSD`, and with `TCP_NOTSENT_LOWAT` at 1 the socket becomes writable at the first
    /// acknowledgement that finds none. That option also stops a `write` after one segment, so it is to
    /// be set for the time of the wish only.
    WhenSent(ConnectionId),
    /// This end sends nothing more on the connection: its host closes this direction when all has
    /// been sent.
    Finish(ConnectionId),
    /// Reset a connection of a session: what has not arrived is lost, and its number is free at once.
    /// [`Input::Failed`] goes to the other end; this end gets nothing more of it.
    Abort(ConnectionId),
    /// Send one datagram: at the sender, and at the receiver of a kind whose datagrams go
    /// [both ways](crate::Datagrams::both_ways).
    Datagram {
        /// IP length, within the bounds of [`Datagrams`](crate::Datagrams). Each may have its own.
        size: Bytes,
        /// The contents for the other end, where [`Datagrams::content`](crate::Datagrams::content) says
        /// that there is room; otherwise zeros.
        content: Content,
    },
    /// Hand this record to whoever observes the run, with what TCP repaired for its
    /// [carrier](Event::carrier), also of a connection whose end is the input of this poll.
    Record(Event),
    /// Note the counters of repairs of a carrier under this number, which records name. It takes the place
    /// of an earlier note with the number; without such a connection its counters are zero.
    Note {
        /// A small number that the application chooses.
        note: u32,
        /// Whose counters.
        carrier: Carrier,
    },
    /// Poll with [`Input::Wake`] at this time. It replaces an earlier wish, and is used up by the
    /// poll. A time that has passed means at once: a host that is late is polled until it has caught
    /// up.
    WakeAt(Time),
}

/// An amount of data that an end sends on a connection. Contents are of no interest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Data {
    /// Further bytes.
    Bytes(u64),
    /// A message: its header, and zeros up to its length.
    Message(Message),
    /// There is always more to send from now on.
    Endless,
    /// There is more to send until [`Data::Pause`]. The transport reads at most [`UNSENT`] ahead.
    Resume,
    /// Nothing follows what the transport has read.
    Pause,
}

/// One end of an application.
pub trait Application {
    /// The report of this end.
    type Report;

    /// Something happened at `now`. Adds to `actions`, in order, what the host is to do.
    fn poll(&mut self, now: Time, input: Input, actions: &mut Vec<Action>);

    /// The part of this end that the report of the other one needs: datagrams that this end has handed to its
    /// host since its start, or bursts of a stream that it has begun; 0 of anything else.
    fn sent(&self) -> u64 {
        0
    }

    /// A stretch of the measured time ends at `now`: [`Application::report`] and
    /// [`Application::start_counting`] follow, with no poll between. An end that measures how long
    /// something lasts counts up to here. `now` may lie before the last poll, where a host is late.
    fn advance(&mut self, now: Time) {
        let _ = now;
    }

    /// The measured time starts: forgets what was counted so far. `sent` is [`Application::sent`] of
    /// the other end at this moment; datagrams that are still in flight are not counted at all. A
    /// transfer that is in flight counts when it completes.
    fn start_counting(&mut self, sent: u64) {
        let _ = sent;
    }

    /// The report since the start, or since [`Application::start_counting`]; `None` at an end
    /// that reports nothing. Where both ends report, the report of the flow is the receiver's with
    /// the sender's merged into it.
    ///
    /// `sent` is [`Application::sent`] of the other end. A datagram among them that has not arrived
    /// counts as lost: take the count early enough for the last one to have arrived, or read
    /// [`DatagramReport::lost_last`](crate::DatagramReport::lost_last).
    fn report(&self, sent: u64) -> Option<Self::Report> {
        let _ = sent;
        None
    }

    /// The run is over: adds a record of each event that this end has begun and not recorded, with
    /// [`Outcome::Unfinished`](crate::Outcome::Unfinished).
    fn unfinished(&self, records: &mut Vec<Event>) {
        let _ = records;
    }
}

/// An end that is large next to those of other kinds stands in memory of its own.
impl<A: Application> Application for Box<A> {
    type Report = A::Report;

    fn poll(&mut self, now: Time, input: Input, actions: &mut Vec<Action>) {
        (**self).poll(now, input, actions);
    }
    fn sent(&self) -> u64 {
        (**self).sent()
    }
    fn advance(&mut self, now: Time) {
        (**self).advance(now);
    }
    fn start_counting(&mut self, sent: u64) {
        (**self).start_counting(sent);
    }
    fn report(&self, sent: u64) -> Option<Self::Report> {
        (**self).report(sent)
    }
    fn unfinished(&self, records: &mut Vec<Event>) {
        (**self).unfinished(records);
    }
}

/// An application whose two ends have nothing in common.
#[derive(Debug, Clone)]
pub enum Ends<S, R> {
    /// The end that sends.
    Sender(S),
    /// The end that receives.
    Receiver(R),
}

impl<S: Application, R: Application<Report = S::Report>> Application for Ends<S, R> {
    type Report = S::Report;

    #[inline]
    fn poll(&mut self, now: Time, input: Input, actions: &mut Vec<Action>) {
        match self {
            Self::Sender(end) => end.poll(now, input, actions),
            Self::Receiver(end) => end.poll(now, input, actions),
        }
    }
    fn sent(&self) -> u64 {
        match self {
            Self::Sender(end) => end.sent(),
            Self::Receiver(end) => end.sent(),
        }
    }
    fn advance(&mut self, now: Time) {
        match self {
            Self::Sender(end) => end.advance(now),
            Self::Receiver(end) => end.advance(now),
        }
    }
    fn start_counting(&mut self, sent: u64) {
        match self {
            Self::Sender(end) => end.start_counting(sent),
            Self::Receiver(end) => end.start_counting(sent),
        }
    }
    fn report(&self, sent: u64) -> Option<Self::Report> {
        match self {
            Self::Sender(end) => end.report(sent),
            Self::Receiver(end) => end.report(sent),
        }
    }
    fn unfinished(&self, records: &mut Vec<Event>) {
        match self {
            Self::Sender(end) => end.unfinished(records),
            Self::Receiver(end) => end.unfinished(records),
        }
    }
}

/// The answer of an end to one input.
#[cfg(test)]
pub(crate) fn answer(end: &mut impl Application, now: Time, input: Input) -> Vec<Action> {
    let mut actions = Vec::new();
    end.poll(now, input, &mut actions);
    actions
}
