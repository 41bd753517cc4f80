//! Use of the link itself: busy time, capacity and losses outside the queue.
//!
//! Busy time is that of the departure clock, so it includes the overhead of packets. A link whose rate follows a trace is judged by
//! what it carried of what the trace offered: time says little where the rate moves.

use quell_aqm::Departure;
use quell_aqm::impair::Counts;
use quell_units::{Rate, Time};

use crate::timeline::Span;

/// Use of the link in the open segment and in the whole.
#[derive(Debug, Clone)]
pub(crate) struct LinkTally {
    rate: Rate,
    rate_since: Time,
    /// End of the last transmission.
    busy_until: Time,
    /// When it began, and its link bytes; those of an aggregate are together on the link.
    last: (Time, u64),
    /// Whether use is judged by the link's offer.
    by_offer: bool,
    segment: LinkUse,
    whole: LinkUse,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct LinkUse {
    /// Time in which it transmitted.
    pub(crate) busy: Time,
    /// The rate over time, in bit/s × ns.
    capacity: u128,
    /// Link bytes of the transmissions; of one across an end, the part by time.
    carried: u64,
    /// The link had no rate limit for a while.
    unlimited: bool,
    /// Packets lost anywhere but by the discipline, and what was copied and damaged.
    pub(crate) outside: Counts,
}

impl LinkTally {
    pub(crate) fn new(rate: Rate) -> Self {
        Self {
            rate,
            rate_since: Time::ZERO,
            busy_until: Time::ZERO,
            last: (Time::ZERO, 0),
            by_offer: false,
            segment: LinkUse::default(),
            whole: LinkUse::default(),
        }
    }

    pub(crate) fn rate(&self) -> Rate {
        self.rate
    }
    pub(crate) fn judge_by_offer(&mut self) {
        self.by_offer = true;
    }
    /// The share of its offer that the link carried; `None` if time counts instead, or nothing was offered.
    pub(crate) fn share(&self, used: &LinkUse) -> Option<f64> {
        let offered = used.capacity as f64 / 8e9;
        (self.by_offer && offered > 0.0).then(|| used.carried as f64 / offered)
    }
    /// The use of the link in the closed segments of the whole.
    pub(crate) fn whole(&self) -> LinkUse {
        self.whole.clone()
    }

    #[inline]
    pub(crate) fn transmit(&mut self, departure: &Departure) {
        // Packets of one aggregate are on the link at the same time.
        self.segment.busy += departure.end - departure.start.max(self.busy_until);
        let bytes = departure.link_bytes.get();
        self.segment.carried += bytes;
        self.last = if departure.start < self.busy_until {
            (self.last.0, self.last.1 + bytes)
        } else {
            (departure.start, bytes)
        };
        self.busy_until = departure.end;
    }
    pub(crate) fn set_rate(&mut self, rate: Rate, now: Time) {
        self.account(now);
        self.rate = rate;
    }
    pub(crate) fn count_outside(&mut self, counts: &Counts) {
        let before = std::mem::take(&mut self.segment.outside);
        self.segment.outside = before.plus(counts);
    }

    /// Adds the capacity of the present rate up to `now`.
    fn account(&mut self, now: Time) {
        let span = now - self.rate_since;
        self.rate_since = self.rate_since.max(now);
        if self.rate.is_unlimited() {
            self.segment.unlimited |= !span.is_zero();
        } else {
            self.segment.capacity += u128::from(self.rate.as_bps()) * u128::from(span.as_nanos());
        }
    }

    /// The use in the segment that ends at `at`. A transmission across the end counts in part on both
    /// sides.
    pub(crate) fn close_segment(&mut self, at: Time, measured: bool) -> LinkUse {
        self.account(at);
        let beyond = self.busy_until - at;
        let mut used = std::mem::take(&mut self.segment);
        used.busy = used.busy - beyond;
        self.segment.busy = beyond;
        let (began, bytes) = self.last;
        let length = u128::from((self.busy_until - began).as_nanos()).max(1);
        let later = u128::from(bytes) * u128::from(beyond.min(self.busy_until - began).as_nanos());
        let later = ((later / length) as u64).min(used.carried);
        used.carried -= later;
        self.segment.carried = later;
        if measured {
            self.whole.busy += used.busy;
            self.whole.capacity += used.capacity;
            self.whole.carried += used.carried;
            self.whole.unlimited |= used.unlimited;
            let before = std::mem::take(&mut self.whole.outside);
            self.whole.outside = before.plus(&used.outside);
        }
        used
    }
}

impl LinkUse {
    /// Mean rate over `span`; `rate` for a span of length zero.
    pub(crate) fn mean_rate(&self, span: Span, rate: Rate) -> Rate {
        match u128::from(span.length().as_nanos()) {
            _ if self.unlimited => Rate::UNLIMITED,
            0 => rate,
            length => Rate::from_bps((self.capacity / length) as u64),
        }
    }
}
