//! Reports of the stack besides ACKs: losses, reductions, time-outs, undos, restarts.

use super::super::integers::UNIT;
use super::{Ack, Draw, Lost, Mode, NO_RTT, Phase, Turn, UNSET, Undo, ca};

impl<D: Draw> Turn<'_, D> {
    pub(super) fn on_lost(&mut self, lost: &Lost) {
        if self.rules.saves_before_loss && !self.s.loss_yet_in_recovery {
            self.s.loss_yet_in_recovery = true;
            self.save();
        }
        self.note_loss();
        if self.s.bw_probe_samples && self.is_loss_too_high(lost.tx_in_flight, lost.lost) {
            let level = self.level_at_loss(lost);
            self.on_too_high(level, lost.is_app_limited != 0, true);
        }
    }
    pub(super) fn on_probe_repair(&mut self, is_app_limited: bool) {
        if !self.rules.counts_probe_repair {
            return;
        }
        self.note_loss();
        let level = self.s.inflight_latest.wrapping_add(1);
        if self.s.bw_probe_samples && self.is_loss_too_high(level, 1) {
            self.on_too_high(level, is_app_limited, true);
        }
    }
    /// The first loss of a round begins a round of its own.
    fn note_loss(&mut self) {
        if !self.s.loss_in_round {
            self.s.loss_round_delivered = self.sock.delivered;
        }
        self.s.loss_in_round = true;
        self.s.loss_in_cycle = true;
    }
    /// Packets in flight when loss became too much: solves (lost before + x) / (in flight before + x) =
    /// threshold for x.
    fn level_at_loss(&self, lost: &Lost) -> u32 {
        if lost.tx_in_flight < 1 || lost.lost < 1 {
            return UNSET;
        }
        let (in_flight, before) = (lost.tx_in_flight - 1, lost.lost - 1);
        let threshold = self.rules.loss_threshold;
        let product = u64::from(in_flight) * u64::from(threshold);
        let budget = ((product + u64::from(UNIT) - 1) >> 8) as u32;
        if before >= budget {
            return in_flight;
        }
        let prefix = (u64::from(budget - before) << 8) / u64::from(UNIT - threshold);
        in_flight.wrapping_add(prefix as u32)
    }

    pub(super) fn save_cwnd(&mut self) {
        let is_good = u32::from(self.s.prev_ca_state) < ca::RECOVERY;
        self.s.prior_cwnd = if is_good && self.s.mode != Mode::ProbeRtt {
            self.sock.cwnd
        } else {
            self.s.prior_cwnd.max(self.sock.cwnd)
        };
    }
    /// Saves what an undo will restore.
    pub(super) fn save(&mut self) {
        self.save_cwnd();
        self.s.undo_bw_lo = self.s.bw_lo;
        self.s.undo_inflight_lo = self.s.inflight_lo;
        self.s.undo_inflight_hi = self.s.inflight_hi;
        self.s.undo_state = Undo::None;
    }
    pub(super) fn on_state(&mut self, new: u32) {
        if new < ca::RECOVERY {
            self.s.loss_yet_in_recovery = false;
        }
        if new == ca::LOSS {
            self.s.prev_ca_state = ca::LOSS as u8;
            let mut window = self.s.prior_cwnd;
            if self.rules.resets_full {
                self.s.reset_full_bw(0);
                window = window.max(self.sock.cwnd);
            } else {
                self.s.full_bw = 0;
            }
            if !self.s.is_probing() && self.s.inflight_lo == UNSET {
                self.s.inflight_lo = window;
            }
        } else if u32::from(self.s.prev_ca_state) == ca::LOSS {
            self.sock.cwnd = self.sock.cwnd.max(self.s.prior_cwnd);
            self.s.try_fast_path = false;
        }
    }
    pub(super) fn on_undo(&mut self) -> u32 {
        self.s.reset_full_bw(0);
        self.s.loss_in_round = false;
        self.s.bw_lo = self.s.bw_lo.max(self.s.undo_bw_lo);
        self.s.inflight_lo = self.s.inflight_lo.max(self.s.undo_inflight_lo);
        self.s.inflight_hi = self.s.inflight_hi.max(self.s.undo_inflight_hi);
        if self.rules.resets_full {
            self.s.try_fast_path = false;
        }
        if !self.rules.saves_before_loss {
            return self.s.prior_cwnd;
        }
        self.s.loss_events_in_round = 0;
        self.s.loss_round_start = false;
        self.s.loss_round_delivered = self.sock.delivered;
        self.return_to_phase();
        self.sock.cwnd = self.sock.cwnd.max(self.s.prior_cwnd);
        // The stack may not report this ACK: the bounds must apply now.
        self.on_ack(&Ack {
            rtt_us: NO_RTT,
            prior_in_flight: self.sock.in_flight,
            ..Ack::default()
        });
        self.sock.cwnd
    }
    fn return_to_phase(&mut self) {
        match self.s.undo_state {
            Undo::Startup if self.s.mode != Mode::Startup => {
                self.s.full_bw_reached = false;
                if self.s.mode != Mode::ProbeRtt {
                    self.s.mode = Mode::Startup;
                }
            }
            Undo::Up if !self.s.is_in(Phase::Up) && self.s.mode != Mode::ProbeRtt => {
                self.s.mode = Mode::ProbeBw;
                self.start_refill(0);
            }
            _ => {}
        }
        self.s.undo_state = Undo::None;
    }
    pub(super) fn on_restart(&mut self) {
        if self.sock.app_limited == 0 {
            return;
        }
        self.s.idle_restart = true;
        self.s.ack_epoch_us = self.sock.now_us;
        self.s.ack_epoch_acked = 0;
        match self.s.mode {
            Mode::ProbeBw => self.set_pacing_rate(self.s.bw(), UNIT),
            Mode::ProbeRtt => self.check_probe_rtt_done(),
            Mode::Startup | Mode::Drain => {}
        }
    }
}
