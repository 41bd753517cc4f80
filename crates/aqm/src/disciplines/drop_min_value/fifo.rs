//! Packets in a plain FIFO that are condemned where they stand: H_IN and H_DROP.
//!
//! H_IN counts what will be sent for each value, H_DROP what is condemned. A packet that comes to the head is dropped if anything
//! of its value is condemned; so it is the first of a value that goes, and not the packets that stood there when room was needed.
//! For each value H_IN and H_DROP together are what stands in the FIFO.
//!
//! Where a part of a packet is condemned it goes whole: what H_DROP lacks comes out of H_IN. The source's listing takes all from
//! H_DROP, which would be negative, and leaves in H_IN what has gone.
//!
//! Amounts are bytes or, where the limit is one of packets, packets.

use alloc::collections::VecDeque;

use crate::packet::Packet;
use crate::qdisc::Backlog;
use crate::units::Bytes;
use crate::value::ValueHistogram;

/// The unit of the histograms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Packets,
    Bytes,
}

impl Unit {
    #[inline]
    pub(super) fn of<P: Packet>(self, packet: &P) -> u64 {
        match self {
            Self::Packets => 1,
            Self::Bytes => packet.len().get(),
        }
    }
}

/// The packets of the FIFO, condemned ones among them.
#[derive(Debug)]
pub(super) struct Packets<P> {
    /// Packets with their values. The value of a packet that came without one may differ from that of the next such packet.
    queue: VecDeque<(P, u16)>,
    bytes: Bytes,
    unit: Unit,
    /// H_IN
    kept: ValueHistogram,
    /// H_DROP
    condemned: ValueHistogram,
    /// The lowest value that is kept.
    floor: u16,
}

impl<P: Packet> Packets<P> {
    /// A queue for values up to `highest`; the caller gives none above it.
    pub(super) fn new(highest: u16, unit: Unit) -> Self {
        Self {
            queue: VecDeque::new(),
            bytes: Bytes::ZERO,
            unit,
            kept: ValueHistogram::new(highest),
            condemned: ValueHistogram::new(highest),
            floor: 0,
        }
    }

    /// Everything in the FIFO.
    #[inline]
    pub(super) fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.queue.len() as u64,
            bytes: self.bytes,
        }
    }
    pub(super) fn head(&self) -> Option<&P> {
        self.queue.front().map(|(packet, _)| packet)
    }
    /// The part that will be sent, in units.
    #[inline]
    pub(super) fn kept(&self) -> u64 {
        self.kept.total()
    }
    /// The part that is condemned, in units.
    pub(super) fn condemned(&self) -> u64 {
        self.condemned.total()
    }

    /// The lowest value of which anything will be sent.
    pub(super) fn lowest_value(&self) -> Option<u16> {
        self.kept.lowest_from(self.floor)
    }
    /// [`Packets::lowest_value`], remembered as the floor.
    #[inline]
    pub(super) fn find_lowest(&mut self) -> Option<u16> {
        let lowest = self.kept.lowest_from(self.floor);
        self.floor = lowest.unwrap_or(u16::MAX);
        lowest
    }

    /// Puts `packet` of `value` at the end.
    #[inline]
    pub(super) fn push(&mut self, packet: P, value: u16) {
        self.bytes += packet.len();
        self.kept.add(value, self.unit.of(&packet));
        self.floor = self.floor.min(value);
        self.queue.push_back((packet, value));
    }

    /// Condemns packets of `value`, up to `amount` units.
    #[inline]
    pub(super) fn condemn(&mut self, value: u16, amount: u64) {
        let amount = amount.min(self.kept.bytes_of(value));
        self.kept.remove(value, amount);
        self.condemned.add(value, amount);
    }

    /// Removes the first packet, and whether it is to be dropped.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<(P, bool)> {
        let (packet, value) = self.queue.pop_front()?;
        self.bytes -= packet.len();
        let amount = self.unit.of(&packet);
        let condemned = match self.condemned.total() {
            0 => 0,
            _ => self.condemned.bytes_of(value).min(amount),
        };
        if condemned > 0 {
            self.condemned.remove(value, condemned);
        }
        if condemned < amount {
            self.kept.remove(value, amount - condemned);
        }
        Some((packet, condemned > 0))
    }

    /// Counts in `unit` from now on: condemns exactly the packets that would be dropped at the head.
    pub(super) fn count_in(&mut self, unit: Unit) {
        if unit == self.unit {
            return;
        }
        let highest = self.kept.highest();
        let mut before = core::mem::replace(&mut self.condemned, ValueHistogram::new(highest));
        self.kept = ValueHistogram::new(highest);
        for (packet, value) in &self.queue {
            let condemned = before.bytes_of(*value).min(self.unit.of(packet));
            before.remove(*value, condemned);
            let counts = if condemned > 0 {
                &mut self.condemned
            } else {
                &mut self.kept
            };
            counts.add(*value, unit.of(packet));
        }
        self.unit = unit;
    }
}
