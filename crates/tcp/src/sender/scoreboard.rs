//! What has been sent and not yet acknowledged: a ring of segments with their fate so far.
//!
//! Linux keeps a tree of segments in sequence order and a list in order of sending
//! (`tcp_rtx_queue`, `tsorted_sent_queue`). Here the ring is in sequence order, and originals are
//! therefore in order of sending too; retransmissions stand in a second ring. Nothing is allocated
//! once both have reached the size of the window.
//!
//! A segment has an index that only grows; its slot is the index modulo the ring's size.

use std::collections::VecDeque;

use quell_units::Time;

use super::details::Details;
use crate::cache::prefetch;

/// Selectively acknowledged.
pub(super) const SACKED: u8 = 1;
/// Considered lost.
pub(super) const LOST: u8 = 2;
/// A retransmission is in flight.
pub(super) const RETRANSMITTED: u8 = 4;
/// Has been retransmitted at some time.
pub(super) const EVER_RETRANSMITTED: u8 = 8;
/// Left while the application limited the sender.
pub(super) const APP_LIMITED: u8 = 16;
/// Carries the FIN, which occupies the last number.
pub(super) const FIN: u8 = 32;

/// Segments with a verdict that are passed, behind the first without one, in one look for losses.
const MAX_DETOURS: u32 = 256;

/// A segment in 32 bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Entry {
    /// First sequence number in the upper 56 bits (72 PB fit), the bits above in the lower 8.
    word: u64,
    /// When it last left.
    pub(super) sent: Time,
    /// Segments delivered when it left, modulo 2³².
    pub(super) delivered: u32,
    /// Of those, with congestion experienced.
    pub(super) delivered_ce: u32,
    /// How long before it left the first segment of its flight did, in 1.024 µs.
    send_span: u32,
    /// How long before it left something was delivered last, in 1.024 µs.
    ack_span: u32,
}

fn to_span(time: Time) -> u32 {
    u32::try_from(time.as_nanos() >> 10).unwrap_or(u32::MAX)
}
fn from_span(span: u32) -> Time {
    Time::from_nanos(u64::from(span) << 10)
}

impl Entry {
    pub(super) fn new(start: u64, flags: u8, sent: Time) -> Self {
        Self {
            word: start << 8 | u64::from(flags),
            sent,
            ..Self::default()
        }
    }
    pub(super) fn start(&self) -> u64 {
        self.word >> 8
    }
    /// Whether any of `flags` is set.
    pub(super) fn has(&self, flags: u8) -> bool {
        self.word & u64::from(flags) != 0
    }
    fn set(&mut self, flags: u8) {
        self.word |= u64::from(flags);
    }
    fn clear(&mut self, flags: u8) {
        self.word &= !u64::from(flags);
    }
    /// Whether it leaves while the application limits the sender; also where it leaves again.
    pub(super) fn set_app_limited(&mut self, is_limited: bool) {
        self.clear(APP_LIMITED);
        self.word |= u64::from(is_limited) * u64::from(APP_LIMITED);
    }
    /// Remembers the state of delivery at departure, for rate samples.
    pub(super) fn set_spans(&mut self, flight_start: Time, last_delivery: Time) {
        self.send_span = to_span(self.sent - flight_start);
        self.ack_span = to_span(self.sent - last_delivery);
    }
    pub(super) fn send_span(&self) -> Time {
        from_span(self.send_span)
    }
    pub(super) fn last_delivery(&self) -> Time {
        self.sent - from_span(self.ack_span)
    }
}

/// The segments outstanding, and how many are in which state.
#[derive(Debug, Clone)]
pub(super) struct Scoreboard {
    ring: Box<[Entry]>,
    head: u64,
    tail: u64,
    /// First number not yet sent: where the last segment ends.
    next: u64,
    mss: u64,
    sacked: u32,
    lost: u32,
    retransmitted: u32,
    /// Outstanding segments that were ever retransmitted.
    ever: u32,
    /// Lost, and no retransmission in flight.
    waiting: u32,
    /// No segment before this one waits for retransmission.
    first_waiting: u64,
    /// No segment before this one is an original without a verdict.
    first_original: u64,
    /// Retransmissions in order of sending; those that have become stale are skipped.
    retransmissions: VecDeque<(u64, Time)>,
    /// Where the highest selectively acknowledged segment ends.
    highest_sack: u64,
    /// Segments found lost since the start.
    lost_total: u64,
    /// For a control that wants them.
    pub(super) details: Option<Box<Details>>,
}

impl Scoreboard {
    pub(super) fn new(mss: u32) -> Self {
        Self {
            ring: Box::new([]),
            head: 0,
            tail: 0,
            next: 0,
            mss: u64::from(mss),
            sacked: 0,
            lost: 0,
            retransmitted: 0,
            ever: 0,
            waiting: 0,
            first_waiting: 0,
            first_original: 0,
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
        prefetch(&self.lost);
    }
    /// The first and the next segment.
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
    pub(super) fn entry(&self, index: u64) -> &Entry {
        &self.ring[self.slot(index)]
    }
    pub(super) fn entry_mut(&mut self, index: u64) -> &mut Entry {
        let slot = self.slot(index);
        &mut self.ring[slot]
    }
    pub(super) fn head(&self) -> u64 {
        self.head
    }
    pub(super) fn tail(&self) -> u64 {
        self.tail
    }
    /// First number not yet sent.
    pub(super) fn next(&self) -> u64 {
        self.next
    }
    pub(super) fn end(&self, index: u64) -> u64 {
        if index + 1 == self.tail {
            self.next
        } else {
            self.entry(index + 1).start()
        }
    }
    pub(super) fn outstanding(&self) -> u32 {
        (self.tail - self.head) as u32
    }
    pub(super) fn is_empty(&self) -> bool {
        self.head == self.tail
    }
    pub(super) fn sacked(&self) -> u32 {
        self.sacked
    }
    pub(super) fn lost(&self) -> u32 {
        self.lost
    }
    pub(super) fn retransmitted(&self) -> u32 {
        self.retransmitted
    }
    pub(super) fn lost_total(&self) -> u64 {
        self.lost_total
    }
    /// `tcp_packets_in_flight`.
    pub(super) fn in_flight(&self) -> u32 {
        self.outstanding() + self.retransmitted - self.sacked - self.lost
    }
    /// Whether every outstanding segment was sent once and nothing else is known of it.
    pub(super) fn is_clean(&self) -> bool {
        self.sacked | self.lost | self.retransmitted | self.ever == 0
    }
    /// Whether an outstanding segment was ever retransmitted.
    pub(super) fn any_retransmitted(&self) -> bool {
        self.ever > 0
    }
    /// Where the highest selectively acknowledged segment ends; `una` if there is none.
    pub(super) fn highest_sack(&self, una: u64) -> u64 {
        if self.sacked == 0 {
            una
        } else {
            self.highest_sack
        }
    }

    /// Appends a segment that ends at `end`.
    pub(super) fn push(&mut self, entry: Entry, end: u64) {
        if self.tail - self.head == self.ring.len() as u64 {
            self.grow();
        }
        if self.head == self.tail {
            self.first_original = self.tail;
            self.first_waiting = self.tail;
        }
        let slot = self.slot(self.tail);
        self.ring[slot] = entry;
        self.tail += 1;
        self.next = end;
    }
    fn grow(&mut self) {
        let size = (self.ring.len() * 2).max(16);
        let mut ring = vec![Entry::default(); size].into_boxed_slice();
        for index in self.head..self.tail {
            ring[index as usize & (size - 1)] = *self.entry(index);
        }
        self.ring = ring;
    }

    /// The segment at `index` has just left: remembers how things stood, if anybody wants to know.
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
    /// Segments in flight and found lost when the segment at `index` left, which is still in its
    /// slot.
    #[cold]
    pub(super) fn at_departure(&self, index: u64) -> Option<(u32, u32)> {
        let details = self.details.as_ref()?;
        Some(details.at_departure(self.slot(index)))
    }

    /// Gives back the memory of an empty board.
    pub(super) fn release(&mut self) {
        if self.is_empty() {
            self.ring = Box::new([]);
            self.retransmissions = VecDeque::new();
            self.details = None;
        }
    }

    /// How many segments from the head end at or before `una`, if nothing is known of any of them.
    pub(super) fn covered(&self, una: u64) -> u64 {
        if una >= self.next {
            return self.outstanding().into();
        }
        self.find(una.saturating_add(1))
            .saturating_sub(self.head + 1)
    }
    /// Forgets the `count` first, of a clean board.
    pub(super) fn pop_clean(&mut self, count: u64) {
        self.head += count;
    }
    /// Forgets the first, whatever its state, and returns it.
    pub(super) fn pop(&mut self) -> Entry {
        let entry = *self.entry(self.head);
        if entry.has(LOST) && !entry.has(RETRANSMITTED | SACKED) {
            self.waiting -= 1;
        }
        self.lost -= u32::from(entry.has(LOST));
        self.sacked -= u32::from(entry.has(SACKED));
        self.retransmitted -= u32::from(entry.has(RETRANSMITTED));
        self.ever -= u32::from(entry.has(EVER_RETRANSMITTED));
        self.head += 1;
        entry
    }

    /// The first segment that starts at or behind `sequence`; the tail if there is none.
    pub(super) fn find(&self, sequence: u64) -> u64 {
        if self.is_empty() || sequence >= self.next {
            return self.tail;
        }
        // Full segments all the way, usually.
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
            self.lost -= 1;
            clear |= LOST;
            // A retransmission of a segment not considered lost is believed to be in flight still.
            if entry.has(RETRANSMITTED) {
                self.retransmitted -= 1;
                clear |= RETRANSMITTED;
            } else {
                self.waiting -= 1;
            }
        }
        let end = self.end(index);
        let entry = self.entry_mut(index);
        entry.clear(clear);
        entry.set(SACKED);
        self.sacked += 1;
        self.highest_sack = self.highest_sack.max(end);
    }

    /// Marks a segment as lost, or its retransmission (`tcp_mark_skb_lost`).
    pub(super) fn mark_lost(&mut self, index: u64) {
        let entry = self.entry_mut(index);
        let is_new = !entry.has(LOST);
        let was_retransmitted = entry.has(RETRANSMITTED);
        if entry.has(SACKED) || (!is_new && !was_retransmitted) {
            return;
        }
        entry.clear(RETRANSMITTED);
        entry.set(LOST);
        self.lost += u32::from(is_new);
        self.retransmitted -= u32::from(was_retransmitted);
        self.waiting += 1;
        self.lost_total += 1;
        self.first_waiting = self.first_waiting.min(index);
        if let Some(details) = &mut self.details {
            let slot = index as usize & (self.ring.len() - 1);
            details.on_lost(slot, &self.ring[slot], self.lost_total);
        }
    }

    /// The first lost segment of which no retransmission is in flight.
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
    /// Whether a lost segment waits for retransmission.
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// A segment leaves again.
    pub(super) fn mark_retransmitted(&mut self, index: u64, now: Time) {
        let entry = self.entry_mut(index);
        entry.sent = now;
        let (was_waiting, was_out, was_ever) = (
            entry.has(LOST) && !entry.has(RETRANSMITTED | SACKED),
            entry.has(RETRANSMITTED),
            entry.has(EVER_RETRANSMITTED),
        );
        entry.set(RETRANSMITTED | EVER_RETRANSMITTED);
        self.waiting -= u32::from(was_waiting);
        self.retransmitted += u32::from(!was_out);
        self.ever += u32::from(!was_ever);
        self.retransmissions.push_back((index, now));
    }

    /// Forgets every verdict of loss; for a reduction found spurious.
    pub(super) fn unmark_lost(&mut self) {
        for index in self.head..self.tail {
            self.entry_mut(index).clear(LOST);
        }
        self.lost = 0;
        self.waiting = 0;
        self.first_original = self.head;
    }

    /// Looks at segments without a verdict in order of sending, originals and then
    /// retransmissions, until `verdict` has seen enough: `Some(true)` loses the segment,
    /// `Some(false)` leaves it, `None` ends.
    pub(super) fn judge(&mut self, mut verdict: impl FnMut(Time, u64) -> Option<bool>) {
        let mut index = self.first_original.max(self.head);
        self.first_original = index;
        let mut detours = 0;
        while index < self.tail && detours < MAX_DETOURS {
            let entry = *self.entry(index);
            let is_judged = entry.has(SACKED | LOST | EVER_RETRANSMITTED);
            if !is_judged {
                match verdict(entry.sent, self.end(index)) {
                    Some(true) => self.mark_lost(index),
                    Some(false) => {
                        index += 1;
                        continue;
                    }
                    None => break,
                }
            }
            // Contiguous verdicts need not be looked at again.
            if index == self.first_original {
                self.first_original += 1;
            } else {
                detours += 1;
            }
            index += 1;
        }
        let mut place = 0;
        while let Some(&(index, sent)) = self.retransmissions.get(place) {
            let is_stale = index < self.head || {
                let entry = self.entry(index);
                !entry.has(RETRANSMITTED) || entry.has(SACKED) || entry.sent != sent
            };
            if is_stale && place == 0 {
                self.retransmissions.pop_front();
                continue;
            }
            if !is_stale {
                match verdict(sent, self.end(index)) {
                    Some(true) => {
                        self.mark_lost(index);
                        continue;
                    }
                    Some(false) => {}
                    None => break,
                }
            }
            place += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(segments: u64) -> Scoreboard {
        let mut board = Scoreboard::new(100);
        for n in 0..segments {
            board.push(Entry::new(n * 100, 0, Time::from_nanos(n)), n * 100 + 100);
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
