//! The selective acknowledgements of an ACK: RFC 2018, 2883; Linux `tcp_sacktag_write_queue` (`net/ipv4/tcp_input.c`).

use quell_units::Time;

use super::Sender;
use super::ack::AckFlags;
use super::sent_segment::{EVER_RETRANSMITTED, FIN, SACKED};
use crate::cc::CaState;
use crate::segment::{Sack, Segment};

impl Sender {
    /// `tcp_sacktag_write_queue`.
    pub(super) fn sacktag_write_queue(
        &mut self,
        segment: &Segment,
        flag: &mut AckFlags,
        now: Time,
    ) {
        let ack = segment.acknowledgement;
        let mut blocks = [Sack::default(); 3];
        for (slot, block) in blocks.iter_mut().zip(segment.sack_blocks()) {
            *slot = block;
        }
        let [first, second, _] = blocks;
        let is_inside = second.start <= first.start && first.end <= second.end;
        if (first.start < ack || (is_inside && second.start < second.end))
            && self.check_dsack(first, flag)
        {
            self.sacktag_duplicate(first, ack, flag);
        }
        for block in &mut blocks {
            let is_valid = block.start < block.end
                && block.end <= self.board.snd_nxt()
                && block.start >= self.snd_una.max(ack);
            if !is_valid {
                *block = Sack::default();
            }
        }
        // In the order of their numbers: else what is new in an older block would seem to have been
        // overtaken by a newer block of the same ACK.
        blocks.sort_unstable_by_key(|block| block.start);
        for block in blocks.iter().filter(|block| block.start < block.end) {
            self.sacktag_block(*block, flag, now);
        }
        self.recovery.recv_sack_cache = blocks;
        let is_judge = self.recovery.state != CaState::Loss || self.recovery.undo_marker.is_some();
        if is_judge && flag.reord != u64::MAX {
            self.check_sack_reordering(flag.reord, self.board.highest_sack(self.snd_una));
        }
    }

    /// Looks at the part of a block that the last ACK did not have yet.
    fn sacktag_block(&mut self, block: Sack, flag: &mut AckFlags, now: Time) {
        let known = self
            .recovery
            .recv_sack_cache
            .iter()
            .filter(|known| known.start < known.end)
            .filter(|known| known.start >= block.start && known.end <= block.end)
            .max_by_key(|known| known.end - known.start)
            .copied();
        match known {
            Some(known) => {
                self.sacktag_walk(block.start, known.start, flag, now);
                self.sacktag_walk(known.end, block.end, flag, now);
            }
            None => self.sacktag_walk(block.start, block.end, flag, now),
        }
    }

    fn sacktag_walk(&mut self, start: u64, end: u64, flag: &mut AckFlags, now: Time) {
        if start >= end {
            return;
        }
        let mut index = self.board.find(start);
        while index < self.board.tail() && self.board.end(index) <= end {
            self.sacktag_one(index, flag, now);
            index += 1;
        }
    }

    /// `tcp_sacktag_one`.
    fn sacktag_one(&mut self, index: u64, flag: &mut AckFlags, now: Time) {
        let (entry, end) = (*self.board.entry(index), self.board.end(index));
        if entry.has(SACKED) {
            return;
        }
        self.rack.on_delivered(&entry, end, now, self.rtt.min_rtt());
        flag.newest.consider(&entry, end, index);
        if !entry.has(EVER_RETRANSMITTED) {
            if entry.start() < self.board.highest_sack(self.snd_una) {
                flag.reord = flag.reord.min(entry.start());
            }
            flag.orig_sack_acked |= end <= self.recovery.high_seq;
            let first = flag.sacked_sent.map_or(entry.sent, |(first, _)| first);
            flag.sacked_sent = Some((first, entry.sent));
        }
        flag.delivered_bytes += end - entry.start() - u64::from(entry.has(FIN));
        self.board.mark_sacked(index);
        self.delivery.delivered += 1;
        flag.data_sacked = true;
    }

    /// A duplicate arrived at the receiver (`tcp_check_dsack`, `tcp_dsack_seen`). Returns false if it is
    /// none of a retransmission.
    fn check_dsack(&mut self, block: Sack, flag: &mut AckFlags) -> bool {
        if block.start >= block.end {
            return false;
        }
        let segments = block
            .end
            .saturating_sub(block.start)
            .div_ceil(self.mss.full.into());
        let probe = self.recovery.tlp;
        flag.dsack_tlp |= segments == 1 && probe.is_some_and(|probe| probe.high_seq == block.end);
        self.recovery.dsack_dups += segments;
        // There are more duplicates than retransmissions: the network makes them.
        if self.recovery.dsack_dups > self.counters.retransmitted {
            return false;
        }
        // RACK responds only where the path has been seen to reorder, and not to a needless probe.
        self.rack.dsack_seen |= self.recovery.reordering_seen && !flag.dsack_tlp;
        flag.dsacking_ack = true;
        // The duplicate was delivered, too.
        self.delivery.delivered += segments;
        if block.end <= flag.prior_snd_una {
            self.recovery.on_needless(block.end, segments as u32);
        }
        true
    }

    /// The outstanding segments in the block of a duplicate (`tcp_sacktag_one` with `dup_sack`).
    fn sacktag_duplicate(&mut self, block: Sack, ack: u64, flag: &mut AckFlags) {
        let marker = self.recovery.undo_marker;
        let una = self.snd_una.max(ack);
        let is_valid = block.start > una
            || (block.end <= una && marker.is_some_and(|marker| block.end > marker));
        if !is_valid || block.end > self.board.snd_nxt() {
            return;
        }
        let mut index = self.board.find(block.start);
        while index < self.board.tail() && self.board.end(index) <= block.end {
            let (entry, end) = (*self.board.entry(index), self.board.end(index));
            if entry.has(EVER_RETRANSMITTED) {
                self.recovery.on_needless(end, 1);
                if entry.has(SACKED) {
                    flag.reord = flag.reord.min(entry.start());
                }
                if end > una {
                    self.board.mark_needless(index);
                }
            }
            index += 1;
        }
    }
}
