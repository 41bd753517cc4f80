//! An ACK, from its rate sample to the window (`bbr2_main`, `bbr_main`).

use super::{Ack, Draw, Turn};

impl<D: Draw> Turn<'_, D> {
    pub(super) fn on_ack(&mut self, ack: &Ack) {
        self.update_round(ack);
        self.note_echo(ack);
        let sample = Self::bw_sample(ack);
        if self.rules.latest_to_the_end {
            self.update_latest(ack, sample);
        }
        if !self.is_passed_over(ack, sample) {
            self.update_gains();
            let bw = self.s.bw();
            self.set_pacing_rate(bw, self.s.pacing_gain);
            self.set_cwnd(ack, bw);
            self.bound_cwnd();
        }
        // A probe that plugs a tail loss must not hide what was delivered before the loss.
        if self.rules.latest_to_the_end && self.s.loss_round_start && ack.is_probe_acked == 0 {
            self.forget_latest(ack, sample);
        }
        self.s.prev_ca_state = self.sock.ca_state as u8;
        self.s.loss_in_cycle |= ack.lost > 0;
        self.s.ecn_in_cycle |= ack.delivered_ce > 0;
    }
    /// Updates the model. Returns true if rate and window stay: an app-limited sample below the maximum
    /// has changed nothing.
    fn is_passed_over(&mut self, ack: &Ack, sample: u32) -> bool {
        let is_calm = !self.s.loss_in_round && !self.s.ecn_in_round;
        let is_fast = self.rules.fast_path
            && self.s.try_fast_path
            && ack.is_app_limited != 0
            && sample < self.s.max_bw()
            && is_calm;
        if !is_fast {
            self.update_signals(ack, sample);
            self.update_ack_aggregation(ack);
            self.check_startup_loss(ack);
            self.check_full_bw(ack, sample);
        }
        let before = (self.s.mode, self.s.min_rtt_us);
        self.check_drain();
        self.update_cycle(ack, sample);
        self.update_min_rtt(ack);
        is_fast && before == (self.s.mode, self.s.min_rtt_us) && self.s.try_fast_path
    }
}
