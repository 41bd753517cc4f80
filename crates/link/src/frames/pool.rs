//! The frame pool: one slab of equal slots and a list of the free ones.
//!
//! The kernel writes a received frame into a slot and reads it from there again; in between only
//! its 8-byte handle moves. Both ports of a link share one pool, so a frame that came in at one
//! goes out at the other without a copy.
//!
//! A slot begins with [`HEADROOM`] bytes. The last ten of them describe what a host has left to its
//! interface ([`Offload`]). The kernel delivers the outer VLAN tag beside the
//! frame, and putting it back moves the description and the two addresses four bytes to the front instead of the
//! payload to the back. The free list is last in, first out, so that a link with a short queue
//! works in few slots that stay in the cache; untouched slots cost no memory.

use std::alloc::{Layout, alloc_zeroed};
use std::fmt;

use super::offload::{DESCRIPTION, Offload};

/// Bytes before each received frame.
pub(crate) const HEADROOM: usize = 16;

/// The part of a frame in front of the IP packet that a slot has room for: addresses, type, and the
/// tags that the kernel leaves in place.
const LINK_HEADER: usize = 14 + 4 * super::frame::MAX_TAGS;

/// Index of a slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameId(u32);

impl fmt::Debug for FrameId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

impl FrameId {
    /// Position of the slot in the pool.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
    #[cfg(test)]
    pub(crate) const fn for_test(index: u32) -> Self {
        Self(index)
    }
}

/// A received frame: its slot, and where it lies in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// The slot.
    pub id: FrameId,
    /// Length of the whole frame.
    pub len: u16,
    /// Offset of the first byte in the slot.
    pub start: u8,
}

/// Memory for a pool that the system does not give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OutOfMemory {
    /// The bytes that were asked for.
    pub(crate) bytes: u64,
}

/// Bytes of a slot for an IP packet of up to `mtu` bytes.
pub(crate) fn slot(mtu: usize) -> usize {
    // One byte more than the largest frame, so that a frame that fills its slot is too long.
    (HEADROOM + LINK_HEADER + mtu.min(Pool::MAX_MTU) + 1)
        .next_multiple_of(64)
        .max(2_048)
}

/// Bytes that the system gives when they are first touched; `None` where it refuses them, which `vec!` would answer by an abort.
fn zeroed(bytes: usize) -> Option<Box<[u8]>> {
    if bytes == 0 {
        return Some(Box::default());
    }
    let layout = Layout::array::<u8>(bytes).ok()?;
    // SAFETY: the layout has a size, which alloc_zeroed wants. What it gives is that many initialized bytes of the global allocator, with the
    // alignment of a u8, and nobody else has them: what a box of a slice consists of.
    unsafe {
        let start = alloc_zeroed(layout);
        (!start.is_null()).then(|| Box::from_raw(std::ptr::slice_from_raw_parts_mut(start, bytes)))
    }
}

/// Slots for frames.
pub(crate) struct Pool {
    bytes: Box<[u8]>,
    slot: usize,
    free: Vec<FrameId>,
    /// Whether each slot is in use. The free list alone would not notice a slot that is given back twice, and two frames would share it.
    in_use: Box<[bool]>,
    exhausted: u64,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Pool({} of {} slots of {} B free)",
            self.free.len(),
            self.slots(),
            self.slot
        )
    }
}

impl Pool {
    /// The largest MTU that a frame's 16-bit length allows for.
    pub(crate) const MAX_MTU: usize = 65_535 - HEADROOM - LINK_HEADER;

    /// `slots` slots, each for an IP packet of up to `mtu` bytes.
    ///
    /// # Errors
    ///
    /// The system refuses the memory.
    pub(crate) fn new(slots: u32, mtu: usize) -> Result<Self, OutOfMemory> {
        let slot = slot(mtu);
        let size = u64::from(slots).saturating_mul(slot as u64);
        let refused = OutOfMemory { bytes: size };
        let bytes = usize::try_from(size).ok().and_then(zeroed).ok_or(refused)?;
        let mut free = Vec::new();
        free.try_reserve_exact(slots as usize)
            .map_err(|_| refused)?;
        free.extend((0..slots).rev().map(FrameId));
        let mut in_use = Vec::new();
        in_use
            .try_reserve_exact(slots as usize)
            .map_err(|_| refused)?;
        in_use.resize(slots as usize, false);
        Ok(Self {
            bytes,
            slot,
            free,
            in_use: in_use.into_boxed_slice(),
            exhausted: 0,
        })
    }
    /// Takes a slot. If all are in use it returns `None` and counts that.
    pub(crate) fn take(&mut self) -> Option<FrameId> {
        let id = self.free.pop();
        match id {
            Some(id) => self.in_use[id.index()] = true,
            None => self.exhausted += 1,
        }
        id
    }
    /// Whether `count` slots are free; if not, that is counted as [`Pool::take`] counts it.
    pub(crate) fn has(&mut self, count: usize) -> bool {
        self.exhausted += u64::from(self.free.len() < count);
        self.free.len() >= count
    }
    /// Gives a slot back. Each slot taken is given back once.
    ///
    /// # Panics
    ///
    /// If the slot is not in use, in release builds too: no result is better than packets with the bytes of others.
    pub(crate) fn give_back(&mut self, id: FrameId) {
        let was_in_use = std::mem::take(&mut self.in_use[id.index()]);
        assert!(was_in_use, "frame {id:?} was given back twice");
        self.free.push(id);
    }
    /// Number of slots.
    pub(crate) fn slots(&self) -> usize {
        self.bytes.len() / self.slot
    }
    /// Number of free slots.
    pub(crate) fn free(&self) -> usize {
        self.free.len()
    }
    /// The number of times that no slot was free when one was needed. Frames then wait in the socket.
    pub(crate) fn exhausted(&self) -> u64 {
        self.exhausted
    }
    /// The longest frame that a slot takes, behind the headroom.
    pub(crate) fn room(&self) -> usize {
        (self.slot - HEADROOM).min(usize::from(u16::MAX))
    }
    /// The start of the slot of `id` in the slab.
    pub(crate) fn offset(&self, id: FrameId) -> usize {
        id.index() * self.slot
    }
    /// The whole slab, for the kernel.
    pub(crate) fn slab(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
    /// The bytes of `frame`.
    pub(crate) fn bytes(&self, frame: Frame) -> &[u8] {
        let start = self.offset(frame.id) + usize::from(frame.start);
        &self.bytes[start..start + usize::from(frame.len)]
    }
    /// The bytes of `frame`, to change.
    pub(crate) fn bytes_mut(&mut self, frame: Frame) -> &mut [u8] {
        let start = self.offset(frame.id) + usize::from(frame.start);
        &mut self.bytes[start..start + usize::from(frame.len)]
    }
    /// What is left to the interface that sends `frame`, as stands in front of it.
    pub(crate) fn offload(&self, frame: Frame) -> Offload {
        let bytes = self.bytes[self.described(frame)..].first_chunk();
        bytes.copied().map_or(Offload::default(), Offload)
    }
    /// Writes what is left to the interface that sends `frame`.
    pub(crate) fn describe(&mut self, frame: Frame, offload: &Offload) {
        let start = self.described(frame);
        self.bytes[start..start + DESCRIPTION].copy_from_slice(&offload.0);
    }
    /// The start of the description in front of `frame` in the slab.
    pub(crate) fn described(&self, frame: Frame) -> usize {
        self.offset(frame.id) + usize::from(frame.start) - DESCRIPTION
    }
    /// Copies `frame` into a free slot, with what is left to its interface. `None` without one, which is counted.
    pub(crate) fn copy(&mut self, frame: Frame) -> Option<Frame> {
        let copy = Frame {
            id: self.take()?,
            ..frame
        };
        let from = self.described(frame);
        let bytes = from..from + DESCRIPTION + usize::from(frame.len);
        self.bytes.copy_within(bytes, self.described(copy));
        Some(copy)
    }
    /// Puts a VLAN tag that the kernel delivered beside `frame` back behind the addresses, as the
    /// outermost tag (IEEE 802.1Q clause 9.3).
    pub(crate) fn insert_tag(&mut self, frame: Frame, protocol: u16, control: u16) -> Frame {
        const ADDRESSES: usize = 12;
        if usize::from(frame.len) < ADDRESSES || frame.start < 4 || frame.len > u16::MAX - 4 {
            return frame;
        }
        let offload = self.offload(frame);
        let frame = Frame {
            start: frame.start - 4,
            len: frame.len + 4,
            ..frame
        };
        let bytes = self.bytes_mut(frame);
        bytes.copy_within(4..4 + ADDRESSES, 0);
        bytes[12..14].copy_from_slice(&protocol.to_be_bytes());
        bytes[14..16].copy_from_slice(&control.to_be_bytes());
        self.describe(frame, &offload.moved(4));
        frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_slot_is_taken_once_and_exhaustion_is_counted() {
        let mut pool = Pool::new(3, 1_500).unwrap();
        let taken: Vec<_> = std::iter::from_fn(|| pool.take()).collect();
        assert_eq!(taken, [FrameId(0), FrameId(1), FrameId(2)]);
        assert_eq!((pool.free(), pool.exhausted()), (0, 1));
        pool.give_back(FrameId(1));
        assert_eq!(pool.take(), Some(FrameId(1)));
    }

    #[test]
    #[should_panic = "frame #1 was given back twice"]
    fn a_slot_that_is_given_back_twice_is_noticed_while_others_are_in_use() {
        let mut pool = Pool::new(3, 1_500).unwrap();
        let taken: Vec<_> = std::iter::from_fn(|| pool.take()).collect();
        pool.give_back(taken[1]);
        pool.give_back(taken[1]);
    }

    #[test]
    fn a_slot_takes_the_mtu_with_all_its_tags_and_one_byte_more() {
        for (mtu, slot) in [(576, 2_048), (1_500, 2_048), (9_000, 9_088)] {
            let pool = Pool::new(1, mtu).unwrap();
            assert_eq!(pool.slot, slot);
            assert!(pool.room() > 14 + 16 + mtu);
        }
    }

    #[test]
    fn a_tag_goes_behind_the_addresses_and_leaves_the_rest_in_place() {
        let mut pool = Pool::new(2, 1_500).unwrap();
        pool.take();
        let id = pool.take().unwrap();
        let frame = Frame {
            id,
            len: 20,
            start: HEADROOM as u8,
        };
        let untagged: Vec<u8> = (1..=20).collect();
        pool.bytes_mut(frame).copy_from_slice(&untagged);
        let tagged = pool.insert_tag(frame, 0x88a8, 0x6123);
        let expected = [&untagged[..12], &[0x88, 0xa8, 0x61, 0x23], &untagged[12..]].concat();
        assert_eq!(pool.bytes(tagged), expected);
        assert_eq!(
            pool.bytes(Frame {
                start: HEADROOM as u8 + 12,
                len: 8,
                ..frame
            }),
            &untagged[12..]
        );
    }

    #[test]
    fn memory_that_the_system_does_not_give_is_an_error() {
        // 2^32 slots of 64 KiB: 256 TiB, more than the addresses of a process.
        let refused = Pool::new(u32::MAX, Pool::MAX_MTU).unwrap_err();
        assert_eq!(
            refused.bytes,
            u64::from(u32::MAX) * slot(Pool::MAX_MTU) as u64
        );
    }
}
