//! The state of a connection; `struct bbr`.
//!
//! The layout is that of `struct bbr_state` in `bpf/core/bbr.h`, without padding. Where Linux has narrow
//! fields, the machine keeps their widths.

use super::super::integers;
use super::{NO_RTT, Rules, Sock, UNSET, ca};

/// The mode of the connection, which decides the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// Looking for the bandwidth.
    Startup = 0,
    /// Draining the queue that start-up has built.
    Drain = 1,
    /// Around the bandwidth: see [`Phase`].
    ProbeBw = 2,
    /// Looking for the RTT, with little in flight.
    ProbeRtt = 3,
}

/// The phase of `PROBE_BW`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// More in flight, to find more bandwidth.
    Up = 0,
    /// Less, to drain.
    Down = 1,
    /// As much as the path delivers, with headroom.
    Cruise = 2,
    /// As much as the path delivers, without headroom.
    Refill = 3,
}

/// The relation of ACKs to a probe for bandwidth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum AckPhase {
    /// They do not.
    Init = 0,
    /// The pipe fills.
    Refilling = 1,
    /// The probe has begun, and nothing of it has come back.
    Starting = 2,
    /// They show what the probe did.
    Feedback = 3,
    /// The probe has ended, and they still show what it did.
    Stopping = 4,
}

/// The state that an undo returns to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Undo {
    /// Nowhere.
    None = 0,
    /// To start-up, which the loss had ended.
    Startup = 1,
    /// To the probe that the loss had ended.
    Up = 2,
}

/// The state of BBR v2 or v3. Times are in µs or jiffies, bandwidths in packets per µs times 2²⁴, windows
/// in packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct BbrState {
    /// Beginning of the phase of `PROBE_BW`, in µs.
    pub cycle_us: u64,
    /// Beginning of the epoch of aggregation, in µs.
    pub ack_epoch_us: u64,
    /// Lowest RTT of ten seconds, and its jiffy.
    pub min_rtt_us: u32,
    /// See [`min_rtt_us`](Self::min_rtt_us).
    pub min_rtt_stamp: u32,
    /// Jiffy at which `PROBE_RTT` ends; zero if that is not known yet.
    pub probe_rtt_done_stamp: u32,
    /// Lowest RTT of five seconds, and its jiffy.
    pub probe_rtt_min_us: u32,
    /// See [`probe_rtt_min_us`](Self::probe_rtt_min_us).
    pub probe_rtt_min_stamp: u32,
    /// The round ends with a segment that leaves when this number is delivered.
    pub next_rtt_delivered: u32,
    /// The last good window.
    pub prior_cwnd: u32,
    /// The bandwidth that must grow by a quarter.
    pub full_bw: u32,
    /// Packets acknowledged beyond what bandwidth explains: the maxima of two slots, 16 bits each.
    pub extra_acked: [u32; 2],
    /// Packets acknowledged in this epoch, 20 bits.
    pub ack_epoch_acked: u32,
    /// As `next_rtt_delivered`, for rounds of loss.
    pub loss_round_delivered: u32,
    /// The bounds before the last losses.
    pub undo_bw_lo: u32,
    /// See [`undo_bw_lo`](Self::undo_bw_lo).
    pub undo_inflight_lo: u32,
    /// See [`undo_bw_lo`](Self::undo_bw_lo).
    pub undo_inflight_hi: u32,
    /// Largest bandwidth and delivery of the last round.
    pub bw_latest: u32,
    /// See [`bw_latest`](Self::bw_latest).
    pub inflight_latest: u32,
    /// Bounds of bandwidth; only the v2 of 2020 sets the upper one.
    pub bw_lo: u32,
    /// See [`bw_lo`](Self::bw_lo).
    pub bw_hi: u32,
    /// Largest bandwidth of the last cycle and of this one.
    pub max_bw: [u32; 2],
    /// Bounds of what is in flight.
    pub inflight_lo: u32,
    /// See [`inflight_lo`](Self::inflight_lo).
    pub inflight_hi: u32,
    /// Packets per increment of `inflight_hi`, and those acknowledged since the last.
    pub bw_probe_up_cnt: u32,
    /// See [`bw_probe_up_cnt`](Self::bw_probe_up_cnt).
    pub bw_probe_up_acks: u32,
    /// Time from DOWN to the next probe, in µs.
    pub probe_wait_us: u32,
    /// Segments delivered, and those with CE, at the last update of alpha.
    pub alpha_last_delivered: u32,
    /// See [`alpha_last_delivered`](Self::alpha_last_delivered).
    pub alpha_last_delivered_ce: u32,
    /// Smoothed share of marked segments, 0 to 256.
    pub ecn_alpha: u32,
    /// Gain of the pacing rate.
    pub pacing_gain: u32,
    /// Gain of the window.
    pub cwnd_gain: u32,
    /// Initial window, at most 127.
    pub init_cwnd: u32,
    /// The mode, which decides the rate.
    pub mode: Mode,
    /// State of loss recovery at the last ACK.
    pub prev_ca_state: u8,
    /// Phase of `PROBE_BW`.
    pub phase: Phase,
    /// The signals of ACKs.
    pub ack_phase: AckPhase,
    /// Rounds without growth.
    pub full_bw_cnt: u8,
    /// Rounds in a row with half of the packets marked.
    pub startup_ecn_rounds: u8,
    /// Age of the slot of `extra_acked` in rounds, and which it is.
    pub extra_acked_win_rtts: u8,
    /// See [`extra_acked_win_rtts`](Self::extra_acked_win_rtts).
    pub extra_acked_win_idx: u8,
    /// Rounds of UP in which the window was the limit.
    pub bw_probe_up_rounds: u8,
    /// Rounds since the last probe, at most 255.
    pub rounds_since_probe: u8,
    /// Lossy ACKs of this round, at most 15.
    pub loss_events_in_round: u8,
    /// Rounds of DRAIN.
    pub drain_rounds: u8,
    /// The state that an undo returns to.
    pub undo_state: Undo,
    /// A round begins with this ACK.
    pub round_start: bool,
    /// The window has reached its target.
    pub try_fast_path: bool,
    /// Nothing was delivered since a restart from idle.
    pub idle_restart: bool,
    /// `PROBE_RTT` has lasted a round.
    pub probe_rtt_round_done: bool,
    /// The pipe has been full once.
    pub full_bw_reached: bool,
    /// Bandwidth has stopped growing.
    pub full_bw_now: bool,
    /// The pacing rate is based on an RTT.
    pub has_seen_rtt: bool,
    /// There were losses since DOWN.
    pub loss_in_cycle: bool,
    /// There were marks since DOWN.
    pub ecn_in_cycle: bool,
    /// The connection responds to marks.
    pub ecn_eligible: bool,
    /// Samples show what a probe did, and none was too much yet.
    pub bw_probe_samples: bool,
    /// The last probe was too much.
    pub prev_probe_too_high: bool,
    /// The last probe ended because it might have been too much.
    pub stopped_risky_probe: bool,
    /// A round of loss begins with this ACK.
    pub loss_round_start: bool,
    /// There were losses in this round.
    pub loss_in_round: bool,
    /// There were marks in this round.
    pub ecn_in_round: bool,
    /// A sample of this probe was not too much (v2 of 2020).
    pub got_ok_bw_probe_sample: bool,
    /// There was a loss in this episode of recovery.
    pub loss_yet_in_recovery: bool,
    /// Fills the last word.
    pub reserved: u8,
}

// No padding, so that two states are equal if their bytes are.
const _: () = assert!(size_of::<BbrState>() == 2 * 8 + 32 * 4 + 32);

impl BbrState {
    /// A new connection; sets its first pacing rate.
    pub(super) fn new(rules: &Rules, sock: &mut Sock) -> Self {
        sock.ssthresh = UNSET;
        let first = integers::first_bandwidth(sock.cwnd, sock.srtt_us);
        sock.pacing_rate = integers::rate(first, sock.mss, rules.startup_gain).max(1);
        Self {
            cycle_us: 0,
            ack_epoch_us: sock.now_us,
            min_rtt_us: sock.min_rtt_us,
            min_rtt_stamp: sock.jiffies,
            probe_rtt_done_stamp: 0,
            probe_rtt_min_us: sock.min_rtt_us,
            probe_rtt_min_stamp: sock.jiffies,
            // v2 begins with a round that ends at once.
            next_rtt_delivered: if rules.latest_to_the_end {
                sock.delivered
            } else {
                0
            },
            prior_cwnd: sock.prior_cwnd,
            full_bw: 0,
            extra_acked: [0; 2],
            ack_epoch_acked: 0,
            loss_round_delivered: sock.delivered.wrapping_add(1),
            undo_bw_lo: 0,
            undo_inflight_lo: 0,
            undo_inflight_hi: 0,
            bw_latest: 0,
            inflight_latest: 0,
            bw_lo: UNSET,
            bw_hi: UNSET,
            max_bw: [0; 2],
            inflight_lo: UNSET,
            inflight_hi: UNSET,
            bw_probe_up_cnt: UNSET,
            bw_probe_up_acks: 0,
            probe_wait_us: 0,
            alpha_last_delivered: 0,
            alpha_last_delivered_ce: 0,
            ecn_alpha: integers::UNIT,
            pacing_gain: 0,
            cwnd_gain: 0,
            init_cwnd: sock.cwnd.min(127),
            mode: Mode::Startup,
            prev_ca_state: ca::OPEN as u8,
            phase: Phase::Up,
            ack_phase: AckPhase::Init,
            full_bw_cnt: 0,
            startup_ecn_rounds: 0,
            extra_acked_win_rtts: 0,
            extra_acked_win_idx: 0,
            bw_probe_up_rounds: 0,
            rounds_since_probe: 0,
            loss_events_in_round: 0,
            drain_rounds: 0,
            undo_state: Undo::None,
            round_start: false,
            try_fast_path: false,
            idle_restart: false,
            probe_rtt_round_done: false,
            full_bw_reached: false,
            full_bw_now: false,
            has_seen_rtt: sock.srtt_us > 0,
            loss_in_cycle: false,
            ecn_in_cycle: false,
            ecn_eligible: false,
            bw_probe_samples: false,
            prev_probe_too_high: false,
            stopped_risky_probe: false,
            loss_round_start: false,
            loss_in_round: false,
            ecn_in_round: false,
            got_ok_bw_probe_sample: false,
            loss_yet_in_recovery: false,
            reserved: 0,
        }
    }
    /// Largest bandwidth of this cycle and the one before.
    pub fn max_bw(&self) -> u32 {
        self.max_bw[0].max(self.max_bw[1])
    }
    /// The bandwidth to send at.
    pub fn bw(&self) -> u32 {
        self.max_bw().min(self.bw_lo).min(self.bw_hi)
    }
    /// The bandwidth-delay product times a gain; the initial window before the first RTT.
    pub fn bdp(&self, bw: u32, gain: u32) -> u32 {
        match self.min_rtt_us {
            NO_RTT => self.init_cwnd,
            rtt => integers::bdp(bw, rtt, gain),
        }
    }
    /// Whether it is in this phase of `PROBE_BW`.
    pub fn is_in(&self, phase: Phase) -> bool {
        self.mode == Mode::ProbeBw && self.phase == phase
    }
    /// Whether it looks for more bandwidth, so that loss is no reason to do with less.
    pub(super) fn is_probing(&self) -> bool {
        self.mode == Mode::Startup || self.is_in(Phase::Refill) || self.is_in(Phase::Up)
    }
    /// `inflight_hi` less a share for others.
    pub fn with_headroom(&self) -> u32 {
        if self.inflight_hi == UNSET {
            return UNSET;
        }
        let headroom = integers::part(self.inflight_hi, integers::UNIT * 15 / 100).max(1);
        let left = self.inflight_hi.wrapping_sub(headroom) as i32;
        left.max(super::MIN_CWND as i32) as u32
    }
    /// Starts the test for a full pipe again, from this bandwidth.
    pub(super) fn reset_full_bw(&mut self, from: u32) {
        self.full_bw = from;
        self.full_bw_cnt = 0;
        self.full_bw_now = false;
    }
    pub(super) fn reset_lower_bounds(&mut self) {
        self.bw_lo = UNSET;
        self.inflight_lo = UNSET;
    }
    pub(super) fn reset_signals(&mut self) {
        self.loss_in_round = false;
        self.ecn_in_round = false;
        self.loss_in_cycle = false;
        self.ecn_in_cycle = false;
        self.bw_latest = 0;
        self.inflight_latest = 0;
    }
}
