//! Undoes a reduction that proves spurious, by D-SACK (RFC 3708), by timestamps (Eifel, RFC 3522)
//! or by F-RTO (RFC 5682); Linux `net/ipv4/tcp_input.c` (`tcp_try_undo_*`).

use quell_units::Time;

use super::Sender;
use super::ack::AckFlags;
use crate::cc::{CaState, CongestionControl as _};

impl Sender {
    /// A reduction from here on may be undone (`tcp_init_undo`).
    pub(super) fn init_undo(&mut self) {
        self.recovery.undo_marker = Some(self.snd_una);
        // A tail loss probe does not count as a retransmission in flight.
        let probe = self.recovery.tlp.filter(|probe| probe.is_retransmission);
        let out = self.board.retrans_out() + u32::from(probe.is_some());
        self.recovery.undo_retrans = (out > 0).then_some(out);
    }
    /// Whether a segment sent before the first retransmission caused this ACK, as any did if nothing has
    /// been retransmitted yet (`tcp_packet_delayed`).
    fn packet_delayed(&self) -> bool {
        let first = self.recovery.retrans_stamp;
        first
            .is_none_or(|first| !self.timestamps.echoed.is_zero() && self.timestamps.echoed < first)
    }
    /// Forgets the first retransmission once there is none (`tcp_retrans_stamp_cleanup`).
    pub(super) fn retrans_stamp_cleanup(&mut self) {
        if !self.board.any_retrans_done() {
            self.recovery.retrans_stamp = None;
        }
    }
    /// `tcp_may_undo`.
    fn may_undo(&self) -> bool {
        self.recovery.undo_marker.is_some()
            && (self.recovery.undo_retrans == Some(0) || self.packet_delayed())
    }
    /// `tcp_undo_cwnd_reduction`.
    fn undo_cwnd_reduction(&mut self, unmark: bool, now: Time) {
        self.counters.undone += 1;
        if unmark {
            self.board.unmark_lost();
        }
        if self.recovery.prior_ssthresh > 0 {
            let connection = self.connection(now);
            self.window.cwnd = self.control.undo_cwnd(&connection, &mut self.window);
            self.heed_app_limit();
            self.heed_pacing();
            if self.recovery.prior_ssthresh > self.window.ssthresh {
                self.window.ssthresh = self.recovery.prior_ssthresh;
                self.ecn.queue_cwr = false;
            }
        }
        self.usage.cwnd_stamp = now;
        self.recovery.undo_marker = None;
        // RACK looks again at the segments that are listed.
        self.rack.advanced = true;
    }
    /// Recovery or Loss is over (`tcp_try_undo_recovery`).
    pub(super) fn try_undo_recovery(&mut self, now: Time) {
        if self.may_undo() {
            self.undo_cwnd_reduction(false, now);
        } else {
            self.rack.on_recovered();
        }
        self.set_state(CaState::Open, now);
    }
    /// Undoes where D-SACKs have shown every retransmission to be needless (`tcp_try_undo_dsack`).
    pub(super) fn try_undo_dsack(&mut self, now: Time) -> bool {
        let is_spurious =
            self.recovery.undo_marker.is_some() && self.recovery.undo_retrans == Some(0);
        if is_spurious {
            self.rack.on_spurious();
            self.undo_cwnd_reduction(false, now);
        }
        is_spurious
    }
    /// The delayed original has filled a hole (`tcp_try_undo_partial`). Returns true if
    /// retransmissions are still in flight: then new data may leave, but nothing more is
    /// retransmitted.
    pub(super) fn try_undo_partial(&mut self, flag: &AckFlags, now: Time) -> bool {
        if self.recovery.undo_marker.is_none() || !self.packet_delayed() {
            return false;
        }
        let highest = self.board.highest_sack(self.snd_una);
        self.check_sack_reordering(flag.prior_snd_una, highest);
        if self.board.retrans_out() > 0 {
            return true;
        }
        self.retrans_stamp_cleanup();
        self.undo_cwnd_reduction(true, now);
        self.try_keep_open(now);
        false
    }
    /// The time-out was spurious (`tcp_try_undo_loss`).
    pub(super) fn try_undo_loss(&mut self, by_frto: bool, now: Time) -> bool {
        if !by_frto && !self.may_undo() {
            return false;
        }
        self.undo_cwnd_reduction(true, now);
        self.timers.retransmits = 0;
        self.set_state(CaState::Open, now);
        true
    }
}
