//! The sending end.

mod stats;

pub use stats::SenderStats;

use quell_aqm::Time;

use crate::config::SenderConfig;
use crate::segment::Segment;

/// The sending end of a connection.
#[derive(Debug, Clone)]
pub struct Sender {
    _config: SenderConfig,
}

impl Sender {
    /// A sender that has not opened yet.
    pub fn new(config: &SenderConfig) -> Self {
        Self {
            _config: config.clone(),
        }
    }
    /// Opens the connection: the SYN is ready to send.
    pub fn open(&mut self, _now: Time) {}
    /// The application hands over so many more bytes.
    pub fn write(&mut self, _bytes: u64) {}
    /// The application never runs out of bytes.
    pub fn write_endless(&mut self) {}
    /// Nothing follows what was written; an endless stream ends with what has been sent.
    pub fn close(&mut self) {}
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
    /// Whether everything written has been acknowledged, and the FIN too if closed.
    pub fn is_done(&self) -> bool {
        false
    }
    /// How it goes.
    pub fn stats(&self) -> SenderStats {
        SenderStats::default()
    }
}
