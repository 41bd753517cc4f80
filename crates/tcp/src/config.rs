//! How the two ends of a connection behave; the defaults are those of Linux.

use quell_units::{Bytes, Ecn, Time};

use crate::cc::CcConfig;
use crate::receiver::ReceiveBuffer;
use crate::ticks::Ticks;

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

/// What a host asks for or agrees to, and the codepoint of its packets. The handshake decides what
/// the two ends then do, see [`FeedbackMode`](crate::FeedbackMode).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum EcnMode {
    /// No ECN: packets are Not-ECT.
    #[default]
    Off,
    /// RFC 3168: ECE until CWR.
    Classic(Codepoint),
    /// RFC 8257: each ACK's ECE tells of the segments it acknowledges. The handshake is that of RFC
    /// 3168, so the peer must be configured alike.
    Dctcp(Codepoint),
    /// RFC 9768 (AccECN): the number of packets with CE, modulo 8, in the three flag bits, and the
    /// numbers of bytes in an option. Falls back to RFC 3168, with ECT(0), where the peer knows no
    /// more.
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
    /// Which packets are ECN-capable where nobody says: all of them with DCTCP, as with each control
    /// of Linux that needs ECN; new data otherwise.
    pub const fn scope(self) -> EctScope {
        match self {
            Self::Dctcp(_) => EctScope::Everything,
            _ => EctScope::NewData,
        }
    }
}

/// Which packets are ECN-capable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EctScope {
    /// Data that was never sent before (RFC 3168 sections 5.2 and 6.1).
    NewData,
    /// Also ACKs and retransmissions, once the connection is open: what Linux does with AccECN.
    Established,
    /// Also SYN and SYN-ACK: ECN++ (draft-ietf-tcpm-generalized-ecn), which needs AccECN, and Linux
    /// with a control that needs ECN.
    Everything,
}

/// When a host with AccECN sends the option of RFC 9768 section 3.2.3 (Linux `tcp_ecn_option`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AccEcnOptionUse {
    /// Never; the option of the other end is read nonetheless.
    Never,
    /// In the handshake and on the first data; after each CE and each change of the IP-ECN field;
    /// three times per round-trip time while a counter grows; once per 4 MiB.
    Sparing,
    /// On every packet where it fits; Linux's default.
    Always,
}

/// How a sender behaves.
#[derive(Debug, Clone)]
pub struct SenderConfig {
    /// The congestion control, with its options.
    pub congestion_control: CcConfig,
    /// Feedback that it asks for, and the codepoint of its packets.
    pub ecn: EcnMode,
    /// Which packets are ECN-capable; `None` for [`EcnMode::scope`]. The receiver should have the same.
    pub ect_scope: Option<EctScope>,
    /// The AccECN option on data. It costs up to 12 bytes of payload, and says nothing new where
    /// the other end sends ACKs only.
    pub accecn_option: AccEcnOptionUse,
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
    /// The clock of its host's timers.
    pub ticks: Ticks,
}

impl SenderConfig {
    /// Linux's defaults with this control.
    pub fn new(congestion_control: CcConfig) -> Self {
        Self {
            ecn: congestion_control.default_ecn(),
            ect_scope: congestion_control.ect_scope(),
            accecn_option: AccEcnOptionUse::Sparing,
            congestion_control,
            mss: 1_448,
            initial_window: 10,
            pacing: None,
            gso: true,
            nagle: true,
            restart_after_idle: true,
            peer_window: Bytes::new(65_535),
            rto_min: Time::from_millis(200),
            ticks: Ticks::EXACT,
        }
    }
}

/// How a receiver behaves.
#[derive(Debug, Clone)]
pub struct ReceiverConfig {
    /// Receive window: a fixed limit, without autotuning (limitation 1 of [`receiver`]); raised to
    /// two segments, and no more than the 1 GiB that TCP can tell (RFC 7323 section 2.3).
    ///
    /// [`receiver`]: crate::receiver
    pub window: Bytes,
    /// Feedback that it agrees to, and the codepoint of its packets.
    pub ecn: EcnMode,
    /// Which packets are ECN-capable; `None` for [`EcnMode::scope`].
    pub ect_scope: Option<EctScope>,
    /// The AccECN option on ACKs.
    pub accecn_option: AccEcnOptionUse,
    /// Payload of a full segment, in bytes.
    pub mss: u32,
    /// A buffer whose window follows what arrives, as Linux has it (`tcp_moderate_rcvbuf`); `None` for a fixed
    /// `window`, which otherwise says nothing.
    pub buffer: Option<ReceiveBuffer>,
    /// Where the application is woken for a part of what arrived in the last interval (1/25), the length of it; `None`
    /// where it reads everything at once.
    pub reads: Option<Time>,
    /// Full segments per ACK outside the quick-ack phase: 2 in Linux; 1 acknowledges each.
    pub ack_every: u32,
    /// Whether the first segments are acknowledged one by one (Linux's quick-ack phase).
    pub quick_ack: bool,
    /// Whether duplicate ACKs after the third wait up to 1 ms or a third of the RTT for company
    /// (`tcp_comp_sack_delay_ns`).
    pub compress_sacks: bool,
    /// The clock of its host's timers.
    pub ticks: Ticks,
}

impl ReceiverConfig {
    /// Linux's defaults, with a window that does not limit.
    pub fn new(ecn: EcnMode) -> Self {
        Self {
            window: Bytes::new(1 << 30),
            ecn,
            ect_scope: None,
            accecn_option: AccEcnOptionUse::Always,
            mss: 1_448,
            buffer: None,
            reads: None,
            ack_every: 2,
            quick_ack: true,
            compress_sacks: true,
            ticks: Ticks::EXACT,
        }
    }
}
