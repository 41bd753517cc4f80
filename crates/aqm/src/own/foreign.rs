//! A discipline of another crate, and the packets that it has handles of.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use super::{Handle, OwnKind, OwnQueue};
use crate::observer::{Drop, MarkReason, Observer, QueueId};
use crate::packet::{Ecn, Packet};
use crate::parameter::ParameterError;
use crate::qdisc::{Backlog, Gauge, Qdisc};
use crate::units::{Rate, Time};

/// [`Qdisc`] of handles without generics, so that it can stand behind a box.
pub(super) trait Erased: fmt::Debug + Send {
    fn queues(&self) -> &'static [&'static str];
    fn enqueue(&mut self, packet: Handle, now: Time, obs: &mut dyn Observer<Handle>);
    fn dequeue(&mut self, now: Time, obs: &mut dyn Observer<Handle>) -> Option<Handle>;
    fn pass(&mut self, packet: Handle, now: Time, obs: &mut dyn Observer<Handle>)
    -> Option<Handle>;
    fn transmitted(&mut self, now: Time);
    fn next_update(&self) -> Option<Time>;
    fn update(&mut self, now: Time);
    fn set_rate(&mut self, rate: Rate, now: Time, obs: &mut dyn Observer<Handle>);
    fn configure(
        &mut self,
        key: &str,
        value: &str,
        now: Time,
        obs: &mut dyn Observer<Handle>,
    ) -> Result<(), ParameterError>;
    fn drain(&mut self, now: Time, obs: &mut dyn Observer<Handle>);
    fn backlog(&self) -> Backlog;
    fn status(&self, now: Time, report: &mut dyn FnMut(&'static str, Gauge));
}

impl<Q: OwnQueue> Erased for Q {
    fn queues(&self) -> &'static [&'static str] {
        Qdisc::queues(self)
    }
    fn enqueue(&mut self, packet: Handle, now: Time, mut obs: &mut dyn Observer<Handle>) {
        Qdisc::enqueue(self, packet, now, &mut obs);
    }
    fn dequeue(&mut self, now: Time, mut obs: &mut dyn Observer<Handle>) -> Option<Handle> {
        Qdisc::dequeue(self, now, &mut obs)
    }
    fn pass(
        &mut self,
        packet: Handle,
        now: Time,
        mut obs: &mut dyn Observer<Handle>,
    ) -> Option<Handle> {
        Qdisc::pass(self, packet, now, &mut obs)
    }
    fn transmitted(&mut self, now: Time) {
        Qdisc::transmitted(self, now);
    }
    fn next_update(&self) -> Option<Time> {
        Qdisc::next_update(self)
    }
    fn update(&mut self, now: Time) {
        Qdisc::update(self, now);
    }
    fn set_rate(&mut self, rate: Rate, now: Time, mut obs: &mut dyn Observer<Handle>) {
        Qdisc::set_rate(self, rate, now, &mut obs);
    }
    fn configure(
        &mut self,
        key: &str,
        value: &str,
        now: Time,
        mut obs: &mut dyn Observer<Handle>,
    ) -> Result<(), ParameterError> {
        Qdisc::configure(self, key, value, now, &mut obs)
    }
    fn drain(&mut self, now: Time, mut obs: &mut dyn Observer<Handle>) {
        Qdisc::drain(self, now, &mut obs);
    }
    fn backlog(&self) -> Backlog {
        Qdisc::backlog(self)
    }
    fn status(&self, now: Time, report: &mut dyn FnMut(&'static str, Gauge)) {
        Qdisc::status(self, now, report);
    }
}

/// A discipline of another crate that holds packets of the type `P`.
///
/// # Panics
/// [`Qdisc::dequeue`] and [`Qdisc::pass`], where the discipline says that it is empty and has lost packets: no figure of such a run would be
/// true.
#[derive(Debug)]
pub struct Foreign<P> {
    kind: &'static OwnKind,
    queue: Box<dyn Erased>,
    packets: Slots<P>,
}

impl<P> Foreign<P> {
    pub(super) fn new(kind: &'static OwnKind, queue: Box<dyn Erased>) -> Self {
        Self {
            kind,
            queue,
            packets: Slots {
                slots: Vec::new(),
                free: Vec::new(),
            },
        }
    }
}

/// Packets by the slot of their handle.
#[derive(Debug)]
struct Slots<P> {
    slots: Vec<Option<P>>,
    free: Vec<u32>,
}

impl<P: Packet> Slots<P> {
    fn put(&mut self, packet: P) -> Handle {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            // Each has more than a byte of memory.
            self.slots.len() as u32 - 1
        });
        let handle = Handle::new(slot, &packet);
        self.slots[slot as usize] = Some(packet);
        handle
    }
    /// The packet, with the mark and the value that the discipline has written into its handle.
    fn at(&mut self, handle: &Handle) -> &P {
        let packet = self.slots[handle.slot as usize]
            .as_mut()
            .expect("a handle exists as long as its packet");
        write_back(handle, packet);
        packet
    }
    fn take(&mut self, handle: Handle) -> P {
        let mut packet = self.slots[handle.slot as usize]
            .take()
            .expect("a handle exists as long as its packet");
        write_back(&handle, &mut packet);
        self.free.push(handle.slot);
        packet
    }
    fn count(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

fn write_back(handle: &Handle, packet: &mut impl Packet) {
    if handle.ecn() == Ecn::Ce && packet.ecn() != Ecn::Ce {
        packet.mark_ce();
    }
    if handle.value() != packet.value() {
        packet.set_value(handle.value());
    }
}

/// Passes on the discipline's reports about handles as reports about packets.
struct Bridge<'a, P, O> {
    packets: &'a mut Slots<P>,
    obs: &'a mut O,
}

impl<P: Packet, O: Observer<P>> Observer<Handle> for Bridge<'_, P, O> {
    fn enqueued(&mut self, queue: QueueId, packet: &Handle, now: Time) {
        self.obs.enqueued(queue, self.packets.at(packet), now);
    }
    fn dequeued(&mut self, queue: QueueId, packet: &Handle, now: Time) {
        self.obs.dequeued(queue, self.packets.at(packet), now);
    }
    fn marked(&mut self, queue: QueueId, packet: &Handle, reason: MarkReason, now: Time) {
        self.obs.marked(queue, self.packets.at(packet), reason, now);
    }
    fn dropped(&mut self, packet: Handle, drop: Drop, now: Time) {
        self.obs.dropped(self.packets.take(packet), drop, now);
    }
}

impl<P: Packet> Foreign<P> {
    /// Calls the discipline, with a way for it to report.
    fn call<T>(
        &mut self,
        obs: &mut impl Observer<P>,
        call: impl FnOnce(&mut dyn Erased, &mut dyn Observer<Handle>) -> T,
    ) -> T {
        let packets = &mut self.packets;
        call(&mut *self.queue, &mut Bridge { packets, obs })
    }
    /// The packet of a handle that leaves.
    fn leaving(&mut self, handle: Option<Handle>) -> Option<P> {
        let packet = handle.map(|handle| self.packets.take(handle));
        if packet.is_none() {
            let (name, lost) = (self.kind.entry.name, self.packets.count());
            assert!(
                lost == 0,
                "the queue {name} has lost {lost} packets: each must be delivered, or dropped with a reason"
            );
        }
        packet
    }
}

impl<P: Packet> Qdisc<P> for Foreign<P> {
    fn queues(&self) -> &'static [&'static str] {
        self.queue.queues()
    }
    // Out of the way of the disciplines of this crate.
    #[inline(never)]
    fn enqueue(&mut self, packet: P, now: Time, obs: &mut impl Observer<P>) {
        let handle = self.packets.put(packet);
        self.call(obs, |queue, obs| queue.enqueue(handle, now, obs));
    }
    #[inline(never)]
    fn dequeue(&mut self, now: Time, obs: &mut impl Observer<P>) -> Option<P> {
        let handle = self.call(obs, |queue, obs| queue.dequeue(now, obs));
        self.leaving(handle)
    }
    #[inline(never)]
    fn pass(&mut self, packet: P, now: Time, obs: &mut impl Observer<P>) -> Option<P> {
        let handle = self.packets.put(packet);
        let handle = self.call(obs, |queue, obs| queue.pass(handle, now, obs));
        self.leaving(handle)
    }
    fn transmitted(&mut self, now: Time) {
        self.queue.transmitted(now);
    }
    fn next_update(&self) -> Option<Time> {
        self.queue.next_update()
    }
    fn update(&mut self, now: Time) {
        self.queue.update(now);
    }
    fn set_rate(&mut self, rate: Rate, now: Time, mut obs: &mut dyn Observer<P>) {
        self.call(&mut obs, |queue, obs| queue.set_rate(rate, now, obs));
    }
    fn configure(
        &mut self,
        key: &str,
        value: &str,
        now: Time,
        mut obs: &mut dyn Observer<P>,
    ) -> Result<(), ParameterError> {
        self.call(&mut obs, |queue, obs| queue.configure(key, value, now, obs))
    }
    fn drain(&mut self, now: Time, mut obs: &mut dyn Observer<P>) {
        self.call(&mut obs, |queue, obs| queue.drain(now, obs));
    }
    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }
    fn status(&self, now: Time, report: &mut dyn FnMut(&'static str, Gauge)) {
        self.queue.status(now, report);
    }
}
