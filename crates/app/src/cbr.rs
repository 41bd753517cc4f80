//! Datagrams of one size at a constant mean rate, like voice.
//!
//! Spacing is exact, or normally distributed as in the home-gateway study (186 bytes every
//! N(20 ms, 1 ms)). The schedule depends on the plan only: a host that is late sends what is due at
//! once, and the rate does not drift.
//!
//! The receiver tells loss from the sequence numbers that the host counts. A datagram that arrives
//! twice would count as reordered and hide a loss; no world duplicates packets.

use quell_units::{Bytes, Random, Time};

use crate::normal::normal_span;
use crate::{Action, Application, CbrReport, Delay, Delays, Input, Interval, Send};

/// The end that sends.
#[derive(Debug, Clone)]
pub struct Sender {
    size: Bytes,
    interval: Interval,
    random: Random,
    /// When the next datagram is due; `None` before the start.
    due: Option<Time>,
    sent: u64,
}

impl Sender {
    /// Will send datagrams of IP length `size`, the first at the start.
    pub fn new(size: Bytes, interval: Interval, random: Random) -> Self {
        Self {
            size,
            interval,
            random,
            due: None,
            sent: 0,
        }
    }
    /// Datagrams handed to the host.
    pub const fn sent(&self) -> u64 {
        self.sent
    }
    /// Time to the next datagram. At least 1 ns on the mean, so that no host is polled for ever.
    fn spacing(&mut self) -> Time {
        let mean = self.interval.mean.max(Time::from_nanos(1));
        normal_span(mean, self.interval.stddev, &mut self.random)
    }
}

impl Application for Sender {
    fn poll(&mut self, now: Time, input: Input) -> Action {
        let mut send = Send::Nothing;
        let due = match (self.due, input) {
            (None, Input::Started { .. }) => now,
            (Some(due), _) => due,
            (None, _) => return Action::default(),
        };
        let wake = if due <= now {
            send = Send::Datagram(self.size);
            self.sent += 1;
            due + self.spacing()
        } else {
            due
        };
        self.due = Some(wake);
        Action {
            send,
            wake: Some(wake),
            ..Action::default()
        }
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
    delay_min: Option<Time>,
    delay_max: Time,
    delay_sum: u128,
    delays: Delays,
    /// Transit time of the datagram that arrived last, with its sign.
    transit: Option<i64>,
    /// In sixteenths of a nanosecond, as in RFC 3550 appendix A.8.
    jitter: u64,
}

impl Receiver {
    pub(crate) fn start_counting(&mut self, sent: u64) {
        *self = Self {
            first: sent,
            expected: sent,
            transit: self.transit,
            jitter: self.jitter,
            ..Self::default()
        };
    }

    pub(crate) fn report(&self, sent: u64) -> CbrReport {
        // The other end cannot have sent fewer than have arrived.
        let sent = sent.max(self.expected);
        CbrReport {
            sent: sent - self.first,
            received: self.received,
            lost: (sent - self.first).saturating_sub(self.received),
            lost_last: sent - self.expected,
            reordered: self.reordered,
            delay: self.delay_min.map(|min| Delay {
                min,
                mean: Time::from_nanos((self.delay_sum / u128::from(self.received.max(1))) as u64),
                max: self.delay_max,
            }),
            delays: self.delays.clone(),
            jitter: Time::from_nanos(self.jitter >> 4),
        }
    }

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
    fn poll(&mut self, now: Time, input: Input) -> Action {
        let Input::Datagram { sequence, sent, .. } = input else {
            return Action::default();
        };
        self.count_jitter(now, sent);
        if sequence < self.first {
            return Action::default();
        }
        if sequence < self.expected {
            self.reordered += 1;
        }
        self.expected = self.expected.max(sequence.saturating_add(1));
        self.received += 1;
        let delay = now - sent;
        self.delay_min = Some(self.delay_min.map_or(delay, |min| min.min(delay)));
        self.delay_max = self.delay_max.max(delay);
        self.delay_sum += u128::from(delay.as_nanos());
        self.delays.record(delay);
        Action::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Bytes = Bytes::new(186);
    const START: Input = Input::Started { opened: Time::ZERO };

    fn sender(mean: Time, stddev: Time) -> Sender {
        Sender::new(SIZE, Interval { mean, stddev }, Random::new(1, "cbr"))
    }

    /// Polls `sender` whenever it asks, and returns the times of its datagrams.
    fn times(sender: &mut Sender, start: Time, count: usize) -> Vec<Time> {
        let mut now = start;
        let mut action = sender.poll(now, START);
        let mut times = Vec::new();
        while times.len() < count {
            if action.send == Send::Datagram(SIZE) {
                times.push(now);
            }
            now = action.wake.unwrap();
            action = sender.poll(now, Input::Wake);
        }
        times
    }

    fn arrive(receiver: &mut Receiver, sequence: u64, sent_ms: u64, delay_us: u64) {
        let sent = Time::from_millis(sent_ms);
        let input = Input::Datagram {
            sequence,
            sent,
            size: SIZE,
        };
        receiver.poll(sent + Time::from_micros(delay_us), input);
    }

    #[test]
    fn exact_spacing_never_drifts() {
        let mean = Time::from_nanos(33_333_333);
        let start = Time::from_millis(7);
        let times = times(&mut sender(mean, Time::ZERO), start, 100_000);
        for (k, at) in times.iter().enumerate() {
            assert_eq!(*at, start + mean * k as u64);
        }
    }

    #[test]
    fn normal_spacing_has_the_mean_and_deviation_that_were_asked_for() {
        let (mean, stddev) = (20_000_000.0, 1_000_000.0);
        let count = 100_000;
        let mut sender = sender(Time::from_millis(20), Time::from_millis(1));
        let times = times(&mut sender, Time::ZERO, count + 1);
        let spaces = times
            .windows(2)
            .map(|w| (w[1] - w[0]).as_nanos() as f64 - mean);
        let (sum, squares) = spaces.fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
        // Four standard errors of the mean, and of the variance (sqrt(2/n) of itself).
        assert!((sum / count as f64).abs() < 4.0 * stddev / (count as f64).sqrt());
        let variance = squares / count as f64 / (stddev * stddev);
        assert!(
            (variance - 1.0).abs() < 4.0 * (2.0 / count as f64).sqrt(),
            "{variance}"
        );
    }

    #[test]
    fn a_late_host_is_polled_until_it_has_caught_up() {
        let mut sender = sender(Time::from_millis(10), Time::ZERO);
        sender.poll(Time::ZERO, START);
        let late = Time::from_millis(35);
        for k in 2..=4 {
            let action = sender.poll(late, Input::Wake);
            assert_eq!(action.send, Send::Datagram(SIZE));
            assert_eq!(action.wake, Some(Time::from_millis(10 * k)));
        }
        let early = sender.poll(late, Input::Wake);
        assert_eq!(
            (early.send, early.wake),
            (Send::Nothing, Some(Time::from_millis(40)))
        );
        assert_eq!(sender.sent(), 4);
    }

    #[test]
    fn tells_loss_in_the_middle_from_loss_at_the_end() {
        let mut receiver = Receiver::default();
        // 0, 1, 3 and 2 swapped, 4 lost, 5; 6 and 7 were sent and did not arrive.
        for (sequence, delay) in [(0, 1_000), (1, 2_000), (3, 1_000), (2, 1_000), (5, 5_000)] {
            arrive(&mut receiver, sequence, 20 * sequence, delay);
        }
        let report = receiver.report(8);
        assert_eq!((report.sent, report.received, report.lost), (8, 5, 3));
        assert_eq!((report.lost_last, report.reordered), (2, 1));
        let delay = report.delay.unwrap();
        assert_eq!(
            (delay.min, delay.max),
            (Time::from_millis(1), Time::from_millis(5))
        );
        assert_eq!(delay.mean, Time::from_millis(2));
        let median = report.delays.quantile(500).unwrap();
        assert!(median.as_nanos().abs_diff(1_000_000) < 8_000, "{median}");
        assert_eq!(report.delays.quantile(990), Some(Time::from_millis(5)));
    }

    #[test]
    fn nothing_received_is_all_lost_without_delay() {
        let report = Receiver::default().report(3);
        assert_eq!((report.lost, report.lost_last, report.delay), (3, 3, None));
        assert_eq!(Receiver::default().report(0), CbrReport::default());
    }

    #[test]
    fn what_was_sent_before_counting_started_does_not_count() {
        let mut receiver = Receiver::default();
        arrive(&mut receiver, 0, 0, 90_000);
        receiver.start_counting(3); // 1 and 2 are under way
        arrive(&mut receiver, 1, 20, 90_000);
        arrive(&mut receiver, 3, 60, 1_000);
        let report = receiver.report(4);
        assert_eq!((report.sent, report.received, report.lost), (1, 1, 0));
        assert_eq!(report.delay.unwrap().max, Time::from_millis(1));
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
        let jitter = receiver.report(0).jitter.as_nanos() as f64;
        assert!((jitter - expected).abs() <= 1.0, "{jitter} {expected}");
    }
}
