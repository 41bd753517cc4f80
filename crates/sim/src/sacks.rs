//! SACK blocks of the segments under way.
//!
//! Places are reused, last freed first, so the store grows to the largest number of such segments
//! under way at once and no further.

use quell_tcp::SackBlocks;

/// SACK blocks, by place.
#[derive(Debug, Default)]
pub(crate) struct SackStore {
    blocks: Vec<SackBlocks>,
    free: Vec<u32>,
}

impl SackStore {
    /// The place of a segment without blocks.
    pub(crate) const NONE: u32 = u32::MAX;

    /// Keeps `blocks`, if there are any, and tells their place.
    #[inline]
    pub(crate) fn put(&mut self, blocks: &SackBlocks) -> u32 {
        if blocks.is_empty() {
            Self::NONE
        } else {
            self.keep(blocks)
        }
    }

    fn keep(&mut self, blocks: &SackBlocks) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.blocks[place as usize] = *blocks;
                place
            }
            None => {
                self.blocks.push(*blocks);
                self.blocks.len() as u32 - 1
            }
        }
    }

    /// Takes the blocks at `place` out.
    #[inline]
    pub(crate) fn take(&mut self, place: u32) -> SackBlocks {
        if place == Self::NONE {
            return SackBlocks::default();
        }
        self.free.push(place);
        self.blocks[place as usize]
    }

    /// Segments with blocks under way.
    #[cfg(test)]
    pub(crate) fn in_use(&self) -> usize {
        self.blocks.len() - self.free.len()
    }
}
