//! Two observers at once: one measures, the other records each packet.

use quell_aqm::{Departure, Drop, MarkReason, Observer, QueueId};
use quell_units::{Rate, Time};

use crate::packet::Packet;

/// Calls both observers, the first one first.
#[derive(Debug, Clone, Default)]
pub struct Tee<A, B>(pub A, pub B);

impl<A: Observer<Packet>, B: Observer<Packet>> Observer<Packet> for Tee<A, B> {
    fn enqueued(&mut self, queue: QueueId, packet: &Packet, now: Time) {
        self.0.enqueued(queue, packet, now);
        self.1.enqueued(queue, packet, now);
    }
    fn dequeued(&mut self, queue: QueueId, packet: &Packet, now: Time) {
        self.0.dequeued(queue, packet, now);
        self.1.dequeued(queue, packet, now);
    }
    fn passed(&mut self, queue: QueueId, packet: &Packet, now: Time) {
        self.0.passed(queue, packet, now);
        self.1.passed(queue, packet, now);
    }
    fn marked(&mut self, queue: QueueId, packet: &Packet, reason: MarkReason, now: Time) {
        self.0.marked(queue, packet, reason, now);
        self.1.marked(queue, packet, reason, now);
    }
    fn dropped(&mut self, packet: Packet, drop: Drop, now: Time) {
        self.0.dropped(packet, drop, now);
        self.1.dropped(packet, drop, now);
    }
    fn departed(&mut self, packet: &Packet, departure: &Departure) {
        self.0.departed(packet, departure);
        self.1.departed(packet, departure);
    }
    fn rate_changed(&mut self, rate: Rate, now: Time) {
        self.0.rate_changed(rate, now);
        self.1.rate_changed(rate, now);
    }
    fn crossed(&mut self, packet: &Packet, waited: Time, now: Time) {
        self.0.crossed(packet, waited, now);
        self.1.crossed(packet, waited, now);
    }
}
