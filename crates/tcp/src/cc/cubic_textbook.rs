//! CUBIC with fractions of segments: RFC 9438, and FreeBSD's of 2010 (`cc_cubic.c`, after
//! draft-rhee-tcpm-cubic-02). Fixed point, 2⁻²⁰ of a segment and 2⁻¹⁰ of a second.
//!
//! | | `rfc_9438` | `freebsd_2010` |
//! | --- | --- | --- |
//! | beta | 0.7 | 0.8; the first loss halves |
//! | looks ahead by | the smoothed RTT | the mean RTT of the last epoch, from 8 samples |
//! | epoch begins | with congestion avoidance | when recovery ends |
//! | fast convergence | Wmax = W (1 + beta)/2 | Wmax = 0.9 W |
//! | friendly | W_est grows by alpha per window, by 1 above the last maximum | Wmax beta + alpha t/RTT |
//! | target | from cwnd to 1.5 cwnd | not below cwnd |
//! | slow start | HyStart++ | plain |
//!
//! Deviations: 1. alpha and C are rounded to 1/1024; 2. `freebsd_2010` moves with each ACK, where
//! FreeBSD with ABC moves once per window.

use quell_units::Time;

use super::control::State;
use super::cubic::{CUBE_FACTOR, CubicConfig, Variant, cube_root};
use super::hystart_plus::HyStartPlus;
use super::{AckSample, Window};

/// One segment.
const SEGMENT: u64 = 1 << 20;
/// RTT samples that FreeBSD wants for a mean (`CUBIC_MIN_RTT_SAMPLES`).
const MIN_SAMPLES: u64 = 8;

/// CUBIC of one connection.
#[derive(Debug, Clone)]
pub struct TextbookCubic {
    config: CubicConfig,
    /// 3 (1 - beta)/(1 + beta), in 2⁻²⁰.
    alpha: u64,
    /// Window of the last loss, after fast convergence, in 2⁻²⁰ segments; zero for none.
    maximum: u64,
    /// Window before the last reduction, in segments.
    prior_cwnd: u32,
    /// What the window has beyond whole segments.
    fraction: u64,
    epoch: Option<Time>,
    /// From the epoch's start to the maximum, in 2⁻¹⁰ s.
    k: u64,
    /// W_est (RFC 9438 section 4.3).
    estimate: u64,
    smoothed_rtt: Option<Time>,
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
    pub fn new(config: CubicConfig) -> Self {
        let beta = u64::from(config.beta.clamp(1, 1_023));
        Self {
            config,
            alpha: SEGMENT * 3 * (1_024 - beta) / (1_024 + beta),
            maximum: 0,
            prior_cwnd: 0,
            fraction: 0,
            epoch: None,
            k: 0,
            estimate: 0,
            smoothed_rtt: None,
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
            let smoothed = self.smoothed_rtt.unwrap_or(rtt);
            self.smoothed_rtt = Some(smoothed * 7 / 8 + rtt / 8);
            self.rtt_sum += rtt;
            self.rtt_count += 1;
        }
    }

    pub(super) fn increase(&mut self, ack: &AckSample, window: &mut Window) {
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
        if self.epoch.is_none() {
            self.begin_epoch(ack.now, cwnd);
        }
        let next = self.next_window(ack.now, cwnd, acked);
        window.cwnd = ((next / SEGMENT) as u32).clamp(1, Window::MAX);
        self.fraction = next % SEGMENT;
    }

    fn begin_epoch(&mut self, now: Time, cwnd: u64) {
        self.epoch = Some(now);
        self.maximum = self.maximum.max(cwnd);
        // 2⁴⁰/410 · 2³⁰ < 2⁶².
        self.k = cube_root(CUBE_FACTOR * ((self.maximum - cwnd) / SEGMENT));
        self.estimate = cwnd;
    }

    /// W(t) = C (t - K)³ + Wmax (RFC 9438 equation 1).
    fn cubic(&self, t: u64) -> u64 {
        let distance = u128::from(t.abs_diff(self.k).min(1 << 30));
        // 410 · 2⁹⁰ < 2¹²⁸.
        let delta = (410 * distance * distance * distance) >> 20;
        let delta = delta.min(u128::from(u64::from(Window::MAX) * SEGMENT)) as u64;
        if t < self.k {
            self.maximum.saturating_sub(delta)
        } else {
            self.maximum + delta
        }
    }

    fn next_window(&mut self, now: Time, cwnd: u64, acked: u32) -> u64 {
        let t = binary_seconds(now - self.epoch.unwrap_or(now));
        let rtt = match self.is_freebsd() {
            true => self.mean_rtt.or(self.smoothed_rtt),
            false => self.smoothed_rtt,
        };
        let rtt = rtt.unwrap_or(Time::from_millis(1));
        let friendly = self.friendly_window(now, rtt, cwnd, acked);
        let target = self.cubic(t + binary_seconds(rtt));
        let now_or_next = if self.is_freebsd() {
            target
        } else {
            self.cubic(t)
        };
        if self.config.tcp_friendliness && now_or_next < friendly {
            return cwnd.max(friendly);
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

    /// Reno's window with this beta.
    fn friendly_window(&mut self, now: Time, rtt: Time, cwnd: u64, acked: u32) -> u64 {
        if self.is_freebsd() {
            let since = now - self.epoch.unwrap_or(now);
            let rounds = u128::from(since.as_nanos()) * u128::from(self.alpha);
            let grown = rounds / u128::from(rtt.as_nanos().max(1));
            let floor = self.maximum / 1_024 * u64::from(self.config.beta);
            return floor.saturating_add(grown.min(u128::from(u64::MAX / 2)) as u64);
        }
        let alpha = if self.estimate >= u64::from(self.prior_cwnd) * SEGMENT {
            SEGMENT
        } else {
            self.alpha
        };
        // alpha · acked · 2²⁰ ≤ 2⁷².
        let step = u128::from(alpha) * u128::from(acked) * u128::from(SEGMENT) / u128::from(cwnd);
        self.estimate += step as u64;
        self.estimate
    }

    pub(super) fn threshold(&mut self, window: &Window) -> u32 {
        let cwnd = u64::from(window.cwnd) * SEGMENT;
        let beta = u64::from(self.config.beta);
        let is_first = self.prior_cwnd == 0;
        self.epoch = None;
        self.fraction = 0;
        self.prior_cwnd = window.cwnd;
        let gives_way = self.config.fast_convergence && cwnd < self.maximum;
        self.maximum = match gives_way {
            true if self.is_freebsd() => cwnd / 256 * 230,
            true => cwnd / 2_048 * (1_024 + beta),
            false => cwnd,
        };
        if self.is_freebsd() && is_first {
            return window.half();
        }
        ((u64::from(window.cwnd) * beta / 1_024) as u32).max(2)
    }

    pub(super) fn on_state(&mut self, old: State, new: State, ack: &AckSample, window: &Window) {
        if new == State::Loss {
            // K = 0 and Wmax = cwnd when avoidance begins again (RFC 9438 section 4.8).
            self.maximum = 0;
            self.epoch = None;
        } else if self.is_freebsd() && old >= State::Reducing && new <= State::Disorder {
            if self.rtt_count >= MIN_SAMPLES {
                self.mean_rtt = Some(self.rtt_sum / self.rtt_count);
            }
            self.rtt_sum = Time::ZERO;
            self.rtt_count = 0;
            self.begin_epoch(
                ack.now,
                u64::from(window.ssthresh.min(window.cwnd)) * SEGMENT,
            );
            // K = cbrt(Wmax (1 - beta)/C), whatever the window is.
            let below = self.maximum / SEGMENT * (1_024 - u64::from(self.config.beta)) / 1_024;
            self.k = cube_root(CUBE_FACTOR * below);
        }
    }
}
