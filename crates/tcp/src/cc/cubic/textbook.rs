//! CUBIC with fractions of segments: RFC 9438, and FreeBSD's of 2010 (`cc_cubic.c`, after
//! draft-rhee-tcpm-cubic-02). Windows are in 2⁻²⁰ segments, times in 2⁻¹⁰ s.
//!
//! | | `rfc_9438` | `freebsd_2010` |
//! | --- | --- | --- |
//! | beta | 0.7 | 0.8; the first loss halves |
//! | looks ahead by | the smoothed RTT | the mean RTT of the last epoch, from 8 samples |
//! | epoch begins | with congestion avoidance | when recovery ends |
//! | fast convergence | W_max = cwnd (1 + beta)/2 | W_max = 0.9 cwnd |
//! | friendly | W_est grows by alpha_cubic per window, by 1 above the last window | W_max beta + alpha_cubic t/RTT |
//! | target | from cwnd to 1.5 cwnd | not below cwnd |
//! | slow start | HyStart++ | plain |
//!
//! Deviations: 1. alpha_cubic and C are rounded to 1/1024; 2. the window of `freebsd_2010` grows with
//! each ACK, FreeBSD's with ABC once per window.

use quell_units::Time;

use super::hystart_plus::HyStartPlus;
use super::{C_1024THS, CUBE_FACTOR, CubicConfig, Variant, cube_root};
use crate::cc::{AckSample, CaState, Connection, Window};

/// One segment.
const SEGMENT: u64 = 1 << 20;
/// Least number of RTT samples that FreeBSD takes the mean of (`CUBIC_MIN_RTT_SAMPLES`).
const MIN_SAMPLES: u64 = 8;

/// CUBIC of one connection.
#[derive(Debug, Clone)]
pub struct TextbookCubic {
    config: CubicConfig,
    /// alpha_cubic = 3 (1 - beta)/(1 + beta), in 2⁻²⁰.
    alpha_cubic: u64,
    /// W_max: window of the last loss, after fast convergence, in 2⁻²⁰ segments; zero for none.
    w_max: u64,
    /// cwnd_prior: window before the last reduction, in segments.
    cwnd_prior: u32,
    /// Part of the window beyond whole segments, in 2⁻²⁰ segments.
    fraction: u64,
    /// Start of the epoch.
    t_epoch: Option<Time>,
    /// K: from the start of the epoch to W_max, in 2⁻¹⁰ s.
    k: u64,
    /// W_est, in 2⁻²⁰ segments.
    w_est: u64,
    srtt: Option<Time>,
    /// Sum and number of RTT samples of this epoch, and the mean of the last.
    rtt_sum: Time,
    rtt_count: u64,
    mean_rtt: Option<Time>,
    hystart: HyStartPlus,
}

fn binary_seconds(time: Time) -> u64 {
    ((u128::from(time.as_nanos()) << 10) / 1_000_000_000) as u64
}

impl TextbookCubic {
    /// For a new connection.
    pub(super) fn new(config: CubicConfig) -> Self {
        let beta = u64::from(config.beta.clamp(1, 1_023));
        Self {
            config,
            alpha_cubic: SEGMENT * 3 * (1_024 - beta) / (1_024 + beta),
            w_max: 0,
            cwnd_prior: 0,
            fraction: 0,
            t_epoch: None,
            k: 0,
            w_est: 0,
            srtt: None,
            rtt_sum: Time::ZERO,
            rtt_count: 0,
            mean_rtt: None,
            hystart: HyStartPlus::default(),
        }
    }
    fn is_freebsd(&self) -> bool {
        self.config.variant == Variant::FreeBsd2010
    }

    pub(super) fn on_ack(&mut self, ack: &AckSample) {
        if let Some(rtt) = ack.rtt {
            let srtt = self.srtt.unwrap_or(rtt);
            self.srtt = Some(srtt * 7 / 8 + rtt / 8);
            self.rtt_sum += rtt;
            self.rtt_count += 1;
        }
    }

    pub(super) fn cong_avoid(&mut self, ack: &AckSample, window: &mut Window) {
        let mut acked = ack.acked;
        if window.in_slow_start() {
            acked = if self.config.hystart {
                self.hystart.slow_start(ack, window)
            } else {
                window.slow_start(acked)
            };
            if acked == 0 || window.in_slow_start() {
                return;
            }
        }
        let cwnd = u64::from(window.cwnd) * SEGMENT + self.fraction;
        if self.t_epoch.is_none() {
            self.begin_epoch(ack.now, cwnd);
        }
        let next = self.next_window(ack.now, cwnd, acked);
        window.cwnd = ((next / SEGMENT) as u32).clamp(1, Window::MAX);
        self.fraction = next % SEGMENT;
    }

    fn begin_epoch(&mut self, now: Time, cwnd: u64) {
        self.t_epoch = Some(now);
        self.w_max = self.w_max.max(cwnd);
        self.k = cubic_k((self.w_max - cwnd) / SEGMENT);
        self.w_est = cwnd;
    }

    /// RFC 9438 equation 1: W_cubic(t) = C (t - K)³ + W_max.
    fn w_cubic(&self, t: u64) -> u64 {
        let distance = u128::from(t.abs_diff(self.k).min(1 << 30));
        // 410 · 2⁹⁰ < 2¹²⁸.
        let delta = (u128::from(C_1024THS) * distance * distance * distance) >> 20;
        let delta = delta.min(u128::from(u64::from(Window::MAX) * SEGMENT)) as u64;
        if t < self.k {
            self.w_max.saturating_sub(delta)
        } else {
            self.w_max + delta
        }
    }

    /// RFC 9438 section 4.2: the target is W_cubic(t + RTT), at least cwnd and at most 1.5 cwnd; section
    /// 4.4: "cwnd MUST be incremented by (target - cwnd)/cwnd" for each segment acknowledged.
    fn next_window(&mut self, now: Time, cwnd: u64, acked: u32) -> u64 {
        let t = binary_seconds(now - self.t_epoch.unwrap_or(now));
        let rtt = match self.is_freebsd() {
            true => self.mean_rtt.or(self.srtt),
            false => self.srtt,
        };
        let rtt = rtt.unwrap_or(Time::from_millis(1));
        let w_est = self.update_w_est(now, rtt, cwnd, acked);
        let target = self.w_cubic(t + binary_seconds(rtt));
        let now_or_next = if self.is_freebsd() {
            target
        } else {
            self.w_cubic(t)
        };
        if self.config.tcp_friendliness && now_or_next < w_est {
            return cwnd.max(w_est);
        }
        let most = if self.is_freebsd() {
            u64::MAX
        } else {
            cwnd + cwnd / 2
        };
        let ahead = target.clamp(cwnd, most.max(cwnd)) - cwnd;
        // ahead < 2⁵¹, acked < 2³².
        let step = u128::from(ahead) * u128::from(acked) * u128::from(SEGMENT) / u128::from(cwnd);
        cwnd + (step as u64).min(ahead)
    }

    /// RFC 9438 equation 4: W_est = W_est + alpha_cubic * segments_acked/cwnd.
    fn update_w_est(&mut self, now: Time, rtt: Time, cwnd: u64, acked: u32) -> u64 {
        if self.is_freebsd() {
            let since = now - self.t_epoch.unwrap_or(now);
            let rounds = u128::from(since.as_nanos()) * u128::from(self.alpha_cubic);
            let grown = rounds / u128::from(rtt.as_nanos().max(1));
            let floor = self.w_max / 1_024 * u64::from(self.config.beta);
            return floor.saturating_add(grown.min(u128::from(u64::MAX / 2)) as u64);
        }
        // Section 4.3: "Once W_est has grown to reach the cwnd at the time of most recently setting
        // ssthresh ... the sender SHOULD set alpha_cubic to 1".
        let alpha = if self.w_est >= u64::from(self.cwnd_prior) * SEGMENT {
            SEGMENT
        } else {
            self.alpha_cubic
        };
        // alpha · acked · 2²⁰ ≤ 2⁷².
        let step = u128::from(alpha) * u128::from(acked) * u128::from(SEGMENT) / u128::from(cwnd);
        self.w_est += step as u64;
        self.w_est
    }

    /// RFC 9438 sections 4.6 and 4.7.
    pub(super) fn ssthresh(&mut self, window: &Window) -> u32 {
        let cwnd = u64::from(window.cwnd) * SEGMENT;
        let beta = u64::from(self.config.beta);
        let is_first = self.cwnd_prior == 0;
        self.t_epoch = None;
        self.fraction = 0;
        self.cwnd_prior = window.cwnd;
        let gives_way = self.config.fast_convergence && cwnd < self.w_max;
        self.w_max = match gives_way {
            true if self.is_freebsd() => cwnd / 256 * 230,
            true => cwnd / 2_048 * (1_024 + beta),
            false => cwnd,
        };
        if self.is_freebsd() && is_first {
            return window.half();
        }
        ((u64::from(window.cwnd) * beta / 1_024) as u32).max(2)
    }

    pub(super) fn set_state(&mut self, new: CaState, connection: &Connection, window: &Window) {
        if new == CaState::Loss {
            // RFC 9438 section 4.8: "K is set to 0, and W_max is set to the congestion window size
            // at the beginning of the current congestion avoidance stage."
            self.w_max = 0;
            self.t_epoch = None;
        } else if self.is_freebsd() && connection.state >= CaState::Cwr && new <= CaState::Disorder
        {
            if self.rtt_count >= MIN_SAMPLES {
                self.mean_rtt = Some(self.rtt_sum / self.rtt_count);
            }
            self.rtt_sum = Time::ZERO;
            self.rtt_count = 0;
            self.begin_epoch(
                connection.now,
                u64::from(window.ssthresh.min(window.cwnd)) * SEGMENT,
            );
            // K = cbrt(W_max (1 - beta)/C), whatever the window is.
            let below = self.w_max / SEGMENT * (1_024 - u64::from(self.config.beta)) / 1_024;
            self.k = cubic_k(below);
        }
    }
}

/// RFC 9438 equation 2: K = cbrt((W_max - cwnd_epoch)/C), of a difference in segments, in 2⁻¹⁰ s.
fn cubic_k(below_w_max: u64) -> u64 {
    // 2⁴⁰/410 · 2³⁰ < 2⁶².
    cube_root(CUBE_FACTOR * below_w_max)
}
