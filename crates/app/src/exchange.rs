//! Requests and responses on connections that carry messages, with the round trips of TLS in front.
//!
//! The client says in each message how long the answer is to be, so the server has no state but what
//! has arrived: [`Server`] answers anything. Lengths of the handshake's flights are those of common
//! certificates; a message is never shorter than its header, which counts for a request as well.

use std::collections::{BTreeMap, VecDeque};

use quell_units::parameter::Domain;
use quell_units::{Parameter, Period, Random, Time, words};

use crate::exponential::draw;
use crate::{Action, ConnectionId, Data, Input, Message};

words! {
    /// Security of a connection before the first request.
    pub enum Tls {
        /// Nothing.
        None = "none",
        /// A full handshake of TLS 1.2: two round trips.
        V12 = "1.2",
        /// A full handshake of TLS 1.3: one round trip.
        V13 = "1.3",
    }
}

/// The client's first flight.
const CLIENT_HELLO: u64 = 517;
/// The server's answer with its certificates.
const SERVER_FLIGHT: u64 = 4_000;
/// The client's second flight in TLS 1.3; requests follow at once.
const FINISHED_V13: u64 = 74;
/// The client's second flight in TLS 1.2, and what the server answers.
const FINISHED_V12: (u64, u64) = (126, 51);

/// [`Message::kind`]: part of a handshake.
const HANDSHAKE: u8 = 1;
/// A request.
pub(crate) const REQUEST: u8 = 2;
/// A request after whose response the server closes.
pub(crate) const LAST_REQUEST: u8 = 3;
/// A response.
pub(crate) const RESPONSE: u8 = 4;

impl Tls {
    /// The parameter of a kind.
    pub(crate) const ROW: Parameter = Parameter::FIXED
        .help("Handshake on a new connection, in front of the first request.")
        .source("RFC 5246, RFC 8446");

    /// A connection is up at the client: begins the handshake. Whether requests may follow at once.
    pub(crate) fn begin(self, connection: ConnectionId, actions: &mut Vec<Action>) -> bool {
        if self == Self::None {
            return true;
        }
        let hello = Message::new(CLIENT_HELLO, HANDSHAKE, 0, SERVER_FLIGHT);
        actions.push(Action::Send(connection, Data::Message(hello)));
        false
    }

    /// The answer `message` has arrived at the client: goes on with the handshake, if it is part of it.
    /// Whether requests may follow now that could not before.
    pub(crate) fn proceed(
        self,
        connection: ConnectionId,
        message: Message,
        actions: &mut Vec<Action>,
    ) -> bool {
        if message.kind != HANDSHAKE {
            return false;
        }
        let is_first = message.stream == 0;
        if is_first {
            let (length, answer) = match self {
                Self::V12 => FINISHED_V12,
                Self::None | Self::V13 => (FINISHED_V13, 0),
            };
            let finished = Message::new(length, HANDSHAKE, 1, answer);
            actions.push(Action::Send(connection, Data::Message(finished)));
        }
        is_first != (self == Self::V12)
    }
}

/// The parameter of a kind for the length of its requests.
pub(crate) const REQUEST_ROW: Parameter = Parameter::FIXED.domain(Domain::Bytes(0, 64_000));

/// Waits for the end of a message whose header has arrived.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Incoming {
    message: Option<Message>,
    left: u64,
}

impl Incoming {
    pub(crate) const NONE: Self = Self {
        message: None,
        left: 0,
    };

    /// The message of which a part has not arrived.
    pub(crate) fn part(&self) -> Option<Message> {
        self.message
    }
    /// A header has arrived; the message, if it is all.
    pub(crate) fn header(&mut self, message: Message) -> Option<Message> {
        self.message = Some(message);
        self.left = message.body();
        self.take_whole()
    }
    /// `count` bytes of its body have arrived; the message, if they were the last.
    pub(crate) fn body(&mut self, count: u64) -> Option<Message> {
        self.left = self.left.saturating_sub(count);
        self.take_whole()
    }
    fn take_whole(&mut self) -> Option<Message> {
        self.message.take_if(|_| self.left == 0)
    }
}

/// Bytes of a frame in which an interleaved response is sent: the most that HTTP/2 allows by default
/// (RFC 9113, section 4.2).
const FRAME: u64 = 16_384;
/// Frames that are given to the transport at once.
const FRAMES_AT_ONCE: u32 = 4;

/// A server that answers each message that it has received whole.
///
/// It answers requests in the order in which they are ready, each by one message. One that interleaves
/// (`is_interleaving`) sends the responses of a connection in frames, one of each in turn, as
/// HTTP/2 does: a response that is asked for later begins before a long one has ended.
#[derive(Debug, Clone)]
pub struct Server {
    delays: Delays,
    is_interleaving: bool,
    connections: Vec<Served>,
    /// Requests that wait for their delay, with the serial number of their connection.
    due: BTreeMap<(Time, u64), (u64, ConnectionId, Message)>,
    /// Number of the next of these.
    next: u64,
}

/// Time that a server takes for a request: by the request's stream number, so that its client can compute it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delays {
    pub(crate) length: Period,
    pub(crate) seed: u64,
}

impl Delays {
    pub(crate) const NONE: Self = Self {
        length: Period::fixed(Time::ZERO),
        seed: 0,
    };

    pub(crate) fn of(&self, stream: u32) -> Time {
        let seed = self.seed.wrapping_add(stream.into());
        draw(self.length, &mut Random::new(seed, "server delay"))
    }
}

#[derive(Debug, Clone, Default)]
struct Served {
    serial: u64,
    incoming: Incoming,
    has_finished: bool,
    /// Responses that have not been given to the transport, and how much of them.
    streams: VecDeque<(u32, u64)>,
    /// Whether the transport still has what it was given.
    is_sending: bool,
}

impl Server {
    pub(crate) fn new(delays: Delays, is_interleaving: bool) -> Self {
        Self {
            delays,
            is_interleaving,
            connections: Vec::new(),
            due: BTreeMap::new(),
            next: 0,
        }
    }

    pub(crate) fn poll(&mut self, now: Time, input: Input, actions: &mut Vec<Action>) {
        match input {
            Input::Opened {
                connection, serial, ..
            } => {
                *self.served(connection) = Served {
                    serial,
                    ..Served::default()
                };
            }
            Input::Message {
                connection,
                message,
            } => {
                let whole = self.served(connection).incoming.header(message);
                self.receive(now, connection, whole, actions);
            }
            Input::Bytes { connection, count } => {
                let whole = self.served(connection).incoming.body(count);
                self.receive(now, connection, whole, actions);
            }
            Input::Wake => {
                while let Some(entry) = self.due.first_entry()
                    && entry.key().0 <= now
                {
                    let (serial, connection, message) = entry.remove();
                    if self.served(connection).serial == serial {
                        self.answer(connection, message, actions);
                    }
                }
                self.wish(actions);
            }
            Input::Sent { connection } => {
                self.served(connection).is_sending = false;
                self.send(connection, actions);
            }
            Input::Ended { connection } => self.finish(connection, actions),
            Input::Closed { connection } | Input::Failed { connection } => {
                *self.served(connection) = Served {
                    serial: u64::MAX,
                    ..Served::default()
                };
            }
            Input::Started | Input::Datagram { .. } => {}
        }
    }

    fn served(&mut self, connection: ConnectionId) -> &mut Served {
        let index = connection.0 as usize;
        if self.connections.len() <= index {
            self.connections.resize(index + 1, Served::default());
        }
        &mut self.connections[index]
    }

    fn receive(
        &mut self,
        now: Time,
        connection: ConnectionId,
        whole: Option<Message>,
        actions: &mut Vec<Action>,
    ) {
        let Some(message) = whole else { return };
        let delay = match message.kind {
            HANDSHAKE => Time::ZERO,
            _ => self.delays.of(message.stream),
        };
        if delay.is_zero() {
            return self.answer(connection, message, actions);
        }
        let serial = self.served(connection).serial;
        let is_first = self.due.first_key_value();
        let is_first = is_first.is_none_or(|((at, _), _)| now + delay < *at);
        self.due
            .insert((now + delay, self.next), (serial, connection, message));
        self.next += 1;
        if is_first {
            self.wish(actions);
        }
    }

    fn wish(&self, actions: &mut Vec<Action>) {
        if let Some(((at, _), _)) = self.due.first_key_value() {
            actions.push(Action::WakeAt(*at));
        }
    }

    fn answer(&mut self, connection: ConnectionId, message: Message, actions: &mut Vec<Action>) {
        if message.kind != HANDSHAKE && self.is_interleaving {
            let response = (message.stream, message.reply.max(Message::HEADER));
            self.served(connection).streams.push_back(response);
            self.send(connection, actions);
        } else if message.reply > 0 {
            let kind = match message.kind {
                HANDSHAKE => HANDSHAKE,
                _ => RESPONSE,
            };
            let answer = Message::new(message.reply, kind, message.stream, 0);
            actions.push(Action::Send(connection, Data::Message(answer)));
        }
        if message.kind == LAST_REQUEST {
            self.finish(connection, actions);
        }
    }

    /// Gives the transport the next frames, if it has sent those before.
    fn send(&mut self, connection: ConnectionId, actions: &mut Vec<Action>) {
        let served = self.served(connection);
        if served.is_sending || served.has_finished {
            return;
        }
        for _ in 0..FRAMES_AT_ONCE {
            let Some((stream, left)) = served.streams.pop_front() else {
                break;
            };
            // A frame that would be shorter than a header goes with the one before it.
            let length = match left.checked_sub(FRAME) {
                Some(rest) if rest >= Message::HEADER => FRAME,
                _ => left,
            };
            if left > length {
                served.streams.push_back((stream, left - length));
            }
            let frame = Message::new(length, RESPONSE, stream, 0);
            actions.push(Action::Send(connection, Data::Message(frame)));
            served.is_sending = true;
        }
        if served.is_sending {
            actions.push(Action::WhenSent(connection));
        }
    }

    fn finish(&mut self, connection: ConnectionId, actions: &mut Vec<Action>) {
        let served = self.served(connection);
        if !served.has_finished {
            served.has_finished = true;
            actions.push(Action::Finish(connection));
        }
    }
}
