//! The sender as half of a [`Connection`](crate::Connection): what it takes from the other half, and what
//! that asks of it.

use quell_units::Time;

use super::{Phase, Sender};
use crate::ecn::FeedbackMode;
use crate::ecn::counters::Counters;
use crate::flags::Flags;
use crate::receiver::{Accepted, timestamp};
use crate::segment::Segment;

impl Sender {
    /// Makes it half of a connection.
    pub(crate) fn join(&mut self) {
        self.is_half = true;
        self.timers.begin_linearly();
        self.rack.count_in_microseconds();
    }
    /// Takes over the memory of an earlier connection, before anything has been sent.
    pub(crate) fn reuse(&mut self, before: Self) {
        self.board.reuse(before.board);
    }
    /// Whether it has sent its SYN, or is about to, and waits for an answer.
    pub(crate) fn is_opening(&self) -> bool {
        matches!(self.phase, Phase::SynSent { .. })
    }
    /// The other end has opened the connection; `segment` is the first one after its SYN.
    pub(crate) fn accept(&mut self, segment: &Segment, accepted: Accepted, now: Time) {
        let rtt = accepted.rtt.or_else(|| self.rtt_of_echo(segment, now));
        self.ecn.accept(accepted.agreed, accepted.decoder);
        self.establish(segment, rtt, accepted.was_hard, now);
    }
    /// Linux takes the first RTT from the timestamp if SYN or SYN-ACK were repeated
    /// (`tcp_rtt_tsopt_us`, in milliseconds and at least one). A sender alone does not.
    pub(super) fn rtt_of_echo(&self, segment: &Segment, now: Time) -> Option<Time> {
        (self.is_half && !segment.echo.is_zero())
            .then(|| (timestamp(now) - segment.echo).max(Time::from_millis(1)))
    }
    /// AccECN's counters of arrivals, which the receiving half keeps from now on.
    pub(crate) fn take_counters(&mut self) -> Option<Counters> {
        self.ecn.take_counters()
    }

    /// The SYN-ACK arrived again, so the handshake's last ACK was lost; it may be answered if that
    /// `is_allowed`. Returns true if it has CE for the first time.
    pub(crate) fn on_repeated_syn_ack(&mut self, segment: &Segment, is_allowed: bool) -> bool {
        self.pending.ack |= is_allowed;
        self.ecn.on_repeated_syn_ack(segment)
    }

    /// Whether nothing is to be sent, and the window is not full, so that a poll finds nothing: an end that
    /// only receives most of the time.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        let next = self.board.snd_nxt();
        !self.board.is_waiting()
            && self.board.in_flight() < self.window.cwnd
            && (next > self.stream.write_seq
                || (next == self.stream.write_seq && !self.stream.is_closed))
            && !self.queue.has_work()
            && !self.usage.has_sent
            && !self.pending.ack
            && self.pending.forced.is_none()
            && !self.recovery.holds_back
            && !self.ecn.owes_ack()
    }
    /// Does the work of [`poll`](Self::poll) while it [is idle](Self::is_idle).
    #[inline]
    pub(crate) fn poll_idle(&mut self, now: Time) {
        let is_paced = self.pacing.is_on && self.pacing.next() > now;
        let waits =
            (is_paced || !self.has_local_room()) && !self.continues_burst(self.board.tail());
        self.pacing.unblock();
        self.end_burst();
        self.queue.rest();
        if !waits {
            self.on_app_limited();
        }
    }
    /// SYNs that left again.
    pub(crate) fn syn_retries(&self) -> u64 {
        self.counters.syns.saturating_sub(1).into()
    }
    /// Options of the receiving half take `bytes` of the next segments.
    pub(crate) fn set_options(&mut self, bytes: u32) {
        self.mss.now = self.mss.full.saturating_sub(bytes).max(1);
    }
    /// Whether `payload` bytes up to `end` are the last that the application has written so far
    /// (`tcp_mark_push`). A sender alone leaves this out.
    pub(super) fn ends_write(&self, payload: u32, end: u64) -> bool {
        payload > 0 && end == self.stream.write_seq
    }
    /// Sequence number of a segment without data (`tcp_acceptable_seq`).
    pub(crate) fn acceptable_seq(&self) -> u64 {
        self.board.snd_nxt().min(self.wnd_end).max(self.snd_una)
    }
    /// Whether the next segment is the ACK of the SYN-ACK.
    pub(crate) fn owes_handshake_ack(&self) -> bool {
        self.pending.ack
    }
    /// The receiving half has sent an ACK without data.
    pub(crate) fn on_control_sent(&mut self, now: Time) {
        self.departures.control = now;
        self.ecn.on_control_sent();
    }
    /// Whether data reports nothing that this half does not know, as most segments do where data flows
    /// one way (header prediction in `tcp_rcv_established`).
    pub(crate) fn knows(&self, segment: &Segment) -> bool {
        segment.payload > 0
            && segment.acknowledgement == self.snd_una
            && segment.acknowledgement + u64::from(segment.window) == self.wnd_end
            && segment.sacks.is_empty()
            && !segment.flags.has(Flags::ECE)
            && self.ecn.agreed != FeedbackMode::Accurate
    }
    /// Whether the other end has shown that it knows the AccECN option.
    #[inline]
    pub(crate) fn has_seen_option(&self) -> bool {
        self.ecn.has_seen_option()
    }
    /// Smoothed RTT.
    pub(crate) fn srtt(&self) -> Option<Time> {
        self.rtt.srtt()
    }
    /// Number of bytes that are written and have not left.
    pub(crate) fn unsent(&self) -> u64 {
        self.stream.write_seq.saturating_sub(self.board.snd_nxt())
    }
    /// Whether the application has closed its stream.
    pub(crate) fn is_closed(&self) -> bool {
        self.stream.is_closed
    }
    /// Whether the FIN has left.
    pub(crate) fn has_sent_fin(&self) -> bool {
        self.stream.is_closed && self.board.snd_nxt() > self.stream.write_seq
    }
    /// Whether the FIN is acknowledged.
    pub(crate) fn has_ended(&self) -> bool {
        self.stream.is_closed && self.is_done()
    }
}
