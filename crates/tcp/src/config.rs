//! How the two ends of a connection behave; the defaults are Linux's.

use quell_units::{Bytes, Ecn, Random, Time};

use crate::cc::CcConfig;
use crate::ecn::FeedbackMode;
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

/// The ECN feedback that a host asks for or agrees to, and the codepoint of its packets. The handshake
/// decides which feedback the two ends use, see [`FeedbackMode`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum EcnMode {
    /// No ECN: packets are Not-ECT.
    #[default]
    Off,
    /// RFC 3168: ECE until CWR.
    Classic(Codepoint),
    /// RFC 8257: the ECE flag of each ACK reports on the segments that it acknowledges. The handshake is
    /// that of RFC 3168, so the peer must have the same configuration.
    Dctcp(Codepoint),
    /// RFC 9768 (AccECN): three flag bits carry the number of packets with CE, modulo 8, and an option
    /// carries numbers of bytes. Falls back to RFC 3168, with ECT(0), if the peer supports no more.
    Accurate(Codepoint),
}

impl EcnMode {
    /// This feedback with packets of this codepoint.
    pub const fn new(feedback: FeedbackMode, codepoint: Codepoint) -> Self {
        match feedback {
            FeedbackMode::Off => Self::Off,
            FeedbackMode::Classic => Self::Classic(codepoint),
            FeedbackMode::Dctcp => Self::Dctcp(codepoint),
            FeedbackMode::Accurate => Self::Accurate(codepoint),
        }
    }
    /// The codepoint of ECN-capable packets; Not-ECT if ECN is off.
    pub const fn codepoint(self) -> Ecn {
        match self {
            Self::Off => Ecn::NotEct,
            Self::Classic(codepoint) | Self::Dctcp(codepoint) | Self::Accurate(codepoint) => {
                codepoint.ecn()
            }
        }
    }
    /// Which packets are ECN-capable unless the configuration says otherwise: all of them with DCTCP's
    /// feedback, as with each control of Linux that needs ECN; else new data.
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
    /// New data, not retransmissions (RFC 3168 sections 5.2 and 6.1).
    NewData,
    /// Also ACKs and retransmissions, once the connection is open, as Linux does with AccECN.
    Established,
    /// Also SYN and SYN-ACK, as with ECN++ (draft-ietf-tcpm-generalized-ecn), which needs AccECN, and in
    /// Linux with a control that needs ECN.
    Everything,
}

/// When a host with AccECN sends the option of RFC 9768 section 3.2.3 (Linux `tcp_ecn_option`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AccEcnOptionUse {
    /// Never. The option of the other end is read all the same.
    Never,
    /// In the handshake and on the first data; after each CE and each change of the IP-ECN field; three
    /// times per RTT while a counter grows; once per 4 MiB.
    Sparing,
    /// On every packet that has room for it; Linux's default.
    Always,
}

/// How a sender behaves.
#[derive(Debug, Clone)]
pub struct SenderConfig {
    /// The congestion control, with its options.
    pub congestion_control: CcConfig,
    /// ECN feedback that it asks for, and the codepoint of its packets.
    pub ecn: EcnMode,
    /// Which packets are ECN-capable; `None` for [`EcnMode::scope`]. The receiver should have the same
    /// scope.
    pub ect_scope: Option<EctScope>,
    /// Use of the AccECN option on data. It costs up to 12 bytes of payload, and adds nothing if the
    /// other end sends only ACKs.
    pub accecn_option: AccEcnOptionUse,
    /// Payload of a full segment in bytes, at least 1: 1 448 in a packet of 1 500 with timestamps.
    pub mss: u32,
    /// Initial window in segments, at least 1 (RFC 6928; Linux `TCP_INIT_CWND`).
    pub initial_window: u32,
    /// Whether departures are paced; `None` for what the control declares
    /// ([`ControlKind::paced`](crate::cc::ControlKind::paced)).
    pub pacing: Option<bool>,
    /// Whether segments leave in bursts of about a millisecond, as with segmentation offload, which
    /// Linux always uses; otherwise each leaves as soon as it may.
    pub gso: bool,
    /// Whether a small segment waits until the one before it is acknowledged (Nagle's algorithm;
    /// Linux's default).
    pub nagle: bool,
    /// Whether the window shrinks after idle time (RFC 2861; `tcp_slow_start_after_idle`).
    pub restart_after_idle: bool,
    /// Receive window assumed until the peer has advertised its own.
    pub peer_window: Bytes,
    /// Least variance term of the time-out (`tcp_rto_min`), added to the smoothed RTT.
    pub rto_min: Time,
    /// Clock of the host's timers.
    pub ticks: Ticks,
    /// Randomness of the congestion control; each flow should have its own.
    pub random: Random,
}

impl SenderConfig {
    /// Linux's defaults with this control.
    pub fn new(congestion_control: CcConfig) -> Self {
        Self {
            ecn: congestion_control.default_ecn(),
            ect_scope: congestion_control.kind().ect_scope,
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
            random: Random::new(0, "control"),
        }
    }
    /// Whether departures are paced.
    pub fn is_paced(&self) -> bool {
        self.pacing.unwrap_or(self.congestion_control.kind().paced)
    }
}

/// How a receiver behaves.
#[derive(Debug, Clone)]
pub struct ReceiverConfig {
    /// Fixed receive window in bytes, raised to two segments and limited to the 1 GiB that TCP can
    /// advertise (RFC 7323 section 2.3). Without effect if there is a `buffer`.
    pub window: Bytes,
    /// ECN feedback that it agrees to, and the codepoint of its packets.
    pub ecn: EcnMode,
    /// Which packets are ECN-capable; `None` for [`EcnMode::scope`].
    pub ect_scope: Option<EctScope>,
    /// Use of the AccECN option on ACKs.
    pub accecn_option: AccEcnOptionUse,
    /// Payload of a full segment, in bytes.
    pub mss: u32,
    /// Receive buffer with autotuning, as Linux has it (`tcp_moderate_rcvbuf`); `None` for a fixed
    /// `window`.
    pub buffer: Option<ReceiveBuffer>,
    /// Length of the interval of an application that is woken for a part (1/25) of what arrived in the
    /// last interval; `None` for one that reads everything at once.
    pub reads: Option<Time>,
    /// Number of full segments per ACK outside the quick-ack phase: 2 in Linux; 1 acknowledges each.
    pub ack_every: u32,
    /// Whether the first segments are acknowledged one by one (Linux's quick-ack phase).
    pub quick_ack: bool,
    /// Whether duplicate ACKs after the third wait up to 1 ms or a third of the RTT, so that several
    /// become one (`tcp_comp_sack_delay_ns`).
    pub compress_sacks: bool,
    /// Clock of the host's timers.
    pub ticks: Ticks,
}

impl ReceiverConfig {
    /// Linux's defaults, with a window that never limits the sender.
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
