//! CUBIC: RFC 9438; Linux `net/ipv4/tcp_cubic.c` in its integers, of today and of two older dates.
//!
//! After a reduction the window follows W(t) = C (t - K)³ + Wmax: fast back towards the window at
//! which the loss happened, slow around it, fast beyond. Where Reno would be faster, it follows
//! Reno's average instead (the friendly region).
//!
//! | variant | beta | slow start | counts | differences |
//! | --- | --- | --- | --- | --- |
//! | `linux` | 0.70 | HyStart | segments | that of Linux 4.x to 6.x |
//! | `linux_3` | 0.70 | HyStart, threshold RTT/16 | ACKs · mean segments per ACK | Linux 3.0 to 3.5 |
//! | `linux_2_0` | 0.80 | to a threshold of 100 | ACKs · mean segments per ACK | module version 2.0 |
//! | `rfc_9438`, `freebsd_2010` | | | | see [`cubic_textbook`](super::cubic_textbook) |
//!
//! Its clock is the host's jiffies (`tcp_jiffies32`): with HZ = 250 the curve moves every 4 ms, and
//! looks ahead by the lowest RTT rounded up to such.
//!
//! Deviations from Linux: 1. where timers are exact, a jiffy is a millisecond; 2. the cube root is
//! exact, Linux's is within 0.2 %; 3. products are wide enough for any window; 4. `linux_2_0` has
//! no limit of the increment (`max_increment`), and C is 0.4 throughout, as its authors published.

use quell_units::parameter::{Default as Otherwise, Domain};
use quell_units::{Parameter, Settings, Time};

use super::control::{Event, State};
use super::hystart::HyStart;
use super::{AckSample, CcConfig, Kind, Window};
use crate::ticks::Ticks;

/// C = 0.4 as 410/1024 (`bic_scale` 41, times 10).
const C_1024THS: u64 = 410;
/// K³ in units of 2⁻³⁰ s³ for each segment below Wmax: 2⁴⁰ / 410.
pub(super) const CUBE_FACTOR: u64 = (1 << 40) / C_1024THS;
/// The window is computed at least so often per second.
const REFRESH: u64 = 32;

/// Which CUBIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Variant {
    /// Linux today.
    #[default]
    Linux,
    /// Linux 3.0 to 3.5.
    Linux3,
    /// Linux before 2.6.29, module version 2.0.
    Linux20,
    /// RFC 9438 with fractions of segments.
    Rfc9438,
    /// FreeBSD's first.
    FreeBsd2010,
}

/// Options of CUBIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CubicConfig {
    /// Which CUBIC.
    pub variant: Variant,
    /// What a reduction leaves of the window, in 1/1024; 1 to 1023.
    pub beta: u32,
    /// Whether a flow that was reduced below its last maximum gives way further.
    pub fast_convergence: bool,
    /// Whether the window is never below Reno's.
    pub tcp_friendliness: bool,
    /// Whether slow start may end before loss.
    pub hystart: bool,
}

impl Default for CubicConfig {
    fn default() -> Self {
        Self::from_settings(&Settings::new(KIND.parameters))
    }
}

pub(super) const KIND: Kind = Kind {
    name: "cubic",
    scalable: false,
    summary: "A cubic of the time since the last loss, never slower than Reno.",
    source: "RFC 9438; Linux tcp_cubic.c",
    parameters: &[
        Parameter {
            name: "variant",
            opposite: None,
            domain: Domain::Word(&["linux", "linux_3", "linux_2_0", "rfc_9438", "freebsd_2010"]),
            default: Otherwise::Is("linux"),
            only: None,
            live: false,
            source: "Linux tcp_cubic.c (today, 3.0 to 3.5, module version 2.0); RFC 9438; FreeBSD 2010",
            help: "Which date's arithmetic, constants and slow start.",
        },
        Parameter {
            name: "beta",
            opposite: None,
            domain: Domain::Fraction(1, 1_023, 1_024),
            default: Otherwise::By(
                "variant",
                &[
                    ("linux", "0.7"),
                    ("linux_3", "0.7"),
                    ("linux_2_0", "0.8"),
                    ("rfc_9438", "0.7"),
                    ("freebsd_2010", "0.8"),
                ],
            ),
            only: None,
            live: false,
            source: "RFC 9438 section 4.6 (0.7); Linux module parameter beta, in 1/1024",
            help: "What a reduction leaves of the window; kept in 1/1024, as Linux does (0.7 is 717).",
        },
        Parameter {
            name: "fast_convergence",
            opposite: None,
            domain: Domain::Flag,
            default: Otherwise::Is("true"),
            only: None,
            live: false,
            source: "Linux module parameter; RFC 9438 section 4.7",
            help: "Whether a flow reduced below its last maximum gives way further.",
        },
        Parameter {
            name: "tcp_friendliness",
            opposite: None,
            domain: Domain::Flag,
            default: Otherwise::Is("true"),
            only: None,
            live: false,
            source: "Linux module parameter; RFC 9438 section 4.3",
            help: "Whether the window is never below Reno's.",
        },
        Parameter {
            name: "hystart",
            opposite: None,
            domain: Domain::Flag,
            default: Otherwise::By(
                "variant",
                &[
                    ("linux", "true"),
                    ("linux_3", "true"),
                    ("linux_2_0", "false"),
                    ("rfc_9438", "true"),
                    ("freebsd_2010", "false"),
                ],
            ),
            only: None,
            live: false,
            source: "Linux module parameter",
            help: "Whether slow start may end before loss, by ACK trains and rising delay.",
        },
    ],
    make: |settings| CcConfig::Cubic(CubicConfig::from_settings(settings)),
};

impl CubicConfig {
    fn from_settings(settings: &Settings) -> Self {
        Self {
            variant: match settings.word("variant") {
                "linux_3" => Variant::Linux3,
                "linux_2_0" => Variant::Linux20,
                "rfc_9438" => Variant::Rfc9438,
                "freebsd_2010" => Variant::FreeBsd2010,
                _ => Variant::Linux,
            },
            beta: settings.number("beta") as u32,
            fast_convergence: settings.flag("fast_convergence"),
            tcp_friendliness: settings.flag("tcp_friendliness"),
            hystart: settings.flag("hystart"),
        }
    }
    /// The slow-start threshold of a new connection (`initial_ssthresh`).
    pub(super) fn initial_threshold(&self) -> Option<u32> {
        (self.variant == Variant::Linux20).then_some(100)
    }
}

/// CUBIC of one connection.
#[derive(Debug, Clone)]
pub struct Cubic {
    config: CubicConfig,
    ticks: Ticks,
    /// Segments acknowledged per 8 segments of Reno's growth and window.
    friendly_scale: u64,
    /// One segment is added for so many acknowledged.
    per: u32,
    /// Window at the last reduction (Wmax), after fast convergence; zero before the first.
    last_max: u32,
    /// The jiffy in which the window was computed, and for which window.
    last_tick: u64,
    last_cwnd: u32,
    /// The jiffy in which the epoch began; `None` after a reduction.
    epoch: Option<u64>,
    /// Time from the start of the epoch to Wmax, in 1/1024 s.
    k: u64,
    origin: u32,
    lowest_rtt: Option<Time>,
    /// Reno's window, and segments acknowledged towards its next increment.
    friendly: u32,
    friendly_acked: u32,
    /// Mean segments per ACK in 1/16, in the older variants.
    segments_per_ack: u32,
    hystart: HyStart,
}

impl Cubic {
    /// For a new connection of a host whose jiffies are `ticks`.
    pub fn new(config: CubicConfig, ticks: Ticks) -> Self {
        let beta = u64::from(config.beta.clamp(1, 1_023));
        Self {
            config,
            ticks: ticks.or_hz(1_000),
            friendly_scale: 8 * (1_024 + beta) / 3 / (1_024 - beta),
            per: 0,
            last_max: 0,
            last_tick: 0,
            last_cwnd: 0,
            epoch: None,
            k: 0,
            origin: 0,
            lowest_rtt: None,
            friendly: 0,
            friendly_acked: 0,
            segments_per_ack: 32,
            hystart: HyStart::default(),
        }
    }

    pub(super) fn on_ack(&mut self, ack: &AckSample, window: &mut Window) {
        let Some(rtt) = ack.rtt else { return };
        // Not for a second after a reduction.
        let since = self
            .epoch
            .map(|start| self.ticks.at(ack.now).saturating_sub(start));
        if since.is_some_and(|since| since < self.ticks.hz()) {
            return;
        }
        let lowest = self.lowest_rtt.map_or(rtt, |lowest| lowest.min(rtt));
        self.lowest_rtt = Some(lowest);
        if self.config.hystart {
            let shift = if self.config.variant == Variant::Linux {
                3
            } else {
                4
            };
            self.hystart.on_sample(rtt, lowest, shift, ack, window);
        }
    }

    pub(super) fn increase(&mut self, ack: &AckSample, window: &mut Window) {
        let counts_acks = self.config.variant != Variant::Linux;
        let mut acked = ack.acked;
        if counts_acks {
            let mean = self.segments_per_ack;
            self.segments_per_ack = (mean - (mean >> 4)).saturating_add(acked).max(1);
            acked = 1;
        }
        if window.in_slow_start() {
            acked = window.slow_start(acked);
            if acked == 0 {
                return;
            }
        }
        self.update(window.cwnd, acked, self.ticks.at(ack.now));
        window.additive_increase(self.per, acked);
    }

    /// Computes how many acknowledged segments the next increment takes.
    fn update(&mut self, cwnd: u32, acked: u32, now: u64) {
        self.friendly_acked = self.friendly_acked.saturating_add(acked);
        let since = now.saturating_sub(self.last_tick);
        let is_current = self.config.variant == Variant::Linux;
        if self.last_cwnd == cwnd && since <= self.ticks.hz() / REFRESH {
            return;
        }
        // Today's cubic moves once per tick; a reduction ends the epoch and forces it.
        if self.epoch.is_none() || since > 0 || !is_current {
            self.last_cwnd = cwnd;
            self.last_tick = now;
            self.per = self.segments_per_increment(cwnd, acked, now);
        }
        if self.config.tcp_friendliness {
            self.follow_reno(cwnd);
        }
        if is_current {
            self.per = self.per.max(2);
        } else {
            let per = (u64::from(self.per) << 4) / u64::from(self.segments_per_ack);
            self.per = (per as u32).max(1);
        }
    }

    /// The cubic: segments to acknowledge per increment, so that the window is W(t + RTT) one RTT
    /// from now (RFC 9438 equation 1 and section 4.4).
    fn segments_per_increment(&mut self, cwnd: u32, acked: u32, now: u64) -> u32 {
        let start = match self.epoch {
            Some(start) => start,
            None => {
                self.epoch = Some(now);
                self.friendly_acked = acked;
                self.friendly = cwnd;
                let below = self.last_max.saturating_sub(cwnd);
                self.origin = self.last_max.max(cwnd);
                // 2⁴⁰/410 · 2³⁰ < 2⁶².
                self.k = cube_root(CUBE_FACTOR * u64::from(below));
                now
            }
        };
        let ahead = self.lowest_rtt.map_or(0, |rtt| self.ticks.count(rtt));
        let t = ((now.saturating_sub(start) + ahead) << 10) / self.ticks.hz();
        let distance = u128::from(t.abs_diff(self.k).min(1 << 30));
        // 410 · 2⁹⁰ < 2¹²⁸.
        let delta = (u128::from(C_1024THS) * distance * distance * distance) >> 40;
        let delta = delta.min(u128::from(Window::MAX)) as u32;
        let target = if t < self.k {
            self.origin.saturating_sub(delta)
        } else {
            self.origin.saturating_add(delta)
        };
        let per = if target > cwnd {
            cwnd / (target - cwnd)
        } else {
            cwnd.saturating_mul(100)
        };
        match (self.config.variant, self.last_max) {
            // Without a maximum to aim at, search faster.
            (Variant::Linux | Variant::Linux3, 0) => per.min(20),
            (Variant::Linux20, 0) => 50,
            _ => per,
        }
    }

    /// Reno's average with this beta: 3 (1 - beta)/(1 + beta) segments per round (RFC 9438
    /// section 4.3).
    fn follow_reno(&mut self, cwnd: u32) {
        let per = ((u64::from(cwnd) * self.friendly_scale) >> 3).max(1);
        let acked = u64::from(self.friendly_acked);
        if acked > per {
            let steps = (acked - 1) / per;
            self.friendly_acked = (acked - steps * per) as u32;
            self.friendly = self.friendly.saturating_add(steps as u32);
        }
        if self.friendly > cwnd {
            self.per = self.per.min(cwnd / (self.friendly - cwnd));
        }
    }

    pub(super) fn threshold(&mut self, window: &Window) -> u32 {
        self.epoch = None;
        let (cwnd, beta) = (u64::from(window.cwnd), u64::from(self.config.beta));
        self.last_max = if window.cwnd < self.last_max && self.config.fast_convergence {
            (cwnd * (1_024 + beta) / 2_048) as u32
        } else {
            window.cwnd
        };
        ((cwnd * beta / 1_024) as u32).max(2)
    }

    pub(super) fn on_state(&mut self, new: State, ack: &AckSample, _window: &mut Window) {
        if new == State::Loss {
            let hystart = std::mem::take(&mut self.hystart);
            *self = Self::new(self.config, self.ticks);
            self.hystart = hystart;
            self.hystart.reset(ack.now, ack.next);
        }
    }

    /// A pause of the application does not count as time since the loss.
    pub(super) fn on_event(&mut self, event: Event, now: Time) {
        if let (Event::Resume(pause), Some(start)) = (event, self.epoch)
            && self.config.variant == Variant::Linux
        {
            let tick = self.ticks.at(now);
            let pause = tick - self.ticks.at(now - pause);
            self.epoch = Some((start + pause).min(tick));
        }
    }
}

/// The cube root, rounded down.
pub(super) fn cube_root(n: u64) -> u64 {
    let mut root = 0_u64;
    for bit in (0..22).rev() {
        let trial = root | 1 << bit;
        if u128::from(trial) * u128::from(trial) * u128::from(trial) <= u128::from(n) {
            root = trial;
        }
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cube_root_is_exact() {
        for root in [0_u64, 1, 2, 3, 10, 255, 256, 65_535, 1_000_000, 2_097_151] {
            let cube = root * root * root;
            assert_eq!(cube_root(cube), root);
            assert_eq!(cube_root(cube + 3 * root * root), root);
            if root > 0 {
                assert_eq!(cube_root(cube - 1), root - 1);
            }
        }
    }

    #[test]
    fn a_reduction_leaves_beta_and_fast_convergence_lowers_the_maximum() {
        let mut cubic = Cubic::new(CubicConfig::default(), Ticks::EXACT);
        assert_eq!(cubic.threshold(&Window::new(1_000)), 700);
        assert_eq!(cubic.last_max, 1_000);
        assert_eq!(cubic.threshold(&Window::new(800)), 560);
        // Wmax = cwnd (1 + beta)/2 = 0.85 cwnd (RFC 9438 section 4.7).
        assert_eq!(cubic.last_max, 680);
    }

    /// Linux 7.2, `bictcp_update`: t is counted in jiffies, `usecs_to_jiffies(delay_min)` rounds up,
    /// and there is one t for all ACKs of a jiffy.
    #[test]
    fn the_clock_of_the_curve_is_the_hosts_jiffies() {
        let cwnd = 100_000;
        // 9.001 s are 9217/1024, and 2251 jiffies of 4 ms 9220/1024: 410/2⁴⁰ of their cubes are 291 and 292
        // segments.
        for (ticks, per) in [
            (Ticks::EXACT, cwnd / 291),
            (Ticks::new(250, Time::ZERO), cwnd / 292),
        ] {
            let mut cubic = Cubic::new(CubicConfig::default(), ticks);
            cubic.threshold(&Window::new(cwnd));
            cubic.lowest_rtt = Some(Time::from_millis(9_001));
            let tick = |ms| cubic.ticks.at(Time::from_millis(ms));
            let (first, second) = (tick(1_000), tick(1_003));
            cubic.update(cwnd, 1, first);
            assert_eq!(cubic.per, per);
            cubic.update(cwnd + 1, 1, second);
            let is_same = first == second;
            assert_eq!(cubic.last_cwnd == cwnd, is_same);
        }
    }

    /// Seconds until the window is back at the one of the loss, one ACK per two segments.
    fn return_time(wmax: u32, rtt_ms: u64, options: &[(&str, &str)]) -> f64 {
        let Ok(CcConfig::Cubic(config)) = KIND.configure(options) else {
            panic!("options")
        };
        let mut cubic = Cubic::new(config, Ticks::EXACT);
        let mut window = Window::new(wmax);
        window.ssthresh = cubic.threshold(&window);
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
            cubic.increase(&ack, &mut window);
            nanos += rtt_ms * 2_000_000 / u64::from(window.cwnd);
        }
        (nanos - start) as f64 / 1e9
    }

    /// K = cbrt(Wmax (1 - beta)/C), RFC 9438 equation 2. The window aims one RTT ahead and gains one
    /// segment per `cnt`, so it arrives somewhat early, and the plateau hides about the time in
    /// which C (t - K)³ is one segment (1.4 s).
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
