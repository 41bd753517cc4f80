//! The state of H-TCP and its integers: Linux `net/ipv4/tcp_htcp.c`.
//!
//! Times are in jiffies modulo 2³²; RTTs in jiffies, rounded up. Products wrap where Linux's do: no path has so large a window.

use super::super::{CaState, Window};

/// 1 in the units of alpha and beta.
const ONE: u32 = 1 << 7;
/// 0.5 and 0.8.
const BETA_MIN: u32 = 64;
const BETA_MAX: u32 = 102;

/// Parameters of H-TCP, fixed at its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HtcpRules {
    /// Jiffies per second, 1 to 1 000.
    pub hz: u32,
    /// Whether alpha is in proportion to the RTT.
    pub rtt_scaling: bool,
    /// Whether a change of throughput sets beta to one half.
    pub bandwidth_switch: bool,
}

impl HtcpRules {
    /// `usecs_to_jiffies`, which rounds up.
    fn jiffies(&self, micros: u64) -> u32 {
        (micros * u64::from(self.hz)).div_ceil(1_000_000) as u32
    }
}

/// H-TCP of one connection; Linux `struct htcp`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HtcpState {
    /// Growth per round, in 1/128 of a segment.
    pub alpha: u32,
    /// Part of the window that remains after a reduction, in 1/128.
    pub beta: u8,
    /// Whether adaptive backoff is allowed.
    pub modeswitch: bool,
    /// Segments that the last ACK counts for.
    pub pkts_acked: u16,
    /// Segments acknowledged since `lasttime`.
    pub packetcount: u32,
    /// Lowest RTT in jiffies; zero before the first sample.
    pub min_rtt: u32,
    /// Highest RTT in jiffies since the last change of route, about.
    pub max_rtt: u32,
    /// Jiffy of the last reduction.
    pub last_cong: u32,
    /// `last_cong`, `max_rtt` and `old_max_b` before it; `last_cong` is zero where nothing can be undone.
    pub undo_last_cong: u32,
    /// See `undo_last_cong`.
    pub undo_max_rtt: u32,
    /// See `undo_last_cong`.
    pub undo_old_max_b: u32,
    /// Lowest throughput of this epoch, in segments per second.
    pub min_b: u32,
    /// Highest throughput of this epoch.
    pub max_b: u32,
    /// Highest throughput of the epoch before.
    pub old_max_b: u32,
    /// Smoothed throughput.
    pub bi: u32,
    /// Jiffy in which the throughput was last computed.
    pub lasttime: u32,
}

impl HtcpState {
    /// The state of a new connection (`htcp_init`).
    pub fn new(now: u32) -> Self {
        Self {
            alpha: ONE,
            beta: BETA_MIN as u8,
            modeswitch: false,
            pkts_acked: 1,
            packetcount: 0,
            min_rtt: 0,
            max_rtt: 0,
            last_cong: now,
            undo_last_cong: 0,
            undo_max_rtt: 0,
            undo_old_max_b: 0,
            min_b: 0,
            max_b: 0,
            old_max_b: 0,
            bi: 0,
            lasttime: 0,
        }
    }

    /// An ACK acknowledged `acked` segments in order, in this state of loss recovery, which it has not changed yet; `rtt` in µs
    /// (`measure_achieved_throughput`, `measure_rtt`).
    pub fn on_acked(
        &mut self,
        rules: &HtcpRules,
        state: CaState,
        acked: u32,
        rtt: Option<u32>,
        cwnd: u32,
        now: u32,
    ) {
        if state == CaState::Open {
            self.pkts_acked = acked as u16;
        }
        if let Some(micros @ 1..) = rtt {
            self.measure_rtt(rules, state, rules.jiffies(micros.into()));
        }
        if !rules.bandwidth_switch {
            return;
        }
        if state > CaState::Disorder {
            self.packetcount = 0;
            self.lasttime = now;
            return;
        }
        self.packetcount = self.packetcount.wrapping_add(acked);
        let round = cwnd.wrapping_sub((self.alpha >> 7).max(1));
        let elapsed = now.wrapping_sub(self.lasttime);
        if self.packetcount >= round && elapsed >= self.min_rtt && self.min_rtt > 0 {
            self.measure_throughput(rules, elapsed, now);
        }
    }
    fn measure_rtt(&mut self, rules: &HtcpRules, state: CaState, rtt: u32) {
        if self.min_rtt == 0 || rtt < self.min_rtt {
            self.min_rtt = rtt;
        }
        if state == CaState::Open {
            self.max_rtt = self.max_rtt.max(self.min_rtt);
            let most = self.max_rtt.wrapping_add(rules.jiffies(20_000));
            if (self.max_rtt + 1..=most).contains(&rtt) {
                self.max_rtt = rtt;
            }
        }
    }
    /// The throughput of a round that took `elapsed` jiffies.
    fn measure_throughput(&mut self, rules: &HtcpRules, elapsed: u32, now: u32) {
        let b = self.packetcount.wrapping_mul(rules.hz) / elapsed;
        if now.wrapping_sub(self.last_cong) / self.min_rtt <= 3 {
            // Just after a reduction.
            (self.bi, self.min_b, self.max_b) = (b, b, b);
        } else {
            self.bi = self.bi.wrapping_mul(3).wrapping_add(b) / 4;
            self.max_b = self.max_b.max(self.bi);
            self.min_b = self.min_b.min(self.max_b);
        }
        self.packetcount = 0;
        self.lasttime = now;
    }

    /// An ACK of `acked` segments may grow the window (`htcp_cong_avoid`).
    pub fn grow(&mut self, rules: &HtcpRules, acked: u32, now: u32, window: &mut Window) {
        if window.in_slow_start() {
            // The remainder at the threshold is lost.
            window.slow_start(acked);
            return;
        }
        if window.cwnd_cnt.wrapping_mul(self.alpha) >> 7 >= window.cwnd {
            window.cwnd = (window.cwnd + 1).min(Window::MAX);
            window.cwnd_cnt = 0;
            self.update_alpha(rules, now);
        } else {
            window.cwnd_cnt = window.cwnd_cnt.wrapping_add(self.pkts_acked.into());
        }
        self.pkts_acked = 1;
    }

    /// The threshold of a reduction that begins now (`htcp_recalc_ssthresh`, `htcp_param_update`).
    pub fn threshold(&mut self, rules: &HtcpRules, now: u32, cwnd: u32) -> u32 {
        self.update_beta(rules);
        self.update_alpha(rules, now);
        if self.min_rtt > 0 && self.max_rtt > self.min_rtt {
            // Memory of the highest RTT fades, so that a change of route is forgotten.
            let above = (self.max_rtt - self.min_rtt).wrapping_mul(95) / 100;
            self.max_rtt = self.min_rtt + above;
        }
        let kept = u64::from(cwnd) * u64::from(self.beta);
        ((kept >> 7) as u32).max(2)
    }
    /// draft-leith-tcp-htcp-06: 1 + 10 (D - 1 s) + ((D - 1 s)/2)² segments per round after D of more than a second
    /// (`htcp_alpha_update`).
    fn update_alpha(&mut self, rules: &HtcpRules, now: u32) {
        let (hz, since) = (rules.hz, now.wrapping_sub(self.last_cong));
        let mut factor = 1;
        if since > hz {
            let since = since - hz;
            let square = (since / 2).wrapping_mul(since / 2);
            factor = 1 + since.wrapping_mul(10).wrapping_add(square / hz) / hz;
        }
        if rules.rtt_scaling && self.min_rtt > 0 {
            // From a tenth to twice the increase, in 1/8 of its inverse.
            let scale = (hz << 3) / self.min_rtt.wrapping_mul(10).max(1);
            factor = ((factor << 3) / scale.clamp(4, 80)).max(1);
        }
        let alpha = 2 * (ONE - u32::from(self.beta));
        self.alpha = match alpha.wrapping_mul(factor) {
            0 => ONE,
            alpha => alpha,
        };
    }
    /// beta = RTTmin/RTTmax where the throughput of the last two epochs differs by a fifth at most (`htcp_beta_update`).
    fn update_beta(&mut self, rules: &HtcpRules) {
        if rules.bandwidth_switch {
            let (now, before) = (self.max_b, self.old_max_b);
            self.old_max_b = now;
            let low = before.wrapping_mul(4);
            let range = before.wrapping_mul(6).wrapping_sub(low);
            if now.wrapping_mul(5).wrapping_sub(low) > range {
                self.beta = BETA_MIN as u8;
                self.modeswitch = false;
                return;
            }
        }
        let is_long = self.min_rtt > rules.jiffies(10_000);
        if self.modeswitch && is_long && self.max_rtt > 0 {
            let beta = (self.min_rtt << 7) / self.max_rtt;
            self.beta = beta.clamp(BETA_MIN, BETA_MAX) as u8;
        } else {
            self.beta = BETA_MIN as u8;
            self.modeswitch = true;
        }
    }

    /// The state of loss recovery changes (`htcp_state`, `htcp_reset`).
    pub fn set_state(&mut self, new: CaState, now: u32) {
        match new {
            CaState::Cwr | CaState::Recovery | CaState::Loss => {
                self.undo_last_cong = self.last_cong;
                self.undo_max_rtt = self.max_rtt;
                self.undo_old_max_b = self.old_max_b;
                self.last_cong = now;
            }
            CaState::Open if self.undo_last_cong != 0 => {
                self.last_cong = now;
                self.undo_last_cong = 0;
            }
            CaState::Open | CaState::Disorder => {}
        }
    }
    /// The last reduction was spurious; returns the window to restore (`htcp_cwnd_undo`).
    pub fn undo(&mut self, window: &Window) -> u32 {
        if self.undo_last_cong != 0 {
            self.last_cong = self.undo_last_cong;
            self.max_rtt = self.undo_max_rtt;
            self.old_max_b = self.undo_old_max_b;
            self.undo_last_cong = 0;
        }
        window.cwnd.max(window.prior_cwnd)
    }
}

#[cfg(test)]
mod tests;
