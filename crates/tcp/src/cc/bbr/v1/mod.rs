//! BBR v1: Linux `net/ipv4/tcp_bbr.c`, which has not changed since 2019 except at its interface.
//!
//! The functions stand in the order in which an ACK meets them. Deviation: none known. What Linux keeps in
//! narrow fields is cut to their widths.

mod police;
#[cfg(test)]
mod tests;

use super::integers::{self, LARGEST, UNIT, after, bandwidth_down, carried};
use super::windowed_max::WindowedMax;
use super::{Ack, Draw, NO_RTT, Sock, state};
use police::Police;

/// Gain of start-up, for pacing and window: 2/ln 2, rounded up (`bbr_high_gain`).
const HIGH_GAIN: u32 = UNIT * 2_885 / 1_000 + 1;
const DRAIN_GAIN: u32 = UNIT * 1_000 / 2_885;
const CWND_GAIN: u32 = UNIT * 2;
/// Pacing gains of the phases of `PROBE_BW`.
const CYCLE: [u32; 8] = [
    UNIT * 5 / 4,
    UNIT * 3 / 4,
    UNIT,
    UNIT,
    UNIT,
    UNIT,
    UNIT,
    UNIT,
];
/// The first phase is one of this many; never the one that drains (`bbr_cycle_rand`).
const CYCLE_RAND: u32 = 7;
/// Rounds of the bandwidth filter.
const BW_ROUNDS: u32 = 10;
/// Growth of bandwidth within a round that start-up needs, and the rounds it waits for it.
const FULL_BW_THRESH: u32 = UNIT * 5 / 4;
const FULL_BW_COUNT: u32 = 3;
/// Least window in segments.
const MIN_CWND: u32 = 4;
/// A new connection's window (`TCP_INIT_CWND`).
const INIT_CWND: u32 = 10;
/// Rounds after which the slot of the aggregation filter changes.
const EXTRA_ACKED_ROUNDS: u32 = 5;
/// Longest time at full bandwidth that extra ACKs are worth, in µs.
const EXTRA_ACKED_MAX_US: u32 = 100_000;
/// An epoch of aggregation is at most this many packets.
const EPOCH_LIMIT: u32 = 1 << 20;

/// The phase of the connection, which decides the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// Windows in jiffies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Age at which the lowest RTT expires: 10 s.
    pub min_rtt_window: u32,
    /// Length of `PROBE_RTT`: 200 ms.
    pub probe_rtt: u32,
}

/// BBR v1 of one connection; `struct bbr`.
#[derive(Debug, Clone)]
pub struct Machine {
    timing: Timing,
    mode: Mode,
    /// State of loss recovery at the last ACK.
    prev_ca_state: u32,
    min_rtt_us: u32,
    min_rtt_stamp: u32,
    probe_rtt_done_stamp: u32,
    probe_rtt_round_done: bool,
    bw: WindowedMax,
    /// Rounds begun.
    rtt_cnt: u32,
    next_rtt_delivered: u32,
    round_start: bool,
    /// Beginning of the phase of `PROBE_BW`, in µs.
    cycle_us: u64,
    cycle: usize,
    packet_conservation: bool,
    idle_restart: bool,
    has_seen_rtt: bool,
    pacing_gain: u32,
    cwnd_gain: u32,
    full_bw: u32,
    full_bw_cnt: u32,
    full_bw_reached: bool,
    prior_cwnd: u32,
    police: Police,
    /// Aggregation of ACKs: start of the epoch in µs, packets in it, the maxima of two slots.
    epoch_us: u64,
    epoch_acked: u32,
    extra_acked: [u16; 2],
    extra_acked_rounds: u32,
    extra_acked_slot: usize,
}

impl Machine {
    /// A new connection (`bbr_init`).
    pub fn new(timing: Timing, sock: &mut Sock) -> Self {
        let mut machine = Self {
            timing,
            mode: Mode::Startup,
            prev_ca_state: state::OPEN,
            min_rtt_us: sock.min_rtt_us,
            min_rtt_stamp: sock.jiffies,
            probe_rtt_done_stamp: 0,
            probe_rtt_round_done: false,
            bw: WindowedMax::default(),
            rtt_cnt: 0,
            next_rtt_delivered: 0,
            round_start: false,
            cycle_us: 0,
            cycle: 0,
            packet_conservation: false,
            idle_restart: false,
            has_seen_rtt: false,
            pacing_gain: 0,
            cwnd_gain: 0,
            full_bw: 0,
            full_bw_cnt: 0,
            full_bw_reached: false,
            prior_cwnd: 0,
            police: Police::default(),
            epoch_us: sock.now_us,
            epoch_acked: 0,
            extra_acked: [0; 2],
            extra_acked_rounds: 0,
            extra_acked_slot: 0,
        };
        sock.ssthresh = u32::MAX;
        machine.police.reset(sock);
        machine.set_first_rate(sock);
        machine
    }
    /// Its windows.
    pub fn timing(&self) -> Timing {
        self.timing
    }
    /// An ACK whose losses are known (`bbr_main`).
    pub fn on_ack(&mut self, sock: &mut Sock, ack: &Ack, draw: &mut impl Draw) {
        self.update_bw(sock, ack, draw);
        self.update_ack_aggregation(sock, ack);
        self.update_cycle_phase(sock, ack);
        self.check_full_bw_reached(ack);
        self.check_drain(sock, draw);
        self.update_min_rtt(sock, ack, draw);
        self.update_gains();
        let bw = self.bw();
        self.set_pacing_rate(sock, bw, self.pacing_gain);
        self.set_cwnd(sock, ack, bw);
    }

    fn max_bw(&self) -> u32 {
        self.bw.get()
    }
    /// The bandwidth to send at: the policer's, if there is one.
    fn bw(&self) -> u32 {
        self.police.bw().unwrap_or(self.max_bw())
    }

    fn update_bw(&mut self, sock: &mut Sock, ack: &Ack, draw: &mut impl Draw) {
        self.round_start = false;
        if ack.interval_us == 0 {
            return;
        }
        if !after(self.next_rtt_delivered, ack.prior_delivered) {
            self.next_rtt_delivered = sock.delivered;
            self.rtt_cnt = self.rtt_cnt.wrapping_add(1);
            self.round_start = true;
            self.packet_conservation = false;
        }
        self.look_for_policer(sock, ack.losses, ack.is_app_limited != 0, draw);
        let bw = bandwidth_down(ack.delivered, ack.interval_us);
        if ack.is_app_limited == 0 || bw >= self.max_bw() {
            self.bw.take(BW_ROUNDS, self.rtt_cnt, bw);
        }
    }
    fn look_for_policer(
        &mut self,
        sock: &Sock,
        losses: u32,
        is_app_limited: bool,
        draw: &mut impl Draw,
    ) {
        if self.police.is_found() {
            let begins = self.mode == Mode::ProbeBw && self.round_start;
            if begins && self.police.has_served() {
                self.police.reset(sock);
                self.enter_probe_bw(sock, draw);
            }
        } else if self
            .police
            .sample(sock, losses, is_app_limited, self.round_start)
        {
            self.pacing_gain = UNIT;
        }
    }

    fn update_ack_aggregation(&mut self, sock: &Sock, ack: &Ack) {
        if ack.acked == 0 || ack.interval_us == 0 {
            return;
        }
        if self.round_start {
            self.extra_acked_rounds += 1;
            if self.extra_acked_rounds >= EXTRA_ACKED_ROUNDS {
                self.extra_acked_rounds = 0;
                self.extra_acked_slot ^= 1;
                self.extra_acked[self.extra_acked_slot] = 0;
            }
        }
        let elapsed = sock.delivered_us.saturating_sub(self.epoch_us) as u32;
        let mut expected = carried(self.bw(), elapsed);
        if self.epoch_acked <= expected || self.epoch_acked + ack.acked >= EPOCH_LIMIT {
            self.epoch_acked = 0;
            self.epoch_us = sock.delivered_us;
            expected = 0;
        }
        self.epoch_acked = (self.epoch_acked + ack.acked).min(EPOCH_LIMIT - 1);
        let extra = (self.epoch_acked - expected).min(sock.cwnd);
        let slot = &mut self.extra_acked[self.extra_acked_slot];
        if extra > u32::from(*slot) {
            *slot = extra as u16;
        }
    }
    /// Packets that the window allows for ACKs that come in bunches.
    fn extra_acked(&self) -> u32 {
        if !self.full_bw_reached {
            return 0;
        }
        let most = carried(self.bw(), EXTRA_ACKED_MAX_US);
        u32::from(self.extra_acked[0].max(self.extra_acked[1])).min(most)
    }

    fn update_cycle_phase(&mut self, sock: &Sock, ack: &Ack) {
        if self.mode == Mode::ProbeBw && self.is_phase_over(sock, ack) {
            self.next_phase(sock);
        }
    }
    fn is_phase_over(&self, sock: &Sock, ack: &Ack) -> bool {
        let elapsed = sock.delivered_us.saturating_sub(self.cycle_us);
        let is_long = elapsed > u64::from(self.min_rtt_us);
        if self.pacing_gain == UNIT {
            return is_long;
        }
        let in_network = self.in_network(sock, ack.prior_in_flight);
        if self.pacing_gain > UNIT {
            let target = self.inflight(sock, self.max_bw(), self.pacing_gain);
            return is_long && (ack.losses > 0 || in_network >= target);
        }
        is_long || in_network <= self.inflight(sock, self.max_bw(), UNIT)
    }
    fn next_phase(&mut self, sock: &Sock) {
        self.cycle = (self.cycle + 1) % CYCLE.len();
        self.cycle_us = sock.delivered_us;
    }
    fn enter_probe_bw(&mut self, sock: &Sock, draw: &mut impl Draw) {
        self.mode = Mode::ProbeBw;
        self.cycle = CYCLE.len() - 1 - draw.below(CYCLE_RAND) as usize;
        self.next_phase(sock);
    }

    fn check_full_bw_reached(&mut self, ack: &Ack) {
        if self.full_bw_reached || !self.round_start || ack.is_app_limited != 0 {
            return;
        }
        if self.max_bw() >= integers::part(self.full_bw, FULL_BW_THRESH) {
            self.full_bw = self.max_bw();
            self.full_bw_cnt = 0;
            return;
        }
        self.full_bw_cnt += 1;
        self.full_bw_reached = self.full_bw_cnt >= FULL_BW_COUNT;
    }
    fn check_drain(&mut self, sock: &mut Sock, draw: &mut impl Draw) {
        if self.mode == Mode::Startup && self.full_bw_reached {
            self.mode = Mode::Drain;
            sock.ssthresh = self.inflight(sock, self.max_bw(), UNIT);
        }
        if self.mode == Mode::Drain
            && self.in_network(sock, sock.in_flight) <= self.inflight(sock, self.max_bw(), UNIT)
        {
            self.enter_probe_bw(sock, draw);
        }
    }

    fn update_min_rtt(&mut self, sock: &mut Sock, ack: &Ack, draw: &mut impl Draw) {
        let expires = self.min_rtt_stamp.wrapping_add(self.timing.min_rtt_window);
        let has_expired = after(sock.jiffies, expires);
        if ack.rtt_us != NO_RTT
            && (ack.rtt_us <= self.min_rtt_us || (has_expired && ack.is_ack_delayed == 0))
        {
            self.min_rtt_us = ack.rtt_us;
            self.min_rtt_stamp = sock.jiffies;
        }
        if has_expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(sock);
            self.probe_rtt_done_stamp = 0;
        }
        if self.mode == Mode::ProbeRtt {
            sock.limits_samples = 1;
            if self.probe_rtt_done_stamp == 0 && sock.in_flight <= MIN_CWND {
                self.probe_rtt_done_stamp = sock.jiffies.wrapping_add(self.timing.probe_rtt);
                self.probe_rtt_round_done = false;
                self.next_rtt_delivered = sock.delivered;
            } else if self.probe_rtt_done_stamp != 0 {
                self.probe_rtt_round_done |= self.round_start;
                if self.probe_rtt_round_done {
                    self.check_probe_rtt_done(sock, draw);
                }
            }
        }
        if ack.delivered > 0 {
            self.idle_restart = false;
        }
    }
    fn check_probe_rtt_done(&mut self, sock: &mut Sock, draw: &mut impl Draw) {
        if self.probe_rtt_done_stamp == 0 || !after(sock.jiffies, self.probe_rtt_done_stamp) {
            return;
        }
        self.min_rtt_stamp = sock.jiffies;
        sock.cwnd = sock.cwnd.max(self.prior_cwnd);
        if self.full_bw_reached {
            self.enter_probe_bw(sock, draw);
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.police.is_found() => (UNIT, CWND_GAIN),
            Mode::ProbeBw => (CYCLE[self.cycle], CWND_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }
    fn set_first_rate(&mut self, sock: &mut Sock) {
        self.has_seen_rtt |= sock.srtt_us > 0;
        let bw = integers::first_bandwidth(sock.cwnd, sock.srtt_us);
        sock.pacing_rate = integers::rate(bw, sock.mss, HIGH_GAIN);
    }
    /// The rate never falls before the pipe is full.
    fn set_pacing_rate(&mut self, sock: &mut Sock, bw: u32, gain: u32) {
        let rate = integers::rate(bw, sock.mss, gain);
        if !self.has_seen_rtt && sock.srtt_us > 0 {
            self.set_first_rate(sock);
        }
        if self.full_bw_reached || rate > sock.pacing_rate {
            sock.pacing_rate = rate;
        }
    }

    fn bdp(&self, bw: u32, gain: u32) -> u32 {
        match self.min_rtt_us {
            NO_RTT => INIT_CWND,
            rtt => integers::bdp(bw, rtt, gain),
        }
    }
    /// Segments of a super-segment.
    fn tso_goal(sock: &Sock) -> u32 {
        let bytes = integers::burst(sock.pacing_rate).min(LARGEST.into()) as u32;
        let least = integers::min_tso_segs(sock.pacing_rate);
        (bytes / sock.mss.max(1)).max(least).min(127)
    }
    /// Room for three super-segments; an even number, so that delayed ACKs come in time.
    fn quantise(&self, sock: &Sock, cwnd: u32) -> u32 {
        let cwnd = cwnd.wrapping_add(3 * Self::tso_goal(sock)).wrapping_add(1) & !1;
        let probes = self.mode == Mode::ProbeBw && self.cycle == 0;
        cwnd.wrapping_add(if probes { 2 } else { 0 })
    }
    fn inflight(&self, sock: &Sock, bw: u32, gain: u32) -> u32 {
        self.quantise(sock, self.bdp(bw, gain))
    }
    /// Packets that will be in the network at the next departure.
    fn in_network(&self, sock: &Sock, in_flight: u32) -> u32 {
        let delivered = carried(self.bw(), sock.departure_us);
        let goal = if self.pacing_gain > UNIT {
            Self::tso_goal(sock)
        } else {
            0
        };
        in_flight.wrapping_add(goal).saturating_sub(delivered)
    }
    fn set_cwnd(&mut self, sock: &mut Sock, ack: &Ack, bw: u32) {
        if ack.acked > 0 {
            sock.cwnd = match self.recover_or_restore(sock, ack) {
                Ok(cwnd) => cwnd,
                Err(cwnd) => self.towards_target(sock, ack, bw, cwnd),
            };
        }
        if self.mode == Mode::ProbeRtt {
            sock.cwnd = sock.cwnd.min(MIN_CWND);
        }
    }
    fn towards_target(&self, sock: &Sock, ack: &Ack, bw: u32, cwnd: u32) -> u32 {
        let target = self
            .bdp(bw, self.cwnd_gain)
            .wrapping_add(self.extra_acked());
        let target = self.quantise(sock, target);
        let grown = cwnd.saturating_add(ack.acked);
        let cwnd = if self.full_bw_reached {
            grown.min(target)
        } else if cwnd < target || sock.delivered < INIT_CWND {
            grown
        } else {
            cwnd
        };
        cwnd.max(MIN_CWND)
    }
    /// A packet leaves for each that arrived in the first round of fast recovery; its end restores the
    /// window. Returns `Ok` if this decides the window.
    fn recover_or_restore(&mut self, sock: &Sock, ack: &Ack) -> Result<u32, u32> {
        let (before, now) = (self.prev_ca_state, sock.ca_state);
        let conserved = sock.in_flight.wrapping_add(ack.acked);
        let mut cwnd = sock.cwnd;
        if ack.losses > 0 {
            cwnd = cwnd.saturating_sub(ack.losses).max(1);
        }
        if now == state::RECOVERY && before != state::RECOVERY {
            self.packet_conservation = true;
            self.next_rtt_delivered = sock.delivered;
            cwnd = conserved;
        } else if before >= state::RECOVERY && now < state::RECOVERY {
            cwnd = cwnd.max(self.prior_cwnd);
            self.packet_conservation = false;
        }
        self.prev_ca_state = now;
        if self.packet_conservation {
            Ok(cwnd.max(conserved))
        } else {
            Err(cwnd)
        }
    }

    fn save_cwnd(&mut self, sock: &Sock) {
        self.prior_cwnd = if self.prev_ca_state < state::RECOVERY && self.mode != Mode::ProbeRtt {
            sock.cwnd
        } else {
            self.prior_cwnd.max(sock.cwnd)
        };
    }
    /// A reduction begins; the threshold stays (`bbr_ssthresh`).
    pub fn on_reduction(&mut self, sock: &Sock) {
        self.save_cwnd(sock);
    }
    /// A time-out: the state of loss recovery becomes Loss (`bbr_set_state`).
    pub fn on_timeout(&mut self, sock: &Sock, draw: &mut impl Draw) {
        self.prev_ca_state = state::LOSS;
        self.full_bw = 0;
        self.round_start = true;
        self.look_for_policer(sock, 1, false, draw);
    }
    /// A reduction was spurious (`bbr_undo_cwnd`). The window stays.
    pub fn on_undo(&mut self, sock: &Sock) {
        self.full_bw = 0;
        self.full_bw_cnt = 0;
        self.police.reset(sock);
    }
    /// The first segment leaves after a pause (`CA_EVENT_TX_START`).
    pub fn on_restart(&mut self, sock: &mut Sock, draw: &mut impl Draw) {
        if sock.app_limited == 0 {
            return;
        }
        self.idle_restart = true;
        self.epoch_us = sock.now_us;
        self.epoch_acked = 0;
        match self.mode {
            Mode::ProbeBw => self.set_pacing_rate(sock, self.bw(), UNIT),
            Mode::ProbeRtt => self.check_probe_rtt_done(sock, draw),
            Mode::Startup | Mode::Drain => {}
        }
    }
}
