//! Which segments on the board RACK finds lost: Linux `net/ipv4/tcp_recovery.c` (`tcp_rack_detect_loss`).
//!
//! Linux walks its list in order of sending at each look. Here each look begins where the one before ended:
//! what left before the segment delivered last only grows, and what has left the list stays away until it
//! leaves the host again.

use quell_units::Time;

use super::Scoreboard;
use crate::sender::sent_segment::{
    EVER_RETRANSMITTED, LOST, RETRANSMITTED, SACKED, SentSegment, UNLISTED,
};

impl Scoreboard {
    /// Marks as lost what left before the segment delivered last, whose departure and end are `newest`,
    /// and has no time `left` (`tcp_rack_detect_loss`). Returns the longest time left of the others.
    pub(in crate::sender) fn detect_loss(
        &mut self,
        newest: (Time, u64),
        left: impl Fn(Time) -> Option<Time>,
    ) -> Option<Time> {
        let first = self.detect_lost_originals(newest, &left);
        let again = self.detect_lost_retransmissions(newest, &left);
        first.max(again)
    }
    fn mark_unlisted(&mut self, index: u64) {
        self.mark_lost(index);
        self.entry_mut(index).set(UNLISTED);
    }
    /// Whether the segment was sent once and is listed.
    fn is_original(&self, index: u64) -> bool {
        !self
            .entry(index)
            .has(SACKED | LOST | EVER_RETRANSMITTED | UNLISTED)
    }
    /// Looks at the segments sent once: those with no time left come first. Each look begins where the
    /// one before ended.
    fn detect_lost_originals(
        &mut self,
        newest: (Time, u64),
        left: impl Fn(Time) -> Option<Time>,
    ) -> Option<Time> {
        let known = self.overtaken.max(self.head);
        let mut overtaken = known;
        let is_before = |board: &Self, index| (board.entry(index).sent, board.end(index)) < newest;
        while overtaken < self.tail && (!self.is_original(overtaken) || is_before(self, overtaken))
        {
            overtaken += 1;
        }
        let mut first = self.first_original.max(self.head);
        while first < overtaken {
            if self.is_original(first) {
                if left(self.entry(first).sent).is_some() {
                    break;
                }
                self.mark_unlisted(first);
            }
            first += 1;
        }
        let mut last = overtaken;
        loop {
            if last == known {
                last = last.min(self.last_overtaken);
            }
            if last <= first || self.is_original(last - 1) {
                break;
            }
            last -= 1;
        }
        (self.first_original, self.overtaken, self.last_overtaken) = (first, overtaken, last);
        if last <= first {
            return None;
        }
        left(self.entry(last - 1).sent)
    }
    /// Whether this was the last departure of a segment that is listed.
    fn is_last_departure(&self, (index, sent): (u64, Time)) -> bool {
        let is_lost = |entry: &SentSegment| entry.has(LOST) && !entry.has(RETRANSMITTED);
        index >= self.head && {
            let entry = self.entry(index);
            entry.sent == sent && !entry.has(SACKED | UNLISTED) && !is_lost(entry)
        }
    }
    fn detect_lost_retransmissions(
        &mut self,
        newest: (Time, u64),
        left: impl Fn(Time) -> Option<Time>,
    ) -> Option<Time> {
        while let Some(&(index, sent)) = self.retransmissions.front() {
            if self.is_last_departure((index, sent)) {
                if newest <= (sent, self.end(index)) {
                    return None;
                }
                if left(sent).is_some() {
                    break;
                }
                self.mark_unlisted(index);
            }
            self.retransmissions.pop_front();
        }
        let until = self
            .retransmissions
            .partition_point(|&(_, sent)| sent <= newest.0);
        let mut before = self.retransmissions.range(..until).rev();
        let (_, sent) = before.find(|&&(index, sent)| {
            self.is_last_departure((index, sent)) && (sent, self.end(index)) < newest
        })?;
        left(*sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = Time::from_millis;

    /// Segments of 100 bytes that left a millisecond apart.
    fn board(segments: u64) -> Scoreboard {
        let mut board = Scoreboard::new(100);
        for n in 0..segments {
            board.push(SentSegment::new(n * 100, 0, MS(n)), n * 100 + 100);
        }
        board
    }
    /// The look after the delivery of segment `newest`: lost is what left before `until`. Returns the longest
    /// time left, and which segments are lost.
    fn look(board: &mut Scoreboard, newest: u64, until: Time) -> (Option<Time>, Vec<u64>) {
        let newest = (board.entry(newest).sent, board.end(newest));
        let left = |sent: Time| (sent >= until).then(|| sent + MS(1) - until);
        let longest = board.detect_loss(newest, left);
        let all = board.head()..board.tail();
        (longest, all.filter(|n| board.entry(*n).has(LOST)).collect())
    }

    /// A time-out marks what is still in the list, so RACK may find it lost after an undo; what RACK had found
    /// lost waits for its ACK.
    #[test]
    fn an_undo_does_not_list_again_what_rack_found_lost() {
        let mut board = board(10);
        board.mark_sacked(9);
        assert_eq!(look(&mut board, 9, MS(3)).1, [0, 1, 2]);
        board.mark_lost(3);
        board.unmark_lost();
        assert_eq!((board.lost_out(), board.in_flight()), (0, 9));
        assert_eq!(look(&mut board, 9, MS(5)).1, [3, 4]);
        // A time-out reaches all of them.
        board.mark_lost(1);
        assert_eq!(board.lost_out(), 3);
        board.mark_retransmitted(1, MS(20));
        board.mark_retransmitted(3, MS(21));
        board.mark_sacked(3);
        board.unmark_lost();
        board.push(SentSegment::new(1_000, 0, MS(22)), 1_100);
        board.mark_sacked(10);
        // A segment that has left again is listed again.
        assert_eq!(look(&mut board, 10, MS(21)).1, [1, 5, 6, 7, 8]);
    }

    /// The timer waits for the segment that left last of all that were overtaken, however many there are.
    #[test]
    fn the_longest_wait_is_that_of_the_last_segment_overtaken() {
        let mut board = board(2_000);
        board.mark_sacked(1_500);
        assert_eq!(look(&mut board, 1_500, MS(0)).0, Some(MS(1_500)));
        for n in 400..1_500 {
            board.mark_sacked(n);
        }
        assert_eq!(look(&mut board, 1_500, MS(0)).0, Some(MS(400)));
        board.mark_sacked(1_999);
        let (longest, lost) = look(&mut board, 1_999, MS(10));
        assert_eq!((longest, lost.len()), (Some(MS(1_989)), 10));
        // A retransmission waits as well.
        board.mark_retransmitted(0, MS(3_000));
        board.mark_retransmitted(1, MS(3_001));
        board.mark_sacked(1);
        board.push(SentSegment::new(200_000, 0, MS(3_002)), 200_100);
        board.mark_sacked(2_000);
        assert_eq!(look(&mut board, 2_000, MS(10)).0, Some(MS(2_991)));
    }

    /// Against a walk through everything, in any order of events.
    #[test]
    fn each_look_finds_what_a_walk_through_all_segments_finds() {
        let mut random = quell_units::Random::new(1, "detection");
        for _ in 0..300 {
            let mut board = board(30);
            let mut now = MS(100);
            let mut newest = (Time::ZERO, 0);
            for _ in 0..60 {
                now += MS(1);
                let index = board.head() + random.below(board.packets_out().into());
                let entry = *board.entry(index);
                match random.below(8) {
                    0 => {
                        let end = board.snd_nxt() + 100;
                        board.push(SentSegment::new(end - 100, 0, now), end);
                    }
                    1..3 if !entry.has(SACKED) => {
                        newest = newest.max((entry.sent, board.end(index)));
                        board.mark_sacked(index);
                    }
                    3..5 if entry.has(LOST) && !entry.has(RETRANSMITTED) => {
                        board.mark_retransmitted(index, now);
                    }
                    5 if random.below(8) == 0 => board.mark_lost(index),
                    6 if random.below(8) == 0 => board.unmark_lost(),
                    7 if index == board.head() && board.packets_out() > 1 => {
                        newest = newest.max((entry.sent, board.end(index)));
                        board.pop();
                    }
                    _ => {}
                }
                let until = MS(random.below(now.as_nanos() / 1_000_000));
                let left = |sent: Time| (sent >= until).then(|| sent + MS(1) - until);
                let (mut lost, mut longest) = (Vec::new(), None);
                for index in board.head()..board.tail() {
                    let entry = *board.entry(index);
                    let waits = entry.has(LOST) && !entry.has(RETRANSMITTED);
                    let is_listed = !entry.has(SACKED | UNLISTED) && !waits;
                    if is_listed && (entry.sent, board.end(index)) < newest {
                        match left(entry.sent) {
                            None => lost.push(index),
                            Some(time) => longest = longest.max(Some(time)),
                        }
                    }
                }
                let before = board.clone();
                assert_eq!(board.detect_loss(newest, left), longest);
                for index in board.head()..board.tail() {
                    let is_found =
                        board.entry(index).has(UNLISTED) && !before.entry(index).has(UNLISTED);
                    assert_eq!(is_found, lost.contains(&index), "{index}");
                }
            }
        }
    }
}
