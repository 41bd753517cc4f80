//! The receiving end.

use quell_aqm::Time;

use crate::config::ReceiverConfig;
use crate::segment::Segment;

/// The receiving end of a connection.
#[derive(Debug, Clone)]
pub struct Receiver {
    _config: ReceiverConfig,
}

impl Receiver {
    /// A receiver that listens.
    pub fn new(config: &ReceiverConfig) -> Self {
        Self {
            _config: config.clone(),
        }
    }
    /// A segment arrived.
    pub fn on_segment(&mut self, _segment: &Segment, _now: Time) {}
    /// The next segment to send now; call until `None`.
    pub fn poll(&mut self, _now: Time) -> Option<Segment> {
        None
    }
    /// When to call [`on_timer`](Self::on_timer) next; it may change with every other call.
    pub fn next_timer(&self) -> Option<Time> {
        None
    }
    /// Time has come; call [`poll`](Self::poll) afterwards. Harmless when early.
    pub fn on_timer(&mut self, _now: Time) {}
    /// Bytes handed to the application, in order.
    pub fn delivered(&self) -> u64 {
        0
    }
    /// Whether the FIN and everything before it has arrived.
    pub fn is_finished(&self) -> bool {
        false
    }
}
