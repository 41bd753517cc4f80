//! RACK detects loss by time: RFC 8985; Linux `net/ipv4/tcp_recovery.c`.
//!
//! A segment is lost once a segment sent later has been delivered and the reordering window has
//! passed. That window is a quarter of the lowest RTT times a factor that D-SACKs raise. As long as
//! the path has not been seen to reorder, it is zero in recovery and after `reordering` SACKs.

use quell_units::Time;

use super::scoreboard::Scoreboard;
use super::sent_segment::{EVER_RETRANSMITTED, SentSegment};

/// Number of recoveries for which a raised window persists (`TCP_RACK_RECOVERY_THRESH`).
const RECOVERY_THRESH: u8 = 16;

/// The state of RFC 8985 section 5.
#[derive(Debug, Clone)]
pub(super) struct Rack {
    /// Departure and end of the most recently sent segment among those delivered (RACK.xmit_ts,
    /// RACK.end_seq).
    sent: Time,
    end: u64,
    /// RTT of the segment delivered last (RACK.rtt).
    rtt: Time,
    /// Whether anything was delivered since the last look for losses.
    pub(super) advanced: bool,
    /// Size of the reordering window in quarters of the lowest RTT (RACK.reo_wnd_mult).
    reo_wnd_steps: u8,
    /// Recoveries left until the window shrinks again.
    reo_wnd_persist: u8,
    /// A D-SACK arrived that the window must respond to.
    pub(super) dsack_seen: bool,
    /// Segments delivered when the window was last raised.
    last_delivered: u64,
    /// Least time to wait for a segment; less counts as none.
    grain: Time,
}

impl Rack {
    pub(super) fn new() -> Self {
        Self {
            sent: Time::ZERO,
            end: 0,
            rtt: Time::ZERO,
            advanced: false,
            reo_wnd_steps: 1,
            reo_wnd_persist: 0,
            dsack_seen: false,
            last_delivered: 0,
            grain: Time::from_nanos(1),
        }
    }
    /// Times are compared in microseconds, as in Linux: segments of one burst count as sent together. A
    /// sender alone distinguishes them, and waits for those that the last ACK did not reach.
    pub(super) fn count_in_microseconds(&mut self) {
        self.grain = Time::from_micros(1);
    }

    /// A segment is delivered (RFC 8985 section 6.2, reo_wnd_steps 1 and 2).
    #[inline]
    pub(super) fn on_delivered(
        &mut self,
        entry: &SentSegment,
        end: u64,
        now: Time,
        min_rtt: Option<Time>,
    ) {
        let rtt = now - entry.sent;
        // Section 6.2 step 2: an ACK within the lowest RTT of a retransmission acknowledges the
        // original.
        if entry.has(EVER_RETRANSMITTED) && min_rtt.is_some_and(|min_rtt| rtt < min_rtt) {
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        if (entry.sent, end) > (self.sent, self.end) {
            self.sent = entry.sent;
            self.end = end;
        }
    }

    /// The reordering window (`tcp_rack_reo_wnd`, RACK_update_reo_wnd); not `lenient` where recovery or
    /// DupThresh closes it.
    pub(super) fn reo_wnd(&self, min_rtt: Option<Time>, srtt: Option<Time>, lenient: bool) -> Time {
        if !lenient {
            return Time::ZERO;
        }
        let window = min_rtt.unwrap_or(Time::MAX) / 4 * u64::from(self.reo_wnd_steps);
        window.min(srtt.unwrap_or(Time::ZERO))
    }

    /// Marks the segments that are lost by now (section 6.2 step 5, RACK_detect_loss). Returns how long
    /// to wait for the others, if any may still prove lost.
    pub(super) fn detect_loss(
        &self,
        board: &mut Scoreboard,
        window: Time,
        now: Time,
    ) -> Option<Time> {
        let patience = self.rtt + window;
        board.detect_loss((self.sent, self.end), |sent| {
            Some(patience - (now - sent)).filter(|left| *left >= self.grain)
        })
    }
    /// Whether a segment sent at this time would be lost by now on a path without reordering.
    pub(super) fn has_expired(&self, sent: Time, now: Time) -> bool {
        now - sent >= self.rtt
    }

    /// Adapts the window to D-SACKs, once per round (section 6.2 step 4;
    /// `tcp_rack_update_reo_wnd`). `prior_delivered` is the number of segments delivered when the
    /// segment just delivered was sent.
    pub(super) fn update_reo_wnd(&mut self, prior_delivered: u64, delivered: u64) {
        if prior_delivered < self.last_delivered {
            self.dsack_seen = false;
        }
        if self.dsack_seen {
            self.reo_wnd_steps = self.reo_wnd_steps.saturating_add(1);
            self.dsack_seen = false;
            self.last_delivered = delivered;
            self.reo_wnd_persist = RECOVERY_THRESH;
        } else if self.reo_wnd_persist == 0 {
            self.reo_wnd_steps = 1;
        }
    }
    /// A recovery ended that was not spurious.
    pub(super) fn on_recovered(&mut self) {
        self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
    }
    /// D-SACKs have shown every retransmission to be needless.
    pub(super) fn on_spurious(&mut self) {
        self.reo_wnd_persist = (self.reo_wnd_persist + 1).min(RECOVERY_THRESH);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = Time::from_millis;

    /// RFC 8985 section 6.2.4: a D-SACK widens the window by a quarter of the lowest RTT, once per
    /// round and up to the smoothed RTT, for sixteen recoveries; two in one round count once.
    #[test]
    fn dsacks_widen_the_window_once_per_round_for_sixteen_recoveries() {
        let mut rack = Rack::new();
        let window = |rack: &Rack, lenient| rack.reo_wnd(Some(MS(100)), Some(MS(110)), lenient);
        assert_eq!(window(&rack, true), MS(25));
        // (a D-SACK came, delivered when the newest was sent, delivered now) and the window then.
        for (dsack, prior, delivered, expected) in [
            (true, 10, 20, 50),
            (true, 15, 25, 50),
            (false, 25, 35, 50),
            (true, 35, 45, 75),
            (true, 45, 55, 100),
            (true, 55, 65, 110),
        ] {
            rack.dsack_seen = dsack;
            rack.update_reo_wnd(prior, delivered);
            assert_eq!(window(&rack, true), MS(expected), "{prior}");
        }
        assert_eq!(
            window(&rack, false),
            Time::ZERO,
            "closed where losses are clear"
        );
        for recovery in 0..16 {
            rack.update_reo_wnd(100, 100 + recovery);
            assert_eq!(window(&rack, true), MS(110), "{recovery}");
            rack.on_recovered();
        }
        rack.update_reo_wnd(200, 210);
        assert_eq!(window(&rack, true), MS(25));
    }
}
