//! The calls between the sender and a congestion control.
//!
//! The calls are those of Linux's `tcp_congestion_ops` (`include/net/tcp.h`) and have their names.
//! For each ACK the sender calls [`CongestionControl::on_ack`], and [`CongestionControl::cong_avoid`]
//! when the window may grow. A control that sets the window itself, such as BBR, answers
//! [`CongestionControl::has_cong_control`]; then [`CongestionControl::cong_control`] takes the place
//! of both the reduction and the growth. Each call comes with the [`Connection`] as it is then.
//!
//! The order in an ACK is Linux's: marks, RTT and rate sample; `on_ack`; the end of a tail loss
//! probe; `on_lost` for each segment found lost; `ssthresh`, `cwnd_event`, `set_state`, `undo_cwnd` as
//! loss recovery needs them; `cong_control`, or the reduction, or `cong_avoid`; the pacing rate.
//!
//! Which control needs what: H-TCP and Compound need the RTT and `acked_in_order` of [`AckSample`], for
//! the throughput and the delay of a round; Prague needs `acked_ce`, `delivered_ce` and the pacing rate;
//! BBR v1 needs [`RateSample`](super::RateSample), [`Connection`] and [`Rounds`](super::Rounds); BBR
//! v2 and v3 also need each [`LostSegment`].

use std::fmt;

use quell_units::parameter::Table;
use quell_units::{Random, Rate, Time};

use super::{AckSample, CaState, Connection, Control, ControlKind, LostSegment, Window};
use crate::Codepoint;
use crate::ecn::FeedbackMode;
use crate::ticks::Ticks;

/// An event of a sender besides ACKs (Linux `enum tcp_ca_event`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The retransmission timer ran out (`CA_EVENT_LOSS`).
    Loss,
    /// The first segment leaves after a pause; holds the time since the last departure
    /// (`CA_EVENT_TX_START`).
    TxStart(Time),
    /// The window is about to shrink after idle time (`CA_EVENT_CWND_RESTART`).
    CwndRestart,
    /// A reduction is complete (`CA_EVENT_COMPLETE_CWR`).
    CompleteCwr,
    /// A tail loss probe has repaired a loss (`tcp_process_tlp_ack`; `CA_EVENT_TLP_RECOVERY` of
    /// BBR v2); holds whether the application limited the sender when the lost segment left
    /// (`tlp_orig_data_app_limited`).
    TlpRecovery(bool),
}

/// A congestion control at work in one connection.
///
/// The controls of this crate are variants of [`Control`], which calls them without a pointer. A
/// control that the user of this crate brings along goes through a box
/// ([`Sender::with_control`](crate::Sender::with_control)).
pub trait CongestionControl: fmt::Debug + CloneBoxed {
    /// The handshake is over and has agreed on this feedback (`init`). Returns the control that
    /// takes over where this one cannot work with it, as Linux then exchanges `icsk_ca_ops`.
    fn init(
        &mut self,
        _agreed: FeedbackMode,
        _connection: &Connection,
        _window: &mut Window,
    ) -> Option<Control> {
        None
    }
    /// An ACK arrived; its losses are not known yet, and it has not changed the state of loss recovery
    /// (`in_ack_event`, `pkts_acked`).
    fn on_ack(&mut self, _ack: &AckSample, _connection: &Connection, _window: &mut Window) {}
    /// A segment was found lost (`skb_marked_lost` of BBR v2). Called only if the control
    /// [wants details](Self::wants_details). `connection` counts all that were found lost together.
    fn on_lost(&mut self, _lost: &LostSegment, _connection: &Connection, _window: &mut Window) {}
    /// The state of loss recovery changes to `new` from that of `connection` (`set_state`).
    fn set_state(&mut self, _new: CaState, _connection: &Connection, _window: &mut Window) {}
    /// Something else happens (`cwnd_event`).
    fn cwnd_event(&mut self, _event: Event, _connection: &Connection, _window: &mut Window) {}
    /// Returns the slow-start threshold of a reduction that begins now, in segments (`ssthresh`).
    fn ssthresh(&mut self, connection: &Connection, window: &Window) -> u32;
    /// Grows the window for an ACK (`cong_avoid`). Called only where the window limits the sender
    /// (`tcp_is_cwnd_limited`, which each control of Linux asks first), and never if the control
    /// [sets the window itself](Self::has_cong_control).
    fn cong_avoid(&mut self, _ack: &AckSample, _connection: &Connection, _window: &mut Window) {}
    /// Sets the window, after an ACK's losses are known (`cong_control`). Called only if the control
    /// [sets the window itself](Self::has_cong_control).
    fn cong_control(&mut self, _ack: &AckSample, _connection: &Connection, _window: &mut Window) {}
    /// Returns the window to restore when a reduction proves spurious, in segments (`undo_cwnd`). The
    /// sender then restores the threshold, if the old one was higher.
    fn undo_cwnd(&mut self, _connection: &Connection, window: &mut Window) -> u32 {
        window.cwnd.max(window.prior_cwnd)
    }
    /// Whether it sets window and pacing rate itself on each ACK.
    fn has_cong_control(&self) -> bool {
        false
    }
    /// Whether it wants [`on_lost`](Self::on_lost), and a [`RateSample`](super::RateSample) with what
    /// was in flight and lost at departure. Asked once, at the start.
    fn wants_details(&self) -> bool {
        false
    }
    /// The pacing rate that it sets (`sk_pacing_rate`); `None` leaves it to the sender (Linux: 200 %
    /// and 120 % of the window per RTT). Asked after each call that may change it, except `on_ack` and
    /// `on_lost`.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
    /// Least number of segments that leave together with segmentation offload (`min_tso_segs`; Linux's
    /// `tcp_min_tso_segs` is 2); at least 1.
    fn min_tso_segs(&self) -> u32 {
        2
    }
    /// Number of segments that leave together with segmentation offload, not less than
    /// [`min_tso_segs`](Self::min_tso_segs) (`tso_segs` of Google's and L4S's trees). The sender would take so many `bytes` of payload, of `mss` in a full segment:
    /// what the pacing rate sends in 2⁻¹⁰ s and the allowance for close peers, at most 65 215
    /// (`tcp_tso_autosize`).
    fn tso_segs(&self, bytes: u64, mss: u32) -> u32 {
        let segments = bytes / u64::from(mss.max(1));
        u32::try_from(segments)
            .unwrap_or(u32::MAX)
            .max(self.min_tso_segs())
    }
    /// Memory of the send buffer for each segment of the window, in sizes of a segment
    /// (`sndbuf_expand`; BBR has 3).
    fn sndbuf_expand(&self) -> u32 {
        2
    }
}

/// The declaration of a control, which makes it from its options. A control of this crate is one file that implements this and
/// [`CongestionControl`], and one line in the table of [`cc`](super); one of another crate is [registered](super::own).
pub trait Declared: CongestionControl + Sized {
    /// Its options, declared with [`parameters!`](quell_units::parameters).
    type Config: Table + fmt::Debug + Clone + Copy + PartialEq + Eq;
    /// Its declaration for the scenario format, `quell cc` and the documentation.
    const KIND: ControlKind;
    /// The ECN feedback that suits it; never [`FeedbackMode::Off`].
    fn feedback(_config: &Self::Config) -> FeedbackMode {
        FeedbackMode::Classic
    }
    /// Codepoint of its data packets where the scenario does not say; `None` for no ECN.
    fn codepoint(_config: &Self::Config) -> Option<Codepoint> {
        Self::KIND.ecn
    }
    /// Whether it responds to marks if they come back.
    fn responds_to_marks(_config: &Self::Config) -> bool {
        true
    }
    /// The control of a new connection, which may alter the initial window (`init`).
    fn new(config: &Self::Config, host: &Host, window: &mut Window) -> Self;
}

/// The host of a new control.
#[derive(Debug, Clone)]
pub struct Host {
    /// The host's jiffies.
    pub ticks: Ticks,
    /// The control's own stream of random numbers, which it copies if it draws any
    /// (`get_random_u32_below(n)` is [`Random::below`]).
    pub random: Random,
}

/// Copies a control for a connection that is cloned; every control that is `Clone` has it.
pub trait CloneBoxed {
    /// A copy in a box of its own.
    fn clone_boxed(&self) -> Box<dyn CongestionControl>;
}

impl<T: CongestionControl + Clone + 'static> CloneBoxed for T {
    fn clone_boxed(&self) -> Box<dyn CongestionControl> {
        Box::new(self.clone())
    }
}

/// A control that the user of this crate brings along.
#[derive(Debug)]
pub struct Custom(pub Box<dyn CongestionControl>);

impl Clone for Custom {
    fn clone(&self) -> Self {
        // Not the box's own copy, which would be a box in a box.
        Self((*self.0).clone_boxed())
    }
}
