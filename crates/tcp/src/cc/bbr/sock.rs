//! A state machine's view of its connection, in Linux's units: `struct tcp_sock` and `struct
//! rate_sample`.
//!
//! The layout is that of `struct bbr_sock` and `struct bbr_ack` in `bpf/core/bbr.h`.

use quell_units::Random;

use super::super::CaState;

/// No RTT known (`~0U`).
pub const NO_RTT: u32 = u32::MAX;

/// The state of loss recovery in Linux's numbers (`enum tcp_ca_state`).
pub mod state {
    /// Nothing unusual.
    pub const OPEN: u32 = 0;
    /// Fast recovery; every state from here on follows a loss.
    pub const RECOVERY: u32 = 3;
    /// After a time-out.
    pub const LOSS: u32 = 4;
}

/// The connection. Counts wrap at 2³².
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Sock {
    /// Now, in µs (`tcp_mstamp`).
    pub now_us: u64,
    /// Time of the last delivery, in µs (`delivered_mstamp`).
    pub delivered_us: u64,
    /// Pacing rate in bytes of payload per second (`sk_pacing_rate`); the machine sets it.
    pub pacing_rate: u64,
    /// µs from now until pacing allows the next departure; zero if it does now.
    pub departure_us: u32,
    /// The host's jiffies (`tcp_jiffies32`).
    pub jiffies: u32,
    /// Segments delivered since the start.
    pub delivered: u32,
    /// Segments with CE among them.
    pub delivered_ce: u32,
    /// Segments found lost since the start.
    pub lost: u32,
    /// Segments in flight.
    pub in_flight: u32,
    /// Smoothed RTT in µs (`srtt_us >> 3`); zero before the first sample.
    pub srtt_us: u32,
    /// Lowest RTT of five minutes in µs (`tcp_min_rtt`); [`NO_RTT`] before the first sample.
    pub min_rtt_us: u32,
    /// Payload of a full segment in bytes.
    pub mss: u32,
    /// Window in segments; the machine sets it.
    pub cwnd: u32,
    /// Window when the current reduction began.
    pub prior_cwnd: u32,
    /// Slow-start threshold; the machine sets it at the end of start-up, for others to read.
    pub ssthresh: u32,
    /// State of loss recovery: [`state`].
    pub ca_state: u32,
    /// One if the window limits the sender (`is_cwnd_limited`).
    pub is_cwnd_limited: u32,
    /// One if the application limits the sender (`app_limited`).
    pub app_limited: u32,
    /// One if this connection may respond to ECN.
    pub can_use_ecn: u32,
    /// The machine sets this to one if samples count as limited by the application until all that is in
    /// flight now is delivered (`app_limited = delivered + in_flight`).
    pub limits_samples: u32,
}

/// The values of an ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Ack {
    /// Length of the rate sample in µs; zero if there is none that is valid.
    pub interval_us: u32,
    /// Segments delivered in it.
    pub delivered: u32,
    /// Segments with CE among them.
    pub delivered_ce: u32,
    /// Segments delivered when the newest delivered segment left.
    pub prior_delivered: u32,
    /// Segments in flight then, itself included.
    pub tx_in_flight: u32,
    /// Segments found lost since then.
    pub lost: u32,
    /// Segments found lost by this ACK.
    pub losses: u32,
    /// Segments newly delivered (`acked_sacked`).
    pub acked: u32,
    /// Segments in flight before this ACK.
    pub prior_in_flight: u32,
    /// RTT in µs; [`NO_RTT`] if there is none.
    pub rtt_us: u32,
    /// One if the application limited the sample.
    pub is_app_limited: u32,
    /// One if the ACK may have waited for the receiver's timer.
    pub is_ack_delayed: u32,
    /// One if it echoes congestion.
    pub is_ece: u32,
    /// One if it acknowledges a tail loss probe that was a retransmission
    /// (`is_acking_tlp_retrans_seq`).
    pub is_probe_acked: u32,
}

/// A segment just found lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Lost {
    /// Segments in flight when it left, itself included.
    pub tx_in_flight: u32,
    /// Segments found lost since it left, itself included.
    pub lost: u32,
    /// One if the application limited the sender then.
    pub is_app_limited: u32,
}

/// A source of random numbers (`get_random_u32_below`).
pub trait Draw {
    /// A uniform number below `bound`.
    fn below(&mut self, bound: u32) -> u32;
}

impl Draw for Random {
    fn below(&mut self, bound: u32) -> u32 {
        Random::below(self, bound.into()) as u32
    }
}

/// Linux's number of this state.
pub(super) fn number(state: CaState) -> u32 {
    match state {
        CaState::Open => self::state::OPEN,
        CaState::Disorder => 1,
        CaState::Cwr => 2,
        CaState::Recovery => self::state::RECOVERY,
        CaState::Loss => self::state::LOSS,
    }
}
