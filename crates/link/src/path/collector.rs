//! The caller's observer, with a note of each dropped packet's slot, which goes back to the pool.

use quell_aqm::{Departure, Drop, MarkReason, Observer, QueueId};
use quell_units::{Rate, Time};

use crate::frames::{Descriptor, FrameId};

/// Passes everything on to `observer`, and keeps what was dropped.
#[derive(Debug)]
pub(crate) struct Collector<O> {
    observer: O,
    dropped: Vec<FrameId>,
    marks: u64,
}

impl<O> Collector<O> {
    pub(crate) fn new(observer: O) -> Self {
        Self {
            observer,
            dropped: Vec::new(),
            marks: 0,
        }
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
    }
    fn rate_changed(&mut self, rate: Rate, now: Time) {
        self.observer.rate_changed(rate, now);
    }
}
