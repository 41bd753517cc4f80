//! The configuration of the two ends of a connection; the defaults are Linux's.

use quell_units::{Bytes, Random, Time};

use crate::cc::CcConfig;
use crate::ecn::{AccEcnOptionUse, EcnMode, EctScope};
use crate::ticks::Ticks;

/// The configuration of a sender.
#[derive(Debug, Clone)]
pub struct SenderConfig {
    /// The congestion control, with its options.
    pub congestion_control: CcConfig,
    /// ECN feedback that it asks for, and the codepoint of its packets.
    pub ecn: EcnMode,
    /// Which packets are ECN-capable; `None` for [`EcnMode::scope`]. The receiver should have the same
    /// scope.
    pub ect_scope: Option<EctScope>,
    /// Use of the AccECN option on data once the other end has sent one: always, as in Linux. It costs 12
    /// bytes of payload, and adds nothing if the other end sends only ACKs.
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
            accecn_option: AccEcnOptionUse::Always,
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

/// Largest number of bits by which windows are shifted (`TCP_MAX_WSCALE`).
const MOST_SHIFT: u32 = 14;

/// Sizes of a receive buffer (`tcp_rmem`), in bytes of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiveBuffer {
    /// At the start of a connection; 131 072 in Linux.
    pub initial: Bytes,
    /// Largest size to which it grows.
    pub most: Bytes,
}

impl ReceiveBuffer {
    /// Number of bits by which windows are shifted (`tcp_select_initial_window`): enough for a window as
    /// large as the largest buffer, at most 14.
    pub fn window_scale(&self) -> u32 {
        let most = self.most.max(self.initial).get().max(1);
        most.ilog2().saturating_sub(15).min(MOST_SHIFT)
    }
}

/// The configuration of a receiver.
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
    /// Whether it goes on without ECN where the handshake agrees on RFC 3168's feedback (Linux `TCP_CONG_NO_FALLBACK_RFC3168`), as a sender with
    /// a scalable control does. The SYN-ACK agrees all the same.
    pub needs_more_feedback: bool,
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
            needs_more_feedback: false,
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
