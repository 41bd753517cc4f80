//! A discipline behind a departure clock: the one place from which disciplines are called.
//!
//! Events happen in the order of their own times, whenever the caller comes: [`Bottleneck::advance`]
//! replays all that is due. At equal times the order is end of transmission, departure, update,
//! arrival. A packet in service finishes at the rate at which it started.
//!
//! Sojourn time runs from arrival to the start of transmission. The packet is handed out at its
//! start together with both its times, so that a delay line behind the link can already plan its
//! release.

use crate::departure_clock::{DepartureClock, Framing};
use crate::observer::Observer;
use crate::packet::Packet;
use crate::parameter::ParameterError;
use crate::qdisc::{Backlog, Qdisc};
use crate::units::{Bytes, Rate, Time};

/// The transmission of one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// Start of transmission: the packet leaves the queue.
    pub start: Time,
    /// End of transmission: its last bit leaves the link.
    pub end: Time,
    /// Bytes that it occupies on the link.
    pub link_bytes: Bytes,
}

/// A rate-limited link with a queue discipline.
#[derive(Debug)]
pub struct Bottleneck<P, Q, O> {
    qdisc: Q,
    clock: DepartureClock,
    observer: O,
    /// Nothing happens before this time any more.
    now: Time,
    /// End of the transmission in progress.
    busy_until: Option<Time>,
    packet: core::marker::PhantomData<P>,
}

impl<P: Packet, Q: Qdisc<P>, O: Observer<P>> Bottleneck<P, Q, O> {
    /// An idle link.
    pub fn new(qdisc: Q, rate: Rate, framing: Framing, observer: O) -> Self {
        Self {
            qdisc,
            clock: DepartureClock::new(rate, framing),
            observer,
            now: Time::ZERO,
            busy_until: None,
            packet: core::marker::PhantomData,
        }
    }

    /// `packet` arrives `at`; all that is due until then happens first. A time before the
    /// bottleneck's own is moved up to it: logical time never runs backwards.
    pub fn arrive(&mut self, mut packet: P, at: Time, sink: &mut impl FnMut(P, Departure)) {
        self.advance(at, sink);
        let at = self.now;
        packet.set_arrival(at);
        self.qdisc.enqueue(packet, at, &mut self.observer);
        self.serve(at, sink);
    }

    /// Everything that is due up to and including `until` happens, in order; each packet whose
    /// transmission starts goes to `sink`.
    pub fn advance(&mut self, until: Time, sink: &mut impl FnMut(P, Departure)) {
        while let Some(at) = self.next_event().filter(|&at| at <= until) {
            self.now = self.now.max(at);
            if self.busy_until.is_some_and(|end| end <= at) {
                self.busy_until = None;
                self.qdisc.transmitted(at);
                self.serve(at, sink);
            } else {
                self.qdisc.update(at);
            }
        }
        self.now = self.now.max(until);
    }

    /// When something happens next if nothing arrives.
    pub fn next_event(&self) -> Option<Time> {
        match (self.busy_until, self.qdisc.next_update()) {
            (Some(end), Some(update)) => Some(end.min(update)),
            (end, update) => end.or(update),
        }
    }

    /// Changes the link's rate at `at`; the packet in service finishes at the old one.
    pub fn set_rate(&mut self, rate: Rate, at: Time, sink: &mut impl FnMut(P, Departure)) {
        self.advance(at, sink);
        let at = self.now;
        self.clock.set_rate(rate);
        self.qdisc.set_rate(rate, at, &mut self.observer);
        self.serve(at, sink);
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
        self.qdisc.configure(key, value, self.now, &mut self.observer)
    }

    /// Drops all that is queued; the packet in service still leaves.
    pub fn drain(&mut self, at: Time, sink: &mut impl FnMut(P, Departure)) {
        self.advance(at, sink);
        self.qdisc.drain(self.now, &mut self.observer);
    }

    /// What waits, without the packet in service.
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

    /// Starts transmissions while the link is free. The loop ends after one packet, except on an
    /// unlimited link, where each transmission ends as it starts.
    fn serve(&mut self, now: Time, sink: &mut impl FnMut(P, Departure)) {
        while self.busy_until.is_none() && !self.clock.rate().is_zero() {
            let Some(packet) = self.qdisc.dequeue(now, &mut self.observer) else {
                return;
            };
            let (end, link_bytes) = self.clock.transmit(now, packet.len());
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
}
