//! A packet and a ledger that checks the laws of `Qdisc` while a discipline runs.
use std::collections::BTreeMap;

use quell_aqm::disciplines::Discipline;
use quell_aqm::parameter::ParameterError;
use quell_aqm::qdisc::{Backlog, Gauge};
use quell_aqm::{
    Bytes, Departure, Drop, DropReason, Ecn, MarkReason, Observer, Packet, Qdisc, QueueId, Rate,
    Time,
};

use super::Subject;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestPacket {
    pub id: u64,
    pub flow: u64,
    pub len: u64,
    pub ecn: Ecn,
    pub value: u16,
    arrival: Time,
}

impl TestPacket {
    /// A packet whose value is one of 2 048, 0 (no value) among them, that follow the id in no order.
    pub fn new(id: u64, flow: u64, len: u64, ecn: Ecn) -> Self {
        Self {
            id,
            flow,
            len,
            ecn,
            value: (id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 53) as u16,
            arrival: Time::ZERO,
        }
    }
}

impl Packet for TestPacket {
    fn len(&self) -> Bytes {
        Bytes::new(self.len)
    }
    fn memory(&self) -> Bytes {
        Bytes::new(self.len + 500)
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn mark_ce(&mut self) {
        assert!(matches!(self.ecn, Ecn::Ect0 | Ecn::Ect1), "CE only on ECT");
        self.ecn = Ecn::Ce;
    }
    fn flow(&self) -> u64 {
        self.flow
    }
    fn value(&self) -> u16 {
        self.value
    }
    fn set_value(&mut self, value: u16) {
        self.value = value;
    }
    fn arrival(&self) -> Time {
        self.arrival
    }
    fn set_arrival(&mut self, at: Time) {
        assert!(self.arrival.is_zero(), "arrival is set once");
        self.arrival = at;
    }
}

/// An event, for comparing runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Enqueued(u64, QueueId),
    Dequeued(u64, QueueId, Time),
    Marked(u64, MarkReason),
    Dropped(u64, Drop),
}

/// Records everything, and checks the laws that concern single packets.
#[derive(Debug, Default)]
pub struct Ledger {
    pub events: Vec<Event>,
    /// Packets inside: id -> (queue, length).
    pub inside: BTreeMap<u64, (QueueId, u64)>,
    /// The last packet that left each (flow, queue).
    last: BTreeMap<(u64, QueueId), u64>,
    pub last_departure_end: Time,
    /// Start of the last transmission: packets of one aggregate share both.
    pub last_departure_start: Time,
}

impl Ledger {
    pub fn marks(&self, reason: MarkReason) -> usize {
        self.events
            .iter()
            .filter(|e| matches!(e, Event::Marked(_, r) if *r == reason))
            .count()
    }
    pub fn drops(&self, reason: DropReason) -> usize {
        self.events
            .iter()
            .filter(|e| matches!(e, Event::Dropped(_, d) if d.reason == reason))
            .count()
    }
    pub fn dequeued(&self, queue: QueueId) -> usize {
        self.events
            .iter()
            .filter(|e| matches!(e, Event::Dequeued(_, q, _) if *q == queue))
            .count()
    }
}

impl Observer<TestPacket> for Ledger {
    fn enqueued(&mut self, queue: QueueId, packet: &TestPacket, now: Time) {
        assert_eq!(packet.arrival(), now, "arrival is the time of enqueueing");
        let before = self.inside.insert(packet.id, (queue, packet.len));
        assert!(before.is_none(), "packet {} accepted twice", packet.id);
        self.events.push(Event::Enqueued(packet.id, queue));
    }
    fn dequeued(&mut self, queue: QueueId, packet: &TestPacket, now: Time) {
        let inside = self.inside.remove(&packet.id);
        assert_eq!(
            inside.map(|i| i.0),
            Some(queue),
            "packet {} left a queue it was not in",
            packet.id
        );
        if let Some(last) = self.last.insert((packet.flow, queue), packet.id) {
            assert!(
                last < packet.id,
                "order within flow {} and queue {queue:?}",
                packet.flow
            );
        }
        self.events.push(Event::Dequeued(packet.id, queue, now));
    }
    fn marked(&mut self, _queue: QueueId, packet: &TestPacket, reason: MarkReason, _now: Time) {
        assert_eq!(packet.ecn(), Ecn::Ce, "a mark is reported that was not set");
        self.events.push(Event::Marked(packet.id, reason));
    }
    fn dropped(&mut self, packet: TestPacket, drop: Drop, _now: Time) {
        let inside = self.inside.remove(&packet.id);
        assert_eq!(
            inside.is_some(),
            drop.queued,
            "packet {}: {drop:?}",
            packet.id
        );
        if let Some((queue, _)) = inside {
            assert_eq!(queue, drop.queue);
        }
        self.events.push(Event::Dropped(packet.id, drop));
    }
    fn departed(&mut self, _packet: &TestPacket, departure: &Departure) {
        let last = (self.last_departure_start, self.last_departure_end);
        assert!(
            departure.start >= last.1 || (departure.start, departure.end) == last,
            "transmissions overlap"
        );
        self.last_departure_start = departure.start;
        assert!(departure.end >= departure.start);
        self.last_departure_end = departure.end;
    }
}

/// A discipline with the given parameters on a link of `rate` and an MTU of 1500 bytes.
pub fn discipline(
    kind: &str,
    given: &[(&str, &str)],
    rate: Rate,
) -> Result<Discipline<TestPacket>, ParameterError> {
    Subject::named(kind)?.discipline(given, rate)
}

/// Passes calls on and checks, around each, the laws that concern the whole discipline.
#[derive(Debug)]
pub struct Checked<Q> {
    pub inner: Q,
    inside: Backlog,
    /// Whether a free link passes packets in the discipline's own way.
    passes: bool,
}

impl<Q> Checked<Q> {
    pub fn new(inner: Q) -> Self {
        Self {
            inner,
            inside: Backlog::default(),
            passes: true,
        }
    }
    /// A free link enqueues and dequeues each packet.
    pub fn without_passing(self) -> Self {
        Self {
            passes: false,
            ..self
        }
    }
}

/// Counts what enters and leaves, whatever the world's observer does.
struct Count<'a, O> {
    obs: &'a mut O,
    inside: &'a mut Backlog,
}

impl<O: Observer<TestPacket>> Observer<TestPacket> for Count<'_, O> {
    fn enqueued(&mut self, queue: QueueId, packet: &TestPacket, now: Time) {
        self.inside.add(packet.len());
        self.obs.enqueued(queue, packet, now);
    }
    fn dequeued(&mut self, queue: QueueId, packet: &TestPacket, now: Time) {
        self.inside.remove(packet.len());
        self.obs.dequeued(queue, packet, now);
    }
    fn marked(&mut self, queue: QueueId, packet: &TestPacket, reason: MarkReason, now: Time) {
        self.obs.marked(queue, packet, reason, now);
    }
    fn dropped(&mut self, packet: TestPacket, drop: Drop, now: Time) {
        if drop.queued {
            self.inside.remove(packet.len());
        }
        self.obs.dropped(packet, drop, now);
    }
}

impl<Q: Qdisc<TestPacket>> Checked<Q> {
    fn call<O: Observer<TestPacket>, T>(
        &mut self,
        obs: &mut O,
        call: impl FnOnce(&mut Q, &mut Count<'_, O>) -> T,
    ) -> T {
        let answer = call(
            &mut self.inner,
            &mut Count {
                obs,
                inside: &mut self.inside,
            },
        );
        assert_eq!(
            self.inner.backlog(),
            self.inside,
            "backlog equals what is inside"
        );
        answer
    }
    fn gauges(&self, now: Time) -> Vec<(&'static str, Gauge)> {
        let mut gauges = Vec::new();
        self.inner
            .status(now, &mut |name, gauge| gauges.push((name, gauge)));
        gauges
    }
}

impl<Q: Qdisc<TestPacket>> Qdisc<TestPacket> for Checked<Q> {
    fn queues(&self) -> &'static [&'static str] {
        self.inner.queues()
    }
    fn enqueue(&mut self, packet: TestPacket, now: Time, obs: &mut impl Observer<TestPacket>) {
        self.call(obs, |q, obs| q.enqueue(packet, now, obs));
    }
    fn dequeue(&mut self, now: Time, obs: &mut impl Observer<TestPacket>) -> Option<TestPacket> {
        let packet = self.call(obs, |q, obs| q.dequeue(now, obs));
        if packet.is_none() {
            assert_eq!(
                self.inside,
                Backlog::default(),
                "None only when nothing is left to send"
            );
            let before = self.gauges(now);
            assert!(self.call(obs, |q, obs| q.dequeue(now, obs)).is_none());
            assert_eq!(
                self.gauges(now),
                before,
                "dequeue on an empty queue changes no counter"
            );
        }
        packet
    }
    fn pass(
        &mut self,
        packet: TestPacket,
        now: Time,
        obs: &mut impl Observer<TestPacket>,
    ) -> Option<TestPacket> {
        if self.passes {
            return self.call(obs, |q, obs| q.pass(packet, now, obs));
        }
        self.enqueue(packet, now, obs);
        self.dequeue(now, obs)
    }
    fn transmitted(&mut self, now: Time) {
        self.inner.transmitted(now);
    }
    fn next_update(&self) -> Option<Time> {
        self.inner.next_update()
    }
    fn update(&mut self, now: Time) {
        assert_eq!(
            self.inner.next_update(),
            Some(now),
            "updates come exactly when asked for"
        );
        self.inner.update(now);
        assert!(
            self.inner.next_update() > Some(now),
            "the next update advances"
        );
    }
    fn set_rate(&mut self, rate: Rate, now: Time, mut obs: &mut dyn Observer<TestPacket>) {
        self.call(&mut obs, |q, obs| q.set_rate(rate, now, obs));
    }
    fn configure(
        &mut self,
        key: &str,
        value: &str,
        now: Time,
        mut obs: &mut dyn Observer<TestPacket>,
    ) -> Result<(), ParameterError> {
        let before = self.gauges(now);
        let answer = self.call(&mut obs, |q, obs| q.configure(key, value, now, obs));
        if answer.is_err() {
            assert_eq!(self.gauges(now), before, "a refused change changes nothing");
        }
        answer
    }
    fn drain(&mut self, now: Time, mut obs: &mut dyn Observer<TestPacket>) {
        self.call(&mut obs, |q, obs| q.drain(now, obs));
        assert_eq!(self.inside, Backlog::default(), "drain leaves nothing");
    }
    fn backlog(&self) -> Backlog {
        self.inner.backlog()
    }
    fn status(&self, now: Time, report: &mut dyn FnMut(&'static str, Gauge)) {
        self.inner.status(now, report);
    }
}
