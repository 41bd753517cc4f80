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
        self.advance(at, sink);
        let at = self.now;
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

    /// When something happens next if nothing arrives.
    #[inline(always)]
    pub fn next_event(&self) -> Option<Time> {
        (self.next < Time::MAX).then_some(self.next)
    }

    /// Finds what happens next.
    #[inline(always)]
    fn plan(&mut self) {
        let update = self.qdisc.next_update().unwrap_or(Time::MAX);
        self.next = self.busy_until.unwrap_or(Time::MAX).min(update);
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
    fn serve(&mut self, now: Time, sink: &mut impl FnMut(P, Departure)) {
        if self.takes_turns() {
            self.use_chance(now, sink);
            self.line_up(now);
            return;
        }
        while self.is_free() {
            let Some(packet) = self.qdisc.dequeue(now, &mut self.observer) else {
                return;
            };
            self.transmit(packet, now, sink);
        }
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
    fn take_turn(&mut self, now: Time, sink: &mut impl FnMut(P, Departure)) {
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
    fn use_chance(&mut self, now: Time, sink: &mut impl FnMut(P, Departure)) {
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
            self.depart(packet, now, end, link_bytes, sink);
        }
    }

    /// Puts an aggregate together and sends it.
    fn send_aggregate(&mut self, now: Time, sink: &mut impl FnMut(P, Departure)) {
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
mod tests {
    use super::*;
    use crate::disciplines::fifo::Fifo;
    use crate::kind::QueueKind as _;
    use crate::observer::Drop;
    use crate::packet::{Ecn, testing::TestPacket};
    use crate::parameter::Settings;
    use crate::qdisc::Link;
    use crate::random::Random;

    struct Silent;

    impl Observer<TestPacket> for Silent {
        fn dropped(&mut self, _packet: TestPacket, _drop: Drop, _now: Time) {}
    }

    type TestLink = Bottleneck<TestPacket, Fifo<TestPacket>, Silent>;

    /// 8 Mbit/s: a packet of 1 000 bytes takes 1 ms.
    fn link() -> TestLink {
        let mtu = Bytes::new(1_500);
        let rate = Rate::from_mbps(8);
        let settings = Settings::new(Fifo::<TestPacket>::ENTRY.parameters);
        let random = Random::new(1, "queue");
        let fifo = Fifo::new(settings, Link { rate, mtu }, random).unwrap();
        Bottleneck::new(fifo, rate, Framing::default(), Silent)
    }

    fn packet(id: u64) -> TestPacket {
        TestPacket::new(id, 1_000, Ecn::NotEct)
    }

    #[test]
    fn an_idle_link_serves_at_once_and_a_busy_one_back_to_back() {
        let mut link = link();
        let mut starts = Vec::new();
        for id in 0..3 {
            link.arrive(packet(id), Time::from_micros(100), &mut |p, d| {
                starts.push((p.id, d.start))
            });
        }
        assert_eq!(link.next_event(), Some(Time::from_micros(1_100)));
        link.advance(Time::from_secs(1), &mut |p, d| starts.push((p.id, d.start)));
        let at = Time::from_micros;
        assert_eq!(starts, [(0, at(100)), (1, at(1_100)), (2, at(2_100))]);
        assert_eq!(link.next_event(), None);
    }

    #[test]
    fn the_packet_in_service_finishes_at_the_old_rate() {
        let mut link = link();
        let mut ends = Vec::new();
        let mut sink = |_: TestPacket, d: Departure| ends.push(d.end);
        link.arrive(packet(0), Time::ZERO, &mut sink);
        link.arrive(packet(1), Time::ZERO, &mut sink);
        link.set_rate(Rate::from_mbps(80), Time::from_micros(500), &mut sink);
        link.advance(Time::from_secs(1), &mut sink);
        assert_eq!(ends, [Time::from_micros(1_000), Time::from_micros(1_100)]);
    }

    #[test]
    fn an_outage_keeps_packets_until_the_link_is_back() {
        let mut link = link();
        let mut starts = Vec::new();
        let mut sink = |p: TestPacket, d: Departure| starts.push((p.id, d.start));
        link.set_rate(Rate::ZERO, Time::ZERO, &mut sink);
        link.arrive(packet(0), Time::from_millis(1), &mut sink);
        link.advance(Time::from_secs(5), &mut sink);
        assert_eq!(link.backlog().packets, 1);
        let mut sink = |p: TestPacket, d: Departure| starts.push((p.id, d.start));
        link.set_rate(Rate::from_mbps(8), Time::from_secs(6), &mut sink);
        assert_eq!(starts, [(0, Time::from_secs(6))]);
    }

    #[test]
    fn a_late_caller_gets_the_same_departures() {
        // Arrivals every 700 µs, reported one by one or all after the fact.
        let run = |advance_between: bool| {
            let mut link = link();
            let mut out = Vec::new();
            for id in 1..50 {
                let at = Time::from_micros(700 * id);
                if advance_between {
                    for step in 0..7 {
                        link.advance(
                            (at - Time::from_micros(700)) + Time::from_micros(100 * step),
                            &mut |p, d| out.push((p.id, d)),
                        );
                    }
                }
                link.arrive(packet(id), at, &mut |p, d| out.push((p.id, d)));
            }
            link.advance(Time::from_secs(1), &mut |p, d| out.push((p.id, d)));
            out
        };
        assert_eq!(run(true), run(false));
    }

    #[test]
    fn an_arrival_from_the_past_happens_now() {
        let mut link = link();
        link.advance(Time::from_millis(10), &mut |_, _| ());
        let mut starts = Vec::new();
        link.arrive(packet(0), Time::from_millis(9), &mut |p: TestPacket, d| {
            starts.push((p.arrival(), d.start))
        });
        assert_eq!(starts, [(Time::from_millis(10), Time::from_millis(10))]);
    }

    /// Writes down the order in which it is called.
    #[derive(Default)]
    struct Diary {
        calls: Vec<(&'static str, Time)>,
        waiting: Vec<TestPacket>,
        updates: u64,
    }

    impl Qdisc<TestPacket> for Diary {
        fn queues(&self) -> &'static [&'static str] {
            &["queue"]
        }
        fn enqueue(&mut self, packet: TestPacket, now: Time, _obs: &mut impl Observer<TestPacket>) {
            self.calls.push(("arrival", now));
            self.waiting.push(packet);
        }
        fn dequeue(
            &mut self,
            now: Time,
            _obs: &mut impl Observer<TestPacket>,
        ) -> Option<TestPacket> {
            let packet = self.waiting.pop();
            if packet.is_some() {
                self.calls.push(("departure", now));
            }
            packet
        }
        fn transmitted(&mut self, now: Time) {
            self.calls.push(("end of transmission", now));
        }
        fn next_update(&self) -> Option<Time> {
            Some(Time::from_millis(self.updates + 1))
        }
        fn update(&mut self, now: Time) {
            self.updates += 1;
            self.calls.push(("update", now));
        }
        fn configure(
            &mut self,
            _: &str,
            _: &str,
            _: Time,
            _: &mut impl Observer<TestPacket>,
        ) -> Result<(), ParameterError> {
            Ok(())
        }
        fn drain(&mut self, _: Time, _: &mut impl Observer<TestPacket>) {}
        fn backlog(&self) -> Backlog {
            Backlog::default()
        }
        fn status(&self, _: Time, _: &mut dyn FnMut(&'static str, crate::qdisc::Gauge)) {}
    }

    #[test]
    fn ties_go_end_of_transmission_departure_update_arrival() {
        let mut link = Bottleneck::new(
            Diary::default(),
            Rate::from_mbps(8),
            Framing::default(),
            Silent,
        );
        for id in 0..2 {
            link.arrive(packet(id), Time::ZERO, &mut |_, _| ());
        }
        let ms = Time::from_millis(1);
        link.arrive(packet(2), ms, &mut |_, _| ());
        let at_one: Vec<_> = link
            .qdisc()
            .calls
            .iter()
            .filter(|c| c.1 == ms)
            .map(|c| c.0)
            .collect();
        assert_eq!(
            at_one,
            ["end of transmission", "departure", "update", "arrival"]
        );
    }

    #[test]
    fn an_unlimited_link_empties_the_queue_at_once() {
        let mut link = link();
        let mut out = 0;
        link.set_rate(Rate::UNLIMITED, Time::ZERO, &mut |_, _| ());
        for id in 0..5 {
            link.arrive(packet(id), Time::from_millis(id), &mut |_, d| {
                assert_eq!(d.start, d.end);
                out += 1;
            });
        }
        assert_eq!((out, link.next_event()), (5, None));
    }
}
