//! The contract between an application and its host.

use quell_units::{Bytes, Time};

/// How far a stream's transport reads ahead of what it has sent between [`Data::Resume`] and
/// [`Data::Pause`]: a socket buffer of 16 KiB beyond the data in flight.
pub const UNSENT: Bytes = Bytes::new(16 << 10);

/// What carries the application's data.
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
    /// Where most of the data comes from.
    Sender,
    /// Where the user is, whose experience is reported.
    Receiver,
}

/// One connection of a flow. The end that opens it chooses the number, which is small and free
/// again after [`Input::Closed`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u32);

impl ConnectionId {
    /// The connection of a flow that has one at a time.
    pub const ONLY: Self = Self(0);
}

/// Why an end is polled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// The flow begins, and this end may open connections or send datagrams: both ends of datagrams,
    /// and of a stream the end whose host opens connections.
    Started,
    /// The time that the end asked for has come.
    Wake,
    /// A connection is up. An end that sends nothing on it may be told as soon as the connection has
    /// been asked for; no end is told later than of the first byte.
    Opened {
        /// The connection.
        connection: ConnectionId,
        /// When it was asked for.
        asked: Time,
    },
    /// Further bytes of a stream arrived in order.
    Bytes {
        /// Their connection.
        connection: ConnectionId,
        /// How many.
        count: u64,
    },
    /// A datagram arrived.
    Datagram {
        /// Counted from 0 by the sending host, in the order of sending.
        sequence: u64,
        /// When the other end handed it to its host.
        sent: Time,
        /// IP length.
        size: Bytes,
    },
    /// A connection is over: all that the other end sent has arrived, and nothing follows.
    Closed {
        /// The connection.
        connection: ConnectionId,
    },
}

/// What an end wants its host to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Open a connection. [`Input::Opened`] follows when it is up.
    Open(ConnectionId),
    /// Send on a connection that is up.
    Send(ConnectionId, Data),
    /// This end sends nothing more on the connection: its host closes this direction when all has
    /// been sent.
    Finish(ConnectionId),
    /// Send one datagram of this IP length.
    Datagram(Bytes),
    /// Poll with [`Input::Wake`] at this time. It replaces an earlier wish, and is used up by the
    /// poll. A time that has passed means at once: a host that is late is polled until it has caught
    /// up.
    WakeAt(Time),
}

/// What an end sends on a connection. Contents are of no interest, so it is an amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Data {
    /// Further bytes.
    Bytes(u64),
    /// From now on there is always more to send.
    Endless,
    /// There is more to send until [`Data::Pause`]. The transport reads at most [`UNSENT`] ahead.
    Resume,
    /// Nothing follows what the transport has read.
    Pause,
}

/// One end of an application.
pub trait Application {
    /// What this end reports.
    type Report;

    /// Something happened at `now`. Adds to `actions`, in order, what the host is to do.
    fn poll(&mut self, now: Time, input: Input, actions: &mut Vec<Action>);

    /// What the report of the other end needs to know: datagrams that this end has handed to its
    /// host since its start, or bursts of a stream that it has begun; 0 of anything else.
    fn sent(&self) -> u64 {
        0
    }

    /// The measured time starts: forgets what was counted so far. `sent` is [`Application::sent`] of
    /// the other end at this moment; datagrams that are still in flight are not counted at all. A
    /// transfer that is in flight counts when it completes.
    fn start_counting(&mut self, sent: u64) {
        let _ = sent;
    }

    /// What happened since the start, or since [`Application::start_counting`]; `None` at an end
    /// that reports nothing.
    ///
    /// `sent` is [`Application::sent`] of the other end. A datagram among them that has not arrived
    /// counts as lost: take the count early enough for the last one to have arrived, or read
    /// [`DatagramReport::lost_last`](crate::DatagramReport::lost_last).
    fn report(&self, sent: u64) -> Option<Self::Report> {
        let _ = sent;
        None
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
}

/// What an end answers to one input.
#[cfg(test)]
pub(crate) fn answer(end: &mut impl Application, now: Time, input: Input) -> Vec<Action> {
    let mut actions = Vec::new();
    end.poll(now, input, &mut actions);
    actions
}
