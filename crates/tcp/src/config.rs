//! How the two ends of a connection behave; the defaults are those of Linux.

use quell_aqm::{Bytes, Ecn, Time};

use crate::cc::CcConfig;

/// The ECN-capable codepoint that a host sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Codepoint {
    /// ECT(0): Classic (RFC 3168), and Linux's DCTCP.
    Ect0,
    /// ECT(1): L4S (RFC 9331).
    Ect1,
}

impl Codepoint {
    /// The field in the IP header.
    pub const fn ecn(self) -> Ecn {
        match self {
            Self::Ect0 => Ecn::Ect0,
            Self::Ect1 => Ecn::Ect1,
        }
    }
}

/// What the ends say to each other about CE, and the codepoint of their packets. Both ends of a
/// connection are configured alike: the negotiation itself is not modelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum EcnMode {
    /// No ECN: packets are Not-ECT.
    #[default]
    Off,
    /// RFC 3168: ECE until CWR. New data is ECN-capable, retransmissions and ACKs are not.
    Classic(Codepoint),
    /// RFC 8257: each ACK's ECE tells of the segments it acknowledges. Every packet is
    /// ECN-capable, as with a Linux control that needs ECN.
    Dctcp(Codepoint),
    /// RFC 9768: the ACE counter, modulo 8, in the three flag bits. Every packet is ECN-capable.
    Accurate(Codepoint),
}

impl EcnMode {
    /// The codepoint of ECN-capable packets; Not-ECT where ECN is off.
    pub const fn codepoint(self) -> Ecn {
        match self {
            Self::Off => Ecn::NotEct,
            Self::Classic(codepoint) | Self::Dctcp(codepoint) | Self::Accurate(codepoint) => {
                codepoint.ecn()
            }
        }
    }
    /// Whether also retransmissions, ACKs and SYNs are ECN-capable.
    pub const fn marks_control_packets(self) -> bool {
        matches!(self, Self::Dctcp(_) | Self::Accurate(_))
    }
}

/// How a sender behaves.
#[derive(Debug, Clone)]
pub struct SenderConfig {
    /// The congestion control, with its options.
    pub congestion_control: CcConfig,
    /// Feedback and codepoint; the receiver has the same.
    pub ecn: EcnMode,
    /// Payload of a full segment, in bytes: 1 448 in 1 500 with timestamps. At least 1.
    pub mss: u32,
    /// Initial window in segments (RFC 6928; Linux `TCP_INIT_CWND`). At least 1.
    pub initial_window: u32,
    /// Whether departures are paced; `None` lets the control decide.
    pub pacing: Option<bool>,
    /// Whether segments leave together, about a millisecond's worth at once, as with segmentation
    /// offload, which Linux always has; without, each leaves as soon as it may.
    pub gso: bool,
    /// Whether small segments wait for outstanding small ones (Nagle, Linux's default).
    pub nagle: bool,
    /// Whether the window shrinks after idle time (RFC 2861; `tcp_slow_start_after_idle`).
    pub restart_after_idle: bool,
    /// The receive window assumed until the peer has said its own.
    pub peer_window: Bytes,
    /// Least time-out variance (`tcp_rto_min`), added to the smoothed RTT.
    pub rto_min: Time,
}

impl SenderConfig {
    /// Linux's defaults with this control.
    pub fn new(congestion_control: CcConfig) -> Self {
        Self {
            ecn: congestion_control.default_ecn(),
            congestion_control,
            mss: 1_448,
            initial_window: 10,
            pacing: None,
            gso: true,
            nagle: true,
            restart_after_idle: true,
            peer_window: Bytes::new(65_535),
            rto_min: Time::from_millis(200),
        }
    }
}

/// How a receiver behaves.
#[derive(Debug, Clone)]
pub struct ReceiverConfig {
    /// Receive window: a fixed limit, without autotuning (limitation 1 of [`receiver`]); raised to
    /// two segments.
    ///
    /// [`receiver`]: crate::receiver
    pub window: Bytes,
    /// Feedback and codepoint; the sender has the same.
    pub ecn: EcnMode,
    /// Payload of a full segment, in bytes.
    pub mss: u32,
    /// Full segments per ACK outside the quick-ack phase: 2 in Linux; 1 acknowledges each.
    pub ack_every: u32,
    /// Whether the first segments are acknowledged one by one (Linux's quick-ack phase).
    pub quick_ack: bool,
    /// Whether duplicate ACKs after the third wait up to 1 ms or RTT/20 for company
    /// (`tcp_comp_sack_delay_ns`).
    pub compress_sacks: bool,
}

impl ReceiverConfig {
    /// Linux's defaults, with a window that does not limit.
    pub fn new(ecn: EcnMode) -> Self {
        Self {
            window: Bytes::new(1 << 30),
            ecn,
            mss: 1_448,
            ack_every: 2,
            quick_ack: true,
            compress_sacks: true,
        }
    }
}
