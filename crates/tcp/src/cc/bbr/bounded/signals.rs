//! The signals of an ACK: rounds, bandwidth, marks, losses, bunches; and the lower bounds that follow.

use super::super::integers::{UNIT, after, bandwidth_up, carried, part};
use super::{Ack, Draw, Marks, Turn, UNSET};

/// Gain of alpha: 1/16.
const ALPHA_GAIN: u32 = UNIT / 16;
/// Share of alpha by which a round with marks cuts: 1/3.
const ECN_FACTOR: u32 = UNIT / 3;
/// Share of marks that is too much.
const ECN_THRESHOLD: u32 = UNIT / 2;
/// Number of marked rounds in a row that ends start-up.
const FULL_ECN_COUNT: u8 = 2;
/// Rounds after which the slot of extra ACKs changes; one before the pipe is full.
const EXTRA_ACKED_ROUNDS: u8 = 5;
/// An epoch of aggregation is at most this many packets.
const EPOCH_LIMIT: u32 = 1 << 20;

impl<D: Draw> Turn<'_, D> {
    pub(super) fn update_round(&mut self, ack: &Ack) {
        self.s.round_start =
            ack.interval_us > 0 && !after(self.s.next_rtt_delivered, ack.prior_delivered);
        if !self.s.round_start {
            return;
        }
        self.s.next_rtt_delivered = self.sock.delivered;
        self.s.rounds_since_probe = self.s.rounds_since_probe.saturating_add(1);
        match self.rules.marks {
            Marks::Ignored => {}
            Marks::V2 => self.update_alpha(),
            Marks::V3 => {
                self.check_eligible();
                if self.s.ecn_eligible {
                    self.update_alpha();
                }
            }
        }
    }
    /// Close peers may respond to marks, and once they may, they always do.
    fn check_eligible(&mut self) {
        let most = self.rules.ecn_max_rtt_us;
        let is_close = most == 0 || self.s.min_rtt_us <= most;
        self.s.ecn_eligible |= self.sock.can_use_ecn != 0 && is_close;
    }
    /// Below 6.25 % of marks the gain rounds to zero and alpha only falls.
    fn update_alpha(&mut self) {
        let delivered = self
            .sock
            .delivered
            .wrapping_sub(self.s.alpha_last_delivered);
        let marked = self
            .sock
            .delivered_ce
            .wrapping_sub(self.s.alpha_last_delivered_ce);
        if delivered == 0 {
            return;
        }
        if self.rules.marks == Marks::V2 {
            self.check_eligible();
        }
        let ratio = (u64::from(marked) << 8) / u64::from(delivered);
        let old = u64::from(part(self.s.ecn_alpha, UNIT - ALPHA_GAIN));
        let gained = (u64::from(ALPHA_GAIN) * ratio) >> 8;
        self.s.ecn_alpha = (old + gained).min(UNIT.into()) as u32;
        self.s.alpha_last_delivered = self.sock.delivered;
        self.s.alpha_last_delivered_ce = self.sock.delivered_ce;
        if self.s.full_bw_reached || !self.s.ecn_eligible {
            return;
        }
        if ratio >= ECN_THRESHOLD.into() {
            self.s.startup_ecn_rounds += 1;
        } else {
            self.s.startup_ecn_rounds = 0;
        }
        if self.s.startup_ecn_rounds >= FULL_ECN_COUNT {
            self.end_startup();
        }
    }
    pub(super) fn note_echo(&mut self, ack: &Ack) {
        let counts = match self.rules.marks {
            Marks::Ignored => false,
            Marks::V2 => true,
            Marks::V3 => self.s.ecn_eligible,
        };
        self.s.ecn_in_round |= counts && ack.is_ece != 0;
    }
    pub(super) fn bw_sample(ack: &Ack) -> u32 {
        bandwidth_up(ack.delivered, ack.interval_us)
    }

    fn is_observation(ack: &Ack) -> bool {
        ack.interval_us > 0 && ack.acked > 0
    }
    /// Takes up the deliveries of the last round, and whether another round of loss begins.
    pub(super) fn update_latest(&mut self, ack: &Ack, sample: u32) {
        self.s.loss_round_start = false;
        if !Self::is_observation(ack) {
            return;
        }
        self.s.bw_latest = self.s.bw_latest.max(sample);
        self.s.inflight_latest = self.s.inflight_latest.max(ack.delivered);
        if !after(self.s.loss_round_delivered, ack.prior_delivered) {
            self.s.loss_round_delivered = self.sock.delivered;
            self.s.loss_round_start = true;
        }
    }
    pub(super) fn forget_latest(&mut self, ack: &Ack, sample: u32) {
        self.s.bw_latest = sample;
        self.s.inflight_latest = ack.delivered;
    }
    pub(super) fn update_signals(&mut self, ack: &Ack, sample: u32) {
        if !self.rules.latest_to_the_end {
            self.s.loss_round_start = false;
        }
        if !Self::is_observation(ack) {
            return;
        }
        if ack.is_app_limited == 0 || sample >= self.s.max_bw() {
            self.s.max_bw[1] = self.s.max_bw[1].max(sample);
        }
        self.s.loss_in_round |= ack.losses > 0;
        if !self.rules.latest_to_the_end {
            self.update_latest(ack, sample);
        }
        if !self.s.loss_round_start {
            return;
        }
        self.cut_lower_bounds();
        self.s.loss_in_round = false;
        self.s.ecn_in_round = false;
        if !self.rules.latest_to_the_end {
            self.forget_latest(ack, sample);
        }
    }

    /// The remainder of a value after a round with marks.
    pub(super) fn after_marks(&self, number: u32) -> u32 {
        part(number, UNIT - part(self.s.ecn_alpha, ECN_FACTOR))
    }
    /// A round is over: loss and marks cut the lower bounds, except during a probe.
    fn cut_lower_bounds(&mut self) {
        if self.s.is_probing() {
            return;
        }
        let (mut marked_bw, mut marked_inflight) = (UNSET, UNSET);
        if self.s.ecn_in_round && self.s.ecn_eligible {
            self.set_lower_bounds(self.rules.marks_cut_bw);
            marked_inflight = self.after_marks(self.s.inflight_lo);
            if self.rules.marks_cut_bw {
                marked_bw = self.after_marks(self.s.bw_lo);
            }
        }
        if self.s.loss_in_round {
            self.set_lower_bounds(true);
            let kept = UNIT - self.rules.beta;
            self.s.bw_lo = part(self.s.bw_lo, kept).max(self.s.bw_latest);
            self.s.inflight_lo = part(self.s.inflight_lo, kept).max(self.s.inflight_latest);
        }
        self.s.inflight_lo = self.s.inflight_lo.min(marked_inflight);
        self.s.bw_lo = self.s.bw_lo.min(marked_bw);
        if self.rules.latest_to_the_end {
            self.s.bw_lo = self.s.bw_lo.max(1);
        }
    }
    fn set_lower_bounds(&mut self, with_bw: bool) {
        if with_bw && self.s.bw_lo == UNSET {
            self.s.bw_lo = self.s.max_bw();
        }
        if self.s.inflight_lo == UNSET {
            self.s.inflight_lo = self.sock.cwnd;
        }
    }

    /// Packets acknowledged beyond what bandwidth explains, the most in five to ten rounds.
    pub(super) fn update_ack_aggregation(&mut self, ack: &Ack) {
        if !Self::is_observation(ack) {
            return;
        }
        if self.s.round_start {
            self.s.extra_acked_win_rtts = (self.s.extra_acked_win_rtts + 1).min(31);
            let rounds = if self.s.full_bw_reached {
                EXTRA_ACKED_ROUNDS
            } else {
                1
            };
            if self.s.extra_acked_win_rtts >= rounds {
                self.s.extra_acked_win_rtts = 0;
                self.s.extra_acked_win_idx ^= 1;
                self.s.extra_acked[usize::from(self.s.extra_acked_win_idx)] = 0;
            }
        }
        let elapsed = self.sock.delivered_us.saturating_sub(self.s.ack_epoch_us) as u32;
        let mut expected = carried(self.s.bw(), elapsed);
        let acked = self.s.ack_epoch_acked;
        if acked <= expected || acked.wrapping_add(ack.acked) >= EPOCH_LIMIT {
            self.s.ack_epoch_acked = 0;
            self.s.ack_epoch_us = self.sock.delivered_us;
            expected = 0;
        }
        let acked = self.s.ack_epoch_acked.wrapping_add(ack.acked);
        self.s.ack_epoch_acked = acked.min(EPOCH_LIMIT - 1);
        let extra = self.s.ack_epoch_acked.wrapping_sub(expected);
        let extra = extra.min(self.sock.cwnd);
        let slot = &mut self.s.extra_acked[usize::from(self.s.extra_acked_win_idx)];
        if extra > *slot {
            *slot = extra & 0xffff;
        }
    }
    /// Whether a sample has too much loss, or too many marks.
    pub(super) fn is_too_high(&self, ack: &Ack) -> bool {
        self.is_loss_too_high(ack.tx_in_flight, ack.lost) || self.are_marks_too_many(ack)
    }
    pub(super) fn is_loss_too_high(&self, tx_in_flight: u32, lost: u32) -> bool {
        lost > 0 && tx_in_flight > 0 && lost > part(tx_in_flight, self.rules.loss_threshold)
    }
    fn are_marks_too_many(&self, ack: &Ack) -> bool {
        if ack.delivered_ce == 0 || ack.delivered == 0 || !self.s.ecn_eligible {
            return false;
        }
        let most = part(ack.delivered, ECN_THRESHOLD);
        match self.rules.marks {
            Marks::V2 => ack.delivered_ce >= most,
            _ => ack.delivered_ce > most,
        }
    }
}
