//! A game over one TCP connection: each datagram is a message instead.
//!
//! The user's end opens the connection, and both ends begin when it is up. What an end would send as a
//! datagram it sends as a message of the same length, which reports how many commands the server has, for
//! how long it has had the newest (up to 16.7 s), and when it was sent; times in whole microseconds. In a
//! stream nothing is lost: what the network loses comes late, and holds up what was sent after it.

use quell_units::{Bytes, Ecn, Time};

use super::report::GameReport;
use crate::exchange::Incoming;
use crate::{Action, Application, ConnectionId, Content, Data, Input, Message, Role};

const ONLY: ConnectionId = ConnectionId::ONLY;
/// The kind of all messages.
const KIND: u8 = 1;
/// Bits of the time for which the server had a command.
const HELD_BITS: u32 = 24;

/// An end over a stream, from one over datagrams.
#[derive(Debug, Clone)]
pub struct OverStream<E> {
    end: E,
    role: Role,
    is_up: bool,
    incoming: Incoming,
    /// Messages that have arrived.
    arrived: u64,
}

impl<E> OverStream<E> {
    pub(crate) fn new(end: E, role: Role) -> Self {
        Self {
            end,
            role,
            is_up: false,
            incoming: Incoming::NONE,
            arrived: 0,
        }
    }
}

fn message(now: Time, size: Bytes, content: Content) -> Message {
    let held = ((content[1] & u64::from(u32::MAX)) / 1_000).min((1 << HELD_BITS) - 1);
    let micros = now.as_nanos() / 1_000;
    let reply = (micros << HELD_BITS) | held;
    Message::new(size.get(), KIND, content[0] as u32, reply)
}

/// Time of sending, and content. The server has every command before the newest.
fn contents(message: &Message) -> (Time, Content) {
    let held = message.reply & ((1 << HELD_BITS) - 1);
    let earlier = u64::from(u32::MAX) << 32;
    (
        Time::from_micros(message.reply >> HELD_BITS),
        [message.stream.into(), earlier | (held * 1_000)],
    )
}

impl<E: Application<Report = GameReport>> OverStream<E> {
    /// Tells the end of datagrams, and sends messages for what it sends.
    fn tell(&mut self, now: Time, input: Input, actions: &mut Vec<Action>) {
        let from = actions.len();
        self.end.poll(now, input, actions);
        for action in &mut actions[from..] {
            if let Action::Datagram { size, content } = *action {
                let message = message(now, size, content);
                *action = Action::Send(ONLY, Data::Message(message));
            }
        }
    }

    fn whole(&mut self, now: Time, message: Option<Message>, actions: &mut Vec<Action>) {
        let Some(message) = message else { return };
        let (sent, content) = contents(&message);
        let sequence = self.arrived;
        self.arrived += 1;
        let input = Input::Datagram {
            sequence,
            sent,
            size: Bytes::new(message.length),
            ecn: Ecn::NotEct,
            content,
        };
        self.tell(now, input, actions);
    }
}

impl<E: Application<Report = GameReport>> Application for OverStream<E> {
    type Report = GameReport;

    fn poll(&mut self, now: Time, input: Input, actions: &mut Vec<Action>) {
        match input {
            Input::Started if self.role == Role::Receiver => actions.push(Action::Open(ONLY)),
            Input::Opened { .. } if !self.is_up => {
                self.is_up = true;
                self.tell(now, Input::Started, actions);
            }
            Input::Wake if self.is_up => self.tell(now, Input::Wake, actions),
            Input::Message { message, .. } => {
                let whole = self.incoming.header(message);
                self.whole(now, whole, actions);
            }
            Input::Bytes { count, .. } => {
                let whole = self.incoming.body(count);
                self.whole(now, whole, actions);
            }
            Input::Ended { .. } | Input::Closed { .. } | Input::Failed { .. } => {
                if let Input::Ended { .. } = input {
                    actions.push(Action::Finish(ONLY));
                }
                self.is_up = false;
            }
            _ => {}
        }
    }

    fn sent(&self) -> u64 {
        self.end.sent()
    }
    fn advance(&mut self, now: Time) {
        self.end.advance(now);
    }
    fn start_counting(&mut self, sent: u64) {
        self.end.start_counting(sent);
    }
    /// A message that has not arrived is not lost.
    fn report(&self, sent: u64) -> Option<GameReport> {
        let mut report = self.end.report(sent)?;
        for of in [&mut report.states, &mut report.commands] {
            (of.lost, of.lost_last) = (0, 0);
        }
        Some(report)
    }
}
