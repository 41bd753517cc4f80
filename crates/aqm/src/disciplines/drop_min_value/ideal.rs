//! Packets in their order, and the one of the lowest value among them, wherever it stands.
//!
//! Packets stand in slots that are used again, chained in the order of arrival. Over the slots stands a tournament: a full
//! binary tree whose leaves are the keys of the slots and whose inner nodes are the smaller of their two children. The key is
//! the value, and below it the number of the arrival, so that of equal values the oldest is the lowest. To put a packet in or to take any out
//! changes the nodes above its slot until one stays the same: log₂ of the slots at most, two on average where values are
//! random. To find the lowest is a walk from the root.
//!
//! The slots double when they are full and are never given back: 24 bytes and a packet for each (16 of the tree, 8 of the chain).

use alloc::vec;
use alloc::vec::Vec;

use crate::packet::Packet;
use crate::qdisc::Backlog;
use crate::units::Bytes;

const NONE: u32 = u32::MAX;
/// The key of an empty slot, above that of every packet.
const EMPTY: u64 = u64::MAX;
/// Bits of the key below the value.
const NUMBER_BITS: u32 = 48;
/// The packets after which numbers begin anew (nine years at a million a second); until those from before have left, which of two equals
/// is the oldest is then wrong. One less than fit, so that no key is [`EMPTY`].
const NUMBERS: u64 = (1 << NUMBER_BITS) - 1;

/// The packets of an ideal queue.
#[derive(Debug)]
pub(super) struct Packets<P> {
    slots: Vec<Slot<P>>,
    /// The root is node 1; the children of node n are 2n and 2n + 1; the slots are the last half.
    tree: Vec<u64>,
    first: u32,
    last: u32,
    /// The first slot without a packet, chained by `after`.
    free: u32,
    bytes: Bytes,
    /// The width differs from that of the bytes, so that a processor need not wait for both to be written before it reads them as one.
    packets: u32,
    /// The number of the next packet, below [`NUMBERS`].
    number: u64,
}

#[derive(Debug)]
struct Slot<P> {
    packet: Option<P>,
    before: u32,
    after: u32,
}

impl<P: Packet> Packets<P> {
    pub(super) fn new() -> Self {
        Self {
            slots: Vec::new(),
            tree: Vec::new(),
            first: NONE,
            last: NONE,
            free: NONE,
            bytes: Bytes::ZERO,
            packets: 0,
            number: 0,
        }
    }

    #[inline]
    pub(super) fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.packets.into(),
            bytes: self.bytes,
        }
    }
    pub(super) fn head(&self) -> Option<&P> {
        let slot = self.slots.get(self.first as usize)?;
        slot.packet.as_ref()
    }
    /// The lowest value; `None` without packets.
    #[inline]
    pub(super) fn lowest_value(&self) -> Option<u16> {
        let root = *self.tree.get(1)?;
        (root != EMPTY).then_some((root >> NUMBER_BITS) as u16)
    }

    /// Puts `packet` of `value` at the end.
    #[inline]
    pub(super) fn push(&mut self, packet: P, value: u16) {
        if self.free == NONE {
            self.grow();
        }
        self.bytes += packet.len();
        self.packets += 1;
        let key = u64::from(value) << NUMBER_BITS | self.number;
        let next = self.number + 1;
        self.number = if next == NUMBERS { 0 } else { next };
        let slot = self.free;
        let place = &mut self.slots[slot as usize];
        self.free = place.after;
        *place = Slot {
            packet: Some(packet),
            before: self.last,
            after: NONE,
        };
        match self.last {
            NONE => self.first = slot,
            last => self.slots[last as usize].after = slot,
        }
        self.last = slot;
        self.set(slot, key);
    }

    /// Takes the first packet out.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<P> {
        self.take(self.first)
    }
    /// Takes out the packet of the lowest value, of several the oldest.
    pub(super) fn pop_lowest(&mut self) -> Option<P> {
        self.lowest_value()?;
        let mut node = 1;
        while node < self.slots.len() {
            let left = 2 * node;
            node = left + usize::from(self.tree[left] != self.tree[node]);
        }
        self.take((node - self.slots.len()) as u32)
    }

    #[inline]
    fn take(&mut self, slot: u32) -> Option<P> {
        let place = self.slots.get_mut(slot as usize)?;
        let packet = place.packet.take()?;
        let (before, after) = (place.before, place.after);
        place.after = self.free;
        self.free = slot;
        match before {
            NONE => self.first = after,
            before => self.slots[before as usize].after = after,
        }
        match after {
            NONE => self.last = before,
            after => self.slots[after as usize].before = before,
        }
        self.set(slot, EMPTY);
        self.bytes -= packet.len();
        self.packets -= 1;
        Some(packet)
    }

    /// Gives a slot a key, and updates the nodes above it.
    #[inline]
    fn set(&mut self, slot: u32, key: u64) {
        let mut node = self.slots.len() + slot as usize;
        self.tree[node] = key;
        while node > 1 {
            let smaller = self.tree[node].min(self.tree[node ^ 1]);
            node /= 2;
            if self.tree[node] == smaller {
                return;
            }
            self.tree[node] = smaller;
        }
    }

    /// Twice the slots, the keys where they were.
    #[cold]
    fn grow(&mut self) {
        let old = self.slots.len();
        let new = (2 * old).max(64);
        let mut tree = vec![EMPTY; 2 * new];
        if old > 0 {
            tree[new..new + old].copy_from_slice(&self.tree[old..]);
        }
        for node in (1..new).rev() {
            tree[node] = tree[2 * node].min(tree[2 * node + 1]);
        }
        self.tree = tree;
        self.slots.reserve_exact(new - old);
        for slot in old..new {
            self.slots.push(Slot {
                packet: None,
                before: NONE,
                after: if slot + 1 < new {
                    slot as u32 + 1
                } else {
                    self.free
                },
            });
        }
        self.free = old as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Ecn;
    use crate::packet::testing::TestPacket;
    use crate::random::Random;

    /// Against a plain list that is searched.
    #[test]
    fn it_is_a_list_from_which_the_oldest_of_the_lowest_can_be_taken() {
        for values in [1, 3, 65_535] {
            let mut random = Random::new(5, "test");
            let mut packets = Packets::new();
            let mut list: Vec<(u16, TestPacket)> = Vec::new();
            for id in 0..20_000 {
                // Up to a few hundred, then fewer.
                let pushes = if id / 500 % 2 == 0 { 6 } else { 3 };
                match random.below(10) {
                    n if n < pushes => {
                        let packet = TestPacket::new(id, 40 + random.below(1_460), Ecn::NotEct);
                        let value = 1 + random.below(values) as u16;
                        list.push((value, packet.clone()));
                        packets.push(packet, value);
                    }
                    n if n < 8 => {
                        let first = (!list.is_empty()).then(|| list.remove(0).1);
                        assert_eq!(packets.pop(), first);
                    }
                    _ => {
                        let lowest = list.iter().map(|(value, _)| *value).min();
                        assert_eq!(packets.lowest_value(), lowest);
                        let oldest = list.iter().position(|(value, _)| Some(*value) == lowest);
                        let gone = oldest.map(|index| list.remove(index).1);
                        assert_eq!(packets.pop_lowest(), gone);
                    }
                }
                let bytes = list.iter().map(|(_, packet)| packet.len).sum();
                assert_eq!(packets.backlog().bytes, Bytes::new(bytes));
                assert_eq!(packets.backlog().packets, list.len() as u64);
                assert_eq!(packets.head(), list.first().map(|(_, packet)| packet));
            }
        }
    }

    #[test]
    fn slots_are_used_again_and_numbers_begin_anew() {
        let mut packets = Packets::new();
        packets.number = NUMBERS - 3;
        for id in 0..64 {
            packets.push(TestPacket::new(id, 1_000, Ecn::NotEct), u16::MAX);
        }
        // Every packet is found, whatever its number.
        for _ in 0..64 {
            assert!(packets.pop_lowest().is_some());
            packets.push(TestPacket::new(99, 1_000, Ecn::NotEct), 7);
        }
        assert_eq!(packets.slots.len(), 64);
        assert_eq!(packets.lowest_value(), Some(7));
    }
}
