//! The receiver as half of a [`Connection`](crate::Connection): what it takes from the other half, and how
//! its acknowledgements ride on data; Linux `tcp_output.c` (`tcp_established_options`, `tcp_select_window`),
//! `tcp_input.c` (`tcp_fin`, `tcp_sequence`).

use quell_units::Time;

use super::{Phase, Receiver};
use crate::ecn::FeedbackMode;
use crate::ecn::counters::Counters;
use crate::ecn::decoder::Decoder;
use crate::segment::Segment;
use crate::ticks::Ticks;

/// Most SACK blocks beside timestamps.
const MOST_BLOCKS: usize = 3;
/// Number of SYN-ACKs that may time out before the initial window shrinks (`tcp_init_transfer`).
const FORGIVEN: u32 = 1;

/// The results of a handshake in which this end listened, for the other half.
#[derive(Debug, Clone)]
pub(crate) struct Accepted {
    /// Time from SYN-ACK to ACK; `None` if the SYN-ACK left more than once.
    pub(crate) rtt: Option<Time>,
    /// The SYN-ACK timed out twice or more, and none of the time-outs was spurious.
    pub(crate) was_hard: bool,
    pub(crate) agreed: FeedbackMode,
    /// The decoder of AccECN.
    pub(crate) decoder: Option<Decoder>,
}

impl Receiver {
    /// Makes it half of a connection.
    pub(crate) fn join(&mut self) {
        self.is_half = true;
    }
    /// Takes over the memory of an earlier connection, before anything has arrived.
    pub(crate) fn reuse(&mut self, before: Self) {
        self.reassembly.reuse(before.reassembly);
    }
    /// Whether it has sent its SYN-ACK, and waits for an answer.
    pub(crate) fn is_accepting(&self) -> bool {
        matches!(self.phase, Phase::SynReceived { .. })
    }
    /// Forgets the SYN, to which its SYN-ACK was no answer, and waits for another.
    pub(crate) fn listen_again(&mut self) {
        self.phase = Phase::Listening;
        self.feedback.listen_again();
        self.ts_recent = Time::ZERO;
        self.syn_ack_wanted = false;
        self.syn_ack_due = None;
        self.syn_ack_timeouts = 0;
        self.syn_acks = 0;
        self.ack_wanted = false;
    }
    /// The other half, as the client, got this SYN-ACK.
    pub(crate) fn on_connected(
        &mut self,
        syn_ack: &Segment,
        agreed: FeedbackMode,
        counters: Option<Counters>,
        now: Time,
    ) {
        self.establish(now);
        self.ts_recent = syn_ack.timestamp;
        self.feedback.on_connected(agreed, counters);
    }
    /// The results of the handshake, for the other half; `segment` was the first after the SYN.
    pub(crate) fn accepted(&mut self, segment: &Segment) -> Accepted {
        // `tcp_try_undo_spurious_syn`: the first SYN-ACK is what is answered.
        let is_spurious = segment.echo == self.first_syn_ack;
        Accepted {
            rtt: self.rtt,
            was_hard: self.syn_ack_timeouts > FORGIVEN && !is_spurious,
            agreed: self.feedback.agreed(),
            decoder: self.feedback.take_decoder(),
        }
    }
    /// The SYN-ACK arrived again with CE, for the first time.
    pub(crate) fn on_ce_syn_ack(&mut self) {
        self.feedback.on_ce_syn_ack();
    }
    /// The knowledge of the other half before a segment arrives: its smoothed RTT, whether its FIN has left, and
    /// whether an AccECN option has arrived.
    pub(crate) fn heed(&mut self, srtt: Option<Time>, has_sent_fin: bool, has_seen_option: bool) {
        self.rtt = srtt.or(self.rtt);
        self.has_sent_fin = has_sent_fin;
        if has_seen_option {
            self.feedback.on_option_seen();
        }
    }
    /// Everything up to the FIN has arrived. The ACK waits for this end's own FIN, unless that has left.
    pub(super) fn on_finished(&mut self) {
        if self.is_half && !self.has_sent_fin {
            self.delayed.on_finished();
        } else {
            self.ack_wanted = true;
        }
    }

    /// Whether a segment fails the check of its timestamp.
    #[inline]
    pub(crate) fn is_outdated(&self, segment: &Segment) -> bool {
        super::is_outdated(self.ts_recent, segment)
    }

    /// The clock of this host's timers.
    pub(crate) fn ticks(&self) -> Ticks {
        self.delayed.ticks()
    }
    /// Next number expected (RCV.NXT).
    pub(crate) fn rcv_nxt(&self) -> u64 {
        self.reassembly.rcv_nxt()
    }
    /// First number after the last byte that has arrived.
    pub(crate) fn highest(&self) -> u64 {
        self.reassembly.end()
    }
    /// Whether a segment with these numbers is inside the window (`tcp_sequence`).
    pub(crate) fn is_acceptable(&self, start: u64, end: u64) -> bool {
        end >= self.rcv_wup && start <= self.limit()
    }
    /// Whether the FIN has arrived with everything before it, and all of it is acknowledged.
    pub(crate) fn has_ended(&self) -> bool {
        self.is_finished() && self.rcv_wup == self.reassembly.rcv_nxt()
    }
    /// An ACK must leave.
    pub(crate) fn demand_ack(&mut self) {
        self.ack_wanted = true;
    }
    /// Whether an ACK leaves with the next poll.
    pub(crate) fn owes_ack(&self) -> bool {
        self.ack_wanted || self.earlier.is_some()
    }
    /// Whether that ACK must not ride on data, since it is for what came before the last segment.
    pub(crate) fn owes_earlier_ack(&self) -> bool {
        self.earlier.is_some() || self.before.is_some()
    }
    /// The next segment without data to send now, also for marks on ACKs.
    pub(crate) fn poll_bare(&mut self, now: Time) -> Option<Segment> {
        self.answer(now)
    }
    /// Window of a SYN in bytes.
    pub(crate) fn initial_window(&self) -> u32 {
        self.window
    }

    /// SYN-ACKs that left again.
    pub(crate) fn syn_ack_retries(&self) -> u64 {
        self.syn_acks.saturating_sub(1).into()
    }
    /// Whether the next ACK has SACK blocks.
    #[inline]
    fn has_blocks(&self) -> bool {
        self.duplicate.is_some() || !self.reassembly.is_contiguous()
    }
    /// Bytes that its options take from a full segment that leaves now.
    pub(crate) fn options(&self, now: Time) -> u32 {
        let blocks = match self.has_blocks() {
            true => self.blocks().take(MOST_BLOCKS).count(),
            false => 0,
        };
        let sacks = self.sack_room(blocks);
        self.feedback.room_for_options(sacks, self.rtt, now)
    }
    /// Adds the acknowledgement to a segment of the other half; `options` are the bytes of options that it
    /// has room for. `has_counter` says whether its ECN flags are free. Without room for SACK blocks, which
    /// only a retransmission may lack, a due ACK leaves on its own too.
    pub(crate) fn ride(
        &mut self,
        segment: &mut Segment,
        options: u32,
        has_counter: bool,
        now: Time,
    ) {
        if !self.is_window_set {
            self.update_window();
        }
        let next = self.reassembly.rcv_nxt();
        segment.acknowledgement = next;
        segment.window = self.window;
        segment.echo = self.ts_recent;
        if has_counter {
            segment.flags.0 |= self.feedback.flags().0;
        }
        if segment.payload == 0 {
            segment.ecn = self.feedback.field();
        }
        let has_room = options >= self.options(now);
        if has_room {
            self.add_options(segment, now);
        }
        if has_room || !self.has_blocks() {
            self.on_ack_sent(next);
        }
        if segment.payload > 0 {
            self.delayed.on_data_sent(now);
        }
    }
    fn add_options(&mut self, segment: &mut Segment, now: Time) {
        if self.has_blocks() {
            segment.sacks = self.sack_blocks(segment.acknowledgement);
        }
        if self.feedback.is_accurate() {
            self.add_option(segment, true, now);
        }
        self.duplicate = None;
    }
    /// Whether the segment ends the connection (RFC 5961 section 3.2): the next number expected, or the end
    /// of what has arrived (`tcp_validate_incoming`).
    pub(crate) fn is_exact_reset(&self, reset: &Segment) -> bool {
        reset.sequence == self.rcv_nxt() || reset.sequence == self.highest()
    }
}
