//! Statistics of a sender.

use quell_units::{Rate, Time};

/// Counters since the start, and the current state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SenderStats {
    /// Smoothed RTT (RFC 6298); zero before the first sample.
    pub srtt: Time,
    /// Lowest RTT of the last five minutes; zero before the first sample.
    pub min_rtt: Time,
    /// Retransmission time-out.
    pub rto: Time,
    /// Congestion window in segments.
    pub cwnd: u32,
    /// Slow-start threshold in segments; `u32::MAX` before the first reduction.
    pub ssthresh: u32,
    /// Segments in flight: sent, and neither acknowledged, selectively acknowledged nor lost.
    pub in_flight: u32,
    /// Pacing rate; `None` if departures are not paced.
    pub pacing_rate: Option<Rate>,
    /// Data segments sent, retransmissions included.
    pub sent: u64,
    /// Segments retransmitted.
    pub retransmitted: u64,
    /// Segments delivered, selectively acknowledged ones included.
    pub delivered: u64,
    /// Segments with CE among them, as far as the feedback shows.
    pub delivered_ce: u64,
    /// Bytes acknowledged cumulatively.
    pub acknowledged: u64,
    /// Number of reductions of the congestion window for loss (fast recovery).
    pub recoveries: u64,
    /// Number of reductions of the congestion window for ECN echo.
    pub ecn_reductions: u64,
    /// Retransmission time-outs.
    pub rto_count: u64,
    /// Tail loss probes sent.
    pub probes: u64,
    /// Reductions that proved spurious and were undone.
    pub undone: u64,
    /// Rounds of sending that ended because the congestion window was full.
    pub cwnd_limited: u64,
    /// Rounds of sending that ended because the receive window was full.
    pub rwnd_limited: u64,
    /// Rounds of sending that ended because the application had written nothing more.
    pub app_limited: u64,
}

impl SenderStats {
    /// Statistics of a flow whose connections follow each other: counters continue from `before`, and
    /// the state is that of this connection.
    #[must_use]
    pub fn following(self, before: &Self) -> Self {
        Self {
            sent: self.sent + before.sent,
            retransmitted: self.retransmitted + before.retransmitted,
            delivered: self.delivered + before.delivered,
            delivered_ce: self.delivered_ce + before.delivered_ce,
            acknowledged: self.acknowledged + before.acknowledged,
            recoveries: self.recoveries + before.recoveries,
            ecn_reductions: self.ecn_reductions + before.ecn_reductions,
            rto_count: self.rto_count + before.rto_count,
            probes: self.probes + before.probes,
            undone: self.undone + before.undone,
            cwnd_limited: self.cwnd_limited + before.cwnd_limited,
            rwnd_limited: self.rwnd_limited + before.rwnd_limited,
            app_limited: self.app_limited + before.app_limited,
            ..self
        }
    }
}

/// Counters that only grow.
#[derive(Debug, Clone, Default)]
pub(super) struct Counters {
    /// SYNs sent.
    pub(super) syns: u32,
    pub(super) sent: u64,
    pub(super) retransmitted: u64,
    pub(super) recoveries: u64,
    pub(super) ecn_reductions: u64,
    pub(super) rto_count: u64,
    pub(super) probes: u64,
    pub(super) undone: u64,
    pub(super) cwnd_limited: u64,
    pub(super) rwnd_limited: u64,
    pub(super) app_limited: u64,
}
