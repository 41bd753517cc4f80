//! The end of a session: several connections at once, opened by either end, with data in both directions.
//!
//! Each connection has a socket of its own in the host's one epoll. Its number is the one that the end which opened it has chosen;
//! the other end learns it from what is announced before the connection request leaves.
//!
//! A number is free again when both ends are done with it: the end that opens connections is told [`Input::Closed`] when all that
//! it sent has been acknowledged, too. Then everything is in the other end's socket, which is read to its end before a
//! connection with the same number is taken over there. An end that has reset a connection, or given it up, may use its number at
//! once; the other end is then told [`Input::Failed`] at the latest when the next connection with this number arrives.

mod connection;
mod end;
mod outgoing;

use std::collections::{HashMap, VecDeque};

use quell_app::{ConnectionId, Counted, Data, Input, Repairs, Role, Session};
use quell_units::Time;
use rustix::io::Errno;

use super::context::Context;
use crate::traffic::clock::Alarm;
use crate::traffic::error::FlowFailure;
use crate::traffic::poller::Token;
use crate::traffic::socket;
use crate::traffic::tcp_info::TcpInfo;
use connection::{Broken, Connection, Phase};

/// What became of the connections of a session.
#[derive(Debug, Default)]
pub(in crate::traffic) struct Lost {
    /// Connections that were asked for, or accepted.
    pub(in crate::traffic) connections: u64,
    /// Those among them that did not come up, or died without having been reset by the other end.
    pub(in crate::traffic) failed: u64,
    /// Why the first of these failed.
    pub(in crate::traffic) why: Option<FlowFailure>,
}

impl Lost {
    fn add(&mut self, failure: FlowFailure) {
        self.failed += 1;
        self.why.get_or_insert(failure);
    }
}

/// A place for a connection, and how often it has been taken.
#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    connection: Option<Connection>,
}

/// The connections of one end.
#[derive(Debug)]
pub(in crate::traffic) struct SessionEnd {
    /// Of the end's flow.
    index: usize,
    /// Whether this end is the data's sender, whose connections are measured.
    measures: bool,
    framed: bool,
    slots: Vec<Slot>,
    free: Vec<usize>,
    /// Where the connection with a number is.
    numbers: HashMap<ConnectionId, usize>,
    /// Connections that this end has asked for so far.
    asked: u64,
    /// When those that are not up have failed, in the order in which they were asked for; some are up or gone by now.
    given_up: VecDeque<(Time, usize, u32)>,
    /// The time of the alarm that is set for the first of them.
    alarm: Option<Time>,
    /// Places of connections that have something to do.
    dirty: Vec<usize>,
    /// What the application is yet to be told.
    inputs: VecDeque<Input>,
    /// Of all connections that are gone.
    before: Option<TcpInfo>,
    /// What TCP repaired on all of these.
    repaired: Repairs,
    /// The same of those whose end the application may not know yet.
    leaving: Vec<(ConnectionId, Repairs)>,
    pub(in crate::traffic::end) lost: Lost,
}

impl SessionEnd {
    pub(super) fn new(index: usize, session: Session, measures: bool) -> Self {
        Self {
            index,
            measures,
            framed: session.framed,
            slots: Vec::new(),
            free: Vec::new(),
            numbers: HashMap::new(),
            asked: 0,
            given_up: VecDeque::new(),
            alarm: None,
            dirty: Vec::new(),
            inputs: VecDeque::new(),
            before: None,
            repaired: Repairs::ZERO,
            leaving: Vec::new(),
            lost: Lost::default(),
        }
    }

    /// Whether a connection is up.
    pub(super) fn is_connected(&self) -> bool {
        let mut all = self.connections();
        all.any(|connection| connection.phase != Phase::Opening)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    fn connections(&self) -> impl Iterator<Item = &Connection> {
        self.slots
            .iter()
            .filter_map(|slot| slot.connection.as_ref())
    }

    /// The next thing to tell the application.
    pub(super) fn next_input(&mut self) -> Option<Input> {
        let next = self.inputs.pop_front();
        if next.is_none() {
            self.leaving.clear();
        }
        next
    }

    fn role(&self) -> Role {
        match self.measures {
            true => Role::Sender,
            false => Role::Receiver,
        }
    }

    pub(super) fn has_inputs(&self) -> bool {
        !self.inputs.is_empty()
    }

    /// The kernel's figures: counters of all connections so far, windows of those that are up, the RTT of the one of them that was
    /// opened last. `None` if there has been no connection.
    pub(super) fn tcp(&self) -> Option<TcpInfo> {
        let mut all: Vec<&Connection> = self
            .connections()
            .filter(|connection| connection.phase != Phase::Opening)
            .collect();
        all.sort_by_key(|connection| connection.opening.serial);
        let alive = all
            .iter()
            .filter_map(|connection| TcpInfo::of(connection.socket()).ok());
        alive.fold(self.before, |sum, info| {
            Some(info.beside(&sum.unwrap_or_default()))
        })
    }

    /// A place for a connection, and the token of its socket.
    fn reserve(&mut self) -> (usize, Token) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() - 1
        });
        let generation = (self.slots[slot].generation + 1) & Token::GENERATIONS;
        self.slots[slot].generation = generation;
        (slot, self.token(slot))
    }

    fn token(&self, slot: usize) -> Token {
        Token::Connection {
            end: self.index,
            slot,
            generation: self.slots[slot].generation,
        }
    }

    fn insert(&mut self, slot: usize, connection: Connection) {
        self.numbers.insert(connection.number(), slot);
        self.slots[slot].connection = Some(connection);
    }

    fn by_number(&mut self, number: ConnectionId) -> Option<&mut Connection> {
        let slot = *self.numbers.get(&number)?;
        self.slots[slot].connection.as_mut()
    }

    /// The application has asked for something to be done on a connection. It may be gone: the application is told so yet.
    fn change(&mut self, number: ConnectionId, change: impl FnOnce(&mut Connection)) {
        let Some(&slot) = self.numbers.get(&number) else {
            return;
        };
        if let Some(connection) = &mut self.slots[slot].connection
            && connection.phase == Phase::Up
        {
            change(connection);
            self.mark(slot);
        }
    }

    pub(super) fn send(&mut self, number: ConnectionId, data: Data) {
        self.change(number, |connection| connection.send(data));
    }

    pub(super) fn tell_when_sent(&mut self, number: ConnectionId) {
        self.change(number, Connection::when_sent);
    }

    pub(super) fn finish(&mut self, number: ConnectionId) {
        self.change(number, |connection| connection.finished = true);
    }

    fn mark(&mut self, slot: usize) {
        if let Some(connection) = &mut self.slots[slot].connection
            && !connection.is_dirty
        {
            connection.is_dirty = true;
            self.dirty.push(slot);
        }
    }

    /// Takes a connection out; its number is free.
    fn remove(&mut self, context: &Context, slot: usize) -> Option<Connection> {
        let connection = self.slots[slot].connection.take()?;
        if let Some(addresses) = connection.announced
            && connection.phase == Phase::Opening
        {
            context.shared.retract(addresses, connection.opening.serial);
        }
        if self.measures
            && connection.phase != Phase::Opening
            && let Ok(info) = TcpInfo::of(connection.socket())
        {
            let gone = TcpInfo {
                rtt: None,
                cwnd: 0,
                ..info
            };
            self.before = Some(gone.beside(&self.before.unwrap_or_default()));
        }
        let repairs = connection.repairs();
        self.repaired = self.repaired.plus(repairs);
        self.leaving.push((connection.number(), repairs));
        self.numbers.remove(&connection.number());
        self.free.push(slot);
        Some(connection)
    }

    /// Both ends have finished, and know it.
    fn close(&mut self, context: &Context, slot: usize) {
        if let Some(gone) = self.remove(context, slot) {
            let connection = gone.number();
            self.inputs.push_back(Input::Closed { connection });
        }
    }

    /// A connection is over without having been closed by both ends.
    fn fail(&mut self, context: &Context, slot: usize, failure: Option<FlowFailure>) {
        if let Some(gone) = self.remove(context, slot) {
            let connection = gone.number();
            self.inputs.push_back(Input::Failed { connection });
            // What is left in the socket is of no use.
            let _ = socket::set_abort_on_close(gone.socket());
        }
        if let Some(failure) = failure {
            self.lost.add(failure);
        }
    }

    fn break_down(&mut self, context: &Context, slot: usize, errno: Errno) {
        // The other end has reset it, as it may.
        let is_reset = matches!(errno, Errno::CONNRESET | Errno::PIPE);
        let failure = (!is_reset).then(|| FlowFailure::Died {
            at: context.now(),
            source: errno.into(),
        });
        self.fail(context, slot, failure);
    }

    /// Resets a connection; the application is told nothing more of it.
    pub(super) fn abort(&mut self, context: &Context, number: ConnectionId) {
        let Some(&slot) = self.numbers.get(&number) else {
            return;
        };
        if let Some(gone) = self.remove(context, slot) {
            let _ = socket::set_abort_on_close(gone.socket());
        }
        self.inputs.retain(|input| of(input) != Some(number));
    }

    /// The flow has reached its stop: nothing more is opened or sent.
    pub(super) fn stop(&mut self, context: &Context) {
        for slot in 0..self.slots.len() {
            let Some(connection) = &mut self.slots[slot].connection else {
                continue;
            };
            if connection.phase == Phase::Opening {
                self.remove(context, slot);
            } else {
                connection.stop();
                self.mark(slot);
            }
        }
    }

    /// What closing the sockets that are left will send is no more than a reset.
    pub(super) fn abort_on_close(&self) {
        for connection in self.connections() {
            // If it fails, the kernel drops what is left when the namespace goes.
            let _ = socket::set_abort_on_close(connection.socket());
        }
    }

    /// A connection that is being opened is up, or is not to be had.
    fn finish_opening(
        &mut self,
        context: &Context,
        slot: usize,
        why: impl Fn(Errno) -> FlowFailure,
    ) {
        let Some(connection) = &mut self.slots[slot].connection else {
            return;
        };
        match connection.error() {
            Ok(()) => {
                connection.come_up();
                // The other end accepts it now or soon, unless it is gone.
                let opened = connection.opened();
                self.inputs.push_back(opened);
                self.mark(slot);
            }
            // It was up, and the other end has reset it before this one looked; a refusal has another number.
            Err(Errno::CONNRESET) => self.fail(context, slot, None),
            Err(errno) => self.fail(context, slot, Some(why(errno))),
        }
    }

    /// Connections that have not come up in time have failed.
    pub(super) fn give_up(&mut self, context: &mut Context) {
        let now = context.now();
        self.alarm.take_if(|at| *at <= now);
        while let Some(&(by, slot, generation)) = self.given_up.front()
            && by <= now
        {
            self.given_up.pop_front();
            let place = &self.slots[slot];
            let is_opening = place
                .connection
                .as_ref()
                .is_some_and(|connection| connection.phase == Phase::Opening);
            if place.generation == generation && is_opening {
                let within = context.connect_within;
                self.fail(context, slot, Some(FlowFailure::NotConnected { within }));
            }
        }
        self.arm(context);
    }

    /// Sets an alarm for the first connection that may have to be given up.
    fn arm(&mut self, context: &mut Context) {
        while let Some(&(_, slot, generation)) = self.given_up.front() {
            let place = &self.slots[slot];
            let is_opening = place
                .connection
                .as_ref()
                .is_some_and(|connection| connection.phase == Phase::Opening);
            if place.generation == generation && is_opening {
                break;
            }
            self.given_up.pop_front();
        }
        if self.alarm.is_none()
            && let Some(&(by, ..)) = self.given_up.front()
        {
            self.alarm = Some(by);
            context.timers.set(by, self.index, Alarm::ConnectBy);
        }
    }

    /// Reads what has arrived on a connection. Returns the number of bytes.
    fn receive(&mut self, context: &mut Context, slot: usize) -> u64 {
        let Some(connection) = &mut self.slots[slot].connection else {
            return 0;
        };
        let number = connection.number();
        let had_ended = connection.read_has_ended();
        let (bytes, outcome) = connection.read(&mut context.read_buffer, &mut self.inputs);
        if !had_ended && connection.read_has_ended() && !connection.is_closed() {
            self.inputs.push_back(Input::Ended { connection: number });
        }
        match outcome {
            Ok(()) => self.mark(slot),
            Err(Broken::Lost(errno)) => self.break_down(context, slot, errno),
            Err(Broken::Garbage) => {
                let connection = number.0;
                self.fail(context, slot, Some(FlowFailure::NoMessage { connection }));
            }
        }
        bytes
    }

    /// Reads what is left of a connection whose number the other end uses again, and ends it.
    fn supersede(&mut self, context: &mut Context, number: ConnectionId) -> u64 {
        let Some(&slot) = self.numbers.get(&number) else {
            return 0;
        };
        let mut total = 0;
        loop {
            match self.receive(context, slot) {
                0 => break,
                bytes => total += bytes,
            }
        }
        // It may be gone by now.
        if self.numbers.get(&number) == Some(&slot) {
            let ended = self.slots[slot]
                .connection
                .as_ref()
                .is_some_and(Connection::has_ended);
            match ended {
                true => self.close(context, slot),
                false => self.fail(context, slot, None),
            }
        }
        total
    }

    /// Sends what is to be sent, and looks which connections are over.
    pub(super) fn flush(&mut self, context: &Context) {
        while let Some(slot) = self.dirty.pop() {
            let Some(connection) = &mut self.slots[slot].connection else {
                continue;
            };
            if !std::mem::take(&mut connection.is_dirty) || connection.phase == Phase::Opening {
                continue;
            }
            if let Err(errno) = self.flush_one(context, slot) {
                self.break_down(context, slot, errno);
            }
        }
    }

    fn flush_one(&mut self, context: &Context, slot: usize) -> Result<(), Errno> {
        let token = self.token(slot);
        let Some(connection) = &mut self.slots[slot].connection else {
            return Ok(());
        };
        let number = connection.number();
        if connection.flush()? {
            self.inputs.push_back(Input::Sent { connection: number });
        }
        let watched = if connection.is_closed() {
            connection.error()?;
            self.close(context, slot);
            return Ok(());
        } else if connection.has_ended() {
            if connection.phase == Phase::Closing {
                return connection.error();
            }
            connection.phase = Phase::Closing;
            context.poller.watch_for_close(connection.socket(), token)
        } else if let Some(interest) = connection.new_interest()? {
            context.poller.change(connection.socket(), token, interest)
        } else {
            Ok(())
        };
        watched.map_err(|error| connection::errno(&error))
    }
}

impl Counted for SessionEnd {
    fn of_connection(&self, number: ConnectionId) -> Option<Repairs> {
        let slot = self.numbers.get(&number).map(|slot| &self.slots[*slot]);
        if let Some(connection) = slot.and_then(|slot| slot.connection.as_ref()) {
            return Some(connection.repairs());
        }
        let leaving = self.leaving.iter().rev();
        let mut leaving = leaving.filter(|(left, _)| *left == number);
        leaving.next().map(|(_, repairs)| *repairs)
    }
    fn of_flow(&self) -> Repairs {
        let alive = self.connections().map(Connection::repairs);
        alive.fold(self.repaired, Repairs::plus)
    }
}

/// The connection that the application is told something of.
fn of(input: &Input) -> Option<ConnectionId> {
    match *input {
        Input::Opened { connection, .. }
        | Input::Bytes { connection, .. }
        | Input::Message { connection, .. }
        | Input::Ended { connection }
        | Input::Failed { connection }
        | Input::Sent { connection }
        | Input::Closed { connection } => Some(connection),
        Input::Started | Input::Wake | Input::Datagram { .. } => None,
    }
}
