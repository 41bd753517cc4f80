//! CUBIC in Linux's integers: `net/ipv4/tcp_cubic.c` of today, of 3.0 to 3.5, and module version 2.0.
//!
//! Its clock is the host's jiffies (`tcp_jiffies32`): with HZ = 250 the curve moves every 4 ms. The
//! curve looks ahead by the lowest RTT, rounded up to jiffies.
//!
//! Deviations from Linux: 1. where timers are exact, a jiffy is a millisecond; 2. the cube root is
//! exact, Linux's is within 0.2 %; 3. products are wide enough for any window; 4. `linux_2_0` has
//! no limit of the increment (`max_increment`), and C is 0.4 throughout, as its authors published.

use quell_units::Time;

use super::hystart::HyStart;
use super::{C_1024THS, CUBE_FACTOR, CubicConfig, Variant, cube_root};
use crate::cc::{AckSample, CaState, Connection, Event, Window};
use crate::ticks::Ticks;

/// Least number of computations of the window per second: Linux's `HZ / 32`.
const REFRESH: u64 = 32;
/// Slow-start threshold of a new connection of version 2.0 (`initial_ssthresh`).
const INITIAL_SSTHRESH: u32 = 100;

/// CUBIC of one connection; Linux `struct bictcp`.
#[derive(Debug, Clone)]
pub struct LinuxCubic {
    config: CubicConfig,
    ticks: Ticks,
    /// Eighths of a window to be acknowledged per segment that W_est gains (`beta_scale`).
    beta_scale: u64,
    /// Segments to be acknowledged per increment of the window (`cnt`).
    cnt: u32,
    /// W_max: window at the last reduction, after fast convergence; zero before the first
    /// (`last_max_cwnd`).
    w_max: u32,
    /// Jiffy in which `cnt` was computed, and for which window (`last_time`, `last_cwnd`).
    last_time: u64,
    last_cwnd: u32,
    /// Jiffy in which the epoch began; `None` after a reduction (`epoch_start`).
    epoch_start: Option<u64>,
    /// K: time from the start of the epoch to W_max, in 1/1024 s (`bic_K`).
    k: u64,
    /// Window at t = K: W_max, or the window that the epoch began with if that is larger
    /// (`bic_origin_point`).
    origin: u32,
    /// Lowest RTT (`delay_min`).
    delay_min: Option<Time>,
    /// W_est: Reno's window, and segments acknowledged towards its next increment (`tcp_cwnd`,
    /// `ack_cnt`).
    w_est: u32,
    ack_cnt: u32,
    /// Mean segments per ACK in 1/16, in the older variants (`delayed_ack`).
    delayed_ack: u32,
    hystart: HyStart,
}

impl LinuxCubic {
    /// For a new connection of a host whose jiffies are `ticks`.
    pub(super) fn new(config: CubicConfig, ticks: Ticks, window: &mut Window) -> Self {
        if config.variant == Variant::Linux20 {
            window.ssthresh = INITIAL_SSTHRESH;
        }
        Self::reset(config, ticks.or_hz(1_000))
    }
    /// `bictcp_reset`.
    fn reset(config: CubicConfig, ticks: Ticks) -> Self {
        let beta = u64::from(config.beta.clamp(1, 1_023));
        Self {
            config,
            ticks,
            // The inverse of alpha_cubic = 3 (1 - beta)/(1 + beta), RFC 9438 section 4.3.
            beta_scale: 8 * (1_024 + beta) / 3 / (1_024 - beta),
            cnt: 0,
            w_max: 0,
            last_time: 0,
            last_cwnd: 0,
            epoch_start: None,
            k: 0,
            origin: 0,
            delay_min: None,
            w_est: 0,
            ack_cnt: 0,
            delayed_ack: 32,
            hystart: HyStart::default(),
        }
    }

    /// `cubictcp_acked`.
    pub(super) fn on_ack(&mut self, ack: &AckSample, window: &mut Window) {
        let Some(rtt) = ack.rtt else { return };
        // Delay samples of the second after fast recovery are discarded.
        let since = self
            .epoch_start
            .map(|start| self.ticks.at(ack.now).saturating_sub(start));
        if since.is_some_and(|since| since < self.ticks.hz()) {
            return;
        }
        let delay_min = self.delay_min.map_or(rtt, |lowest| lowest.min(rtt));
        self.delay_min = Some(delay_min);
        if self.config.hystart {
            let shift = if self.config.variant == Variant::Linux {
                3
            } else {
                4
            };
            self.hystart.update(rtt, delay_min, shift, ack, window);
        }
    }

    /// `cubictcp_cong_avoid`.
    pub(super) fn cong_avoid(&mut self, ack: &AckSample, window: &mut Window) {
        let counts_acks = self.config.variant != Variant::Linux;
        let mut acked = ack.acked;
        if counts_acks {
            let mean = self.delayed_ack;
            self.delayed_ack = (mean - (mean >> 4)).saturating_add(acked).max(1);
            acked = 1;
        }
        if window.in_slow_start() {
            acked = window.slow_start(acked);
            if acked == 0 {
                return;
            }
        }
        self.update(window.cwnd, acked, self.ticks.at(ack.now));
        window.cong_avoid_ai(self.cnt, acked);
    }

    /// Computes how many segments must be acknowledged for the next increment (`bictcp_update`).
    fn update(&mut self, cwnd: u32, acked: u32, now: u64) {
        self.ack_cnt = self.ack_cnt.saturating_add(acked);
        let since = now.saturating_sub(self.last_time);
        let is_current = self.config.variant == Variant::Linux;
        if self.last_cwnd == cwnd && since <= self.ticks.hz() / REFRESH {
            return;
        }
        // Today's cubic is computed at most once per jiffy, since t does not change in between; the
        // end of an epoch, after a reduction, forces it.
        if self.epoch_start.is_none() || since > 0 || !is_current {
            self.last_cwnd = cwnd;
            self.last_time = now;
            self.cnt = self.cubic_cnt(cwnd, acked, now);
        }
        if self.config.tcp_friendliness {
            self.follow_w_est(cwnd);
        }
        if is_current {
            // At most one segment per two acknowledged: growth by 1.5 per RTT, as RFC 9438 section
            // 4.2 bounds the target at 1.5 cwnd.
            self.cnt = self.cnt.max(2);
        } else {
            let cnt = (u64::from(self.cnt) << 4) / u64::from(self.delayed_ack);
            self.cnt = (cnt as u32).max(1);
        }
    }

    /// Segments to be acknowledged per increment so that the window is W_cubic(t + RTT) one RTT from
    /// now: RFC 9438 section 4.4, "cwnd MUST be incremented by (target - cwnd)/cwnd".
    fn cubic_cnt(&mut self, cwnd: u32, acked: u32, now: u64) -> u32 {
        let start = match self.epoch_start {
            Some(start) => start,
            None => {
                self.epoch_start = Some(now);
                self.ack_cnt = acked;
                self.w_est = cwnd;
                self.origin = self.w_max.max(cwnd);
                self.k = cubic_k(self.w_max, cwnd);
                now
            }
        };
        let ahead = self.delay_min.map_or(0, |rtt| self.ticks.count(rtt));
        let t = ((now.saturating_sub(start) + ahead) << 10) / self.ticks.hz();
        let target = self.w_cubic(t);
        let cnt = if target > cwnd {
            cwnd / (target - cwnd)
        } else {
            cwnd.saturating_mul(100)
        };
        match (self.config.variant, self.w_max) {
            // In the first epoch there is no W_max to aim at, and a small window would take long to
            // leave the flat part of the curve: grow by 5 % per RTT.
            (Variant::Linux | Variant::Linux3, 0) => cnt.min(20),
            (Variant::Linux20, 0) => 50,
            _ => cnt,
        }
    }
    /// RFC 9438 equation 1: W_cubic(t) = C (t - K)³ + W_max, with t in 1/1024 s.
    fn w_cubic(&self, t: u64) -> u32 {
        let distance = u128::from(t.abs_diff(self.k).min(1 << 30));
        // 410 · 2⁹⁰ < 2¹²⁸.
        let delta = (u128::from(C_1024THS) * distance * distance * distance) >> 40;
        let delta = delta.min(u128::from(Window::MAX)) as u32;
        if t < self.k {
            self.origin.saturating_sub(delta)
        } else {
            self.origin.saturating_add(delta)
        }
    }
    /// RFC 9438 section 4.3: W_est grows by alpha_cubic per window acknowledged; "If W_cubic(t) is less
    /// than W_est", the window follows W_est (the Reno-friendly region).
    fn follow_w_est(&mut self, cwnd: u32) {
        let per = ((u64::from(cwnd) * self.beta_scale) >> 3).max(1);
        let acked = u64::from(self.ack_cnt);
        if acked > per {
            let steps = (acked - 1) / per;
            self.ack_cnt = (acked - steps * per) as u32;
            self.w_est = self.w_est.saturating_add(steps as u32);
        }
        if self.w_est > cwnd {
            self.cnt = self.cnt.min(cwnd / (self.w_est - cwnd));
        }
    }

    /// `cubictcp_recalc_ssthresh`. RFC 9438 section 4.7: "W_max = cwnd * (1 + beta_cubic)/2" where the
    /// flow is below its last W_max; section 4.6: "ssthresh = flight_size * beta_cubic", with cwnd for
    /// flight_size as in Linux.
    pub(super) fn ssthresh(&mut self, window: &Window) -> u32 {
        self.epoch_start = None;
        let (cwnd, beta) = (u64::from(window.cwnd), u64::from(self.config.beta));
        self.w_max = if window.cwnd < self.w_max && self.config.fast_convergence {
            (cwnd * (1_024 + beta) / 2_048) as u32
        } else {
            window.cwnd
        };
        ((cwnd * beta / 1_024) as u32).max(2)
    }

    /// `cubictcp_state`: a time-out starts again from nothing, W_max and lowest RTT included.
    pub(super) fn set_state(&mut self, new: CaState, connection: &Connection) {
        if new == CaState::Loss {
            let hystart = std::mem::take(&mut self.hystart);
            *self = Self::reset(self.config, self.ticks);
            self.hystart = hystart;
            self.hystart.reset(connection.now, connection.snd_nxt);
        }
    }

    /// `cubictcp_cwnd_event`: the epoch moves by the length of a pause, so that the window continues
    /// on the curve where it was. Else a flow that was limited by its application would jump ahead
    /// by the time that it did not send.
    pub(super) fn cwnd_event(&mut self, event: Event, now: Time) {
        if let (Event::TxStart(pause), Some(start)) = (event, self.epoch_start)
            && self.config.variant == Variant::Linux
        {
            let tick = self.ticks.at(now);
            let pause = tick - self.ticks.at(now - pause);
            self.epoch_start = Some((start + pause).min(tick));
        }
    }
}

/// RFC 9438 equation 2: K = cbrt((W_max - cwnd_epoch)/C), in 1/1024 s.
fn cubic_k(w_max: u32, cwnd_epoch: u32) -> u64 {
    // 2⁴⁰/410 · 2³⁰ < 2⁶².
    cube_root(CUBE_FACTOR * u64::from(w_max.saturating_sub(cwnd_epoch)))
}

#[cfg(test)]
mod tests {
    use super::super::config;
    use super::*;

    fn cubic(options: &[(&str, &str)], ticks: Ticks) -> LinuxCubic {
        LinuxCubic::new(config(options), ticks, &mut Window::new(10))
    }

    #[test]
    fn a_reduction_leaves_beta_and_fast_convergence_lowers_the_maximum() {
        let mut cubic = cubic(&[], Ticks::EXACT);
        assert_eq!(cubic.ssthresh(&Window::new(1_000)), 700);
        assert_eq!(cubic.w_max, 1_000);
        assert_eq!(cubic.ssthresh(&Window::new(800)), 560);
        // W_max = cwnd (1 + beta)/2 = 0.85 cwnd (RFC 9438 section 4.7).
        assert_eq!(cubic.w_max, 680);
    }

    /// Linux 7.2, `bictcp_update`: t counts jiffies, `usecs_to_jiffies(delay_min)` rounds up, and all
    /// ACKs of a jiffy have the same t.
    #[test]
    fn the_clock_of_the_curve_is_the_hosts_jiffies() {
        let cwnd = 100_000;
        // 9.001 s are 9217/1024, and 2251 jiffies of 4 ms 9220/1024: 410/2⁴⁰ of their cubes are 291 and 292
        // segments.
        for (ticks, per) in [
            (Ticks::EXACT, cwnd / 291),
            (Ticks::new(250, Time::ZERO), cwnd / 292),
        ] {
            let mut cubic = cubic(&[], ticks);
            cubic.ssthresh(&Window::new(cwnd));
            cubic.delay_min = Some(Time::from_millis(9_001));
            let tick = |ms| cubic.ticks.at(Time::from_millis(ms));
            let (first, second) = (tick(1_000), tick(1_003));
            cubic.update(cwnd, 1, first);
            assert_eq!(cubic.cnt, per);
            cubic.update(cwnd + 1, 1, second);
            let is_same = first == second;
            assert_eq!(cubic.last_cwnd == cwnd, is_same);
        }
    }

    /// Seconds until the window is back at that of the loss, with one ACK per two segments.
    fn return_time(wmax: u32, rtt_ms: u64, options: &[(&str, &str)]) -> f64 {
        let mut cubic = cubic(options, Ticks::EXACT);
        let mut window = Window::new(wmax);
        window.ssthresh = cubic.ssthresh(&window);
        window.cwnd = window.ssthresh;
        let start = 10_000_000_000_u64;
        let mut nanos = start;
        while window.cwnd < wmax {
            let ack = AckSample {
                now: Time::from_nanos(nanos),
                acked: 2,
                rtt: Some(Time::from_millis(rtt_ms)),
                cwnd_limited: true,
                ..AckSample::default()
            };
            cubic.on_ack(&ack, &mut window);
            cubic.cong_avoid(&ack, &mut window);
            nanos += rtt_ms * 2_000_000 / u64::from(window.cwnd);
        }
        (nanos - start) as f64 / 1e9
    }

    /// K = cbrt(W_max (1 - beta)/C), RFC 9438 equation 2. The window aims one RTT ahead and gains one
    /// segment per `cnt`, so it arrives somewhat early. On the plateau C (t - K)³ stays below one
    /// segment for 1.4 s, which blurs the moment of return.
    #[test]
    fn returns_to_the_maximum_after_k() {
        for (wmax, options, beta) in [
            (1_000, &[][..], 0.7),
            (10_000, &[], 0.7),
            (10_000, &[("beta", "0.5")], 0.5),
            (10_000, &[("variant", "linux_3")], 0.7),
            (10_000, &[("variant", "linux_2_0")], 0.8),
        ] {
            let k = f64::cbrt(f64::from(wmax) * (1.0 - beta) / 0.4);
            let took = return_time(wmax, 100, options);
            let plateau = f64::cbrt(1.0 / 0.4);
            assert!(
                took > k - plateau - 0.2 && took < k + plateau,
                "{wmax} {options:?}: {took} for K = {k}"
            );
        }
    }
}
