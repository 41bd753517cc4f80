//! The part of the stream that has arrived: everything before RCV.NXT, and ranges beyond it.
//!
//! Ranges are disjoint, do not touch, and are kept in ascending order in a ring. Arrivals extend the
//! last range and holes close at the first, so the cost does not depend on their number. SACK blocks are
//! kept apart (RFC 2018 section 4; Linux `tcp_sack_new_ofo_skb`): the four that changed last. What joins
//! a range whose block is forgotten begins a block of its own, which is a part of that range.

use std::collections::VecDeque;

use crate::prefetch::prefetch;
use crate::segment::Sack;

/// Largest number of ranges. A segment that would start one more counts as lost, as if memory had run
/// out.
const MAX_RANGES: usize = 1 << 16;
/// Number of SACK blocks kept (`TCP_NUM_SACKS`).
const RECENT: usize = 4;

/// The result of an arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrival {
    /// The stream has grown without a gap.
    InOrder,
    /// The segment lies beyond a gap.
    OutOfOrder,
    /// This part had arrived before, and nothing is new.
    Duplicate(Sack),
    /// There was no room for the segment.
    Refused,
}

/// The reassembly queue.
#[derive(Debug, Clone, Default)]
pub(super) struct Reassembly {
    rcv_nxt: u64,
    /// Bytes in `ranges`.
    waiting: u64,
    ranges: VecDeque<Sack>,
    recent: [Sack; RECENT],
}

impl Reassembly {
    /// See [`Receiver::prefetch`](super::Receiver::prefetch).
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch(&self.ranges);
        prefetch(&self.rcv_nxt);
    }
    /// Takes over the memory of an earlier queue, while this one is empty.
    pub(super) fn reuse(&mut self, before: Self) {
        self.ranges = before.ranges;
        self.ranges.clear();
    }
    /// Next number expected (RCV.NXT).
    pub(super) fn rcv_nxt(&self) -> u64 {
        self.rcv_nxt
    }
    /// Whether nothing waits beyond a gap.
    pub(super) fn is_contiguous(&self) -> bool {
        self.ranges.is_empty()
    }
    /// Bytes that wait beyond a gap.
    pub(super) fn waiting(&self) -> u64 {
        self.waiting
    }
    /// First number after the last byte that has arrived.
    pub(super) fn end(&self) -> u64 {
        self.ranges.back().map_or(self.rcv_nxt, |last| last.end)
    }
    /// The SACK blocks that changed last, the latest first.
    pub(super) fn recent(&self) -> impl Iterator<Item = Sack> + '_ {
        self.recent
            .iter()
            .copied()
            .filter(|range| range.start < range.end)
    }

    /// Inserts `start..end`, which is not empty.
    pub(super) fn insert(&mut self, start: u64, end: u64) -> Arrival {
        if end <= self.rcv_nxt {
            return Arrival::Duplicate(Sack { start, end });
        }
        if start > self.rcv_nxt {
            return self.insert_beyond(start, end);
        }
        self.rcv_nxt = end;
        if !self.ranges.is_empty() {
            self.close_gaps();
        }
        Arrival::InOrder
    }

    fn close_gaps(&mut self) {
        while let Some(first) = self.ranges.front()
            && first.start <= self.rcv_nxt
        {
            self.rcv_nxt = self.rcv_nxt.max(first.end);
            self.waiting -= first.end - first.start;
            self.ranges.pop_front();
        }
        let next = self.rcv_nxt;
        for range in &mut self.recent {
            if range.end <= next {
                *range = Sack::default();
            }
        }
    }

    fn insert_beyond(&mut self, start: u64, end: u64) -> Arrival {
        let mut merged = Sack { start, end };
        // The first range that reaches up to `start`; almost always the last one, or none.
        let index = match self.ranges.back() {
            Some(last) if last.end < start => self.ranges.len(),
            Some(last) if last.start <= start => self.ranges.len() - 1,
            _ => self.ranges.partition_point(|range| range.end < start),
        };
        match self.ranges.get(index).copied() {
            Some(range) if range.start <= end => {
                if range.start <= start && end <= range.end {
                    self.remember(merged);
                    return Arrival::Duplicate(merged);
                }
                merged.start = range.start.min(start);
                merged.end = range.end.max(end);
                let mut known = range.end - range.start;
                self.ranges[index] = merged;
                // Ranges that it now reaches become part of it.
                while let Some(follower) = self.ranges.get(index + 1)
                    && follower.start <= merged.end
                {
                    merged.end = merged.end.max(follower.end);
                    known += follower.end - follower.start;
                    self.ranges.remove(index + 1);
                    self.ranges[index] = merged;
                }
                self.waiting += merged.end - merged.start - known;
            }
            _ if self.ranges.len() >= MAX_RANGES => return Arrival::Refused,
            _ => {
                self.waiting += end - start;
                self.ranges.insert(index, merged);
            }
        }
        self.remember(Sack { start, end });
        Arrival::OutOfOrder
    }

    /// A segment beyond a gap arrived: the block that it joins comes first, or else a new one. Other blocks
    /// that it now reaches become part of it.
    fn remember(&mut self, segment: Sack) {
        let touches = |one: &Sack, other: &Sack| one.start <= other.end && other.start <= one.end;
        let join = |one: Sack, other: &Sack| Sack {
            start: one.start.min(other.start),
            end: one.end.max(other.end),
        };
        let known = |block: &Sack| block.start < block.end;
        let mut blocks = self.recent.iter();
        let joined = blocks.position(|block| known(block) && touches(block, &segment));
        let mut recent = [Sack::default(); RECENT];
        recent[0] = joined.map_or(segment, |place| join(segment, &self.recent[place]));
        let mut count = 1;
        for (place, block) in self.recent.iter().enumerate() {
            if !known(block) || Some(place) == joined {
                continue;
            }
            if joined.is_some() && touches(&recent[0], block) {
                recent[0] = join(recent[0], block);
            } else if count < RECENT {
                recent[count] = *block;
                count += 1;
            }
        }
        self.recent = recent;
    }

    #[cfg(test)]
    pub(super) fn ranges(&self) -> Vec<Sack> {
        self.ranges.iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quell_units::Random;

    fn blocks(reassembly: &Reassembly) -> Vec<(u64, u64)> {
        reassembly.recent().map(|r| (r.start, r.end)).collect()
    }

    #[test]
    fn the_most_recent_range_comes_first_and_swallows_those_it_joins() {
        let mut reassembly = Reassembly::default();
        for (start, end) in [(10, 20), (30, 40), (50, 60)] {
            assert_eq!(reassembly.insert(start, end), Arrival::OutOfOrder);
        }
        assert_eq!(blocks(&reassembly), [(50, 60), (30, 40), (10, 20)]);
        reassembly.insert(20, 30);
        assert_eq!(blocks(&reassembly), [(10, 40), (50, 60)]);
        assert_eq!(reassembly.insert(0, 10), Arrival::InOrder);
        assert_eq!(
            (reassembly.rcv_nxt(), blocks(&reassembly)),
            (40, vec![(50, 60)])
        );
        assert_eq!(
            reassembly.insert(50, 60),
            Arrival::Duplicate(Sack { start: 50, end: 60 })
        );
    }

    /// Against a set of bytes.
    #[test]
    fn any_order_of_arrivals_gives_the_same_stream() {
        let mut random = Random::new(1, "reassembly");
        for _ in 0..200 {
            let mut reassembly = Reassembly::default();
            let mut bytes = [false; 200];
            for _ in 0..100 {
                let start = random.below(195);
                let end = start + 1 + random.below(5);
                let is_new = !(start..end).all(|b| bytes[b as usize]);
                let arrival = reassembly.insert(start, end);
                assert_eq!(!is_new, matches!(arrival, Arrival::Duplicate(_)));
                (start..end).for_each(|b| bytes[b as usize] = true);
                let next = bytes.iter().position(|b| !b).unwrap_or(200);
                assert_eq!(reassembly.rcv_nxt(), next as u64);
                let mut rest = [false; 200];
                for range in reassembly.ranges() {
                    (range.start..range.end).for_each(|b| rest[b as usize] = true);
                    assert!(!bytes[range.end.min(199) as usize] || range.end == 200);
                }
                assert_eq!(bytes[next..], rest[next..]);
                let waiting = rest.iter().filter(|b| **b).count();
                assert_eq!(reassembly.waiting(), waiting as u64);
                let end = bytes.iter().rposition(|b| *b).map_or(0, |last| last + 1);
                assert_eq!(reassembly.end(), end as u64);
                let ranges = reassembly.ranges();
                let is_part = |block: Sack| {
                    let holds = |range: &Sack| range.start <= block.start && block.end <= range.end;
                    ranges.iter().any(holds)
                };
                assert!(reassembly.recent().all(is_part));
            }
        }
    }
}
