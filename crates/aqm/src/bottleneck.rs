//! A discipline behind a departure clock: the one place from which disciplines are called.
//!
//! Events happen in the order of their own times, whenever the caller comes: [`Bottleneck::advance`] replays all that is due. At equal times the
//! order is end of transmission, departure, update, arrival. A packet in service finishes at the rate at which it started.
//!
//! Sojourn time runs from arrival to the start of transmission. The packet is handed out at its start together with both its times, so that a
//! delay line behind the link can already plan its release.
//!
//! A link may move by itself ([`Service`]): its rate follows a trace, it sends when it has a chance, or it sends aggregates over a medium. Its
//! changes of rate come between updates and arrivals.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::departure_clock::{Departure, DepartureClock, Framing};
use crate::observer::Observer;
use crate::packet::Packet;
use crate::parameter::ParameterError;
use crate::qdisc::{Backlog, Qdisc};
use crate::service::{Move, Moves, Service};
use crate::units::{Bytes, Rate, Time};

/// The packet that must still fit for another one to join an aggregate.
const FULL: Bytes = Bytes::new(1_500);

/// A rate-limited link with a queue discipline.
#[derive(Debug)]
pub struct Bottleneck<P, Q, O> {
    qdisc: Q,
    clock: DepartureClock,
    observer: O,
    /// The time of the last call: nothing happens before it any more.
    now: Time,
    /// End of the transmission in progress.
    busy_until: Option<Time>,
    /// When something happens next if nothing arrives, [`Time::MAX`] for never: kept, because it is asked for more often than it changes.
    next: Time,
    /// Whether the discipline has periodic control.
    has_updates: bool,
    /// `None` where the clock is all that there is.
    moves: Option<Box<Moves>>,
    /// The packets of an aggregate while it is put together, with their link bytes.
    aggregate: Vec<(P, Bytes)>,
}

impl<P: Packet, Q: Qdisc<P>, O: Observer<P>> Bottleneck<P, Q, O> {
    /// An idle link.
    pub fn new(qdisc: Q, rate: Rate, framing: Framing, observer: O) -> Self {
        Self {
            next: qdisc.next_update().unwrap_or(Time::MAX),
            has_updates: qdisc.has_updates(),
            qdisc,
            clock: DepartureClock::new(rate, framing),
            observer,
            now: Time::ZERO,
            busy_until: None,
            moves: None,
            aggregate: Vec::new(),
        }
    }

    /// Makes the link, at time zero, move by itself. Its rate is the one for which the discipline was built: the trace's offer at
    /// time zero follows at once.
    #[must_use]
    pub fn with_service(mut self, service: Service) -> Self {
        self.moves = service.start();
        self.plan();
        self
    }

    /// `packet` arrives `at`; all that is due until then happens first. A time before the
    /// bottleneck's own is moved up to it: logical time never runs backwards.
    #[inline]
    pub fn arrive(&mut self, mut packet: P, at: Time, sink: &mut impl FnMut(P, Departure)) {
        if self.next <= at {
            self.catch_up(at, sink);
        }
        let at = self.now.max(at);
        self.now = at;
        packet.set_arrival(at);
        if !self.is_free() {
            self.qdisc.enqueue(packet, at, &mut self.observer);
            // A link that stands still waits for its medium as one that sends.
            self.line_up(at);
        } else if self.takes_turns() {
            // What came before this packet is over, and nobody used it.
            self.pass_chances(at);
            self.qdisc.enqueue(packet, at, &mut self.observer);
            self.line_up(at);
        } else if let Some(packet) = self.qdisc.pass(packet, at, &mut self.observer) {
            self.transmit(packet, at, sink);
            // An unlimited link may be free again.
            if self.qdisc.backlog().packets > 0 {
                self.serve(at, sink);
            }
        }
        self.plan();
    }

    /// Everything that is due up to and including `until` happens, in order; each packet whose
    /// transmission starts goes to `sink`.
    #[inline]
    pub fn advance(&mut self, until: Time, sink: &mut impl FnMut(P, Departure)) {
        while self.next <= until && self.next < Time::MAX {
            let at = self.next;
            self.now = self.now.max(at);
            if self.busy_until.is_some_and(|end| end <= at) {
                self.busy_until = None;
                self.qdisc.transmitted(at);
                self.serve(at, sink);
            } else if self.moves.is_none() || !self.moved(at, sink) {
                self.qdisc.update(at);
            }
            self.plan();
        }
        self.now = self.now.max(until);
    }

    /// [`Bottleneck::advance`], out of the way of arrivals.
    #[inline(never)]
    fn catch_up(&mut self, until: Time, sink: &mut impl FnMut(P, Departure)) {
        self.advance(until, sink);
    }

    /// When something happens next if nothing arrives.
    #[inline(always)]
    pub fn next_event(&self) -> Option<Time> {
        (self.next < Time::MAX).then_some(self.next)
    }

    /// Finds what happens next.
    #[inline(always)]
    fn plan(&mut self) {
        self.next = self.busy_until.unwrap_or(Time::MAX);
        debug_assert!(self.has_updates || self.qdisc.next_update().is_none());
        if self.has_updates {
            let update = self.qdisc.next_update().unwrap_or(Time::MAX);
            self.next = self.next.min(update);
        }
        if let Some(moves) = &self.moves {
            self.next = self.next.min(self.next_move(moves));
        }
    }

    /// When the link moves next by itself. Kept apart, so that links that do not pay nothing for it.
    #[cold]
    fn next_move(&self, moves: &Moves) -> Time {
        let all = self.turn(moves).into_iter().chain(moves.next_rate());
        all.min().unwrap_or(Time::MAX)
    }

    /// When packets that wait get their turn.
    fn turn(&self, moves: &Moves) -> Option<Time> {
        if !moves.takes_turns() {
            return None;
        }
        let still = moves.accesses.is_some() && self.clock.rate().is_zero();
        let waiting = self.qdisc.backlog().packets > 0;
        moves.turn(self.busy_until.is_some() || still, waiting)
    }

    /// Moves the link by itself at `at`; `false` if there is nothing to do, or an update of the discipline comes first.
    #[cold]
    fn moved(&mut self, at: Time, sink: &mut impl FnMut(P, Departure)) -> bool {
        // A medium that was free while the link stood still is free now.
        let at = at.max(self.now);
        let Some(moves) = self.moves.as_deref() else {
            return false;
        };
        if self.turn(moves).is_some_and(|turn| turn <= at) {
            self.take_turn(at, sink);
            return true;
        }
        if self.qdisc.next_update().is_some_and(|update| update <= at) {
            return false;
        }
        let due = moves.next_rate().is_some_and(|next| next <= at);
        let change = self.moves.as_deref_mut().filter(|_| due);
        match change.and_then(Moves::take_rate) {
            Some(Move { offered, heard }) => {
                self.change_rate(offered, heard, at);
                self.serve(at, sink);
                true
            }
            None => false,
        }
    }

    /// The link offers another rate from `at` on; of the discipline, if it hears of it.
    fn change_rate(&mut self, offered: Rate, heard: Option<Rate>, at: Time) {
        let moves = self.moves.as_ref();
        if moves.is_none_or(|moves| moves.chances.is_none()) {
            if offered == self.clock.rate() {
                return;
            }
            self.clock.set_rate(offered);
        }
        self.observer.rate_changed(offered, at);
        if let Some(rate) = heard {
            self.qdisc.set_rate(rate, at, &mut self.observer);
        }
    }

    /// Changes the link's rate at `at`; the packet in service finishes at the old one.
    pub fn set_rate(&mut self, rate: Rate, at: Time, sink: &mut impl FnMut(P, Departure)) {
        self.advance(at, sink);
        let at = self.now;
        self.clock.set_rate(rate);
        self.observer.rate_changed(rate, at);
        self.qdisc.set_rate(rate, at, &mut self.observer);
        self.serve(at, sink);
        self.plan();
    }

    /// Changes a parameter of the discipline at `at`.
    pub fn configure(
        &mut self,
        key: &str,
        value: &str,
        at: Time,
        sink: &mut impl FnMut(P, Departure),
    ) -> Result<(), ParameterError> {
        self.advance(at, sink);
        let done = (self.qdisc).configure(key, value, self.now, &mut self.observer);
        self.has_updates = self.qdisc.has_updates();
        self.plan();
        done
    }

    /// Drops all that is queued; the packet in service still leaves.
    pub fn drain(&mut self, at: Time, sink: &mut impl FnMut(P, Departure)) {
        self.advance(at, sink);
        self.qdisc.drain(self.now, &mut self.observer);
        self.plan();
    }

    /// The packets that wait, without the one in service.
    pub fn backlog(&self) -> Backlog {
        self.qdisc.backlog()
    }
    /// The link's rate.
    pub fn rate(&self) -> Rate {
        self.clock.rate()
    }
    /// The discipline, to read.
    pub fn qdisc(&self) -> &Q {
        &self.qdisc
    }
    /// The observer.
    pub fn observer(&self) -> &O {
        &self.observer
    }
    /// The observer, to collect from.
    pub fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    /// Gives the observer back at the end; queued packets go with the discipline.
    pub fn into_observer(self) -> O {
        self.observer
    }

    /// Whether a transmission can start.
    #[inline]
    fn is_free(&self) -> bool {
        self.busy_until.is_none() && !self.clock.rate().is_zero()
    }

    /// Starts transmissions while the link is free. The loop ends after one packet, except on an
    /// unlimited link, where each transmission ends as it starts.
    #[inline(always)]
    fn serve(&mut self, now: Time, sink: &mut impl FnMut(P, Departure)) {
        if self.takes_turns() {
            return self.take_chance(now, sink);
        }
        while self.is_free() {
            let Some(packet) = self.qdisc.dequeue(now, &mut self.observer) else {
                return;
            };
            self.transmit(packet, now, sink);
        }
    }

    #[cold]
    fn take_chance(&mut self, now: Time, sink: &mut dyn FnMut(P, Departure)) {
        self.use_chance(now, sink);
        self.line_up(now);
    }

    /// Whether packets wait for their turn even when the link is free.
    #[inline]
    fn takes_turns(&self) -> bool {
        self.moves.as_ref().is_some_and(|moves| moves.takes_turns())
    }

    /// A link that is free at `now` asks for its medium if packets wait.
    fn line_up(&mut self, now: Time) {
        if let Some(moves) = self.moves.as_deref_mut()
            && let Some(accesses) = &mut moves.accesses
            && self.busy_until.is_none()
            && self.qdisc.backlog().packets > 0
        {
            accesses.ask(now);
        }
    }

    /// Chances up to `now` are over. Packets that wait have had theirs.
    fn pass_chances(&mut self, now: Time) {
        if let Some(chances) = self
            .moves
            .as_deref_mut()
            .and_then(|moves| moves.chances.as_mut())
        {
            chances.pass(now);
        }
    }

    /// The turn of packets that wait has come.
    fn take_turn(&mut self, now: Time, sink: &mut dyn FnMut(P, Departure)) {
        let Some(moves) = self.moves.as_deref_mut() else {
            return;
        };
        if let Some(chances) = &mut moves.chances {
            chances.open();
            self.use_chance(now, sink);
        } else {
            self.send_aggregate(now, sink);
            self.line_up(now);
        }
    }

    /// Sends the packets that the open chance carries. The last one may take further chances.
    fn use_chance(&mut self, now: Time, mut sink: &mut dyn FnMut(P, Departure)) {
        while self.busy_until.is_none() {
            let moves = self.moves.as_deref_mut();
            let Some(chances) = moves.and_then(|moves| moves.chances.as_mut()) else {
                return;
            };
            if !chances.is_open() {
                return;
            }
            let Some(packet) = self.qdisc.dequeue(now, &mut self.observer) else {
                chances.lose();
                return;
            };
            let link_bytes = self.clock.framing().link_bytes(packet.len());
            let (end, link_bytes) = chances.send(now, link_bytes);
            self.depart(packet, now, end, link_bytes, &mut sink);
        }
    }

    /// Puts an aggregate together and sends it.
    fn send_aggregate(&mut self, now: Time, sink: &mut dyn FnMut(P, Departure)) {
        let moves = self.moves.as_deref_mut();
        let Some(accesses) = moves.and_then(|moves| moves.accesses.as_mut()) else {
            return;
        };
        accesses.granted = None;
        let medium = accesses.medium;
        let full = self.clock.framing().link_bytes(FULL);
        let last = now + medium.time - self.clock.rate().time_for(full);
        let mut end = now;
        while self.aggregate.is_empty()
            || (end <= last && (self.aggregate.len() as u64) < u64::from(medium.packets))
        {
            let Some(packet) = self.qdisc.dequeue(now, &mut self.observer) else {
                break;
            };
            let (packet_end, link_bytes) = self.clock.transmit(end, packet.len());
            end = packet_end;
            self.aggregate.push((packet, link_bytes));
        }
        // The last packet stays in service until the end; those in front of it are out of the discipline's hands.
        if end > now {
            self.busy_until = Some(end);
        } else if !self.aggregate.is_empty() {
            self.qdisc.transmitted(now);
        }
        for (packet, link_bytes) in self.aggregate.drain(..) {
            let departure = Departure {
                start: now,
                end,
                link_bytes,
            };
            self.observer.departed(&packet, &departure);
            sink(packet, departure);
        }
    }

    #[inline(always)]
    fn transmit(&mut self, packet: P, now: Time, sink: &mut impl FnMut(P, Departure)) {
        let (end, link_bytes) = self.clock.transmit(now, packet.len());
        self.depart(packet, now, end, link_bytes, sink);
    }

    #[inline(always)]
    fn depart(
        &mut self,
        packet: P,
        now: Time,
        end: Time,
        link_bytes: Bytes,
        sink: &mut impl FnMut(P, Departure),
    ) {
        let departure = Departure {
            start: now,
            end,
            link_bytes,
        };
        self.observer.departed(&packet, &departure);
        if end > now {
            self.busy_until = Some(end);
        } else {
            self.qdisc.transmitted(now);
        }
        sink(packet, departure);
    }
}

#[cfg(test)]
mod tests;
