//! Losses one by one: gaps between them, and how many flows lose at once (RFC 7928 sections 2.2 and 2.3).
//!
//! A loss event begins with a drop and lasts for one RTT including the queue that the drop found: no sender can react earlier. The next
//! drop begins another.

use std::collections::BTreeSet;

use quell_units::{Bytes, Rate, Time};
use serde::{Deserialize, Serialize};

/// The losses of the data of one run after its warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Losses {
    /// Packets that were dropped.
    pub dropped: u64,
    /// Loss events.
    pub events: u64,
    /// Loss synchronisation ratio: mean share of the flows that lose a packet in an event; `null` without events.
    pub synchronisation: Option<f64>,
    /// Mean time between two losses in ms; `null` with fewer than two.
    pub gap_mean_ms: Option<f64>,
    /// Median of the same.
    pub gap_p50_ms: Option<f64>,
    /// 99th percentile of the same.
    pub gap_p99_ms: Option<f64>,
}

/// Losses, the times between them, and the flows that lose at once.
#[derive(Debug)]
pub(crate) struct Gaps {
    rtt: Time,
    rate: Rate,
    from: Time,
    /// Bytes that wait.
    backlog: u64,
    last: Option<Time>,
    dropped: u64,
    gaps: Vec<u64>,
    /// End of the event of now.
    end: Time,
    /// Flows that have lost in it.
    losing: BTreeSet<u64>,
    events: u64,
    /// Flows that lost, summed over the events.
    flows: u64,
}

impl Gaps {
    /// Losses from `from` on, in a queue before a link of `rate` that data crosses once in an RTT of at most `rtt`.
    pub(crate) fn new(rtt: Time, rate: Rate, from: Time) -> Self {
        Self {
            rtt,
            rate,
            from,
            backlog: 0,
            last: None,
            dropped: 0,
            gaps: Vec::new(),
            end: Time::ZERO,
            losing: BTreeSet::new(),
            events: 0,
            flows: 0,
        }
    }

    /// A packet waits.
    pub(crate) fn entered(&mut self, len: Bytes) {
        self.backlog += len.get();
    }

    /// It waits no longer.
    pub(crate) fn left(&mut self, len: Bytes) {
        self.backlog = self.backlog.saturating_sub(len.get());
    }

    /// A packet of the flow is dropped.
    pub(crate) fn lost(&mut self, flow: u64, now: Time) {
        if now < self.from {
            return;
        }
        self.dropped += 1;
        if let Some(last) = self.last.replace(now) {
            self.gaps.push((now - last).as_nanos());
        }
        if now >= self.end {
            self.losing.clear();
            self.events += 1;
            self.end = now + self.rtt + self.rate.time_for(Bytes::new(self.backlog));
        }
        if self.losing.insert(flow) {
            self.flows += 1;
        }
    }

    /// What was lost, where there are so many flows.
    pub(crate) fn losses(&mut self, flows: u64) -> Losses {
        self.gaps.sort_unstable();
        let count = self.gaps.len();
        let at = |hundredths: usize| {
            // The nearest rank.
            let rank = (count * hundredths).div_ceil(100).max(1);
            self.gaps.get(rank - 1).map(|&gap| gap as f64 / 1e6)
        };
        let sum: u64 = self.gaps.iter().sum();
        let all = (self.events * flows) as f64;
        Losses {
            dropped: self.dropped,
            events: self.events,
            synchronisation: (all > 0.0).then(|| self.flows as f64 / all),
            gap_mean_ms: (count > 0).then(|| sum as f64 / count as f64 / 1e6),
            gap_p50_ms: at(50),
            gap_p99_ms: at(99),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_lasts_one_round_and_counts_each_flow_once() {
        let ms = Time::from_millis;
        let mut gaps = Gaps::new(ms(100), Rate::from_bps(10_000_000), ms(50));
        assert_eq!(gaps.losses(4).synchronisation, None);
        // In the warm-up; two flows in one event; one flow in the next.
        for (flow, at) in [(1, 10), (1, 60), (2, 61), (1, 159), (3, 160)] {
            gaps.lost(flow, ms(at));
        }
        let losses = gaps.losses(4);
        assert_eq!((losses.dropped, losses.events), (4, 2));
        // Gaps of 1, 98 and 1 ms; 3 of 2 · 4 flows.
        assert_eq!(losses.synchronisation, Some(0.375));
        assert_eq!(
            (losses.gap_p50_ms, losses.gap_p99_ms),
            (Some(1.0), Some(98.0))
        );
        assert!((losses.gap_mean_ms.unwrap() - 100.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn the_queue_that_a_drop_finds_makes_its_event_longer() {
        let ms = Time::from_millis;
        let mut gaps = Gaps::new(ms(100), Rate::from_bps(10_000_000), Time::ZERO);
        // 50 ms at this rate.
        gaps.entered(Bytes::new(62_500));
        gaps.lost(1, ms(0));
        gaps.lost(1, ms(149));
        gaps.lost(1, ms(150));
        assert_eq!(gaps.losses(1).events, 2);
    }
}
