//! The common part of kinds that send datagrams: sizes, spacing, the end that receives them, and its report.
//!
//! The receiver detects loss by the sequence numbers that the host counts. A datagram that arrives
//! twice would count as reordered and hide a loss; hosts pass it on once ([`Recent`](crate::recent::Recent)).

use quell_units::parameter::Domain;
use quell_units::{Bytes, Interval, Parameter, Random, Time};

use crate::normal::normal_span;
use crate::{
    Action, Application, Column, Durations, Figure, FigureInfo, Form, FormInfo, Input, KindReport,
    Notation, Part, Quantity, Times, Value, in_ms,
};

/// The shortest datagram with data: an IPv4 header, a UDP header and one byte.
pub const MIN_DATAGRAM: Bytes = Bytes::new(20 + 8 + 1);

/// The longest datagram: every world has the MTU of Ethernet.
pub const MAX_DATAGRAM: Bytes = Bytes::new(1_500);

/// The parameter of a kind for the size of its datagrams.
pub(crate) const SIZE: Parameter =
    Parameter::FIXED.domain(Domain::Bytes(MIN_DATAGRAM.get(), MAX_DATAGRAM.get()));

/// The parameter of a kind for the spacing of its datagrams.
pub(crate) const INTERVAL: Parameter =
    SIZE.domain(Domain::Interval(Time::from_micros(10), Time::from_secs(60)));

/// The datagrams of a kind: bounds of their sizes, and their spacing. Where both ends send, it holds
/// for each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagrams {
    /// The largest IP length, from [`MIN_DATAGRAM`] to [`MAX_DATAGRAM`].
    pub size: Bytes,
    /// The smallest IP length, from [`MIN_DATAGRAM`].
    pub least: Bytes,
    /// Time between two datagrams of an end; where they differ, of the end that sends more often.
    pub interval: Interval,
    /// Whether the receiver sends datagrams, too.
    pub both_ways: bool,
    /// Whether they have a [`Content`](crate::Content). Only of such datagrams real hosts read the ECN
    /// field on arrival.
    pub content: bool,
}

impl Datagrams {
    /// Datagrams of one size from the sender to the receiver, without content.
    pub const fn plain(size: Bytes, interval: Interval) -> Self {
        Self {
            size,
            least: size,
            interval,
            both_ways: false,
            content: false,
        }
    }
    /// One of the largest, without content.
    pub(crate) const fn one(self) -> Action {
        Action::Datagram {
            size: self.size,
            content: [0; 2],
        }
    }
    /// The mean time between two datagrams; at least 1 ns, so that no host is polled for ever.
    pub fn gap(self) -> Time {
        self.interval.mean.max(Time::from_nanos(1))
    }
    /// The time to the next datagram.
    pub(crate) fn draw_gap(self, random: &mut Random) -> Time {
        normal_span(self.gap(), self.interval.stddev, random)
    }
}

/// Delays of datagrams, to 7 significant bits: half a bucket is 0.8 % at most. Each flow has one, and
/// there may be very many flows of datagrams.
pub type Delays = Durations<7>;

/// Loss and delay of datagrams.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DatagramReport {
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams that arrived.
    pub received: u64,
    /// Datagrams that did not arrive.
    pub lost: u64,
    /// The part of `lost` that was sent after the last one that arrived: lost, or still in flight.
    pub lost_last: u64,
    /// Datagrams that arrived after one that was sent later (RFC 4737 section 3).
    pub reordered: u64,
    /// Mean one-way delay, rounded down; `None` if nothing arrived.
    pub mean_delay: Option<Time>,
    /// One-way delays from the sending to the receiving application.
    pub delays: Delays,
    /// Interarrival jitter at the end (RFC 3550 section 6.4.1); the mean over several applications.
    pub jitter: Time,
    /// Datagrams sent before this stretch that arrived in it: not among the above.
    pub earlier: Box<Earlier>,
}

/// Datagrams that were in flight when counting started: the stretch before has them as lost, and the run as a whole does not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Earlier {
    received: u64,
    reordered: u64,
    delay_sum: u128,
    delays: Delays,
    /// Those after the last one that arrived, if nothing of this stretch did.
    unseen: u64,
}

impl DatagramReport {
    /// Lost of sent; 0 if nothing was sent.
    pub fn loss_ratio(&self) -> f64 {
        self.lost as f64 / self.sent.max(1) as f64
    }
}

const MS: Notation = Notation::Plain(2);

pub(crate) const FORM: Form<DatagramReport> = Form {
    table: Some("datagrams"),
    figures: &[
        Figure::<DatagramReport>::new("sent", Quantity::Count, "datagrams sent", |report| {
            Value::Count(report.sent)
        })
        .shown(&[Column::new("sent", Notation::Plain(0))]),
        Figure::<DatagramReport>::new(
            "received",
            Quantity::Count,
            "datagrams that arrived",
            |report| Value::Count(report.received),
        ),
        Figure::<DatagramReport>::new(
            "lost",
            Quantity::Count,
            "datagrams that did not arrive",
            |report| Value::Count(report.lost),
        ),
        Figure::<DatagramReport>::new("loss_ratio", Quantity::Ratio, "lost / sent", |report| {
            Value::Number(Some(report.loss_ratio()))
        })
        .shown(&[Column::new("lost %", Notation::Percent(3))]),
        Figure::<DatagramReport>::new(
            "reordered",
            Quantity::Count,
            "datagrams that arrived after one sent later",
            |report| Value::Count(report.reordered),
        )
        .shown(&[Column::new("reordered", Notation::Plain(0)).rank(3)]),
        Figure::<DatagramReport>::new(
            "jitter_ms",
            Quantity::Number,
            "ms; interarrival jitter at the end (RFC 3550)",
            |report| Value::Number(Some(in_ms(report.jitter))),
        )
        .shown(&[Column::new("jitter ms", MS)]),
        Figure::<DatagramReport>::new(
            "one_way_delay_ms",
            Quantity::Times,
            "ms; from the sending to the receiving application; null if nothing arrived",
            |report| Value::Times(Times::of(&report.delays, report.mean_delay.map(in_ms))),
        )
        .shown(&[
            Column::of("mean ms", Part::Mean, MS),
            Column::of("min ms", Part::Min, MS).rank(2),
            Column::of("P50 ms", Part::P50, MS),
            Column::of("P90 ms", Part::P90, MS).rank(0),
            Column::of("P99 ms", Part::P99, MS),
            Column::of("P99.9 ms", Part::P999, MS).rank(1),
            Column::of("max ms", Part::Max, MS),
        ]),
    ],
};

impl KindReport for DatagramReport {
    fn forms() -> Vec<FormInfo> {
        vec![FORM.info()]
    }
    fn figures(&self) -> Vec<(FigureInfo, Value)> {
        FORM.of(self)
    }
    fn merge(&mut self, other: &Self) {
        let mean = |mine: Time, others: Time| {
            let sum = u128::from(mine.as_nanos()) * u128::from(self.received)
                + u128::from(others.as_nanos()) * u128::from(other.received);
            let count = u128::from(self.received + other.received).max(1);
            Time::from_nanos((sum / count) as u64)
        };
        let mean_delay = match (self.mean_delay, other.mean_delay) {
            (Some(mine), Some(others)) => Some(mean(mine, others)),
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
            mean_delay,
            delays,
            jitter: mean(self.jitter, other.jitter),
            earlier: {
                let mut earlier = std::mem::take(&mut self.earlier);
                earlier.merge(&other.earlier);
                earlier
            },
        };
    }
    fn append(&mut self, next: &Self) {
        let (lost_last, earlier) = (self.lost_last, std::mem::take(&mut self.earlier));
        self.merge(next);
        self.earlier = earlier;
        // It goes on where it was.
        self.jitter = next.jitter;
        let late = &next.earlier;
        self.lost_last = next.lost_last + late.unseen.min(lost_last);
        self.lost = self.lost.saturating_sub(late.received);
        if late.received > 0 {
            let mean = self.mean_delay.map_or(0, |mean| mean.as_nanos());
            let sum = u128::from(mean) * u128::from(self.received) + late.delay_sum;
            self.received += late.received;
            self.mean_delay = Some(Time::from_nanos((sum / u128::from(self.received)) as u64));
        }
        self.reordered += late.reordered;
        self.delays.merge(&late.delays);
    }
}

impl Earlier {
    fn count(&mut self, delay: Time) {
        self.received += 1;
        self.delay_sum += u128::from(delay.as_nanos());
        self.delays.record(delay);
    }
    fn merge(&mut self, other: &Self) {
        self.received += other.received;
        self.reordered += other.reordered;
        self.unseen += other.unseen;
        self.delay_sum += other.delay_sum;
        self.delays.merge(&other.delays);
    }
}

/// The end that receives.
#[derive(Debug, Clone, Default)]
pub struct Receiver {
    /// Datagrams before this sequence number do not count.
    first: u64,
    /// One more than the highest sequence number that has arrived.
    expected: u64,
    received: u64,
    reordered: u64,
    delay_sum: u128,
    delays: Delays,
    /// Transit time of the datagram that arrived last, with its sign.
    transit: Option<i64>,
    /// Jitter in sixteenths of a nanosecond, as in RFC 3550 appendix A.8.
    jitter: u64,
    /// As `expected`, of those that do not count.
    earlier_expected: u64,
    /// Few flows have any.
    earlier: Option<Box<Earlier>>,
}

impl Receiver {
    /// RFC 3550 appendix A.8: "jitter += d - ((jitter + 8) >> 4)", d = |D(i-1, i)|.
    fn count_jitter(&mut self, now: Time, sent: Time) {
        let transit = now.signed_since(sent);
        if let Some(before) = self.transit.replace(transit) {
            let difference = transit.abs_diff(before);
            let decay = self.jitter.saturating_add(8) >> 4;
            self.jitter = self.jitter.saturating_add(difference) - decay;
        }
    }
}

impl Application for Receiver {
    type Report = DatagramReport;

    fn poll(&mut self, now: Time, input: Input, _actions: &mut Vec<Action>) {
        let Input::Datagram { sequence, sent, .. } = input else {
            return;
        };
        self.count_jitter(now, sent);
        if sequence < self.first {
            let is_overtaken = self.received > 0 || sequence < self.earlier_expected;
            self.earlier_expected = self.earlier_expected.max(sequence.saturating_add(1));
            let earlier = self.earlier.get_or_insert_default();
            earlier.reordered += u64::from(is_overtaken);
            earlier.count(now - sent);
            return;
        }
        if sequence < self.expected {
            self.reordered += 1;
        }
        self.expected = self.expected.max(sequence.saturating_add(1));
        self.received += 1;
        let delay = now - sent;
        self.delay_sum += u128::from(delay.as_nanos());
        self.delays.record(delay);
    }

    fn start_counting(&mut self, sent: u64) {
        *self = Self {
            first: sent,
            expected: sent,
            earlier_expected: if self.received > 0 {
                self.expected
            } else {
                self.earlier_expected
            },
            transit: self.transit,
            jitter: self.jitter,
            ..Self::default()
        };
    }

    fn report(&self, sent: u64) -> Option<DatagramReport> {
        // The other end cannot have sent fewer than have arrived.
        let sent = sent.max(self.expected);
        let mean = self.delay_sum.checked_div(u128::from(self.received));
        Some(DatagramReport {
            sent: sent - self.first,
            received: self.received,
            lost: (sent - self.first).saturating_sub(self.received),
            lost_last: sent - self.expected,
            reordered: self.reordered,
            mean_delay: mean.map(|mean| Time::from_nanos(mean as u64)),
            delays: self.delays.clone(),
            jitter: Time::from_nanos(self.jitter >> 4),
            earlier: Box::new(Earlier {
                unseen: if self.received > 0 {
                    0
                } else {
                    self.first.saturating_sub(self.earlier_expected)
                },
                ..self.earlier.as_deref().cloned().unwrap_or_default()
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer;
    use quell_units::Ecn;

    const SIZE: Bytes = Bytes::new(186);

    fn arrive(receiver: &mut Receiver, sequence: u64, sent_ms: u64, delay_us: u64) {
        let sent = Time::from_millis(sent_ms);
        let input = Input::Datagram {
            sequence,
            sent,
            size: SIZE,
            ecn: Ecn::NotEct,
            content: [0; 2],
        };
        answer(receiver, sent + Time::from_micros(delay_us), input);
    }

    #[test]
    fn tells_loss_in_the_middle_from_loss_at_the_end() {
        let mut receiver = Receiver::default();
        // 0, 1, 3 and 2 swapped, 4 lost, 5; 6 and 7 were sent and did not arrive.
        for (sequence, delay) in [(0, 1_000), (1, 2_000), (3, 1_000), (2, 1_000), (5, 5_000)] {
            arrive(&mut receiver, sequence, 20 * sequence, delay);
        }
        let report = receiver.report(8).unwrap();
        assert_eq!((report.sent, report.received, report.lost), (8, 5, 3));
        assert_eq!((report.lost_last, report.reordered), (2, 1));
        assert_eq!(
            (report.delays.min(), report.delays.max()),
            (Some(Time::from_millis(1)), Some(Time::from_millis(5)))
        );
        assert_eq!(report.mean_delay, Some(Time::from_millis(2)));
        let median = report.delays.quantile(500).unwrap();
        assert!(median.as_nanos().abs_diff(1_000_000) < 8_000, "{median}");
        assert_eq!(report.delays.quantile(990), Some(Time::from_millis(5)));
    }

    #[test]
    fn nothing_received_is_all_lost_without_delay() {
        let report = Receiver::default().report(3).unwrap();
        assert_eq!((report.lost, report.lost_last), (3, 3));
        assert_eq!((report.mean_delay, report.delays.count()), (None, 0));
        assert_eq!(
            Receiver::default().report(0),
            Some(DatagramReport::default())
        );
    }

    #[test]
    fn what_was_sent_before_counting_started_does_not_count() {
        let mut receiver = Receiver::default();
        arrive(&mut receiver, 0, 0, 90_000);
        receiver.start_counting(3); // 1 and 2 are in flight
        arrive(&mut receiver, 1, 20, 90_000);
        arrive(&mut receiver, 3, 60, 1_000);
        let report = receiver.report(4).unwrap();
        assert_eq!((report.sent, report.received, report.lost), (1, 1, 0));
        assert_eq!(report.delays.max(), Some(Time::from_millis(1)));
    }

    #[test]
    fn what_a_stretch_of_the_run_leaves_in_flight_is_not_lost_in_the_whole() {
        // (sequence, delay in µs) in the order of arrival; 4 never arrives.
        let arrivals = [
            (0, 1_000),
            (1, 2_000),
            (3, 9_000),
            (2, 9_000),
            (5, 4_000),
            (6, 1_000),
        ];
        let arrive = |receiver: &mut Receiver, of: &[(u64, u64)]| {
            for &(sequence, delay) in of {
                arrive(receiver, sequence, 20 * sequence, delay);
            }
        };
        let mut uncut = Receiver::default();
        arrive(&mut uncut, &arrivals);
        let expected = uncut.report(8).unwrap();
        assert_eq!(
            (expected.lost, expected.lost_last, expected.reordered),
            (2, 1, 1)
        );
        // Each cut leaves other datagrams in flight.
        for cut in 0..=arrivals.len() {
            for sent in [4, 6, 7] {
                let (before, after) = arrivals.split_at(cut);
                if before.iter().any(|(sequence, _)| *sequence >= sent) {
                    continue;
                }
                let mut receiver = Receiver::default();
                arrive(&mut receiver, before);
                let mut whole = receiver.report(sent).unwrap();
                receiver.start_counting(sent);
                arrive(&mut receiver, after);
                whole.append(&receiver.report(8).unwrap());
                let mean = |report: &DatagramReport| report.mean_delay.unwrap().as_nanos();
                assert!(mean(&whole).abs_diff(mean(&expected)) <= 2, "{cut} {sent}");
                whole.mean_delay = expected.mean_delay;
                assert_eq!(whole, expected, "{cut} {sent}");
            }
        }
    }

    #[test]
    fn jitter_is_that_of_rfc_3550() {
        // J(i) = J(i-1) + (|D(i-1,i)| - J(i-1))/16, in floating point.
        let mut receiver = Receiver::default();
        let (mut expected, mut before) = (0.0, None);
        for sequence in 0..200_u64 {
            let delay = 1_000 + sequence * 7_919 % 3_000;
            arrive(&mut receiver, sequence, 20 * sequence, delay);
            if let Some(before) = before.replace(delay) {
                let difference = delay.abs_diff(before) as f64 * 1_000.0;
                expected += (difference - expected) / 16.0;
            }
        }
        let jitter = receiver.report(0).unwrap().jitter.as_nanos() as f64;
        assert!((jitter - expected).abs() <= 1.0, "{jitter} {expected}");
    }

    #[test]
    fn several_applications_are_one_with_all_their_datagrams() {
        let of = |delays: &[u64], jitter| {
            let mut receiver = Receiver::default();
            for (sequence, &delay) in delays.iter().enumerate() {
                arrive(&mut receiver, sequence as u64, 0, 1_000 * delay);
            }
            DatagramReport {
                jitter: Time::from_millis(jitter),
                ..receiver.report(delays.len() as u64 + 1).unwrap()
            }
        };
        let mut all = DatagramReport::default();
        all.merge(&of(&[10], 4));
        all.merge(&of(&[29, 30, 31], 8));
        assert_eq!((all.sent, all.received, all.lost), (6, 4, 2));
        assert_eq!(all.mean_delay, Some(Time::from_millis(25)));
        assert_eq!(
            (all.delays.min(), all.delays.max()),
            (Some(Time::from_millis(10)), Some(Time::from_millis(31)))
        );
        assert_eq!(all.jitter, Time::from_millis(7));
        assert!((all.loss_ratio() - 1.0 / 3.0).abs() < 1e-12);
    }
}
