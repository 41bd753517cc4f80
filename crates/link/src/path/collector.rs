//! The caller's observer, with a note of each dropped packet's slot, which goes back to the pool.

use quell_aqm::{Departure, Drop, MarkReason, Observer, Packet as _, QueueId};
use quell_units::{Rate, Time};

use crate::frames::{Descriptor, FrameId};

/// Passes everything on to `observer`, and keeps the dropped frames.
#[derive(Debug)]
pub(crate) struct Collector<O> {
    observer: O,
    dropped: Vec<FrameId>,
    marks: u64,
    /// Waiting times, if there are several links.
    waits: Option<Waits>,
}

/// Waiting times of packets in the queues of their way.
#[derive(Debug)]
struct Waits {
    /// Waiting times by frame.
    waited: Vec<Time>,
    /// Whether this is the last of several queues, by group.
    ends: Vec<bool>,
}

impl<O> Collector<O> {
    pub(crate) fn new(observer: O) -> Self {
        Self {
            observer,
            dropped: Vec::new(),
            marks: 0,
            waits: None,
        }
    }
    /// Sums up the waiting times of packets from now on, and reports them where a group's way `ends`.
    pub(crate) fn sum_up(&mut self, ends: Vec<bool>) {
        let waited = Vec::new();
        self.waits = Some(Waits { waited, ends });
    }
    /// A packet arrives that has waited for `before` in earlier queues.
    pub(crate) fn has_waited(&mut self, frame: FrameId, before: Time) {
        if let Some(waits) = &mut self.waits {
            let index = frame.index();
            if waits.waited.len() <= index {
                waits.waited.resize(index + 1, Time::ZERO);
            }
            waits.waited[index] = before;
        }
    }
    /// The time that a packet which has left this queue has waited so far.
    pub(crate) fn waited(&self, frame: FrameId) -> Time {
        let waits = self.waits.as_ref();
        let waited = waits.and_then(|waits| waits.waited.get(frame.index()));
        waited.copied().unwrap_or(Time::ZERO)
    }
    /// The caller's observer.
    pub(crate) fn observer(&self) -> &O {
        &self.observer
    }
    /// The caller's observer, to change.
    pub(crate) fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }
    /// Gives the caller's observer back.
    pub(crate) fn into_observer(self) -> O {
        self.observer
    }
    /// Slots of packets dropped since they were last asked for.
    pub(crate) fn dropped(&mut self) -> std::vec::Drain<'_, FrameId> {
        self.dropped.drain(..)
    }
    /// Packets newly marked CE.
    pub(crate) fn marks(&self) -> u64 {
        self.marks
    }
}

impl<O: Observer<Descriptor>> Observer<Descriptor> for Collector<O> {
    fn enqueued(&mut self, queue: QueueId, packet: &Descriptor, now: Time) {
        self.observer.enqueued(queue, packet, now);
    }
    fn dequeued(&mut self, queue: QueueId, packet: &Descriptor, now: Time) {
        self.observer.dequeued(queue, packet, now);
    }
    fn marked(&mut self, queue: QueueId, packet: &Descriptor, reason: MarkReason, now: Time) {
        self.marks += 1;
        self.observer.marked(queue, packet, reason, now);
    }
    fn dropped(&mut self, packet: Descriptor, drop: Drop, now: Time) {
        self.dropped.push(packet.frame().id);
        self.observer.dropped(packet, drop, now);
    }
    fn departed(&mut self, packet: &Descriptor, departure: &Departure) {
        self.observer.departed(packet, departure);
        if let Some(waits) = &mut self.waits
            && let Some(waited) = waits.waited.get_mut(packet.frame().id.index())
        {
            *waited += departure.start - packet.arrival();
            let group = packet.group().map(usize::from);
            if group.is_some_and(|group| waits.ends.get(group) == Some(&true)) {
                self.observer.crossed(packet, *waited, departure.start);
            }
        }
    }
    fn rate_changed(&mut self, rate: Rate, now: Time) {
        self.observer.rate_changed(rate, now);
    }
}
