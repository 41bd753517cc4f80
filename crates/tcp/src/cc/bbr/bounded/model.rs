//! Pacing rate and window from the model of the path.

use super::super::integers::{self, UNIT, carried};
use super::{Ack, Draw, MIN_CWND, Mode, Phase, Rules, Turn, UNSET};

/// Pacing gains of UP and of CRUISE and REFILL.
const UP_GAIN: u32 = UNIT * 5 / 4;
/// Window gain outside of start-up and UP.
const CWND_GAIN: u32 = UNIT * 2;
/// Gain of the window of `PROBE_RTT`.
const PROBE_RTT_GAIN: u32 = UNIT / 2;
/// The allowance for close peers halves with each 2⁹ µs of RTT (`bbr_tso_rtt_shift`).
const RTT_SHIFT: u32 = 9;

/// Segments of a super-segment at this rate.
pub(super) fn tso_segs(rules: &Rules, min_rtt_us: u32, pacing_rate: u64, mss: u32) -> u32 {
    let bytes = if rules.bursts_of_1_ms {
        pacing_rate / 1_000
    } else {
        let halvings = min_rtt_us >> RTT_SHIFT;
        let close = if halvings < 32 { 65_536 >> halvings } else { 0 };
        integers::burst(pacing_rate) + close
    };
    let least = if rules.may_send_singles {
        integers::min_tso_segs(pacing_rate)
    } else {
        2
    };
    (bytes.min(rules.largest.into()) as u32 / mss.max(1)).max(least)
}

impl<D: Draw> Turn<'_, D> {
    pub(super) fn tso_goal(&self) -> u32 {
        let (rate, mss) = (self.sock.pacing_rate, self.sock.mss);
        tso_segs(self.rules, self.s.min_rtt_us, rate, mss)
    }
    /// At least three super-segments and four segments.
    pub(super) fn quantise(&self, cwnd: u32) -> u32 {
        let cwnd = cwnd.max(self.tso_goal().wrapping_mul(3)).max(MIN_CWND);
        cwnd.wrapping_add(if self.s.is_in(Phase::Up) { 2 } else { 0 })
    }
    pub(super) fn inflight(&self, bw: u32, gain: u32) -> u32 {
        self.quantise(self.s.bdp(bw, gain))
    }
    /// Target of the packets in flight; less if the window is smaller.
    pub(super) fn target_inflight(&self) -> u32 {
        self.inflight(self.s.bw(), UNIT).min(self.sock.cwnd)
    }
    /// Packets that will be in the network at the next departure.
    pub(super) fn in_network(&self, in_flight: u32) -> u32 {
        let delivered = carried(self.s.bw(), self.sock.departure_us);
        let goal = if self.s.pacing_gain > UNIT {
            self.tso_goal()
        } else {
            0
        };
        in_flight.wrapping_add(goal).saturating_sub(delivered)
    }
    /// Whether a phase of this length is over.
    pub(super) fn has_elapsed(&self, length_us: u32) -> bool {
        self.sock.now_us > self.s.cycle_us + u64::from(length_us)
    }
    pub(super) fn probe_rtt_cwnd(&self) -> u32 {
        self.s.bdp(self.s.bw(), PROBE_RTT_GAIN).max(MIN_CWND)
    }

    pub(super) fn update_gains(&mut self) {
        let rules = self.rules;
        (self.s.pacing_gain, self.s.cwnd_gain) = match (self.s.mode, self.s.phase) {
            (Mode::Startup, _) => (rules.startup_gain, rules.startup_cwnd_gain),
            (Mode::Drain, _) => (rules.drain_gain, rules.startup_cwnd_gain),
            (Mode::ProbeBw, Phase::Up) => (UP_GAIN, rules.up_cwnd_gain),
            (Mode::ProbeBw, Phase::Down) => (rules.down_gain, CWND_GAIN),
            (Mode::ProbeBw, Phase::Cruise | Phase::Refill) => (UNIT, CWND_GAIN),
            (Mode::ProbeRtt, _) => (UNIT, UNIT),
        };
    }
    /// The rate never falls before the pipe is full.
    pub(super) fn set_pacing_rate(&mut self, bw: u32, gain: u32) {
        let rate = integers::rate(bw, self.sock.mss, gain).max(1);
        if !self.s.has_seen_rtt && self.sock.srtt_us > 0 {
            self.s.has_seen_rtt = true;
            let first = integers::first_bandwidth(self.sock.cwnd, self.sock.srtt_us);
            let first = integers::rate(first, self.sock.mss, self.rules.startup_gain);
            self.sock.pacing_rate = first.max(1);
        }
        if self.s.full_bw_reached || rate > self.sock.pacing_rate {
            self.sock.pacing_rate = rate;
        }
    }
    /// Packets that the window allows for ACKs that come in bunches.
    fn extra_acked(&self) -> u32 {
        let extra = self.s.extra_acked[0].max(self.s.extra_acked[1]);
        match self.rules.extra_acked_max_us {
            0 => extra,
            most => extra.min(carried(self.s.bw(), most)),
        }
    }
    pub(super) fn set_cwnd(&mut self, ack: &Ack, bw: u32) {
        if ack.acked > 0 {
            let target = self.s.bdp(bw, self.s.cwnd_gain);
            let target = self.quantise(target.wrapping_add(self.extra_acked()));
            let mut cwnd = self.sock.cwnd;
            self.s.try_fast_path = false;
            if self.s.full_bw_reached {
                cwnd = cwnd.wrapping_add(ack.acked);
                if cwnd >= target {
                    cwnd = target;
                    self.s.try_fast_path = true;
                }
            } else if cwnd < target || cwnd < 2 * self.s.init_cwnd {
                cwnd = cwnd.wrapping_add(ack.acked);
            } else {
                self.s.try_fast_path = true;
            }
            self.sock.cwnd = cwnd.max(MIN_CWND);
        }
        if self.s.mode == Mode::ProbeRtt {
            self.sock.cwnd = self.sock.cwnd.min(self.probe_rtt_cwnd());
        }
    }
    /// The bounds of the model apply to the window.
    pub(super) fn bound_cwnd(&mut self) {
        let cap = match self.s.mode {
            Mode::ProbeBw if self.s.phase != Phase::Cruise => self.s.inflight_hi,
            Mode::ProbeBw | Mode::ProbeRtt => self.s.with_headroom(),
            Mode::Startup | Mode::Drain => UNSET,
        };
        let cap = cap.min(self.s.inflight_lo).max(MIN_CWND);
        self.sock.cwnd = self.sock.cwnd.min(cap);
    }
}
