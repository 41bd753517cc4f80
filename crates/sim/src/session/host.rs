//! The hosts of a session: the inputs that they give their applications, and the actions that they perform for them.

use quell_app::{
    Action, Application, ConnectionId, Counted, Data, Event, Input, Recorded, Repairs, UNSENT,
};
use quell_aqm::Observer;
use quell_units::Time;

use super::side::{Knows, Phase};
use super::{Session, World};
use crate::flow::End;
use crate::packet::Packet;

impl<A: Application> Session<A> {
    /// Does everything that is due at a host now: notifies its application, and sends.
    pub(super) fn settle<O: Observer<Packet>>(&mut self, end: End, world: &mut World<'_, O>) {
        loop {
            while let Some(slot) = self.work.pop_front() {
                self.look_at(slot, end, world);
            }
            if self.wishes[end as usize] > world.now {
                break;
            }
            self.wishes[end as usize] = Time::MAX;
            self.notify(end, Input::Wake, world);
        }
        let access = match &self.access {
            Some(access) if end == End::Sender => access.next(),
            _ => Time::MAX,
        };
        let refused = match self.refused.is_empty() || end != self.opener {
            true => Time::MAX,
            false => world.now,
        };
        let at = self.wishes[end as usize].min(access).min(refused);
        world.set_timer(2 * self.flow.0 + end as u32, at);
    }

    /// Notifies the application of news of a connection, sends what can be sent, and sets the timer.
    fn look_at<O: Observer<Packet>>(&mut self, slot: u32, end: End, world: &mut World<'_, O>) {
        if self.slots[slot].sides[end as usize].phase != Phase::Live {
            return;
        }
        loop {
            while let Some(input) = self.next_input(slot, end) {
                self.notify(end, input, world);
            }
            self.transmit(slot, end, world);
            if !self.slots[slot].sides[end as usize].has_sent() {
                break;
            }
        }
        let slots = &mut self.slots[slot];
        let timer = slots.timers[end as usize];
        let side = &mut slots.sides[end as usize];
        // An end that listens again was reset before it was open: its host has no such connection.
        if side.tcp.is_reset() || side.tcp.is_listening() {
            side.phase = Phase::Gone;
        }
        world.set_timer(timer, side.tcp.next_timer().unwrap_or(Time::MAX));
        // Most live on, which one of its ends is enough to know.
        if !side.is_alive() && slots.is_over() {
            self.release(slot, world);
        }
    }

    /// The next news of a connection for the application at `end`.
    fn next_input(&mut self, slot: u32, end: End) -> Option<Input> {
        let framed = self.framed;
        let connection = &mut self.slots[slot];
        let number = connection.number;
        let (serial, asked) = (connection.serial, connection.asked);
        let (side, other) = connection.both(end);
        if side.is_up() {
            if end != self.opener && !self.claim(slot, end) {
                return None;
            }
            self.slots[slot].sides[end as usize].knows = Knows::Open;
            return Some(Input::Opened {
                connection: number,
                serial,
                asked,
            });
        }
        while side.has_news() {
            let (count, input) = side.take_arrived(other, number, framed);
            if end == End::Receiver {
                self.delivered += count;
            }
            match (count, input) {
                (_, Some(input)) => return Some(input),
                (0, None) => break,
                _ => {}
            }
        }
        let was_open = side.knows == Knows::Open;
        let input = side.take_change(number);
        if side.knows == Knows::End && input.is_some() {
            self.leaving[end as usize] = Some(slot);
            self.free_number(slot, end);
            // A connection that its application never knew of is none.
            if !was_open && end != self.opener {
                return None;
            }
        }
        input
    }

    /// Takes the number of a connection at the end that accepts it. Returns whether it is free there.
    fn claim(&mut self, slot: u32, end: End) -> bool {
        let number = self.slots[slot].number;
        match self.slots.of_number(end, number) {
            None => {
                self.slots.set_number(end, number, Some(slot));
                let side = &mut self.slots[slot].sides[end as usize];
                self.waiting -= u32::from(std::mem::take(&mut side.waits));
                true
            }
            Some(before) => {
                let side = &mut self.slots[slot].sides[end as usize];
                self.waiting += u32::from(!std::mem::replace(&mut side.waits, true));
                let (side, opener) = self.slots[before].both(end);
                if opener.phase == Phase::Gone && !side.tcp.is_reset() {
                    // The other end has no such connection any more, and a RST was lost.
                    side.tcp.abort();
                    self.work.push_back(before);
                }
                false
            }
        }
    }

    /// The application at `end` does not know a connection by its number any more.
    fn free_number(&mut self, slot: u32, end: End) {
        let number = self.slots[slot].number;
        if self.slots.of_number(end, number) == Some(slot) {
            self.slots.set_number(end, number, None);
        }
        let side = &mut self.slots[slot].sides[end as usize];
        self.waiting -= u32::from(std::mem::take(&mut side.waits));
        if self.waiting > 0 {
            let slots = &self.slots;
            let waits = |slot: &u32| {
                let slot = &slots[*slot];
                slot.number == number && slot.sides[end as usize].waits
            };
            let first = slots.in_use().filter(waits);
            self.work
                .extend(first.min_by_key(|slot| slots[*slot].serial));
        }
    }

    /// An event of the application at `end`, with TCP's repairs for it.
    pub(super) fn recorded(&self, event: Event, end: End) -> Recorded {
        let now = At { session: self, end }.of(event.carrier);
        let repairs = self.notes[end as usize].repairs(&event, now);
        Recorded { event, repairs }
    }

    /// A connection is over at both ends.
    fn release<O>(&mut self, slot: u32, world: &mut World<'_, O>) {
        for end in End::BOTH {
            self.free_number(slot, end);
            world.set_timer(self.slots[slot].timers[end as usize], Time::MAX);
        }
        let side = &self.slots[slot].sides[End::Sender as usize];
        if side.phase != Phase::Unborn {
            self.ended = side.tcp.sender().stats().following(&self.ended);
        }
        self.repaired = self.repaired.plus(self.slots[slot].repairs());
        for leaving in &mut self.leaving {
            leaving.take_if(|leaving| *leaving == slot);
        }
        self.slots.release(slot);
    }

    /// Polls the application at `end`, and performs its actions.
    pub(super) fn notify<O: Observer<Packet>>(
        &mut self,
        end: End,
        input: Input,
        world: &mut World<'_, O>,
    ) {
        let mut actions = std::mem::take(&mut world.network.actions);
        self.apps[end as usize].poll(world.now, input, &mut actions);
        for action in actions.drain(..) {
            match action {
                Action::Record(event) => {
                    let recorded = self.recorded(event, end);
                    world.network.events.push((self.flow, recorded));
                }
                Action::Note { note, carrier } => {
                    let now = At { session: self, end }.of(carrier);
                    self.notes[end as usize].put(note, now);
                }
                _ if self.is_stopped => {}
                Action::WakeAt(at) => self.wishes[end as usize] = at,
                Action::Open(number) => self.open(number, end, world),
                Action::Send(number, data) => self.write(number, end, data),
                Action::Finish(number) => self.finish(number, end, world),
                Action::Abort(number) => self.abort(number, end),
                Action::WhenSent(number) => self.ask_when_sent(number, end),
                // Sessions are streams.
                Action::Datagram { .. } => {}
            }
        }
        world.network.actions = actions;
    }

    /// An end that accepts connections asks for none, and a number in use is not asked for again.
    fn open<O: Observer<Packet>>(
        &mut self,
        number: ConnectionId,
        end: End,
        world: &mut World<'_, O>,
    ) {
        let is_free = self.slots.of_number(end, number).is_none();
        debug_assert!(is_free && end == self.opener, "{number:?} at {end:?}");
        if !is_free || end != self.opener {
            return;
        }
        let flow = self.flow.0;
        let Some(slot) = self.slots.take(flow, &self.ends, world.timers) else {
            // The application learns it later, so that one that tries again does so at another time.
            self.refused.push_back(number);
            return;
        };
        self.slots.set_number(end, number, Some(slot));
        let connection = &mut self.slots[slot];
        connection.number = number;
        connection.serial = self.serial;
        connection.asked = world.now;
        self.serial += 1;
        let (sender, receiver) = &mut self.ends[end as usize];
        let side = &mut connection.sides[end as usize];
        side.begin(sender, receiver);
        side.tcp.open(world.now);
        self.work.push_back(slot);
    }

    /// The slot and the end of a connection that its application may still use.
    fn usable(&mut self, number: ConnectionId, end: End) -> Option<u32> {
        let slot = self.slots.of_number(end, number)?;
        let side = &self.slots[slot].sides[end as usize];
        (side.phase == Phase::Live && side.knows != Knows::End).then_some(slot)
    }

    fn write(&mut self, number: ConnectionId, end: End, data: Data) {
        let Some(slot) = self.usable(number, end) else {
            return;
        };
        let side = &mut self.slots[slot].sides[end as usize];
        match data {
            Data::Bytes(bytes) => side.tcp.write(bytes),
            Data::Message(message) => side.write_message(message),
            Data::Endless => side.tcp.write_endless(),
            Data::Resume => side.tcp.write_until_retracted(),
            // The socket's buffer was full: the application is never slower than the transport.
            Data::Pause => side.tcp.retract(UNSENT.get()),
        }
        self.work.push_back(slot);
    }

    fn finish<O: Observer<Packet>>(
        &mut self,
        number: ConnectionId,
        end: End,
        world: &mut World<'_, O>,
    ) {
        let Some(slot) = self.usable(number, end) else {
            return;
        };
        // What was written leaves before the application shuts down, as far as it may.
        if self.slots[slot].sides[end as usize].tcp.unsent() > 0 {
            self.transmit(slot, end, world);
        }
        let side = &mut self.slots[slot].sides[end as usize];
        side.tcp.close();
        side.has_finished = true;
        self.work.push_back(slot);
    }

    fn abort(&mut self, number: ConnectionId, end: End) {
        let Some(slot) = self.usable(number, end) else {
            return;
        };
        let side = &mut self.slots[slot].sides[end as usize];
        side.tcp.abort();
        side.knows = Knows::End;
        self.free_number(slot, end);
        self.work.push_back(slot);
    }

    fn ask_when_sent(&mut self, number: ConnectionId, end: End) {
        if let Some(slot) = self.usable(number, end) {
            self.slots[slot].sides[end as usize].wants_sent = true;
            self.work.push_back(slot);
        }
    }
}

/// Looks up connections of one end by the numbers that its application knows.
struct At<'a, A> {
    session: &'a Session<A>,
    end: End,
}

impl<A: Application> Counted for At<'_, A> {
    fn of_connection(&self, connection: ConnectionId) -> Option<Repairs> {
        let slots = &self.session.slots;
        // A connection whose end the application is learning just now has no number any more.
        let leaving = self.session.leaving[self.end as usize]
            .filter(|slot| slots[*slot].number == connection);
        let slot = slots.of_number(self.end, connection).or(leaving)?;
        Some(slots[slot].repairs())
    }
    fn of_flow(&self) -> Repairs {
        let slots = &self.session.slots;
        let alive = slots.in_use().map(|slot| slots[slot].repairs());
        alive.fold(self.session.repaired, Repairs::plus)
    }
}
