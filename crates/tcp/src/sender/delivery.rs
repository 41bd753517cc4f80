//! Counts deliveries and samples their rate: draft-cheng-iccrg-delivery-rate-estimation; Linux
//! `net/ipv4/tcp_rate.c`.

use quell_units::Time;

use super::sent_segment::{APP_LIMITED, EVER_RETRANSMITTED, SentSegment, micros};
use crate::cc::RateSample;

/// Totals of a connection. As in Linux, intervals are differences of instants that are rounded down to
/// microseconds.
#[derive(Debug, Clone, Default)]
pub(super) struct Delivery {
    /// Segments delivered, selectively acknowledged ones and the SYN included.
    pub(super) delivered: u64,
    /// Segments with CE among them.
    pub(super) delivered_ce: u64,
    /// Time of the last delivery in µs (C.delivered_time, `delivered_mstamp`).
    pub(super) last_us: u64,
    /// Departure of the current flight's first segment in µs (C.first_sent_time, `first_tx_mstamp`).
    flight_start_us: u64,
    /// Samples are limited by the application until more than this number of segments is delivered;
    /// zero if they never were (C.app_limited).
    app_limited_until: u64,
}

/// The most recently sent segment that an ACK delivers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Newest {
    /// The segment and its end.
    segment: Option<(SentSegment, u64)>,
    /// Its index on the board.
    pub(super) index: u64,
}

impl Newest {
    /// The segment at `index` is delivered, which ends at `end`.
    #[inline]
    pub(super) fn consider(&mut self, entry: &SentSegment, end: u64, index: u64) {
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
    /// The SYN was acknowledged, which counts as a segment.
    pub(super) fn on_established(&mut self, now: Time) {
        self.delivered = 1;
        self.last_us = micros(now);
        self.flight_start_us = micros(now);
    }
    /// Segments delivered without the SYN.
    pub(super) fn data_segments(&self) -> u64 {
        self.delivered.saturating_sub(1)
    }
    /// Records the state of delivery in a segment that leaves; `was_empty` if nothing was outstanding.
    #[inline]
    pub(super) fn on_sent(&mut self, entry: &mut SentSegment, was_empty: bool) {
        let sent_us = micros(entry.sent);
        if was_empty {
            self.flight_start_us = sent_us;
            self.last_us = sent_us;
        }
        entry.set_spans(sent_us, self.flight_start_us, self.last_us);
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
    /// Number of segments delivered when the newest segment was sent.
    pub(super) fn prior_delivered(&self, newest: &Newest) -> Option<u64> {
        let (entry, _) = newest.segment?;
        Some(self.delivered - u64::from((self.delivered as u32).wrapping_sub(entry.delivered)))
    }
    /// The rate sample of an ACK whose deliveries are counted already.
    #[inline]
    pub(super) fn sample(
        &mut self,
        newest: &Newest,
        now: Time,
        min_rtt: Option<Time>,
    ) -> RateSample {
        let Some((entry, _)) = newest.segment else {
            return RateSample::default();
        };
        let (now_us, sent_us) = (micros(now), micros(entry.sent));
        self.last_us = now_us;
        self.flight_start_us = sent_us;
        let delivered = (self.delivered as u32).wrapping_sub(entry.delivered);
        let snd_interval_us = entry.send_span_us();
        let rcv_interval_us = now_us.saturating_sub(sent_us) + entry.ack_span_us();
        let interval_us = snd_interval_us.max(rcv_interval_us);
        // An interval shorter than any RTT shows that the original was delivered, not the
        // retransmission. Such a sample would overestimate the rate (`tcp_rate_gen`).
        let is_valid = min_rtt.is_some_and(|min_rtt| interval_us >= micros(min_rtt));
        RateSample {
            prior_delivered: self.delivered - u64::from(delivered),
            delivered,
            delivered_ce: (self.delivered_ce as u32).wrapping_sub(entry.delivered_ce),
            interval_us: if is_valid { interval_us } else { 0 },
            snd_interval_us,
            rcv_interval_us,
            tx_in_flight: 0,
            lost: 0,
            app_limited: entry.has(APP_LIMITED),
            retransmitted: entry.has(EVER_RETRANSMITTED),
        }
    }
}
