//! The state of Compound and its integers: `tcp_compound.c` 1.3 for Linux.
//!
//! Windows are in segments, RTTs in µs plus 1.

use crate::cc::{CaState, Window};

/// The options of a Compound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompoundRules {
    /// Segments that may wait in the network, at first.
    pub gamma: u32,
    /// The least that `gamma` becomes.
    pub gamma_low: u32,
    /// The most that `gamma` becomes.
    pub gamma_high: u32,
    /// Window below which Reno is alone.
    pub low_window: u32,
    /// Part of dwnd lost for each segment that waits.
    pub eta: u32,
    /// Gain with which `gamma` follows its samples, in 1/64.
    pub lambda: u32,
    /// Whether dwnd grows over the round trip, not at once.
    pub paced: bool,
}

/// Compound of one connection; `struct compound` of the original.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompoundState {
    /// First number of the round.
    pub beg_snd_una: u64,
    /// The round ends when a number beyond this is acknowledged.
    pub beg_snd_nxt: u64,
    /// Reno's part of the window when it began.
    pub beg_cwnd: u32,
    /// RTT samples in the round.
    pub cnt_rtt: u32,
    /// The lowest of them.
    pub min_rtt: Option<u32>,
    /// The lowest RTT ever.
    pub base_rtt: Option<u32>,
    /// Reno's part of the window.
    pub cwnd: u32,
    /// The delay-based part.
    pub dwnd: u32,
    /// Segments that Reno's part alone leaves in the network, in halves.
    pub diff_reno: Option<u32>,
    /// Segments that may wait in the network.
    pub gamma: u32,
    /// ACKs per paced increment; `None` in a round without any so far.
    pub incr_interval: Option<u32>,
    /// Paced increments of this round that are left.
    pub dwnd_left: u32,
    /// ACKs since the last of them.
    pub ack_since_dwnd_inc: u32,
}

impl CompoundState {
    /// The state of a new connection (`tcp_compound_init`).
    pub fn new(rules: &CompoundRules, snd_nxt: u64, cwnd: u32) -> Self {
        Self {
            beg_snd_una: snd_nxt,
            beg_snd_nxt: snd_nxt,
            beg_cwnd: 0,
            cnt_rtt: 0,
            min_rtt: None,
            base_rtt: None,
            cwnd,
            dwnd: 0,
            diff_reno: None,
            gamma: rules.gamma,
            incr_interval: None,
            dwnd_left: 0,
            ack_since_dwnd_inc: 0,
        }
    }
    /// The first segment leaves after a pause: all but the lowest RTT begins anew (`tcp_compound_cwnd_event`).
    pub fn restart(&mut self, rules: &CompoundRules, snd_nxt: u64, cwnd: u32) {
        self.begin(snd_nxt);
        self.dwnd = 0;
        self.cwnd = cwnd;
        self.gamma = rules.gamma;
    }
    /// A round begins of which nothing is known (`ctcp_enable`).
    fn begin(&mut self, snd_nxt: u64) {
        self.beg_snd_nxt = snd_nxt;
        self.cnt_rtt = 0;
        self.min_rtt = None;
        self.diff_reno = None;
        self.incr_interval = None;
        self.dwnd_left = 0;
        self.ack_since_dwnd_inc = 0;
    }
    /// An ACK has an RTT, in µs (`tcp_compound_pkts_acked`).
    pub fn on_rtt(&mut self, micros: u32) {
        let rtt = micros.saturating_add(1);
        let lowest = |known: Option<u32>| Some(known.map_or(rtt, |known| known.min(rtt)));
        self.base_rtt = lowest(self.base_rtt);
        self.min_rtt = lowest(self.min_rtt);
        self.cnt_rtt += 1;
    }
    /// The threshold of a reduction that begins now: half of the window. gamma moves towards three quarters of what Reno's part alone
    /// would leave in the network (`tcp_compound_ssthresh`).
    pub fn threshold(&mut self, rules: &CompoundRules, window: &Window) -> u32 {
        if let Some(diff) = self.diff_reno.take() {
            let sample = (i64::from(diff) * 3) >> 3;
            let gamma = i64::from(self.gamma);
            let moved = gamma + ((sample - gamma) * i64::from(rules.lambda)).div_euclid(64);
            let (low, high) = (rules.gamma_low, rules.gamma_high.max(rules.gamma_low));
            self.gamma = moved.clamp(low.into(), high.into()) as u32;
        }
        window.half()
    }
    /// The state of loss recovery changes (`tcp_compound_state`).
    pub fn set_state(&mut self, new: CaState, snd_nxt: u64) {
        if new == CaState::Open {
            self.begin(snd_nxt);
        }
    }

    /// An ACK of `acked` segments up to `snd_una` may grow the window (`tcp_compound_cong_avoid`).
    pub fn grow(
        &mut self,
        rules: &CompoundRules,
        window: &mut Window,
        (snd_una, snd_nxt): (u64, u64),
        mss: u32,
        acked: u32,
    ) {
        let both = u64::from(self.cwnd) + u64::from(self.dwnd);
        if both > u64::from(window.cwnd) {
            // The sender has reduced the window: both parts give way alike.
            self.dwnd = (u64::from(self.dwnd) * u64::from(window.cwnd) / both) as u32;
        }
        let left = match window.in_slow_start() {
            true => window.slow_start(acked),
            false => acked,
        };
        if left > 0 {
            window.cong_avoid_ai(window.cwnd, left);
        }
        self.cwnd = window.cwnd - self.dwnd;
        if self.dwnd_left > 0 {
            self.ack_since_dwnd_inc += 1;
            if self
                .incr_interval
                .is_some_and(|every| self.ack_since_dwnd_inc > every)
            {
                self.ack_since_dwnd_inc = 0;
                self.dwnd_left -= 1;
                self.dwnd += 1;
            }
        }
        if snd_una > self.beg_snd_nxt {
            self.end_round(rules, window, snd_nxt, mss);
        }
        window.cwnd = (self.cwnd + self.dwnd).min(Window::MAX);
    }
    fn end_round(&mut self, rules: &CompoundRules, window: &Window, snd_nxt: u64, mss: u32) {
        let bytes = self.beg_snd_nxt - self.beg_snd_una;
        let segments = (bytes / u64::from(mss.max(1))) as u32;
        self.dwnd += self.dwnd_left;
        self.dwnd_left = 0;
        self.beg_snd_una = self.beg_snd_nxt;
        self.beg_snd_nxt = snd_nxt;
        let cwnd = std::mem::replace(&mut self.beg_cwnd, self.cwnd);
        if window.cwnd < rules.low_window || window.in_slow_start() {
            self.dwnd = 0;
        } else if let (Some(base), Some(rtt), 3..) = (self.base_rtt, self.min_rtt, self.cnt_rtt) {
            let waiting = diff(segments, base, rtt);
            self.diff_reno = Some(diff(cwnd, base, rtt));
            self.adapt(rules, waiting, segments, window.cwnd);
        }
        self.cnt_rtt = 0;
        self.min_rtt = None;
    }
    /// Fewer than gamma segments wait: grow. Else give back what waits.
    fn adapt(&mut self, rules: &CompoundRules, waiting: u32, segments: u32, snd_cwnd: u32) {
        if waiting < self.gamma * 2 {
            let more = increment(segments);
            if !rules.paced {
                self.dwnd += more;
            } else if more > 0 {
                self.dwnd_left = more;
                // Half of the round trip's ACKs, which may be delayed.
                self.incr_interval = Some((snd_cwnd / (2 * more)).max(1));
                self.ack_since_dwnd_inc = 0;
            }
        } else {
            let excess = u64::from(waiting) * u64::from(rules.eta);
            self.dwnd = u64::from(self.dwnd).saturating_sub(excess / 2) as u32;
        }
    }
}

/// Segments by which dwnd grows in a round of so many: their number to the power of 3/4, over 8, and less the one that Reno adds.
fn increment(segments: u32) -> u32 {
    let root = (segments.isqrt() << 16).isqrt();
    let grown = ((u64::from(segments) << 8) / u64::from(root.max(1))) >> 3;
    (grown as u32).saturating_sub(1)
}

/// Segments that wait in the network, in 1/2: 2W (1 - base/RTT), rounded up.
fn diff(segments: u32, base: u32, rtt: u32) -> u32 {
    let expected = 2 * u64::from(segments) * u64::from(base) / u64::from(rtt.max(1));
    2 * segments - expected as u32
}

#[cfg(test)]
mod tests;
