//! Loss recovery: the state that an ACK leads to, and how the window shrinks in it. RFC 6675, 8985
//! section 6, 9937 (PRR), 5682 (F-RTO); Linux `net/ipv4/tcp_input.c` (`tcp_fastretrans_alert`,
//! `tcp_cwnd_reduction`, `tcp_enter_loss`, `tcp_process_loss`, `tcp_process_tlp_ack`).
//!
//! Functions and fields have Linux's names.

use quell_units::Time;

use super::Sender;
use super::ack::AckFlags;
use super::sent_segment::SACKED;
use super::timers::{SLACK, Timer};
use crate::cc::{CaState, CongestionControl as _, Event, Window};
use crate::segment::Sack;

/// A tail loss probe in flight.
#[derive(Debug, Clone, Copy)]
pub(super) struct TlpProbe {
    /// First number never sent when it left (`tlp_high_seq`, TLP.end_seq).
    pub(super) high_seq: u64,
    /// Whether it was a retransmission (TLP.is_retrans).
    pub(super) is_retransmission: bool,
    /// Whether the application limited the sender when the segment that it repeats had left
    /// (`tlp_orig_data_app_limited`).
    was_app_limited: bool,
}

/// The state of loss recovery.
#[derive(Debug, Clone, Default)]
pub(super) struct Recovery {
    pub(super) state: CaState,
    /// First number never sent when the state began; the state ends when it is acknowledged.
    pub(super) high_seq: u64,
    /// First number not acknowledged when the reduction began that may still be undone.
    pub(super) undo_marker: Option<u64>,
    /// Retransmissions that no D-SACK has shown to be needless; `None` before the first one.
    pub(super) undo_retrans: Option<u32>,
    /// Slow-start threshold to restore by an undo, in segments; zero where it must not be restored.
    pub(super) prior_ssthresh: u32,
    /// Timestamp of the first retransmission.
    pub(super) retrans_stamp: Option<Time>,
    /// Whether a time-out might still prove spurious (F-RTO).
    pub(super) frto: bool,
    /// Lost segments wait although the window would allow them (`REXMIT_NONE`).
    pub(super) holds_back: bool,
    /// This ACK has set the reorder timer.
    pub(super) awaits_reordering: bool,
    /// The tail loss probe, while it is in flight.
    pub(super) tlp: Option<TlpProbe>,
    /// Segments delivered and sent since the reduction began (RFC 9937).
    prr_delivered: u32,
    prr_out: u32,
    /// Extent of reordering on the path, in segments.
    pub(super) reordering: u32,
    pub(super) reordering_seen: bool,
    /// SACK blocks of the last ACK, which need no second look.
    pub(super) recv_sack_cache: [Sack; 3],
    /// D-SACKs received, in segments.
    pub(super) dsack_dups: u64,
}

/// DupThresh of a path that has not been seen to reorder (RFC 5681; `TCP_FASTRETRANS_THRESH`).
const REORDERING: u32 = 3;
/// Largest DupThresh (`tcp_max_reordering`).
const MAX_REORDERING: u32 = 300;

impl Recovery {
    /// `tcp_in_cwnd_reduction`.
    pub(super) fn is_reducing(&self) -> bool {
        matches!(self.state, CaState::Cwr | CaState::Recovery)
    }
    pub(super) fn dupthresh(&self) -> u32 {
        self.reordering.max(REORDERING)
    }
    #[inline]
    pub(super) fn on_departure(&mut self) {
        if self.is_reducing() {
            self.prr_out += 1;
        }
    }
    pub(super) fn on_retransmit(&mut self, stamp: Time) {
        self.retrans_stamp.get_or_insert(stamp);
        self.undo_retrans = Some(self.undo_retrans.unwrap_or(0) + 1);
    }
    /// A D-SACK shows that retransmissions of segments up to `end` were needless.
    pub(super) fn on_needless(&mut self, end: u64, segments: u32) {
        if let (Some(marker), Some(left)) = (self.undo_marker, self.undo_retrans)
            && end > marker
        {
            self.undo_retrans = Some(left.saturating_sub(segments));
        }
    }
    /// A tail loss probe has left: the segment that it repeats was sent before with this state of the
    /// application, if it is no new one.
    pub(super) fn on_probe(&mut self, high_seq: u64, repeats: Option<bool>) {
        self.tlp = Some(TlpProbe {
            high_seq,
            is_retransmission: repeats.is_some(),
            was_app_limited: repeats.unwrap_or(false),
        });
    }
}

impl Sender {
    /// Finds the state that an unusual ACK leads to (`tcp_fastretrans_alert`).
    pub(super) fn fastretrans_alert(&mut self, flag: &AckFlags, now: Time) {
        if flag.ece {
            // A reduction for ECN is not undone.
            self.recovery.prior_ssthresh = 0;
        }
        if self.recovery.state == CaState::Open {
            self.recovery.retrans_stamp = None;
        } else if self.snd_una >= self.recovery.high_seq {
            match self.recovery.state {
                CaState::Cwr if self.snd_una != self.recovery.high_seq => {
                    self.end_cwnd_reduction(now);
                    self.set_state(CaState::Open, now);
                }
                CaState::Recovery => {
                    self.try_undo_recovery(now);
                    self.end_cwnd_reduction(now);
                }
                _ => {}
            }
        }
        match self.recovery.state {
            CaState::Recovery => {
                if flag.snd_una_advanced && self.try_undo_partial(flag, now) {
                    self.recovery.holds_back = true;
                    return;
                }
                if self.try_undo_dsack(now) {
                    self.try_to_open(flag, now);
                }
                self.identify_packet_loss(now);
                if self.recovery.state != CaState::Recovery {
                    if self.board.lost_out() == 0 {
                        return;
                    }
                    self.enter_recovery(flag.ece, now);
                }
            }
            CaState::Loss => {
                self.process_loss(flag, now);
                let lost_again = self.identify_packet_loss(now);
                if self.recovery.state == CaState::Open || lost_again {
                    self.try_to_recover(flag, now);
                }
            }
            _ => self.try_to_recover(flag, now),
        }
    }
    fn try_to_recover(&mut self, flag: &AckFlags, now: Time) {
        if self.recovery.state <= CaState::Disorder {
            self.try_undo_dsack(now);
        }
        self.identify_packet_loss(now);
        if self.board.lost_out() == 0 {
            self.try_to_open(flag, now);
        } else {
            self.enter_recovery(flag.ece, now);
        }
    }

    /// `tcp_try_to_open`.
    fn try_to_open(&mut self, flag: &AckFlags, now: Time) {
        self.retrans_stamp_cleanup();
        if flag.ece {
            self.enter_cwr(now);
        }
        if self.recovery.state != CaState::Cwr {
            self.try_keep_open(now);
        }
    }
    /// `tcp_try_keep_open`.
    pub(super) fn try_keep_open(&mut self, now: Time) {
        let is_disorderly =
            self.board.sacked_out() + self.board.lost_out() > 0 || self.board.any_retrans_done();
        let state = if is_disorderly {
            CaState::Disorder
        } else {
            CaState::Open
        };
        if self.recovery.state != state {
            self.set_state(state, now);
            self.recovery.high_seq = self.board.snd_nxt();
        }
    }

    /// Lets RACK mark losses if anything new was delivered. Returns true if a retransmission was lost.
    fn identify_packet_loss(&mut self, now: Time) -> bool {
        if !self.rack.advanced || self.board.is_empty() {
            return false;
        }
        self.rack.advanced = false;
        let before = self.board.retrans_out();
        if let Some(wait) = self.rack_mark_lost(now) {
            let wait = (wait + SLACK).min(self.timers.rto());
            self.timers.set(Timer::Reorder, now, wait);
            self.recovery.awaits_reordering = true;
        }
        self.board.retrans_out() < before
    }
    pub(super) fn rack_mark_lost(&mut self, now: Time) -> Option<Time> {
        let recovery = &self.recovery;
        let lenient = recovery.reordering_seen
            || (recovery.state < CaState::Recovery
                && self.board.sacked_out() < recovery.dupthresh());
        let window = self
            .rack
            .reo_wnd(self.rtt.min_rtt(), self.rtt.srtt(), lenient);
        let wait = self.rack.detect_loss(&mut self.board, window, now);
        self.report_losses(now);
        wait
    }
    /// A segment was delivered after one that was sent later (`tcp_check_sack_reordering`): it starts
    /// at `low`, and delivery had reached `highest` before.
    pub(super) fn check_sack_reordering(&mut self, low: u64, highest: u64) {
        if low >= highest {
            return;
        }
        let distance = (highest - low).div_ceil(self.mss.full.into());
        let distance = distance.min(MAX_REORDERING.into()) as u32;
        self.recovery.reordering = self.recovery.dupthresh().max(distance);
        self.recovery.reordering_seen = true;
    }

    /// Fast recovery begins (`tcp_enter_recovery`).
    pub(super) fn enter_recovery(&mut self, ece: bool, now: Time) {
        self.counters.recoveries += 1;
        self.retrans_stamp_cleanup();
        self.recovery.prior_ssthresh = 0;
        self.init_undo();
        if !self.recovery.is_reducing() {
            if !ece {
                self.recovery.prior_ssthresh = self.current_ssthresh();
            }
            self.init_cwnd_reduction(now);
        }
        self.set_state(CaState::Recovery, now);
    }
    /// ECN echo (`tcp_enter_cwr`).
    fn enter_cwr(&mut self, now: Time) {
        self.recovery.prior_ssthresh = 0;
        if self.recovery.state < CaState::Cwr {
            self.counters.ecn_reductions += 1;
            self.recovery.undo_marker = None;
            self.init_cwnd_reduction(now);
            self.set_state(CaState::Cwr, now);
        }
    }
    /// `tcp_init_cwnd_reduction`.
    fn init_cwnd_reduction(&mut self, now: Time) {
        self.recovery.high_seq = self.board.snd_nxt();
        self.recovery.tlp = None;
        self.recovery.prr_delivered = 0;
        self.recovery.prr_out = 0;
        self.window.cwnd_cnt = 0;
        self.window.prior_cwnd = self.window.cwnd;
        self.window.ssthresh = self.ssthresh(now);
        self.ecn.queue_cwr = true;
    }
    /// Proportional rate reduction (RFC 9937; Linux `tcp_cwnd_reduction`). While more than the new
    /// window is in flight, the ratio of segments sent to segments delivered is that of the new window
    /// to the old one. Below the new window one segment leaves for each delivered, and one more as
    /// long as nothing is lost.
    pub(super) fn cwnd_reduction(&mut self, delivered: u32, lost: u32, advanced: bool) {
        let prior = u64::from(self.window.prior_cwnd);
        if delivered == 0 || prior == 0 {
            return;
        }
        let recovery = &mut self.recovery;
        recovery.prr_delivered = recovery.prr_delivered.saturating_add(delivered);
        let in_flight = self.board.in_flight();
        let threshold = self.window.ssthresh;
        let mut count = if in_flight > threshold {
            // SndCnt = prr_delivered * ssthresh / RecoverFS, rounded up, - prr_out.
            let due = (u64::from(threshold) * u64::from(recovery.prr_delivered)).div_ceil(prior);
            due as i64 - i64::from(recovery.prr_out)
        } else {
            // SndCnt = max(prr_delivered - prr_out, DeliveredData): packet conservation.
            let bound = i64::from(recovery.prr_delivered) - i64::from(recovery.prr_out);
            let mut bound = bound.max(i64::from(delivered));
            if advanced && lost == 0 {
                // SafeACK: one segment more, so that the flight grows back to the new window as fast as
                // slow start would let it.
                bound += 1;
            }
            // Not beyond the new window.
            bound.min(i64::from(threshold - in_flight))
        };
        // Force a fast retransmit on entering recovery.
        count = count.max(i64::from(recovery.prr_out == 0));
        let count = count.clamp(0, i64::from(Window::MAX)) as u32;
        self.window.cwnd = in_flight.saturating_add(count).min(Window::MAX);
    }
    /// `tcp_end_cwnd_reduction`.
    fn end_cwnd_reduction(&mut self, now: Time) {
        if self.control.has_cong_control() {
            return;
        }
        let is_valid = self.recovery.state == CaState::Cwr || self.recovery.undo_marker.is_some();
        if self.window.ssthresh < Window::INFINITE_SSTHRESH && is_valid {
            self.window.cwnd = self.window.ssthresh;
            self.usage.cwnd_stamp = now;
        }
        self.ca_event(Event::CompleteCwr, now);
    }

    /// The retransmission timer ran out (`tcp_enter_loss`).
    pub(super) fn enter_loss(&mut self, now: Time) {
        self.timeout_mark_lost(now);
        let state = self.recovery.state;
        let is_new = state < CaState::Recovery;
        let attempts = self.timers.retransmits;
        if state <= CaState::Disorder
            || self.recovery.high_seq <= self.snd_una
            || (state == CaState::Loss && attempts == 0)
        {
            self.recovery.prior_ssthresh = self.current_ssthresh();
            self.window.prior_cwnd = self.window.cwnd;
            self.window.ssthresh = self.ssthresh(now);
            self.ca_event(Event::Loss, now);
            self.init_undo();
        }
        self.window.cwnd = self.board.in_flight() + 1;
        self.window.cwnd_cnt = 0;
        self.usage.cwnd_stamp = now;
        // A time-out despite that many SACKs: the estimate of reordering was too high, and delayed
        // fast retransmit for too long.
        if state <= CaState::Disorder && self.board.sacked_out() >= REORDERING {
            self.recovery.reordering = REORDERING;
        }
        self.set_state(CaState::Loss, now);
        self.recovery.high_seq = self.board.snd_nxt();
        self.recovery.tlp = None;
        self.recovery.holds_back = false;
        self.ecn.queue_cwr = true;
        // RFC 5682 section 3.1 step 1: not where the time-out interrupts fast recovery. Linux also tries
        // F-RTO after repeated time-outs, whose ACKs may still belong to the original flight.
        self.recovery.frto = is_new || attempts > 0;
    }
    /// Marks as lost the first segment, and all that left at least an RTT ago
    /// (`tcp_timeout_mark_lost`). What left within the last RTT may still arrive.
    fn timeout_mark_lost(&mut self, now: Time) {
        for index in self.board.head()..self.board.tail() {
            let entry = self.board.entry(index);
            let is_due = index == self.board.head() || self.rack.has_expired(entry.sent, now);
            if !entry.has(SACKED) && is_due {
                self.board.mark_lost(index);
            }
        }
        self.report_losses(now);
    }

    /// An ACK after a time-out (`tcp_process_loss`, RFC 5682 section 3.1).
    fn process_loss(&mut self, flag: &AckFlags, now: Time) {
        let has_recovered = self.snd_una >= self.recovery.high_seq;
        if flag.snd_una_advanced && self.try_undo_loss(false, now) {
            return;
        }
        if self.recovery.frto {
            // Step 3b: a segment that was never retransmitted has arrived, so not all was lost.
            if flag.orig_sack_acked && self.try_undo_loss(true, now) {
                return;
            }
            if self.board.snd_nxt() > self.recovery.high_seq {
                // Step 3a: the loss was real.
                self.recovery.frto &= !(flag.data_sacked || flag.is_dupack);
            } else if flag.snd_una_advanced && !has_recovered {
                // Step 2b: send new data before anything else.
                self.recovery.high_seq = self.board.snd_nxt();
                self.recovery.holds_back = true;
                return;
            }
        }
        if has_recovered {
            self.try_undo_recovery(now);
        }
    }
    /// Whether to retransmit after all, because F-RTO found nothing new to send.
    pub(super) fn may_stop_holding_back(&self) -> bool {
        self.recovery.state == CaState::Loss && self.board.snd_nxt() <= self.recovery.high_seq
    }

    /// Finds out what became of the tail loss probe (RFC 8985 section 7.4; `tcp_process_tlp_ack`). Returns
    /// true if the ACK may be that of the probe or of the segment that it repeats.
    pub(super) fn process_tlp_ack(
        &mut self,
        flag: &AckFlags,
        probe: TlpProbe,
        ack: u64,
        now: Time,
    ) -> bool {
        if ack < probe.high_seq {
            return false;
        }
        if !probe.is_retransmission || flag.dsack_tlp {
            self.recovery.tlp = None;
        } else if ack > probe.high_seq {
            // The probe repaired a loss that no other mechanism will notice. Section 7.4.2: "The sender
            // then SHOULD invoke a congestion control response equivalent to a fast recovery."
            self.recovery.tlp = None;
            self.ca_event(Event::TlpRecovery(probe.was_app_limited), now);
            self.init_cwnd_reduction(now);
            self.set_state(CaState::Cwr, now);
            self.end_cwnd_reduction(now);
            self.try_keep_open(now);
        } else if !(flag.snd_una_advanced || flag.data_acked || flag.data_sacked || flag.win_update)
        {
            // A duplicate ACK and nothing else: original and probe have both arrived.
            self.recovery.tlp = None;
        }
        self.recovery.tlp.is_some()
    }
}
