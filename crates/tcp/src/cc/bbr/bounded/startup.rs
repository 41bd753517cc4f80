//! The end of start-up, and DRAIN.

use super::super::integers::{UNIT, part};
use super::{Ack, Draw, Mode, Phase, Turn, Undo, ca};

/// Growth that start-up needs, and the rounds it waits for it.
const FULL_BW_THRESH: u32 = UNIT * 5 / 4;
const FULL_BW_COUNT: u8 = 3;

impl<D: Draw> Turn<'_, D> {
    /// Loss or marks have shown that the pipe is full.
    pub(super) fn end_startup(&mut self) {
        self.s.full_bw_reached = true;
        let bdp = self.inflight(self.s.max_bw(), UNIT);
        self.s.inflight_hi = if self.rules.startup_keeps_latest {
            bdp.max(self.s.inflight_latest)
        } else {
            bdp
        };
    }
    pub(super) fn check_startup_loss(&mut self, ack: &Ack) {
        if self.s.full_bw_reached {
            return;
        }
        if ack.losses > 0 && self.s.loss_events_in_round < 15 {
            self.s.loss_events_in_round += 1;
        }
        if self.s.loss_round_start
            && self.sock.ca_state == ca::RECOVERY
            && u32::from(self.s.loss_events_in_round) >= self.rules.full_loss_count
            && self.is_too_high(ack)
        {
            if self.rules.saves_before_loss {
                self.s.undo_state = Undo::Startup;
            }
            self.end_startup();
            return;
        }
        if self.s.loss_round_start {
            self.s.loss_events_in_round = 0;
        }
    }
    pub(super) fn check_full_bw(&mut self, ack: &Ack, sample: u32) {
        if ack.is_app_limited != 0 {
            return;
        }
        if self.rules.full_by_sample {
            self.check_full_by_sample(sample);
        } else if !self.s.full_bw_reached && self.s.round_start {
            let max_bw = self.s.max_bw();
            if max_bw >= part(self.s.full_bw, FULL_BW_THRESH) {
                self.s.full_bw = max_bw;
                self.s.full_bw_cnt = 0;
            } else {
                self.s.full_bw_cnt += 1;
                self.s.full_bw_reached = self.s.full_bw_cnt >= FULL_BW_COUNT;
            }
        }
    }
    fn check_full_by_sample(&mut self, sample: u32) {
        if self.s.full_bw_now || !(self.rules.full_resets_early || self.s.round_start) {
            return;
        }
        if sample >= part(self.s.full_bw, FULL_BW_THRESH) {
            self.s.reset_full_bw(sample);
        } else if self.s.round_start {
            self.s.full_bw_cnt += 1;
            self.s.full_bw_now = self.s.full_bw_cnt >= FULL_BW_COUNT;
            self.s.full_bw_reached |= self.s.full_bw_now;
        }
    }
    pub(super) fn check_drain(&mut self) {
        let mut may_count = true;
        if self.s.mode == Mode::Startup && self.s.full_bw_reached {
            self.s.mode = Mode::Drain;
            self.s.drain_rounds = 0;
            self.sock.ssthresh = self.inflight(self.s.max_bw(), UNIT);
            self.s.reset_signals();
            may_count = self.rules.drain_counts_entry;
        }
        if self.s.mode != Mode::Drain {
            return;
        }
        let most = self.rules.drain_rounds;
        if most > 0 && may_count && self.s.round_start {
            self.s.drain_rounds += 1;
        }
        let has_drained =
            self.in_network(self.sock.in_flight) <= self.inflight(self.s.max_bw(), UNIT);
        if has_drained || (most > 0 && u32::from(self.s.drain_rounds) > most) {
            self.s.mode = Mode::ProbeBw;
            self.start_down();
        }
    }
    pub(super) fn set_phase(&mut self, phase: Phase) {
        self.s.phase = phase;
        self.s.try_fast_path = false;
    }
}
