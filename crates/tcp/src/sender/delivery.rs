//! How much has been delivered, and how fast: draft-cheng-iccrg-delivery-rate-estimation; Linux
//! `net/ipv4/tcp_rate.c`.

use quell_units::Time;

use super::scoreboard::{APP_LIMITED, EVER_RETRANSMITTED, Entry};
use crate::cc::RateSample;

/// Totals of a connection.
#[derive(Debug, Clone, Default)]
pub(super) struct Delivery {
    /// Segments delivered, selectively acknowledged ones included.
    pub(super) delivered: u64,
    /// Of those, with congestion experienced.
    pub(super) delivered_ce: u64,
    /// When something was delivered last.
    last: Time,
    /// When the first segment of the current flight left.
    flight_start: Time,
    /// Until more than so much is delivered, samples are limited by the application; zero if they
    /// never were.
    app_limited_until: u64,
}

/// The newest segment that an ACK delivers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Newest {
    /// It, and where it ends.
    segment: Option<(Entry, u64)>,
    /// Its place on the board.
    pub(super) index: u64,
}

impl Newest {
    /// The segment at `index` is delivered, which ends at `end`.
    #[inline]
    pub(super) fn consider(&mut self, entry: &Entry, end: u64, index: u64) {
        if self
            .segment
            .is_none_or(|(known, known_end)| (entry.sent, end) > (known.sent, known_end))
        {
            self.segment = Some((*entry, end));
            self.index = index;
        }
    }
}

impl Delivery {
    pub(super) fn on_established(&mut self, now: Time) {
        self.last = now;
        self.flight_start = now;
    }
    /// A segment leaves, into an empty network or not; notes in it the state of delivery.
    #[inline]
    pub(super) fn on_sent(&mut self, entry: &mut Entry, was_empty: bool) {
        if was_empty {
            self.flight_start = entry.sent;
            self.last = entry.sent;
        }
        entry.set_spans(self.flight_start, self.last);
        entry.set_app_limited(self.is_app_limited());
        entry.delivered = self.delivered as u32;
        entry.delivered_ce = self.delivered_ce as u32;
    }
    pub(super) fn is_app_limited(&self) -> bool {
        self.app_limited_until > 0 && self.app_limited_until >= self.delivered
    }
    /// The application has nothing to send while the window would allow it.
    pub(super) fn on_app_limited(&mut self, in_flight: u32) {
        self.app_limited_until = (self.delivered + u64::from(in_flight)).max(1);
    }
    /// What the newest segment delivered had left with: segments delivered by then.
    pub(super) fn prior_delivered(&self, newest: &Newest) -> Option<u64> {
        let (entry, _) = newest.segment?;
        Some(self.delivered - u64::from((self.delivered as u32).wrapping_sub(entry.delivered)))
    }
    /// The sample of an ACK, after its deliveries were counted.
    #[inline]
    pub(super) fn sample(
        &mut self,
        newest: &Newest,
        now: Time,
        lowest: Option<Time>,
    ) -> RateSample {
        let Some((entry, _)) = newest.segment else {
            return RateSample::default();
        };
        self.last = now;
        self.flight_start = entry.sent;
        let delivered = (self.delivered as u32).wrapping_sub(entry.delivered);
        let (send_interval, ack_interval) = (entry.send_span(), now - entry.last_delivery());
        let interval = send_interval.max(ack_interval);
        // Shorter than any RTT: the segment was delivered before it was sent again.
        let is_valid = lowest.is_none_or(|lowest| interval >= lowest);
        RateSample {
            prior_delivered: self.delivered - u64::from(delivered),
            delivered,
            delivered_ce: (self.delivered_ce as u32).wrapping_sub(entry.delivered_ce),
            interval: if is_valid { interval } else { Time::ZERO },
            send_interval,
            ack_interval,
            tx_in_flight: 0,
            lost: 0,
            app_limited: entry.has(APP_LIMITED),
            retransmitted: entry.has(EVER_RETRANSMITTED),
        }
    }
}
