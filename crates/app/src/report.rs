//! What the user of an application would tell of it. Plain values: the layer above writes them out.

use quell_units::Time;

use crate::Durations;

/// What one application, or several of one kind, saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// Of a transfer without end.
    Bulk {
        /// Payload bytes that arrived in order.
        bytes: u64,
    },
    /// Of datagrams, at a constant rate or in bursts.
    Cbr(CbrReport),
    /// Of finite transfers.
    Transfer(TransferReport),
    /// Of a stream in bursts.
    OnOff(OnOffReport),
}

/// How long finite transfers took.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TransferReport {
    /// Payload bytes that arrived in order, also of transfers that did not complete.
    pub bytes: u64,
    /// Transfers that ended before all had arrived, because their flow was stopped.
    pub cut_short: u64,
    /// Transfers that had begun and not ended when the report was made.
    pub under_way: u64,
    /// Payload bytes of the transfers that completed.
    pub completed_bytes: u64,
    /// Of the transfers that completed: from the request for the connection to the last byte at the
    /// receiving application.
    pub completion: Durations,
}

/// What arrived of a stream in bursts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OnOffReport {
    /// Payload bytes that arrived in order.
    pub bytes: u64,
    /// On-times that began.
    pub bursts: u64,
}

/// Delays of datagrams, to 7 significant bits: half a bucket is 0.8 % at most. There is one of each flow, and flows of datagrams
/// may be very many.
pub type Delays = Durations<7>;

/// Loss and delay of datagrams.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CbrReport {
    /// Datagrams sent.
    pub sent: u64,
    /// Of those, arrived.
    pub received: u64,
    /// Of those, not arrived.
    pub lost: u64,
    /// The part of `lost` that was sent after the last one that arrived: lost, or still under way.
    pub lost_last: u64,
    /// Arrived after one that was sent later (RFC 4737 section 3).
    pub reordered: u64,
    /// One-way delay; `None` if nothing arrived.
    pub delay: Option<Delay>,
    /// Their distribution.
    pub delays: Delays,
    /// Interarrival jitter at the end (RFC 3550 section 6.4.1); the mean over several applications.
    pub jitter: Time,
}

/// One-way delay from the sending to the receiving application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delay {
    /// Of the fastest datagram.
    pub min: Time,
    /// Mean, rounded down.
    pub mean: Time,
    /// Of the slowest datagram.
    pub max: Time,
}

impl Report {
    /// Adds the report of another application of the same kind; one of another kind changes
    /// nothing.
    pub fn merge(&mut self, other: &Self) {
        match (self, other) {
            (Self::Bulk { bytes }, Self::Bulk { bytes: more }) => *bytes += more,
            (Self::Cbr(report), Self::Cbr(other)) => report.merge(other),
            (Self::Transfer(report), Self::Transfer(other)) => report.merge(other),
            (Self::OnOff(report), Self::OnOff(other)) => report.merge(*other),
            (Self::Bulk { .. } | Self::Cbr(_) | Self::Transfer(_) | Self::OnOff(_), _) => {}
        }
    }

    /// Adds what the same application reported next.
    pub fn append(&mut self, next: &Self) {
        match (self, next) {
            (Self::Transfer(report), Self::Transfer(next)) => report.append(next),
            (report, next) => report.merge(next),
        }
    }
}

impl TransferReport {
    /// Transfers that completed.
    pub fn completed(&self) -> u64 {
        self.completion.count()
    }
    /// Transfers that were cut short, or were still under way at the end.
    pub fn unfinished(&self) -> u64 {
        self.cut_short + self.under_way
    }
    /// Payload of the completed transfers over the time that they took; `None` if none did.
    pub fn goodput_bps(&self) -> Option<f64> {
        let seconds = self.completion.sum_ns() as f64 / 1e9;
        (seconds > 0.0).then(|| self.completed_bytes as f64 * 8.0 / seconds)
    }

    fn merge(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.cut_short += other.cut_short;
        self.under_way += other.under_way;
        self.completed_bytes += other.completed_bytes;
        self.completion.merge(&other.completion);
    }

    /// Adds what the same flow reported next: what was under way before has become of it what
    /// `next` says.
    pub fn append(&mut self, next: &Self) {
        self.under_way = 0;
        self.merge(next);
    }
}

impl OnOffReport {
    fn merge(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.bursts += other.bursts;
    }
}

impl CbrReport {
    /// Lost of sent; 0 if nothing was sent.
    pub fn loss_ratio(&self) -> f64 {
        self.lost as f64 / self.sent.max(1) as f64
    }

    fn merge(&mut self, other: &Self) {
        let mean = |mine: Time, others: Time| {
            let sum = u128::from(mine.as_nanos()) * u128::from(self.received)
                + u128::from(others.as_nanos()) * u128::from(other.received);
            let count = u128::from(self.received + other.received).max(1);
            Time::from_nanos((sum / count) as u64)
        };
        let delay = match (self.delay, other.delay) {
            (Some(mine), Some(others)) => Some(Delay {
                min: mine.min.min(others.min),
                mean: mean(mine.mean, others.mean),
                max: mine.max.max(others.max),
            }),
            (mine, others) => mine.or(others),
        };
        let mut delays = std::mem::take(&mut self.delays);
        delays.merge(&other.delays);
        *self = Self {
            sent: self.sent + other.sent,
            received: self.received + other.received,
            lost: self.lost + other.lost,
            lost_last: self.lost_last + other.lost_last,
            reordered: self.reordered + other.reordered,
            delay,
            delays,
            jitter: mean(self.jitter, other.jitter),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_applications_are_one_with_all_their_datagrams() {
        let of = |received, mean, jitter| CbrReport {
            sent: received + 1,
            received,
            lost: 1,
            delay: Some(Delay {
                min: Time::from_millis(mean - 1),
                mean: Time::from_millis(mean),
                max: Time::from_millis(mean + 1),
            }),
            jitter: Time::from_millis(jitter),
            ..CbrReport::default()
        };
        let mut all = Report::Cbr(CbrReport::default());
        all.merge(&Report::Cbr(of(1, 10, 4)));
        all.merge(&Report::Cbr(of(3, 30, 8)));
        all.merge(&Report::Bulk { bytes: 1 });
        let Report::Cbr(all) = all else { panic!() };
        assert_eq!((all.sent, all.received, all.lost), (6, 4, 2));
        let delay = all.delay.unwrap();
        assert_eq!(delay.mean, Time::from_millis(25));
        assert_eq!(
            (delay.min, delay.max),
            (Time::from_millis(9), Time::from_millis(31))
        );
        assert_eq!(all.jitter, Time::from_millis(7));
        assert!((all.loss_ratio() - 1.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn transfers_of_several_flows_are_one_distribution() {
        let of = |spans: &[u64], under_way| {
            let mut completion: Durations = Durations::default();
            spans
                .iter()
                .for_each(|&ms| completion.record(Time::from_millis(ms)));
            Report::Transfer(TransferReport {
                bytes: 1_000,
                cut_short: 0,
                under_way,
                completed_bytes: 500 * spans.len() as u64,
                completion,
            })
        };
        let mut all = of(&[10, 30], 1);
        all.merge(&of(&[20], 1));
        all.merge(&Report::Bulk { bytes: 1 });
        let Report::Transfer(both) = &all else {
            panic!()
        };
        assert_eq!((both.completed(), both.unfinished()), (3, 2));
        assert_eq!(both.completion.mean_ns(), Some(20e6));
        // 1 500 bytes in 60 ms.
        assert_eq!(both.goodput_bps(), Some(200_000.0));
        // The next stretch of one flow: what was under way is told anew.
        let mut one = of(&[10], 1);
        one.append(&of(&[40], 1));
        let Report::Transfer(one) = &one else {
            panic!()
        };
        assert_eq!((one.completed(), one.unfinished()), (2, 1));
    }
}
