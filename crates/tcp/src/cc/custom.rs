//! A control that the user of this crate brings along.
//!
//! The controls of this crate are variants of [`Control`](super::Control), which costs no call through
//! a pointer; this is the same interface as a trait, for experiments and tests
//! ([`Sender::with_control`](crate::Sender::with_control)).

use std::fmt;

use quell_units::{Rate, Time};

use super::{AckSample, Connection, Event, LostSegment, State, Window};
use crate::ecn::FeedbackMode;

/// What the sender asks of a control, in the order in which a connection does; the names of Linux's
/// `tcp_congestion_ops` stand beside.
pub trait CongestionControl: fmt::Debug {
    /// A copy of it, for a connection that is cloned.
    fn boxed(&self) -> Box<dyn CongestionControl>;
    /// The handshake is over and has agreed on this feedback (`init`).
    fn on_open(&mut self, _agreed: FeedbackMode, _connection: &Connection, _window: &mut Window) {}
    /// Takes note of an ACK, before anything is decided of losses (`in_ack_event`, `pkts_acked`).
    fn on_ack(&mut self, _ack: &AckSample, _window: &mut Window) {}
    /// A segment was found lost (`skb_marked_lost` of BBR v2); only for one that
    /// [wants details](Self::wants_details).
    fn on_lost(&mut self, _lost: &LostSegment, _window: &mut Window) {}
    /// The state of loss recovery changes (`set_state`).
    fn on_state(&mut self, _old: State, _new: State, _ack: &AckSample, _window: &mut Window) {}
    /// Something else happens (`cwnd_event`).
    fn on_event(&mut self, _event: Event, _now: Time, _window: &mut Window) {}
    /// The threshold of a reduction that begins now (`ssthresh`).
    fn threshold(&mut self, window: &Window) -> u32;
    /// Grows the window for an ACK (`cong_avoid`); not for one that sets the window itself.
    fn increase(&mut self, _ack: &AckSample, _window: &mut Window) {}
    /// Sets the window, after an ACK's losses are known (`cong_control`); only for one that
    /// [sets the window](Self::sets_window).
    fn conclude(&mut self, _ack: &AckSample, _connection: &Connection, _window: &mut Window) {}
    /// The window to return to when a reduction proves spurious (`undo_cwnd`).
    fn undo(&self, window: &Window) -> u32 {
        window.cwnd.max(window.prior_cwnd)
    }
    /// Whether it sets window and pacing itself for each ACK.
    fn sets_window(&self) -> bool {
        false
    }
    /// Whether it wants [`on_lost`](Self::on_lost), and [`RateSample`](super::RateSample) with what was
    /// in flight and lost at departure. Asked once, at the start.
    fn wants_details(&self) -> bool {
        false
    }
    /// Whether departures are paced where the configuration does not say.
    fn wants_pacing(&self) -> bool {
        false
    }
    /// The pacing rate that it sets (`sk_pacing_rate`); `None` leaves it to the sender.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
    /// Segments that leave together with segmentation offload, where the sender would take `usual`
    /// (`min_tso_segs`, `tso_segs`).
    fn burst(&self, usual: u32) -> u32 {
        usual
    }
}

/// It, in a box that can be cloned.
#[derive(Debug)]
pub struct Custom(pub Box<dyn CongestionControl>);

impl Clone for Custom {
    fn clone(&self) -> Self {
        Self(self.0.boxed())
    }
}
