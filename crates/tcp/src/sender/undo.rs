//! Undoing a reduction that proves spurious: by D-SACK (RFC 3708), by timestamps (Eifel, RFC 3522)
//! and by F-RTO (RFC 5682); Linux `net/ipv4/tcp_input.c` (`tcp_try_undo_*`).

use quell_units::Time;

use super::Sender;
use super::ack::News;
use crate::cc::State;

impl Sender {
    /// From here a reduction may be undone (`tcp_init_undo`).
    pub(super) fn begin_undo(&mut self) {
        self.recovery.undo_marker = Some(self.una);
        let mut out = self.board.retransmitted();
        if self
            .recovery
            .probe
            .is_some_and(|probe| probe.is_retransmission)
        {
            out += 1;
        }
        self.recovery.undo_retransmissions = (out > 0).then_some(out);
    }
    /// Whether this ACK was caused by something sent before the first retransmission.
    fn is_echo_older(&self) -> bool {
        let first = self.recovery.first_retransmission;
        first.is_some_and(|first| !self.echoed.is_zero() && self.echoed < first)
    }
    fn may_undo(&self) -> bool {
        self.recovery.undo_marker.is_some()
            && (self.recovery.undo_retransmissions == Some(0) || self.is_echo_older())
    }
    /// `tcp_undo_cwnd_reduction`.
    fn undo(&mut self, unmark: bool, now: Time) {
        self.counters.undone += 1;
        if unmark {
            self.board.unmark_lost();
        }
        if self.recovery.prior_ssthresh > 0 {
            self.window.cwnd = self.control.undo(&self.window);
            if self.recovery.prior_ssthresh > self.window.ssthresh {
                self.window.ssthresh = self.recovery.prior_ssthresh;
                self.announce_reduction = false;
            }
        }
        self.usage.stamp = now;
        self.recovery.undo_marker = None;
        // What was unmarked is to be looked at again.
        self.rack.advanced = true;
    }
    /// Recovery or Loss is over (`tcp_try_undo_recovery`).
    pub(super) fn end_recovery(&mut self, now: Time) {
        if self.may_undo() {
            self.undo(false, now);
        } else {
            self.rack.on_recovered();
        }
        self.set_state(State::Open, now);
    }
    /// Every retransmission was needless, the receiver says (`tcp_try_undo_dsack`).
    pub(super) fn undo_by_dsack(&mut self, now: Time) -> bool {
        let is_spurious =
            self.recovery.undo_marker.is_some() && self.recovery.undo_retransmissions == Some(0);
        if is_spurious {
            self.rack.on_spurious();
            self.undo(false, now);
        }
        is_spurious
    }
    /// A hole was filled by the delayed original (`tcp_try_undo_partial`). True if retransmissions
    /// are out still: then new data may leave, and nothing more is retransmitted.
    pub(super) fn undo_partially(&mut self, news: &News, now: Time) -> bool {
        if self.recovery.undo_marker.is_none() || !self.is_echo_older() {
            return false;
        }
        let highest = self.board.highest_sack(self.una);
        self.on_reordering(news.prior_una, highest);
        if self.board.retransmitted() > 0 {
            return true;
        }
        if !self.board.any_retransmitted() {
            self.recovery.first_retransmission = None;
        }
        self.undo(true, now);
        self.try_keep_open(now);
        false
    }
    /// The time-out was spurious (`tcp_try_undo_loss`).
    pub(super) fn undo_loss(&mut self, by_frto: bool, now: Time) -> bool {
        if !by_frto && !self.may_undo() {
            return false;
        }
        self.undo(true, now);
        self.timers.attempts = 0;
        self.set_state(State::Open, now);
        true
    }
}
