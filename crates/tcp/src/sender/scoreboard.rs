//! The scoreboard: segments that were sent and not yet acknowledged, with what is known of each.
//!
//! Linux keeps a tree of segments in sequence order and a list in order of sending
//! (`tcp_rtx_queue`, `tsorted_sent_queue`). Here one ring is in sequence order, so segments sent once
//! are in order of sending too; a second ring holds the retransmissions. A segment leaves Linux's list
//! when it is selectively acknowledged or RACK finds it lost, and returns to it only when it leaves
//! again: an undo does not put it back. Nothing is allocated once both rings have reached the size of
//! the window.
//!
//! The index of a segment grows by one per segment; its slot is the index modulo the ring's size.

mod detection;

use std::collections::VecDeque;

use quell_units::Time;

use super::details::Details;
use super::sent_segment::{EVER_RETRANSMITTED, LOST, RETRANSMITTED, SACKED, SentSegment, UNLISTED};
use crate::prefetch::prefetch;

/// The outstanding segments, and how many of them are in each state.
#[derive(Debug, Clone)]
pub(super) struct Scoreboard {
    ring: Box<[SentSegment]>,
    head: u64,
    tail: u64,
    /// First number never sent (SND.NXT): the end of the last segment.
    snd_nxt: u64,
    mss: u64,
    sacked_out: u32,
    lost_out: u32,
    retrans_out: u32,
    /// Outstanding segments that were ever retransmitted.
    ever: u32,
    /// Lost segments without a retransmission in flight.
    waiting: u32,
    /// No segment before this index waits for retransmission (`retransmit_skb_hint`).
    first_waiting: u64,
    /// No segment before this index was sent once and is listed.
    first_original: u64,
    /// The segments before this index that were sent once and are listed left before the segment
    /// delivered last did.
    overtaken: u64,
    /// None of these has this index or a higher one.
    last_overtaken: u64,
    /// Retransmissions in order of sending; stale ones are skipped.
    retransmissions: VecDeque<(u64, Time)>,
    /// End of the highest selectively acknowledged segment.
    highest_sack: u64,
    /// Segments found lost since the start.
    lost_total: u64,
    /// Details for a control that wants them.
    pub(super) details: Option<Box<Details>>,
}

impl Scoreboard {
    pub(super) fn new(mss: u32) -> Self {
        Self {
            ring: Box::new([]),
            head: 0,
            tail: 0,
            snd_nxt: 0,
            mss: u64::from(mss),
            sacked_out: 0,
            lost_out: 0,
            retrans_out: 0,
            ever: 0,
            waiting: 0,
            first_waiting: 0,
            first_original: 0,
            overtaken: 0,
            last_overtaken: 0,
            retransmissions: VecDeque::new(),
            highest_sack: 0,
            lost_total: 0,
            details: None,
        }
    }

    /// See [`Sender::prefetch`](super::Sender::prefetch).
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch(&self.ring);
        prefetch(&self.tail);
        prefetch(&self.lost_out);
    }
    /// Prefetches the first, the third and the next segment.
    #[inline]
    pub(super) fn prefetch_segments(&self) {
        if !self.ring.is_empty() {
            for index in [self.head, self.head + 2, self.tail] {
                prefetch(self.entry(index));
            }
        }
    }

    fn slot(&self, index: u64) -> usize {
        index as usize & (self.ring.len() - 1)
    }
    pub(super) fn entry(&self, index: u64) -> &SentSegment {
        &self.ring[self.slot(index)]
    }
    pub(super) fn entry_mut(&mut self, index: u64) -> &mut SentSegment {
        let slot = self.slot(index);
        &mut self.ring[slot]
    }
    pub(super) fn head(&self) -> u64 {
        self.head
    }
    pub(super) fn tail(&self) -> u64 {
        self.tail
    }
    /// First number never sent.
    pub(super) fn snd_nxt(&self) -> u64 {
        self.snd_nxt
    }
    pub(super) fn end(&self, index: u64) -> u64 {
        if index + 1 == self.tail {
            self.snd_nxt
        } else {
            self.entry(index + 1).start()
        }
    }
    pub(super) fn packets_out(&self) -> u32 {
        (self.tail - self.head) as u32
    }
    pub(super) fn is_empty(&self) -> bool {
        self.head == self.tail
    }
    pub(super) fn sacked_out(&self) -> u32 {
        self.sacked_out
    }
    pub(super) fn lost_out(&self) -> u32 {
        self.lost_out
    }
    pub(super) fn retrans_out(&self) -> u32 {
        self.retrans_out
    }
    pub(super) fn lost_total(&self) -> u64 {
        self.lost_total
    }
    /// `tcp_packets_in_flight`.
    pub(super) fn in_flight(&self) -> u32 {
        self.packets_out() + self.retrans_out - self.sacked_out - self.lost_out
    }
    /// Whether every outstanding segment was sent once and has no SACK or verdict.
    pub(super) fn is_clean(&self) -> bool {
        self.sacked_out | self.lost_out | self.retrans_out | self.ever == 0
    }
    /// Whether a retransmission is in flight, or the first segment was ever retransmitted
    /// (`tcp_any_retrans_done`).
    pub(super) fn any_retrans_done(&self) -> bool {
        let is_first = || !self.is_empty() && self.entry(self.head).has(EVER_RETRANSMITTED);
        self.retrans_out > 0 || is_first()
    }
    /// End of the highest selectively acknowledged segment; `snd_una` if there is none.
    pub(super) fn highest_sack(&self, snd_una: u64) -> u64 {
        if self.sacked_out == 0 {
            snd_una
        } else {
            self.highest_sack
        }
    }

    /// Appends a segment that ends at `end`.
    pub(super) fn push(&mut self, entry: SentSegment, end: u64) {
        if self.tail - self.head == self.ring.len() as u64 {
            self.grow();
        }
        if self.head == self.tail {
            self.first_original = self.tail;
            self.overtaken = self.tail;
            self.last_overtaken = self.tail;
            self.first_waiting = self.tail;
        }
        let slot = self.slot(self.tail);
        self.ring[slot] = entry;
        self.tail += 1;
        self.snd_nxt = end;
    }
    fn grow(&mut self) {
        let size = (self.ring.len() * 2).max(16);
        let mut ring = vec![SentSegment::default(); size].into_boxed_slice();
        for index in self.head..self.tail {
            ring[index as usize & (size - 1)] = *self.entry(index);
        }
        self.ring = ring;
    }

    /// The segment at `index` has just left: records the details, if the control wants them.
    #[inline(always)]
    pub(super) fn note_departure(&mut self, index: u64) {
        if self.details.is_some() {
            self.note_details(index);
        }
    }
    #[cold]
    fn note_details(&mut self, index: u64) {
        let (slot, in_flight) = (self.slot(index), self.in_flight());
        let (size, lost) = (self.ring.len(), self.lost_total);
        if let Some(details) = &mut self.details {
            details.on_departure(slot, size, in_flight, lost);
        }
    }
    /// Number of segments in flight, and found lost, when the segment at `index` left; it must still be
    /// in its slot.
    #[cold]
    pub(super) fn at_departure(&self, index: u64) -> Option<(u32, u32)> {
        let details = self.details.as_ref()?;
        Some(details.at_departure(self.slot(index)))
    }

    /// Takes over the memory of an earlier board, while this one is empty.
    pub(super) fn reuse(&mut self, before: Self) {
        self.ring = before.ring;
        self.retransmissions = before.retransmissions;
        self.retransmissions.clear();
        if let (Some(details), Some(before)) = (&mut self.details, before.details) {
            details.reuse(*before);
        }
    }

    /// Frees the memory of an empty board.
    pub(super) fn release(&mut self) {
        if self.is_empty() {
            self.ring = Box::new([]);
            self.retransmissions = VecDeque::new();
            self.details = None;
        }
    }

    /// Number of segments from the head that end at or before `snd_una`, on a clean board.
    pub(super) fn covered(&self, snd_una: u64) -> u64 {
        if snd_una >= self.snd_nxt {
            return self.packets_out().into();
        }
        self.find(snd_una.saturating_add(1))
            .saturating_sub(self.head + 1)
    }
    /// Removes the first `count` segments of a clean board.
    pub(super) fn pop_clean(&mut self, count: u64) {
        self.head += count;
    }
    /// Removes the first segment, in any state, and returns it.
    pub(super) fn pop(&mut self) -> SentSegment {
        let entry = *self.entry(self.head);
        if entry.has(LOST) && !entry.has(RETRANSMITTED | SACKED) {
            self.waiting -= 1;
        }
        self.lost_out -= u32::from(entry.has(LOST));
        self.sacked_out -= u32::from(entry.has(SACKED));
        self.retrans_out -= u32::from(entry.has(RETRANSMITTED));
        self.ever -= u32::from(entry.has(EVER_RETRANSMITTED));
        self.head += 1;
        entry
    }

    /// Index of the first segment that starts at or after `sequence`; the tail if there is none.
    pub(super) fn find(&self, sequence: u64) -> u64 {
        if self.is_empty() || sequence >= self.snd_nxt {
            return self.tail;
        }
        // Usually all segments are full.
        let distance = sequence.saturating_sub(self.entry(self.head).start());
        let guess = self.head + distance.div_ceil(self.mss);
        let fits = |index: u64| index >= self.tail || self.entry(index).start() >= sequence;
        if guess <= self.tail && fits(guess) && (guess == self.head || !fits(guess - 1)) {
            return guess;
        }
        let (mut low, mut high) = (self.head, self.tail);
        while low < high {
            let middle = low + (high - low) / 2;
            if fits(middle) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }

    /// Marks a segment as selectively acknowledged (`tcp_sacktag_one`).
    pub(super) fn mark_sacked(&mut self, index: u64) {
        let entry = *self.entry(index);
        let mut clear = 0;
        if entry.has(LOST) {
            self.lost_out -= 1;
            clear |= LOST;
            // A retransmission of a segment that is not considered lost is assumed to be still in
            // flight.
            if entry.has(RETRANSMITTED) {
                self.retrans_out -= 1;
                clear |= RETRANSMITTED;
            } else {
                self.waiting -= 1;
            }
        }
        let end = self.end(index);
        let entry = self.entry_mut(index);
        entry.clear(clear);
        entry.set(SACKED);
        self.sacked_out += 1;
        self.highest_sack = self.highest_sack.max(end);
    }

    /// Marks a segment as lost, or its retransmission if the segment is lost already
    /// (`tcp_mark_skb_lost`).
    pub(super) fn mark_lost(&mut self, index: u64) {
        let entry = self.entry_mut(index);
        let is_new = !entry.has(LOST);
        let is_repeated = entry.has(RETRANSMITTED);
        if entry.has(SACKED) || (!is_new && !is_repeated) {
            return;
        }
        entry.set(LOST);
        if is_new {
            self.lost_out += 1;
            self.waiting += u32::from(!is_repeated);
        } else {
            entry.clear(RETRANSMITTED);
            self.retrans_out -= 1;
            self.waiting += 1;
        }
        self.lost_total += 1;
        self.first_waiting = self.first_waiting.min(index);
        if let Some(details) = &mut self.details {
            let slot = index as usize & (self.ring.len() - 1);
            details.on_lost(slot, &self.ring[slot], self.lost_total);
        }
    }

    /// The first lost segment without a retransmission in flight.
    pub(super) fn first_waiting(&mut self) -> Option<u64> {
        if self.waiting == 0 {
            self.first_waiting = self.tail;
            return None;
        }
        let mut index = self.first_waiting.max(self.head);
        while !self.entry(index).has(LOST) || self.entry(index).has(RETRANSMITTED | SACKED) {
            index += 1;
        }
        self.first_waiting = index;
        Some(index)
    }
    /// Whether a lost segment waits for retransmission. None does while as many retransmissions are in
    /// flight as segments are lost (`tcp_xmit_retransmit_queue`).
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting > 0 && self.retrans_out < self.lost_out
    }

    /// Records a tail loss probe, which does not count as a retransmission in flight.
    pub(super) fn mark_probed(&mut self, index: u64, now: Time) {
        let entry = self.entry_mut(index);
        entry.sent = now;
        let was_ever = entry.has(EVER_RETRANSMITTED);
        entry.clear(UNLISTED);
        entry.set(EVER_RETRANSMITTED);
        self.ever += u32::from(!was_ever);
        self.retransmissions.push_back((index, now));
    }
    /// A D-SACK shows that the retransmission in flight was needless (`tcp_sacktag_one`).
    pub(super) fn mark_needless(&mut self, index: u64) {
        let entry = self.entry_mut(index);
        if !entry.has(RETRANSMITTED) {
            return;
        }
        entry.clear(RETRANSMITTED);
        let is_waiting = entry.has(LOST) && !entry.has(SACKED);
        self.retrans_out -= 1;
        self.waiting += u32::from(is_waiting);
        self.first_waiting = self.first_waiting.min(index);
    }

    /// Records the retransmission of a segment.
    pub(super) fn mark_retransmitted(&mut self, index: u64, now: Time) {
        let entry = self.entry_mut(index);
        entry.sent = now;
        entry.clear(UNLISTED);
        let (was_waiting, was_out, was_ever) = (
            entry.has(LOST) && !entry.has(RETRANSMITTED | SACKED),
            entry.has(RETRANSMITTED),
            entry.has(EVER_RETRANSMITTED),
        );
        entry.set(RETRANSMITTED | EVER_RETRANSMITTED);
        self.waiting -= u32::from(was_waiting);
        self.retrans_out += u32::from(!was_out);
        self.ever += u32::from(!was_ever);
        self.retransmissions.push_back((index, now));
    }

    /// Withdraws every verdict of loss, because a reduction proved spurious. What a time-out found lost
    /// is listed, and RACK looks at it again; what RACK found lost is not.
    pub(super) fn unmark_lost(&mut self) {
        self.retransmissions.clear();
        for index in self.head..self.tail {
            let entry = self.entry_mut(index);
            entry.clear(LOST);
            if entry.has(EVER_RETRANSMITTED) && !entry.has(SACKED | UNLISTED) {
                let sent = entry.sent;
                self.retransmissions.push_back((index, sent));
            }
        }
        self.retransmissions
            .make_contiguous()
            .sort_unstable_by_key(|&(_, sent)| sent);
        self.lost_out = 0;
        self.waiting = 0;
        self.first_original = self.head;
        self.overtaken = self.head;
        self.last_overtaken = self.head;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(segments: u64) -> Scoreboard {
        let mut board = Scoreboard::new(100);
        for n in 0..segments {
            board.push(
                SentSegment::new(n * 100, 0, Time::from_nanos(n)),
                n * 100 + 100,
            );
        }
        board
    }

    #[test]
    fn segments_are_found_by_sequence_number() {
        let mut board = board(20);
        assert_eq!(board.find(0), 0);
        assert_eq!(board.find(1), 1);
        assert_eq!(board.find(300), 3);
        assert_eq!(board.find(2_000), 20);
        assert_eq!(board.covered(350), 3);
        board.pop_clean(3);
        assert_eq!(
            (board.head(), board.covered(400), board.find(400)),
            (3, 1, 4)
        );
    }

    #[test]
    fn in_flight_leaves_out_what_is_sacked_or_lost() {
        let mut board = board(10);
        board.mark_lost(0);
        board.mark_lost(1);
        board.mark_sacked(2);
        assert_eq!(board.in_flight(), 7);
        assert_eq!(board.first_waiting(), Some(0));
        board.mark_retransmitted(0, Time::from_nanos(50));
        assert_eq!((board.in_flight(), board.first_waiting()), (8, Some(1)));
        board.mark_lost(0);
        assert_eq!((board.in_flight(), board.first_waiting()), (7, Some(0)));
        board.mark_sacked(0);
        board.pop();
        assert_eq!((board.in_flight(), board.first_waiting()), (7, Some(1)));
    }
}
