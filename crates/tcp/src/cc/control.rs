//! A control at work: what the sender asks of it, and the enum that dispatches.
//!
//! The calls are those of Linux's `tcp_congestion_ops` (`include/net/tcp.h`). For each ACK the
//! sender calls [`Control::on_ack`], and [`Control::increase`] when the window may grow. A control
//! that sets the window itself, such as BBR, answers [`Control::sets_window`], and
//! [`Control::conclude`] is then called instead of the reduction and the increase.
//!
//! Which control needs what: H-TCP and Compound the RTT and `acked` of [`AckSample`], for the
//! throughput and the delay of a round; Prague `acked_ce`, `delivered_ce` and the pacing rate; BBR v1
//! [`RateSample`](super::RateSample), [`Connection`] and [`Rounds`](super::Rounds); BBR v2 and v3 each
//! [`LostSegment`] as well.

use quell_units::{Rate, Time};

use super::cubic::{Cubic, Variant};
use super::cubic_textbook::TextbookCubic;
use super::custom::{CongestionControl, Custom};
use super::dctcp::Dctcp;
use super::reno::Reno;
use super::window::{AckSample, Window};
use super::{CcConfig, Connection, CubicConfig, LostSegment};
use crate::ecn::FeedbackMode;
use crate::ticks::Ticks;

/// State of loss recovery (Linux `enum tcp_ca_state`), in rising order of trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum State {
    /// Nothing unusual.
    #[default]
    Open,
    /// Duplicate ACKs or SACKs, and nothing lost yet.
    Disorder,
    /// The window is being reduced because of ECN echo or a tail loss.
    Reducing,
    /// Fast recovery.
    Recovery,
    /// After a retransmission time-out.
    Loss,
}

/// What happens to a sender beside ACKs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The retransmission timer ran out (`CA_EVENT_LOSS`).
    Timeout,
    /// The first segment leaves after a pause that lasted so long since the last departure
    /// (`CA_EVENT_TX_START`).
    Resume(Time),
    /// The window is about to shrink after idle time (`CA_EVENT_CWND_RESTART`).
    Restart,
    /// A reduction has come to its end (`CA_EVENT_COMPLETE_CWR`).
    Reduced,
    /// A tail loss probe has repaired a loss (`tcp_process_tlp_ack`).
    ProbeRepaired,
}

/// A congestion control of one connection.
#[derive(Debug, Clone)]
pub enum Control {
    /// See [`reno`](super::reno).
    Reno(Reno),
    /// See [`cubic`](super::cubic).
    Cubic(Cubic),
    /// See [`cubic_textbook`](super::cubic_textbook).
    TextbookCubic(TextbookCubic),
    /// See [`dctcp`](super::dctcp).
    Dctcp(Dctcp),
    /// See [`CongestionControl`].
    Custom(Custom),
}

macro_rules! dispatch {
    ($self:ident, $control:ident => $call:expr) => {
        match $self {
            Self::Reno($control) => $call,
            Self::Cubic($control) => $call,
            Self::TextbookCubic($control) => $call,
            Self::Dctcp($control) => $call,
            Self::Custom(Custom($control)) => $call,
        }
    };
}

impl Control {
    /// The control of a new connection of a host whose jiffies are `ticks`.
    pub fn new(config: &CcConfig, ticks: Ticks, window: &mut Window) -> Self {
        match config {
            CcConfig::Reno(config) => Self::Reno(Reno::new(*config)),
            CcConfig::Cubic(config) => Self::cubic(*config, ticks, window),
            CcConfig::Dctcp(config) => Self::Dctcp(Dctcp::new(*config)),
        }
    }
    fn cubic(config: CubicConfig, ticks: Ticks, window: &mut Window) -> Self {
        if let Some(threshold) = config.initial_threshold() {
            window.ssthresh = threshold;
        }
        match config.variant {
            Variant::Rfc9438 | Variant::FreeBsd2010 => {
                Self::TextbookCubic(TextbookCubic::new(config))
            }
            _ => Self::Cubic(Cubic::new(config, ticks)),
        }
    }
    /// A control that its user brings along.
    pub fn custom(control: Box<dyn CongestionControl>) -> Self {
        Self::Custom(Custom(control))
    }
    /// The handshake is over and has agreed on this feedback. DCTCP without its own is Reno (RFC 8257
    /// section 3.5; Linux `dctcp_init`).
    pub fn on_open(&mut self, agreed: FeedbackMode, connection: &Connection, window: &mut Window) {
        let is_enough = matches!(agreed, FeedbackMode::Dctcp | FeedbackMode::Accurate);
        match self {
            Self::Dctcp(_) if !is_enough => *self = Self::Reno(Reno::default()),
            Self::Custom(Custom(control)) => control.on_open(agreed, connection, window),
            _ => {}
        }
    }
    /// Takes note of an ACK: RTT, CE counts, rate.
    pub fn on_ack(&mut self, ack: &AckSample, window: &mut Window) {
        match self {
            Self::Reno(_) => {}
            Self::Cubic(cubic) => cubic.on_ack(ack, window),
            Self::TextbookCubic(cubic) => cubic.on_ack(ack),
            Self::Dctcp(dctcp) => dctcp.on_ack(ack),
            Self::Custom(Custom(control)) => control.on_ack(ack, window),
        }
    }
    /// A segment was found lost; for a control that wants details.
    pub fn on_lost(&mut self, lost: &LostSegment, window: &mut Window) {
        if let Self::Custom(Custom(control)) = self {
            control.on_lost(lost, window);
        }
    }
    /// Sets the window, after an ACK's losses are known; for a control that sets it itself.
    pub fn conclude(&mut self, ack: &AckSample, connection: &Connection, window: &mut Window) {
        if let Self::Custom(Custom(control)) = self {
            control.conclude(ack, connection, window);
        }
    }
    /// Grows the window for an ACK.
    pub fn increase(&mut self, ack: &AckSample, window: &mut Window) {
        if ack.cwnd_limited {
            dispatch!(self, control => control.increase(ack, window));
        }
    }
    /// The threshold of a reduction that begins now.
    pub fn threshold(&mut self, window: &Window) -> u32 {
        dispatch!(self, control => control.threshold(window))
    }
    /// The state of loss recovery changes from `old` to `new`.
    pub fn on_state(&mut self, old: State, new: State, ack: &AckSample, window: &mut Window) {
        match self {
            Self::Reno(_) => {}
            Self::Cubic(cubic) => cubic.on_state(new, ack, window),
            Self::TextbookCubic(cubic) => cubic.on_state(old, new, ack, window),
            Self::Dctcp(dctcp) => dctcp.on_state(old, new, window),
            Self::Custom(Custom(control)) => control.on_state(old, new, ack, window),
        }
    }
    /// Something else happens.
    pub fn on_event(&mut self, event: Event, now: Time, window: &mut Window) {
        match self {
            Self::Reno(_) | Self::TextbookCubic(_) => {}
            Self::Cubic(cubic) => cubic.on_event(event, now),
            Self::Dctcp(dctcp) => dctcp.on_event(event, window),
            Self::Custom(Custom(control)) => control.on_event(event, now, window),
        }
    }
    /// The window to return to when a reduction proves spurious.
    pub fn undo(&self, window: &Window) -> u32 {
        match self {
            Self::Dctcp(dctcp) => dctcp.undo(window),
            Self::Custom(Custom(control)) => control.undo(window),
            _ => window.cwnd.max(window.prior_cwnd),
        }
    }
    /// Whether the control sets window and pacing itself for each ACK.
    pub fn sets_window(&self) -> bool {
        self.as_custom().is_some_and(CongestionControl::sets_window)
    }
    /// Whether it wants to be told of each loss, and of what was in flight at departure.
    pub fn wants_details(&self) -> bool {
        self.as_custom()
            .is_some_and(CongestionControl::wants_details)
    }
    fn as_custom(&self) -> Option<&dyn CongestionControl> {
        match self {
            Self::Custom(Custom(control)) => Some(&**control),
            _ => None,
        }
    }
    /// Whether departures are paced where the configuration does not say.
    pub fn wants_pacing(&self) -> bool {
        self.as_custom()
            .is_some_and(CongestionControl::wants_pacing)
    }
    /// Segments that leave together with segmentation offload, where the sender would take `usual`.
    #[inline]
    pub fn burst(&self, usual: u32) -> u32 {
        match self {
            Self::Custom(Custom(control)) => control.burst(usual),
            _ => usual,
        }
    }
    /// The pacing rate that the control sets; `None` leaves it to the sender (Linux: 200 % and
    /// 120 % of the window per RTT).
    pub fn pacing_rate(&self) -> Option<Rate> {
        self.as_custom().and_then(CongestionControl::pacing_rate)
    }
}
