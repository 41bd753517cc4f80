//! Requests and responses on connections that carry messages, with the round trips of TLS in front.
//!
//! The client says in each message how long the answer is to be, so the server has no state but what
//! has arrived: [`Server`] answers anything. Lengths of the handshake's flights are those of common
//! certificates; a message is never shorter than its header, which counts for a request as well.

use quell_units::parameter::{Domain, Preset};
use quell_units::{Parameter, words};

use crate::{Action, ConnectionId, Data, Input, Message};

words! {
    /// What secures a connection before the first request.
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
    pub(crate) const fn parameter(default: Preset) -> Parameter {
        Parameter {
            domain: Self::DOMAIN,
            default,
            help: "Handshake on a new connection, in front of the first request.",
            source: "RFC 5246, RFC 8446",
            ..Parameter::FIXED
        }
    }

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
pub(crate) const fn request(default: Preset, help: &'static str) -> Parameter {
    Parameter {
        domain: Domain::Bytes(0, 64_000),
        default,
        help,
        ..Parameter::FIXED
    }
}

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

/// A server that answers each message as soon as it is whole, in their order.
#[derive(Debug, Clone, Default)]
pub struct Server {
    connections: Vec<Served>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Served {
    incoming: Incoming,
    has_finished: bool,
}

impl Server {
    pub(crate) fn poll(&mut self, input: Input, actions: &mut Vec<Action>) {
        match input {
            Input::Opened { connection, .. } => *self.served(connection) = Served::default(),
            Input::Message {
                connection,
                message,
            } => {
                let whole = self.served(connection).incoming.header(message);
                self.answer(connection, whole, actions);
            }
            Input::Bytes { connection, count } => {
                let whole = self.served(connection).incoming.body(count);
                self.answer(connection, whole, actions);
            }
            Input::Ended { connection } => self.finish(connection, actions),
            _ => {}
        }
    }

    fn served(&mut self, connection: ConnectionId) -> &mut Served {
        let index = connection.0 as usize;
        if self.connections.len() <= index {
            self.connections.resize(index + 1, Served::default());
        }
        &mut self.connections[index]
    }

    fn answer(
        &mut self,
        connection: ConnectionId,
        whole: Option<Message>,
        actions: &mut Vec<Action>,
    ) {
        let Some(message) = whole else { return };
        if message.reply > 0 {
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

    fn finish(&mut self, connection: ConnectionId, actions: &mut Vec<Action>) {
        let served = self.served(connection);
        if !served.has_finished {
            served.has_finished = true;
            actions.push(Action::Finish(connection));
        }
    }
}
