//! The connections of a session, by slot. A slot is used again, the one that became free last first, so
//! memory grows only to the largest number of connections that lived at once.

use std::ops::{Index, IndexMut};

use quell_app::{ConnectionId, Repairs};
use quell_units::Time;

use super::Ends;
use super::side::{Phase, Side};
use crate::flow::End;
use crate::packet::PORT_BITS;
use crate::timers::Timers;

/// Bits of a slot in the number that packets carry; above them is its generation.
const SLOT_BITS: u32 = 16;
/// The most slots: connections that applications have at once ([`quell_app::Session::MOST`]), and those
/// of which TCP still has something to repair.
const MOST: usize = 1 << SLOT_BITS;
const GENERATIONS: u32 = 1 << (PORT_BITS - SLOT_BITS);
/// No slot.
const NONE: u32 = u32::MAX;

/// A connection.
#[derive(Debug)]
pub(super) struct Slot {
    /// Counts the connections of the slot, modulo [`GENERATIONS`].
    generation: u32,
    is_in_use: bool,
    /// Its number for the applications.
    pub(super) number: ConnectionId,
    /// Counts the connections of the flow.
    pub(super) serial: u64,
    /// When it was asked for.
    pub(super) asked: Time,
    pub(super) sides: [Side; 2],
    pub(super) timers: [u32; 2],
}

impl Slot {
    /// An end, and the other one.
    pub(super) fn both(&mut self, end: End) -> (&mut Side, &mut Side) {
        let [sender, receiver] = &mut self.sides;
        match end {
            End::Sender => (sender, receiver),
            End::Receiver => (receiver, sender),
        }
    }
    /// The repairs of TCP at both ends.
    pub(super) fn repairs(&self) -> Repairs {
        let [sender, receiver] = &self.sides;
        Repairs {
            sender: sender.repairs(),
            receiver: receiver.repairs(),
        }
    }
    /// Whether nothing of it is left to do.
    pub(super) fn is_over(&self) -> bool {
        let is_done = |side: &Side| !side.is_alive() && side.phase != Phase::Unborn;
        let [sender, receiver] = &self.sides;
        match (sender.phase, receiver.phase) {
            (Phase::Unborn, _) => is_done(receiver),
            (_, Phase::Unborn) => is_done(sender),
            _ => is_done(sender) && is_done(receiver),
        }
    }
}

/// All connections.
#[derive(Debug, Default)]
pub(super) struct Slots {
    slots: Vec<Box<Slot>>,
    free: Vec<u32>,
    /// The slot of a connection, by end and number.
    numbers: [Vec<u32>; 2],
}

/// Bytes that a connection takes before it has sent anything: both ends, their timers and numbers. The
/// most on any platform.
pub const CONNECTION_MEMORY: u64 = 4_992;

impl Slots {
    /// Bytes of a connection in this store.
    #[cfg(test)]
    pub(super) const MEMORY: usize =
        size_of::<Slot>() + size_of::<Box<Slot>>() + 2 * Timers::OWNED + 4 * size_of::<u32>();

    /// A slot for a connection, whose ends are unborn; `None` if there are too many.
    pub(super) fn take(&mut self, flow: u32, ends: &Ends, timers: &mut Timers) -> Option<u32> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None if self.slots.len() < MOST => {
                let slot = self.slots.len() as u32;
                let [sender, receiver] = ends;
                self.slots.push(Box::new(Slot {
                    generation: 0,
                    is_in_use: false,
                    number: ConnectionId::ONLY,
                    serial: 0,
                    asked: Time::ZERO,
                    sides: [
                        Side::new(&sender.0, &sender.1),
                        Side::new(&receiver.0, &receiver.1),
                    ],
                    timers: End::BOTH.map(|end| timers.add(flow, slot << 1 | end as u32)),
                }));
                slot
            }
            None => return None,
        };
        self[slot].is_in_use = true;
        Some(slot)
    }

    /// The connection of a slot is over.
    pub(super) fn release(&mut self, slot: u32) {
        let connection = &mut self.slots[slot as usize];
        connection.is_in_use = false;
        connection.generation = (connection.generation + 1) % GENERATIONS;
        for side in &mut connection.sides {
            side.reset();
        }
        self.free.push(slot);
    }

    /// Every slot with a connection, in a fixed order.
    pub(super) fn in_use(&self) -> impl Iterator<Item = u32> + '_ {
        let slots = (0..).zip(&self.slots);
        slots.filter_map(|(number, slot)| slot.is_in_use.then_some(number))
    }
    /// Number of slots.
    pub(super) fn len(&self) -> u32 {
        self.slots.len() as u32
    }

    /// The number that packets of a slot carry.
    pub(super) fn port(&self, slot: u32) -> u32 {
        self[slot].generation << SLOT_BITS | slot
    }
    /// The slot of a packet; `None` if its connection is over at both ends.
    pub(super) fn of_port(&self, port: u32) -> Option<u32> {
        let slot = port % (1 << SLOT_BITS);
        let found = self.slots.get(slot as usize)?;
        (found.is_in_use && found.generation == port >> SLOT_BITS).then_some(slot)
    }

    /// Slot and end of a timer.
    pub(super) fn owner(place: u32) -> (u32, End) {
        (place >> 1, End::BOTH[place as usize % 2])
    }

    /// The slot of the connection that an application knows by this number.
    pub(super) fn of_number(&self, end: End, number: ConnectionId) -> Option<u32> {
        let slot = self.numbers[end as usize].get(number.0 as usize).copied()?;
        (slot != NONE).then_some(slot)
    }
    /// Makes the number mean this slot, or none.
    pub(super) fn set_number(&mut self, end: End, number: ConnectionId, slot: Option<u32>) {
        let numbers = &mut self.numbers[end as usize];
        let index = number.0 as usize;
        if numbers.len() <= index {
            numbers.resize(index + 1, NONE);
        }
        numbers[index] = slot.unwrap_or(NONE);
    }
}

impl Index<u32> for Slots {
    type Output = Slot;
    fn index(&self, slot: u32) -> &Slot {
        &self.slots[slot as usize]
    }
}

impl IndexMut<u32> for Slots {
    fn index_mut(&mut self, slot: u32) -> &mut Slot {
        &mut self.slots[slot as usize]
    }
}

#[cfg(all(test, target_pointer_width = "64"))]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_connection_is_what_it_takes_and_not_much_more() {
        let taken = Slots::MEMORY as u64;
        let range = taken..=taken + taken / 16;
        assert!(range.contains(&CONNECTION_MEMORY), "{taken}");
    }
}
