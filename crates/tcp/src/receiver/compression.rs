//! SACK compression: duplicate ACKs that wait, so that several become one; Linux `tcp_input.c`
//! (`__tcp_ack_snd_check`, `tcp_sack_new_ofo_skb`).

use quell_units::Time;

use super::{Buffer, Receiver};
use crate::segment::{Sack, SackBlocks};

/// Number of duplicate ACKs that are never held back (`TCP_FASTRETRANS_THRESH`).
const UNCOMPRESSED: u32 = 3;
/// Largest number of ACKs held back (`tcp_comp_sack_nr`).
const MAX_COMPRESSED: u32 = 44;
/// Longest time for which an ACK is held back (`tcp_comp_sack_delay_ns`), and how much later the timer
/// expires (`tcp_comp_sack_slack_ns`).
const MAX_COMPRESSION: Time = Time::from_millis(1);
const COMPRESSION_SLACK: Time = Time::from_micros(10);
/// Share of an RTT for which it is held back (`tcp_comp_sack_rtt_percent`, Linux 6.18; 5 before).
const COMPRESSION_PERCENT: u64 = 33;
/// Number of ranges that an ACK is sure to report (`TCP_SACK_BLOCKS_EXPECTED`, Linux 5.8): it has room for
/// three, and may be lost.
const EXPECTED: usize = 2;

/// The SACK blocks of an ACK that leaves before the last segment counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Before {
    pub(super) blocks: SackBlocks,
    /// The segment begins a range. Where it extends one, Linux lets the window grow first.
    pub(super) is_new_range: bool,
}

impl Receiver {
    /// SACK compression: after the third, duplicate ACKs wait, so that several become one.
    pub(super) fn compress_sack(&mut self, now: Time) {
        let next = self.reassembly.rcv_nxt();
        if self.compressed_ack_rcv_nxt != next {
            self.compressed_ack_rcv_nxt = next;
            self.dup_ack_counter = 0;
        }
        if !self.compress_sacks
            || self.compressed_ack >= MAX_COMPRESSED
            || self.dup_ack_counter < UNCOMPRESSED
        {
            self.dup_ack_counter = (self.dup_ack_counter + 1).min(UNCOMPRESSED);
            self.ack_wanted = true;
            return;
        }
        self.compressed_ack += 1;
        if self.compressed_ack_due.is_none() {
            // The lower of the two RTTs that this end knows.
            let seen = self.buffer.as_ref().and_then(Buffer::rtt);
            let rtt = match (self.rtt, seen) {
                (Some(rtt), Some(seen)) => Some(rtt.min(seen)),
                (rtt, seen) => rtt.or(seen),
            };
            let delay = rtt.map_or(MAX_COMPRESSION, |rtt| rtt * COMPRESSION_PERCENT / 100);
            self.compressed_ack_due = Some(now + delay.min(MAX_COMPRESSION) + COMPRESSION_SLACK);
        }
    }

    /// The segment `start..end` arrives while ACKs wait. If it belongs to none of the two most recent ranges,
    /// they leave first, as one: so each range has been reported among the first two before it is the third.
    /// A range that the segment extends has grown by then, but is not the most recent one yet. The segment
    /// itself requests no ACK.
    pub(super) fn end_compression(&mut self, start: u64, end: u64) {
        let next = self.reassembly.rcv_nxt();
        if start <= next {
            return;
        }
        let touches = |range: &Sack| start <= range.end && range.start <= end;
        let (mut blocks, mut count, mut extended) = (SackBlocks::default(), 0, None);
        for mut range in self.reassembly.recent() {
            if extended.is_none() && touches(&range) {
                extended = Some(count);
                range.start = range.start.min(start);
                range.end = range.end.max(end);
            }
            blocks.push(next, range);
            count += 1;
        }
        if extended.unwrap_or(count) < EXPECTED {
            return;
        }
        let is_new_range = extended.is_none();
        self.before = Some(Before {
            blocks,
            is_new_range,
        });
        if is_new_range {
            self.update_window();
        }
    }
    /// Blocks of an ACK of everything before `acknowledgement`: a duplicate and the most recent ranges.
    pub(super) fn sack_blocks(&self, acknowledgement: u64) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        for block in self.blocks() {
            blocks.push(acknowledgement, block);
        }
        blocks
    }
    /// A duplicate and the most recent ranges, of which an ACK has room for some.
    pub(super) fn blocks(&self) -> impl Iterator<Item = Sack> + '_ {
        self.duplicate.into_iter().chain(self.reassembly.recent())
    }
}
