//! `PROBE_BW`: UP, DOWN, CRUISE, REFILL, and the upper bounds that a probe finds.

use super::super::integers::{UNIT, part};
use super::{Ack, AckPhase, Draw, Mode, Phase, Turn, UNSET, Undo, ca};

/// A queue of this many BDP ends UP in v2.
const QUEUE_GAIN: u32 = UNIT * 5 / 4;
/// Most rounds between two probes: what a Reno flow of 25 Mbit/s and 30 ms takes.
const MAX_ROUNDS: u32 = 63;
/// The wait is 2 s, and up to a second more; the count of rounds starts at 0 or 1.
const WAIT_US: u32 = 2_000_000;
const RANDOM_WAIT_US: u32 = 1_000_000;
const RANDOM_ROUNDS: u32 = 2;

impl<D: Draw> Turn<'_, D> {
    pub(super) fn update_cycle(&mut self, ack: &Ack, sample: u32) {
        if !self.s.full_bw_reached
            || self.update_upper_bounds(ack, sample)
            || self.s.mode != Mode::ProbeBw
        {
            return;
        }
        let in_network = self.in_network(ack.prior_in_flight);
        match self.s.phase {
            Phase::Cruise => {
                self.probe_if_due();
            }
            Phase::Refill => {
                if self.s.round_start {
                    self.s.bw_probe_samples = true;
                    self.start_up(sample);
                }
            }
            Phase::Up => {
                if self.is_up_over(in_network, sample) {
                    self.s.prev_probe_too_high = false;
                    self.start_down();
                }
            }
            Phase::Down => {
                if !self.probe_if_due() && self.is_drained(in_network) {
                    self.start_cruise();
                }
            }
        }
    }
    /// Returns true if this has begun a phase.
    fn update_upper_bounds(&mut self, ack: &Ack, sample: u32) -> bool {
        if self.s.ack_phase == AckPhase::Starting && self.s.round_start {
            self.s.ack_phase = AckPhase::Feedback;
        }
        if self.s.ack_phase == AckPhase::Stopping && self.s.round_start {
            self.s.bw_probe_samples = false;
            self.s.ack_phase = AckPhase::Init;
            if self.s.mode == Mode::ProbeBw {
                if ack.is_app_limited == 0 && self.s.max_bw[1] > 0 {
                    self.s.max_bw = [self.s.max_bw[1], 0];
                }
                if self.s.stopped_risky_probe && !self.s.prev_probe_too_high {
                    self.start_refill(0);
                    return true;
                }
            }
        }
        if self.is_too_high(ack) {
            if self.s.bw_probe_samples && self.rules.judges_acks {
                let is_loss = self.is_loss_too_high(ack.tx_in_flight, ack.lost);
                self.on_too_high(ack.tx_in_flight, ack.is_app_limited != 0, is_loss);
            }
        } else {
            self.raise_upper_bounds(ack, sample);
        }
        false
    }
    fn raise_upper_bounds(&mut self, ack: &Ack, sample: u32) {
        self.s.got_ok_bw_probe_sample |= self.rules.marks_cut_bw && self.s.bw_probe_samples;
        if self.s.inflight_hi == UNSET && self.s.bw_hi == UNSET {
            return;
        }
        self.s.inflight_hi = self.s.inflight_hi.max(ack.tx_in_flight);
        self.s.bw_hi = self.s.bw_hi.max(sample);
        if self.s.is_in(Phase::Up) {
            self.grow_inflight_hi(ack);
        }
    }
    /// Each round of UP doubles the growth.
    fn grow_inflight_hi(&mut self, ack: &Ack) {
        if self.sock.is_cwnd_limited == 0 || self.sock.cwnd < self.s.inflight_hi {
            if self.rules.up_forgets_acks {
                self.s.bw_probe_up_acks = 0;
            }
            return;
        }
        let (acks, per_step) = (
            self.s.bw_probe_up_acks.wrapping_add(ack.acked),
            self.s.bw_probe_up_cnt,
        );
        self.s.bw_probe_up_acks = acks;
        if acks >= per_step {
            let steps = acks / per_step;
            self.s.bw_probe_up_acks = acks - steps * per_step;
            self.s.inflight_hi = self.s.inflight_hi.wrapping_add(steps);
            if !self.rules.up_forgets_acks {
                self.s.try_fast_path = false;
            }
        }
        if self.s.round_start {
            self.raise_slope();
        }
    }
    fn raise_slope(&mut self) {
        let growth = 1_u32 << self.s.bw_probe_up_rounds;
        self.s.bw_probe_up_rounds = (self.s.bw_probe_up_rounds + 1).min(30);
        self.s.bw_probe_up_cnt = (self.sock.cwnd / growth).max(1);
    }
    /// The probe was too much: what was in flight then is the new bound.
    pub(super) fn on_too_high(&mut self, tx_in_flight: u32, is_app_limited: bool, is_loss: bool) {
        self.s.prev_probe_too_high = true;
        self.s.bw_probe_samples = false;
        if !is_app_limited {
            let kept = part(self.target_inflight(), UNIT - self.rules.beta);
            self.s.inflight_hi = tx_in_flight.max(kept);
            if self.rules.marks_cut_bw && self.s.ecn_eligible && !self.s.got_ok_bw_probe_sample {
                if self.s.bw_hi == UNSET {
                    self.s.bw_hi = self.s.max_bw();
                }
                self.s.bw_hi = self.after_marks(self.s.bw_hi);
            }
        }
        if self.s.is_in(Phase::Up) {
            if is_loss && self.rules.saves_before_loss {
                self.s.undo_state = Undo::Up;
            }
            self.start_down();
        }
    }
    fn is_up_over(&mut self, in_network: u32, sample: u32) -> bool {
        if self.s.prev_probe_too_high && in_network >= self.s.inflight_hi {
            self.s.stopped_risky_probe = true;
            return true;
        }
        if !self.rules.up_to_plateau {
            return self.has_elapsed(self.s.min_rtt_us)
                && in_network >= self.inflight(self.s.max_bw(), QUEUE_GAIN);
        }
        if self.sock.is_cwnd_limited != 0 && self.sock.cwnd >= self.s.inflight_hi {
            // The bound, not the path, limits growth.
            self.s.reset_full_bw(sample);
            return false;
        }
        self.s.full_bw_now
    }
    /// Returns true if a probe begins.
    fn probe_if_due(&mut self) -> bool {
        if self.rules.ecn_reprobe_gain > 0
            && self.s.ecn_eligible
            && self.s.ecn_in_cycle
            && !self.s.loss_in_cycle
            && self.sock.ca_state == ca::OPEN
        {
            // The first round of UP adds about this share.
            let share = part(self.s.inflight_hi, self.rules.ecn_reprobe_gain);
            self.start_refill(share.max(1).ilog2() as u8);
            return true;
        }
        let is_due = self.has_elapsed(self.s.probe_wait_us)
            || u32::from(self.s.rounds_since_probe) >= MAX_ROUNDS.min(self.target_inflight());
        if is_due {
            self.start_refill(0);
        }
        is_due
    }
    fn is_drained(&self, in_network: u32) -> bool {
        in_network <= self.s.with_headroom() && in_network <= self.inflight(self.s.max_bw(), UNIT)
    }

    pub(super) fn start_refill(&mut self, up_rounds: u8) {
        self.s.reset_lower_bounds();
        self.s.bw_probe_up_rounds = up_rounds;
        self.s.bw_probe_up_acks = 0;
        self.s.stopped_risky_probe = false;
        self.s.got_ok_bw_probe_sample = false;
        self.s.ack_phase = AckPhase::Refilling;
        self.s.next_rtt_delivered = self.sock.delivered;
        self.set_phase(Phase::Refill);
    }
    fn start_up(&mut self, sample: u32) {
        self.s.ack_phase = AckPhase::Starting;
        self.s.next_rtt_delivered = self.sock.delivered;
        self.s.cycle_us = self.sock.now_us;
        if self.rules.up_to_plateau {
            self.s.reset_full_bw(sample);
        }
        self.set_phase(Phase::Up);
        self.raise_slope();
    }
    pub(super) fn start_down(&mut self) {
        self.s.reset_signals();
        self.s.bw_probe_up_cnt = UNSET;
        self.s.rounds_since_probe = self.draw.below(RANDOM_ROUNDS) as u8;
        self.s.probe_wait_us = WAIT_US + self.draw.below(RANDOM_WAIT_US);
        self.s.cycle_us = self.sock.now_us;
        self.s.ack_phase = AckPhase::Stopping;
        self.s.next_rtt_delivered = self.sock.delivered;
        self.set_phase(Phase::Down);
    }
    pub(super) fn start_cruise(&mut self) {
        if self.s.inflight_lo != UNSET {
            self.s.inflight_lo = self.s.inflight_lo.min(self.s.inflight_hi);
        }
        self.set_phase(Phase::Cruise);
    }
}
