//! Version 0.6 of Prague as its project had it in 2021, in the integers of its `tcp_prague.c`: that of published measurements.
//!
//! The differences from [`PragueState`](super::PragueState): 1. the window is whole, and moves once a carry has reached a whole segment, up
//! or down; growth and reduction are reckoned from the whole window; 2. the pace is that of the whole window, so that it never falls
//! below two packets per round trip; there is no rate in its place; 3. bursts have two segments at least (`tcp_min_tso_segs`); 4. alpha
//! begins at 1, in 2⁻²⁰, and the first mark halves nothing; 5. round trips have steps of 128 µs where the target is concerned.

use super::classic::ClassicQueue;
use super::{PraguePath, PragueRules};
use crate::cc::{CaState, Window};

/// alpha of 1, and a segment of carry, are 2 to the power of this.
const BITS: u32 = 20;
const ONE: i64 = 1 << BITS;
/// The gain of alpha is 2 to the power of minus this.
const SHIFT_G: u32 = 4;
const MAX_UPSCALED: u64 = 1 << (BITS + SHIFT_G);
/// Least window in segments.
const MIN_CWND: u32 = 2;
/// Segments of a burst, at least.
pub(super) const MIN_BURST: u32 = 2;
/// A step of round trips is 2 to the power of this in µs.
const RTT_BITS: u32 = 7;
const SECOND: u64 = 8_000_000;

/// Prague 0.6 of one connection; `struct prague` of the original.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EarlierState {
    /// Time of the last reduction by marks, in µs.
    cwr_stamp: u64,
    /// Time of the last update of alpha, in µs.
    alpha_stamp: u64,
    /// alpha · 16.
    upscaled_alpha: u64,
    /// Growth per unmarked segment and window.
    ai_ack_increase: u64,
    /// Growth that the window has yet to make, in 2⁻²⁰ segments.
    cwnd_cnt: i64,
    /// That value before the last loss.
    loss_cwnd_cnt: i64,
    /// The window before the last loss.
    loss_cwnd: u32,
    old_delivered: u64,
    old_delivered_ce: u64,
    next_seq: u64,
    /// Rounds since slow start.
    round: u32,
    /// Segments in a burst.
    pub(super) max_tso_burst: u32,
    saw_ce: bool,
    in_loss: bool,
    /// Pacing rate, in bytes per second; zero before the first RTT.
    pub(super) pacing_rate: u64,
    /// Where it looks for a queue that marks Classic and L4S packets alike.
    pub(super) classic: Option<ClassicQueue>,
}

impl EarlierState {
    /// The state of a connection that has agreed on ECN (`prague_init`).
    pub(super) fn new(rules: &PragueRules, path: &PraguePath, window: &Window) -> Self {
        let mut state = Self {
            alpha_stamp: path.now_us,
            upscaled_alpha: MAX_UPSCALED,
            max_tso_burst: 1,
            saw_ce: path.delivered_ce > 0,
            ..Self::default()
        };
        if path.srtt8 > 0 {
            state.update_pacing(rules, path, window);
        }
        state.begin_round(rules, path, window);
        state
    }
    fn target(rules: &PragueRules) -> u64 {
        u64::from(rules.rtt_target_us) >> RTT_BITS
    }
    /// Whether the target has passed since `stamp`.
    fn is_target_over(rules: &PragueRules, path: &PraguePath, stamp: u64) -> bool {
        path.now_us.saturating_sub(stamp) >= Self::target(rules) << RTT_BITS
    }
    fn is_independent(&self, rules: &PragueRules, window: &Window) -> bool {
        Self::target(rules) > 0 && !window.in_slow_start() && self.round >= rules.rtt_transition
    }

    /// An ACK newly delivered `acked` segments and reported `marked` packets with CE (`prague_cong_control`).
    pub(super) fn on_ack(
        &mut self,
        rules: &PragueRules,
        path: &PraguePath,
        window: &mut Window,
        acked: u32,
        marked: u32,
        is_cwnd_limited: bool,
    ) {
        self.saw_ce |= marked > 0;
        let mut acked = acked.saturating_sub(marked);
        let mut is_done = false;
        if acked > 0 && !self.in_loss && is_cwnd_limited {
            if window.in_slow_start() {
                acked = window.slow_start(acked);
                is_done = acked == 0;
                if is_done {
                    self.update_increase(rules, path);
                }
            }
            if !is_done {
                self.grow(window, acked);
            }
        }
        if !is_done {
            self.step(rules, path, window);
        }
        let is_round_over = path.snd_una >= self.next_seq;
        let is_due = !self.is_independent(rules, window)
            || Self::is_target_over(rules, path, self.alpha_stamp);
        if is_round_over && is_due {
            self.update_alpha(rules, path, window);
        }
        self.update_pacing(rules, path, window);
    }
    /// Additive increase for `acked` segments without a mark.
    fn grow(&mut self, window: &Window, acked: u32) {
        let (acked, cwnd) = (u64::from(acked), u64::from(window.cwnd.max(1)));
        let gain = (acked * self.ai_ack_increase + cwnd / 2) / cwnd;
        self.cwnd_cnt += gain.max(acked) as i64;
    }
    /// One step of the window per ACK, up or down, once the carry is a segment.
    fn step(&mut self, rules: &PragueRules, path: &PraguePath, window: &mut Window) {
        if self.cwnd_cnt <= -ONE {
            self.cwnd_cnt += ONE;
            window.cwnd -= 1;
            if window.cwnd < MIN_CWND {
                window.cwnd = MIN_CWND;
                self.cwnd_cnt = 0;
            }
            window.ssthresh = window.cwnd;
        } else if self.cwnd_cnt >= ONE {
            self.cwnd_cnt -= ONE;
            window.cwnd = (window.cwnd + 1).min(Window::MAX);
        } else {
            return;
        }
        self.update_increase(rules, path);
    }
    /// (srtt / target)² segments per window where the round trip is shorter than the target.
    fn update_increase(&mut self, rules: &PragueRules, path: &PraguePath) {
        let (rtt, target) = (u64::from(path.srtt8) >> 3 >> RTT_BITS, Self::target(rules));
        let is_scaled = self.round >= rules.rtt_transition && rtt > 0 && rtt < target;
        self.ai_ack_increase = match is_scaled {
            true => ((rtt << BITS) * rtt + target * target / 2) / (target * target),
            false => ONE as u64,
        };
    }
    /// RFC 8257 section 3.3, once per round trip or target (`prague_update_alpha`).
    fn update_alpha(&mut self, rules: &PragueRules, path: &PraguePath, window: &Window) {
        if self.saw_ce {
            if let Some(classic) = &mut self.classic {
                classic.on_round();
            }
            let delivered = path.delivered - self.old_delivered;
            let marked = path.delivered_ce - self.old_delivered_ce;
            let fraction = (marked << BITS) / delivered.max(1);
            let alpha = self.upscaled_alpha - (self.upscaled_alpha >> SHIFT_G) + fraction;
            self.upscaled_alpha = alpha.min(MAX_UPSCALED);
            self.alpha_stamp = path.now_us;
        }
        self.begin_round(rules, path, window);
    }
    fn begin_round(&mut self, rules: &PragueRules, path: &PraguePath, window: &Window) {
        self.next_seq = path.snd_nxt;
        self.old_delivered = path.delivered;
        self.old_delivered_ce = path.delivered_ce;
        if !window.in_slow_start() {
            self.round = match self.round.wrapping_add(1) {
                0 => rules.rtt_transition,
                round => round,
            };
        }
        self.update_increase(rules, path);
    }
    fn update_pacing(&mut self, rules: &PragueRules, path: &PraguePath, window: &Window) {
        let mut rate = SECOND * u64::from(path.mtu);
        if window.cwnd < window.ssthresh / 2 {
            rate <<= 1;
        }
        rate /= u64::from(path.srtt8.max(1));
        rate *= u64::from(window.cwnd.max(path.in_flight));
        let burst = (rate / u64::from(path.mtu)) >> rules.burst_shift;
        self.max_tso_burst = u32::try_from(burst.max(1)).unwrap_or(u32::MAX);
        self.pacing_rate = rate;
    }

    /// The state of loss recovery changes to another one (`prague_state`).
    pub(super) fn set_state(
        &mut self,
        rules: &PragueRules,
        path: &PraguePath,
        window: &Window,
        new: CaState,
    ) {
        match new {
            CaState::Recovery => self.on_loss(rules, path, window),
            CaState::Cwr => self.on_marks(rules, path, window),
            CaState::Open => self.in_loss = false,
            CaState::Disorder | CaState::Loss => {}
        }
    }
    /// Half of the window and of the carry less (`prague_enter_loss`).
    pub(super) fn on_loss(&mut self, rules: &PragueRules, path: &PraguePath, window: &Window) {
        self.loss_cwnd = window.cwnd;
        self.loss_cwnd_cnt = self.cwnd_cnt;
        self.cwnd_cnt -= (i64::from(window.cwnd) << (BITS - 1)) + (self.cwnd_cnt >> 1);
        self.in_loss = true;
        self.update_increase(rules, path);
    }
    /// alpha/2 of the whole window less, once per target (`prague_enter_cwr`).
    fn on_marks(&mut self, rules: &PragueRules, path: &PraguePath, window: &Window) {
        let is_over = Self::is_target_over(rules, path, self.cwr_stamp);
        if self.is_independent(rules, window) && !is_over {
            return;
        }
        self.cwr_stamp = path.now_us;
        let least = self.classic.map_or(0, |classic| classic.least_alpha());
        let alpha = (self.upscaled_alpha >> SHIFT_G).max(least);
        let less = alpha * (u64::from(window.cwnd) << BITS) + ONE as u64;
        self.cwnd_cnt -= (less >> (BITS + 1)) as i64;
    }
    /// The last reduction was spurious; returns the window to restore (`prague_cwnd_undo`, which adds what the carry has moved since).
    pub(super) fn undo(&mut self, window: &Window) -> u32 {
        self.cwnd_cnt += self.cwnd_cnt - self.loss_cwnd_cnt;
        self.loss_cwnd.max(window.cwnd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: PragueRules = PragueRules {
        rtt_target_us: 25_000,
        rtt_transition: 4,
        alpha_one: false,
        first_ce_halves: false,
        burst_shift: 12,
        rate_mode: false,
    };

    /// Long after slow start, with this window.
    fn settled(cwnd: u32, rtt_us: u32) -> (EarlierState, PraguePath, Window) {
        let path = PraguePath {
            now_us: 1_000_000,
            srtt8: rtt_us * 8,
            mtu: 1_500,
            ..PraguePath::default()
        };
        let mut window = Window::new(cwnd);
        window.ssthresh = cwnd;
        let mut state = EarlierState::new(&RULES, &path, &window);
        (state.round, state.saw_ce) = (100, true);
        state.update_increase(&RULES, &path);
        (state, path, window)
    }

    /// 78, 39, 194 and 195 steps of 128 µs; the target has 195.
    #[test]
    fn growth_is_scaled_in_steps_of_the_round_trip() {
        for (rtt_us, increase) in [
            (10_000, 167_772),
            (5_000, 41_943),
            (24_900, 1_037_849),
            (25_000, 1_048_576),
            (100_000, 1_048_576),
        ] {
            let (state, ..) = settled(10, rtt_us);
            assert_eq!(state.ai_ack_increase, increase, "{rtt_us}");
        }
    }

    #[test]
    fn the_window_moves_once_the_carry_is_a_segment() {
        let (mut state, path, mut window) = settled(10, 25_000);
        for n in 1..=10 {
            assert_eq!(window.cwnd, 10, "{n}");
            state.on_ack(&RULES, &path, &mut window, 1, 0, true);
        }
        // Ten times 104 858, rounded from 2²⁰/10.
        assert_eq!((window.cwnd, state.cwnd_cnt), (11, 4));
        // A marked segment adds nothing, nor does one while the window is not full.
        state.on_ack(&RULES, &path, &mut window, 1, 1, true);
        state.on_ack(&RULES, &path, &mut window, 1, 0, false);
        assert_eq!((window.cwnd, state.cwnd_cnt), (11, 4));
    }

    #[test]
    fn marks_take_half_of_alpha_one_segment_per_ack() {
        let (mut state, path, mut window) = settled(10, 25_000);
        // alpha begins at 1.
        state.on_marks(&RULES, &path, &window);
        assert_eq!(state.cwnd_cnt, -5 * ONE);
        state.on_marks(&RULES, &path, &window);
        assert_eq!(state.cwnd_cnt, -5 * ONE, "not again within the target");
        for cwnd in [9, 8, 7, 6, 5, 5] {
            state.on_ack(&RULES, &path, &mut window, 1, 1, true);
            assert_eq!((window.cwnd, window.ssthresh), (cwnd, cwnd));
        }
        assert_eq!(state.cwnd_cnt, 0);
    }

    #[test]
    fn a_window_of_two_stays_and_is_paced_in_full() {
        let (mut state, path, mut window) = settled(2, 10_000);
        state.on_marks(&RULES, &path, &window);
        state.on_ack(&RULES, &path, &mut window, 1, 1, true);
        assert_eq!((window.cwnd, state.cwnd_cnt), (2, 0));
        // 2 · 1500 bytes in 10 ms.
        assert_eq!((state.pacing_rate, state.max_tso_burst), (300_000, 1));
    }

    #[test]
    fn alpha_averages_the_marked_fraction_from_one_down() {
        let (mut state, mut path, window) = settled(10, 25_000);
        for (marked, alpha) in [(0, 983_040), (20, 987_136), (5, 941_824)] {
            path.delivered += 20;
            path.delivered_ce += marked;
            state.update_alpha(&RULES, &path, &window);
            assert_eq!(state.upscaled_alpha >> SHIFT_G, alpha);
        }
    }

    #[test]
    fn a_loss_halves_window_and_carry_until_it_is_undone() {
        let (mut state, path, mut window) = settled(10, 25_000);
        state.cwnd_cnt = ONE / 2;
        state.on_loss(&RULES, &path, &window);
        assert_eq!(state.cwnd_cnt, ONE / 4 - 5 * ONE);
        state.on_ack(&RULES, &path, &mut window, 4, 0, true);
        assert_eq!((window.cwnd, state.cwnd_cnt), (9, ONE / 4 - 4 * ONE));
        // As in the original, which adds the difference once more.
        assert_eq!(state.undo(&window), 10);
        assert_eq!(state.cwnd_cnt, 2 * (ONE / 4 - 4 * ONE) - ONE / 2);
    }
}
