//! The lowest RTT, and `PROBE_RTT`, which looks for it with little in flight.

use super::super::integers::after;
use super::{Ack, AckPhase, Draw, Mode, NO_RTT, Turn};

impl<D: Draw> Turn<'_, D> {
    pub(super) fn update_min_rtt(&mut self, ack: &Ack) {
        let timing = self.rules.timing;
        let now = self.sock.jiffies;
        let expires = self
            .s
            .probe_rtt_min_stamp
            .wrapping_add(timing.probe_rtt_window);
        let is_due = after(now, expires);
        let lowest = self.s.probe_rtt_min_us;
        let is_lower = ack.rtt_us < lowest || (self.rules.equal_rtt_renews && ack.rtt_us == lowest);
        if ack.rtt_us != NO_RTT && (is_lower || (is_due && ack.is_ack_delayed == 0)) {
            self.s.probe_rtt_min_us = ack.rtt_us;
            self.s.probe_rtt_min_stamp = now;
        }
        let expires = self.s.min_rtt_stamp.wrapping_add(timing.min_rtt_window);
        if self.s.probe_rtt_min_us <= self.s.min_rtt_us || after(now, expires) {
            self.s.min_rtt_us = self.s.probe_rtt_min_us;
            self.s.min_rtt_stamp = self.s.probe_rtt_min_stamp;
        }
        if is_due && !self.s.idle_restart && self.s.mode != Mode::ProbeRtt {
            self.s.mode = Mode::ProbeRtt;
            self.save_cwnd();
            self.s.probe_rtt_done_stamp = 0;
            self.s.ack_phase = AckPhase::Stopping;
            self.s.next_rtt_delivered = self.sock.delivered;
        }
        if self.s.mode == Mode::ProbeRtt {
            self.stay_in_probe_rtt();
        }
        if ack.delivered > 0 {
            self.s.idle_restart = false;
        }
    }
    fn stay_in_probe_rtt(&mut self) {
        self.sock.limits_samples = 1;
        if self.s.probe_rtt_done_stamp == 0 && self.sock.in_flight <= self.probe_rtt_cwnd() {
            let length = self.rules.timing.probe_rtt;
            self.s.probe_rtt_done_stamp = self.sock.jiffies.wrapping_add(length);
            self.s.probe_rtt_round_done = false;
            self.s.next_rtt_delivered = self.sock.delivered;
        } else if self.s.probe_rtt_done_stamp != 0 {
            self.s.probe_rtt_round_done |= self.s.round_start;
            if self.s.probe_rtt_round_done {
                self.check_probe_rtt_done();
            }
        }
    }
    pub(super) fn check_probe_rtt_done(&mut self) {
        let done = self.s.probe_rtt_done_stamp;
        if done == 0 || !after(self.sock.jiffies, done) {
            return;
        }
        self.s.probe_rtt_min_stamp = self.sock.jiffies;
        self.sock.cwnd = self.sock.cwnd.max(self.s.prior_cwnd);
        self.s.reset_lower_bounds();
        if self.s.full_bw_reached {
            self.s.mode = Mode::ProbeBw;
            self.start_down();
            self.start_cruise();
        } else {
            self.s.mode = Mode::Startup;
        }
    }
}
