//! The rows of each interval: plain values, one row per queue or flow.
//!
//! The caller drains them from time to time and writes them where it likes; a recorder keeps only rows
//! that were not drained.

use quell_units::{Bytes, Time};

use crate::label::{Direction, FlowId, GroupId, Hop};

/// One queue in one interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueRow {
    /// End of the interval.
    pub time: Time,
    /// Length of the interval; the last one of a run may be shorter.
    pub length: Time,
    /// The link behind the queue.
    pub hop: Hop,
    /// Name of the queue within its discipline.
    pub queue: &'static str,
    /// Direction of the link.
    pub direction: Direction,
    /// Delivered packets.
    pub packets: u64,
    /// Delivered IP bytes.
    pub bytes: Bytes,
    /// Newly marked packets.
    pub marked: u64,
    /// Dropped packets.
    pub dropped: u64,
    /// Mean sojourn time of the delivered packets, rounded down; `None` if there were none.
    pub delay_mean: Option<Time>,
    /// Longest sojourn time of the delivered packets; `None` if there were none.
    pub delay_max: Option<Time>,
    /// IP bytes that wait at the end of the interval, without the packet in service.
    pub backlog: Bytes,
}

/// One flow in one interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowRow {
    /// End of the interval.
    pub time: Time,
    /// Time since the previous row, over which goodput is computed.
    pub length: Time,
    /// The flow's group.
    pub group: GroupId,
    /// The flow.
    pub flow: FlowId,
    /// Payload delivered to the application in the interval.
    pub delivered: Bytes,
    /// Smoothed RTT at the end of the interval, if the transport has one.
    pub rtt: Option<Time>,
    /// Congestion window at the end of the interval, if the transport has one.
    pub congestion_window: Option<Bytes>,
    /// Retransmitted segments; `None` where its sender's TCP is not known.
    pub retransmitted: Option<u64>,
}

impl FlowRow {
    /// Payload delivered to the application in bit/s; 0 for an interval of length zero.
    pub fn goodput_bps(&self) -> f64 {
        bits_per_second(self.delivered.get(), self.length)
    }
}

pub(crate) fn bits_per_second(bytes: u64, span: Time) -> f64 {
    if span.is_zero() {
        return 0.0;
    }
    bytes as f64 * 8e9 / span.as_nanos() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goodput_is_payload_over_time() {
        assert_eq!(bits_per_second(125_000, Time::from_millis(100)), 10e6);
        assert_eq!(bits_per_second(1, Time::ZERO), 0.0);
    }
}
