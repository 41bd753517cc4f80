//! The congestion window and how a control moves it: Linux `net/ipv4/tcp_cong.c`.

use quell_units::Time;

/// The window of a connection, in segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Congestion window; at least 1.
    pub cwnd: u32,
    /// Slow-start threshold; [`Window::NO_THRESHOLD`] before the first reduction.
    pub ssthresh: u32,
    /// Progress towards the next increment in congestion avoidance.
    pub count: u32,
    /// The window before the reduction that is under way.
    pub prior_cwnd: u32,
}

/// What an ACK told, for the control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AckSample {
    /// When it arrived.
    pub now: Time,
    /// Segments newly delivered, selectively acknowledged ones included.
    pub acked: u32,
    /// Packets newly known to have had congestion experienced. With AccECN those without payload
    /// count too, so there may be more than `acked`.
    pub acked_ce: u32,
    /// Payload bytes newly delivered.
    pub acked_bytes: u64,
    /// Of those, with congestion experienced: by AccECN's byte counters, or estimated.
    pub acked_ce_bytes: u64,
    /// Segments newly found lost; not known yet in [`Control::on_ack`](super::Control::on_ack).
    pub lost: u32,
    /// Whether it echoes congestion, also where no segment is newly known to be marked.
    pub ece: bool,
    /// Whether it may have waited for the receiver's timer, so that the RTT is not that of the path
    /// (Linux `FLAG_ACK_MAYBE_DELAYED`); known in [`Control::conclude`](super::Control::conclude).
    pub maybe_delayed: bool,
    /// Segments in flight before this ACK.
    pub prior_in_flight: u32,
    /// RTT of the newest segment delivered; `None` where a retransmission makes it ambiguous.
    pub rtt: Option<Time>,
    /// First byte not acknowledged.
    pub una: u64,
    /// First byte never sent.
    pub next: u64,
    /// Whether the window is what limits the sender.
    pub cwnd_limited: bool,
    /// Whether departures are paced.
    pub paced: bool,
    /// Time that a burst of the host's largest size takes at the pacing rate, at most 1 ms.
    pub burst_time: Time,
    /// Segments delivered since the start.
    pub delivered: u64,
    /// Of those, with congestion experienced.
    pub delivered_ce: u64,
    /// Delivery rate over the flight that this ACK ends.
    pub rate: RateSample,
}

/// A delivery-rate sample (draft-cheng-iccrg-delivery-rate-estimation; Linux `tcp_rate.c`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RateSample {
    /// Segments delivered when the newest segment delivered left; a round ends when this passes
    /// what was delivered at the round's start.
    pub prior_delivered: u64,
    /// Segments delivered between then and now.
    pub delivered: u32,
    /// Of those, with congestion experienced.
    pub delivered_ce: u32,
    /// The longer of the two intervals that follow; zero where the sample is not usable.
    pub interval: Time,
    /// From the departure of the first segment of the flight to that of the newest delivered.
    pub send_interval: Time,
    /// From the delivery before the newest left to its own.
    pub ack_interval: Time,
    /// Segments in flight when the newest delivered left, it included. This and `lost` are for
    /// controls that want details, and zero for others (BBR v2).
    pub tx_in_flight: u32,
    /// Segments found lost since then; known in [`Control::conclude`](super::Control::conclude).
    pub lost: u32,
    /// Whether the application limited the sender meanwhile.
    pub app_limited: bool,
    /// Whether that newest segment had been retransmitted.
    pub retransmitted: bool,
}

impl Window {
    /// No threshold yet.
    pub const NO_THRESHOLD: u32 = u32::MAX;
    /// More than any path holds; keeps products with 10-bit scales within 64 bits and sums within
    /// 32.
    pub const MAX: u32 = 1 << 30;

    /// The window of a new connection.
    pub fn new(initial: u32) -> Self {
        Self {
            cwnd: initial.clamp(1, Self::MAX),
            ssthresh: Self::NO_THRESHOLD,
            count: 0,
            prior_cwnd: 0,
        }
    }
    /// Whether the window is below its threshold.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
    /// Slow start: one segment per segment acknowledged, up to the threshold (RFC 3465 without its
    /// limit of two, as Linux). Returns what is left for congestion avoidance.
    pub fn slow_start(&mut self, acked: u32) -> u32 {
        let grown = self
            .cwnd
            .saturating_add(acked)
            .min(self.ssthresh)
            .min(Self::MAX)
            .max(self.cwnd);
        let left = acked - (grown - self.cwnd);
        self.cwnd = grown;
        left
    }
    /// Congestion avoidance: one segment for each `per` of `acked`.
    pub fn additive_increase(&mut self, per: u32, acked: u32) {
        let per = per.max(1);
        // What an earlier, larger `per` left over is worth one segment and no more.
        if self.count >= per {
            self.count = 0;
            self.cwnd += 1;
        }
        self.count = self.count.saturating_add(acked);
        if self.count >= per {
            let steps = self.count / per;
            self.count -= steps * per;
            self.cwnd = self.cwnd.saturating_add(steps);
        }
        self.cwnd = self.cwnd.min(Self::MAX);
    }
    /// Half the window, at least two segments (RFC 5681 equation 4, with cwnd for FlightSize as
    /// Linux).
    pub fn half(&self) -> u32 {
        (self.cwnd / 2).max(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_start_stops_at_the_threshold_and_leaves_the_rest() {
        let mut window = Window::new(10);
        window.ssthresh = 12;
        assert_eq!(window.slow_start(5), 3);
        assert_eq!(window.cwnd, 12);
        assert!(!window.in_slow_start());
    }

    #[test]
    fn congestion_avoidance_adds_one_per_window() {
        let mut window = Window::new(10);
        for _ in 0..5 {
            window.additive_increase(10, 2);
        }
        assert_eq!((window.cwnd, window.count), (11, 0));
        // A jump in the rate is worth one segment, whatever had been counted.
        window.count = 9;
        window.additive_increase(3, 1);
        assert_eq!((window.cwnd, window.count), (12, 1));
    }
}
