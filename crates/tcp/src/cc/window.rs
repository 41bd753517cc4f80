//! The congestion window and how a control moves it: Linux `net/ipv4/tcp_cong.c`.

use quell_units::Time;

/// The congestion window of a connection, in segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Congestion window; at least 1.
    pub cwnd: u32,
    /// Slow-start threshold; [`Window::INFINITE_SSTHRESH`] before the first reduction.
    pub ssthresh: u32,
    /// Segments acknowledged towards the next increment in congestion avoidance (`snd_cwnd_cnt`).
    pub cwnd_cnt: u32,
    /// Window when the current reduction began.
    pub prior_cwnd: u32,
    /// The control declares what is in flight limited by the application, as if that had nothing to
    /// send (Linux: `app_limited = delivered + in_flight`, in BBR's PROBE_RTT). The sender does so and
    /// clears it after each call of [`cong_control`](super::CongestionControl::cong_control),
    /// [`undo_cwnd`](super::CongestionControl::undo_cwnd) and
    /// [`cwnd_event`](super::CongestionControl::cwnd_event).
    pub app_limited: bool,
}

/// The report of an ACK to the control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AckSample {
    /// Time of its arrival.
    pub now: Time,
    /// Segments newly delivered, selectively acknowledged ones included.
    pub acked: u32,
    /// Segments that the acknowledgement number has passed, those selectively acknowledged before
    /// included (`ack_sample::pkts_acked`).
    pub acked_in_order: u32,
    /// Packets newly known to have had congestion experienced. With AccECN those without payload count
    /// too, so there may be more than `acked`.
    pub acked_ce: u32,
    /// Payload bytes newly delivered.
    pub acked_bytes: u64,
    /// Bytes with CE among them: from AccECN's byte counters, or estimated.
    pub acked_ce_bytes: u64,
    /// Segments newly found lost; not known yet in
    /// [`on_ack`](super::CongestionControl::on_ack).
    pub lost: u32,
    /// Whether it echoes congestion, also where no segment is newly known to be marked.
    pub ece: bool,
    /// Whether it may have waited for the receiver's timer, so that the RTT is not that of the path
    /// (`is_ack_delayed`); known in [`cong_control`](super::CongestionControl::cong_control).
    pub is_ack_delayed: bool,
    /// Segments in flight before this ACK.
    pub prior_in_flight: u32,
    /// RTT of the newest segment delivered; `None` where a retransmission makes it ambiguous.
    pub rtt: Option<Time>,
    /// Time from the departure of a segment that it acknowledges to its own: the other end's timestamp less the one that it echoes, in
    /// their resolution; `None` where it delivers nothing or has no echo. Only differences mean something: clocks differ.
    pub one_way_delay: Option<Time>,
    /// First number not acknowledged (SND.UNA).
    pub snd_una: u64,
    /// First number never sent (SND.NXT).
    pub snd_nxt: u64,
    /// Whether the window limits the sender (`tcp_is_cwnd_limited`): it was full, or in slow start half
    /// full; known in [`cong_avoid`](super::CongestionControl::cong_avoid) and
    /// [`cong_control`](super::CongestionControl::cong_control).
    pub cwnd_limited: bool,
    /// Whether it ends exactly with a tail loss probe that repeats a segment, so that it may acknowledge
    /// the original or the probe (`is_acking_tlp_retrans_seq` of BBR v3); known in
    /// [`cong_control`](super::CongestionControl::cong_control).
    pub is_acking_tlp_retrans_seq: bool,
    /// Whether departures are paced.
    pub paced: bool,
    /// Time that four of the host's largest bursts take at the pacing rate, at most 1 ms, and zero
    /// outside slow start (`hystart_ack_delay`).
    pub burst_time: Time,
    /// Segments delivered since the start, and one for the SYN, as in Linux.
    pub delivered: u64,
    /// Segments with CE among them.
    pub delivered_ce: u64,
    /// Delivery rate over the flight that this ACK ends.
    pub rate: RateSample,
}

/// A delivery-rate sample (draft-cheng-iccrg-delivery-rate-estimation; Linux `tcp_rate.c`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RateSample {
    /// Segments delivered when the newest segment delivered was sent; a round ends when this passes
    /// what was delivered at the round's start.
    pub prior_delivered: u64,
    /// Segments delivered between then and now.
    pub delivered: u32,
    /// Segments with CE among them.
    pub delivered_ce: u32,
    /// The longer of the two intervals that follow, in µs; zero where the sample is not usable (Linux
    /// has -1), so a control divides by it only if it is positive. Like the others it is a
    /// difference of instants that are rounded down to microseconds, as in Linux.
    pub interval_us: u64,
    /// Time from the departure of the flight's first segment to that of the newest delivered, in µs.
    pub snd_interval_us: u64,
    /// Time from the last delivery before the newest segment was sent to its own delivery, in µs.
    pub rcv_interval_us: u64,
    /// Segments in flight when the newest delivered was sent, itself included (BBR v2). This and
    /// `lost` are zero unless the control wants details.
    pub tx_in_flight: u32,
    /// Segments found lost since then; known in
    /// [`cong_control`](super::CongestionControl::cong_control).
    pub lost: u32,
    /// Whether the application limited the sender during the interval.
    pub app_limited: bool,
    /// Whether that newest segment had been retransmitted.
    pub retransmitted: bool,
}

impl Window {
    /// No threshold yet (`TCP_INFINITE_SSTHRESH`).
    pub const INFINITE_SSTHRESH: u32 = u32::MAX;
    /// Largest window: more than any path holds. Products with 10-bit scales fit in 64 bits, and
    /// sums of two windows in 32.
    pub const MAX: u32 = 1 << 30;

    /// The window of a new connection.
    pub fn new(initial: u32) -> Self {
        Self {
            cwnd: initial.clamp(1, Self::MAX),
            ssthresh: Self::INFINITE_SSTHRESH,
            cwnd_cnt: 0,
            prior_cwnd: 0,
            app_limited: false,
        }
    }
    /// Whether the window is below its threshold.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
    /// Slow start: grows by one segment per segment acknowledged, up to the threshold (RFC 3465
    /// without its limit of two; Linux `tcp_slow_start`). Returns the segments left over for
    /// congestion avoidance.
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
    /// Congestion avoidance: grows by one segment for each `w` segments acknowledged
    /// (`tcp_cong_avoid_ai`).
    pub fn cong_avoid_ai(&mut self, w: u32, acked: u32) {
        let w = w.max(1);
        // Credit from an earlier, larger `w` is worth one segment and no more: else a sudden drop
        // of `w` would release a burst.
        if self.cwnd_cnt >= w {
            self.cwnd_cnt = 0;
            self.cwnd += 1;
        }
        self.cwnd_cnt = self.cwnd_cnt.saturating_add(acked);
        if self.cwnd_cnt >= w {
            let steps = self.cwnd_cnt / w;
            self.cwnd_cnt -= steps * w;
            self.cwnd = self.cwnd.saturating_add(steps);
        }
        self.cwnd = self.cwnd.min(Self::MAX);
    }
    /// Half the window, at least two segments (RFC 5681 equation 4, with cwnd for FlightSize as in
    /// Linux; `tcp_reno_ssthresh`).
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
            window.cong_avoid_ai(10, 2);
        }
        assert_eq!((window.cwnd, window.cwnd_cnt), (11, 0));
        // A jump in the rate is worth one segment, whatever had been counted.
        window.cwnd_cnt = 9;
        window.cong_avoid_ai(3, 1);
        assert_eq!((window.cwnd, window.cwnd_cnt), (12, 1));
    }
}
