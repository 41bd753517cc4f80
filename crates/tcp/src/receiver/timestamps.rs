//! Timestamps (RFC 7323): their clock, and protection against old segments (PAWS, section 5; Linux `tcp_input.c`,
//! `tcp_paws_check`, `tcp_send_dupack`).
//!
//! PAWS is meant for numbers that wrap. On a path that reorders it also discards originals that a retransmission
//! has overtaken: they are sent again although the network has lost nothing.

use quell_units::Time;

use super::{QUICK_ACKS, Receiver};
use crate::segment::{Sack, Segment};

/// Time by which a timestamp may be older than the latest (`TCP_PAWS_WINDOW`).
const PAWS_WINDOW: Time = Time::from_millis(1);

/// Whether a segment fails the check of its timestamp (PAWS, RFC 7323 section 5): it is older than the latest
/// of a segment that was acknowledged. Linux allows a tick of the clock (`TCP_PAWS_WINDOW`).
#[inline]
pub(crate) fn is_outdated(ts_recent: Time, segment: &Segment) -> bool {
    segment.timestamp + PAWS_WINDOW < ts_recent && !segment.timestamp.is_zero()
}

/// Timestamp of a segment that leaves at `now`: in milliseconds, never zero.
#[inline]
pub(crate) fn timestamp(now: Time) -> Time {
    Time::from_millis(now.as_nanos() / 1_000_000).max(Time::from_nanos(1))
}

impl Receiver {
    /// Data is older than what has been acknowledged since, and is discarded (`tcp_send_dupack`): a
    /// retransmission has overtaken it, so more is lost than the network drops.
    #[cold]
    pub(crate) fn on_outdated(&mut self, segment: &Segment) {
        let (start, next) = (segment.sequence, self.reassembly.rcv_nxt());
        if start < next {
            self.delayed.enter_quick_phase(QUICK_ACKS);
            self.feedback.on_duplicate(start);
            let end = segment.end().min(next);
            self.duplicate = Some(Sack { start, end });
        }
        self.ack_wanted = true;
    }
}
