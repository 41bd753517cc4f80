//! RACK: loss by time. RFC 8985; Linux `net/ipv4/tcp_recovery.c`.
//!
//! A segment is lost once one sent later has been delivered and the reordering window has passed.
//! That window is a quarter of the lowest RTT times a factor that D-SACKs raise; it is nothing in
//! recovery or after `reordering` SACKs, as long as the path has not been seen to reorder.
//!
//! Deviation: the reorder timer looks at no more than [`MAX_SCAN`] segments within the window; on
//! paths that reorder by more, what is behind them is found when the timer runs out.

use quell_units::Time;

use super::scoreboard::{EVER_RETRANSMITTED, Entry, Scoreboard};

/// Recoveries for which a raised window persists (`TCP_RACK_RECOVERY_THRESH`).
const PERSISTENCE: u8 = 16;
/// Segments looked at to set the reorder timer.
const MAX_SCAN: u32 = 64;

/// The state of RFC 8985 section 5.
#[derive(Debug, Clone)]
pub(super) struct Rack {
    /// When the most recently sent of the delivered segments left, and where it ends.
    sent: Time,
    end: u64,
    /// RTT of the segment delivered last.
    rtt: Time,
    /// Whether anything was delivered since the last look for losses.
    pub(super) advanced: bool,
    /// Times the reordering window is a quarter of the lowest RTT.
    steps: u8,
    persistence: u8,
    /// A D-SACK came that the window answers to.
    pub(super) dsack_seen: bool,
    /// What was delivered when the window was last raised.
    raised_at: u64,
}

impl Rack {
    pub(super) fn new() -> Self {
        Self {
            sent: Time::ZERO,
            end: 0,
            rtt: Time::ZERO,
            advanced: false,
            steps: 1,
            persistence: 0,
            dsack_seen: false,
            raised_at: 0,
        }
    }

    /// A segment is delivered (RFC 8985 section 6.2, steps 1 and 2).
    #[inline]
    pub(super) fn on_delivered(
        &mut self,
        entry: &Entry,
        end: u64,
        now: Time,
        lowest: Option<Time>,
    ) {
        let rtt = now - entry.sent;
        // The ACK came too soon for the retransmission: it was for the original.
        if entry.has(EVER_RETRANSMITTED) && lowest.is_some_and(|lowest| rtt < lowest) {
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        if (entry.sent, end) > (self.sent, self.end) {
            self.sent = entry.sent;
            self.end = end;
        }
    }

    /// The reordering window; `lenient` where neither recovery nor the duplicate threshold closes
    /// it.
    pub(super) fn window(
        &self,
        lowest: Option<Time>,
        smoothed: Option<Time>,
        lenient: bool,
    ) -> Time {
        if !lenient {
            return Time::ZERO;
        }
        let window = lowest.unwrap_or(Time::MAX) / 4 * u64::from(self.steps);
        window.min(smoothed.unwrap_or(Time::ZERO))
    }

    /// Marks what is lost by now (section 6.2, step 5). Returns how long to wait for the rest, if
    /// anything may yet prove lost.
    pub(super) fn detect(&self, board: &mut Scoreboard, window: Time, now: Time) -> Option<Time> {
        let patience = self.rtt + window;
        let mut wait = None;
        let mut scanned = 0;
        board.judge(|sent, end| {
            if (self.sent, self.end) <= (sent, end) || scanned == MAX_SCAN {
                return None;
            }
            let left = patience - (now - sent);
            if left.is_zero() {
                return Some(true);
            }
            scanned += 1;
            wait = wait.max(Some(left));
            Some(false)
        });
        wait
    }
    /// Whether a segment sent at this time would be lost by now, without any reordering.
    pub(super) fn has_expired(&self, sent: Time, now: Time) -> bool {
        now - sent >= self.rtt
    }

    /// Adapts the window to D-SACKs, once per round (section 6.2, step 4). `prior_delivered` is
    /// what was delivered when the segment just delivered had left.
    pub(super) fn adapt(&mut self, prior_delivered: u64, delivered: u64) {
        if prior_delivered < self.raised_at {
            self.dsack_seen = false;
        }
        if self.dsack_seen {
            self.steps = self.steps.saturating_add(1);
            self.dsack_seen = false;
            self.raised_at = delivered;
            self.persistence = PERSISTENCE;
        } else if self.persistence == 0 {
            self.steps = 1;
        }
    }
    /// A recovery ends that was not spurious.
    pub(super) fn on_recovered(&mut self) {
        self.persistence = self.persistence.saturating_sub(1);
    }
    /// D-SACKs have shown every retransmission needless.
    pub(super) fn on_spurious(&mut self) {
        self.persistence = (self.persistence + 1).min(PERSISTENCE);
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
        let window = |rack: &Rack, lenient| rack.window(Some(MS(100)), Some(MS(110)), lenient);
        assert_eq!(window(&rack, true), MS(25));
        // (a D-SACK came, delivered when the newest had left, delivered now) and the window then.
        for (dsack, prior, delivered, expected) in [
            (true, 10, 20, 50),
            (true, 15, 25, 50),
            (false, 25, 35, 50),
            (true, 35, 45, 75),
            (true, 45, 55, 100),
            (true, 55, 65, 110),
        ] {
            rack.dsack_seen = dsack;
            rack.adapt(prior, delivered);
            assert_eq!(window(&rack, true), MS(expected), "{prior}");
        }
        assert_eq!(
            window(&rack, false),
            Time::ZERO,
            "none where losses are clear"
        );
        for recovery in 0..16 {
            rack.adapt(100, 100 + recovery);
            assert_eq!(window(&rack, true), MS(110), "{recovery}");
            rack.on_recovered();
        }
        rack.adapt(200, 210);
        assert_eq!(window(&rack, true), MS(25));
    }
}
