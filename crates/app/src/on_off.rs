//! Data during on-times, silence during off-times: bursts, talk spurts, an adaptive video's chunks.
//!
//! Over TCP the application always has data while it is on, and writes as the transport takes it;
//! the transport takes at most [`UNSENT`](crate::UNSENT) bytes ahead of what it has sent, so off
//! stops new data soon and what was taken still leaves. The connection stays up: how TCP treats a
//! window that it has not used (congestion window validation, slow start after idle) is part of
//! what this application shows.
//!
//! As datagrams each on-time is a stretch of [`cbr`](crate::cbr), whose first datagram leaves as
//! the on-time begins.
//!
//! The times depend on the plan only, as with `cbr`: a host that is late does not shift them. A flow
//! begins with an on-time as soon as it is up. Lengths below 1 ns count as 1 ns.

use quell_units::{Bytes, Random, Time};

use crate::normal::normal_span;
use crate::{Action, Application, Input, Interval, OnOffReport, Period, Send};

/// The times of a source.
#[derive(Debug, Clone)]
struct Phases {
    on: Period,
    off: Period,
    random: Random,
}

impl Phases {
    fn on(&mut self) -> Time {
        self.on.draw(&mut self.random).max(Time::from_nanos(1))
    }
    fn off(&mut self) -> Time {
        self.off.draw(&mut self.random).max(Time::from_nanos(1))
    }
}

/// The end that sends a stream.
#[derive(Debug, Clone)]
pub struct StreamSender {
    phases: Phases,
    is_on: bool,
    /// When on or off ends; `None` before the start.
    until: Option<Time>,
    bursts: u64,
}

impl StreamSender {
    /// Alternates between `on` and `off`.
    pub fn new(on: Period, off: Period, random: Random) -> Self {
        Self {
            phases: Phases { on, off, random },
            is_on: false,
            until: None,
            bursts: 0,
        }
    }
    /// On-times that have begun.
    pub const fn bursts(&self) -> u64 {
        self.bursts
    }
}

impl Application for StreamSender {
    fn poll(&mut self, now: Time, input: Input) -> Action {
        let due = match (self.until, input) {
            (None, Input::Started { .. }) => now,
            (Some(until), Input::Wake) => until,
            _ => {
                return Action {
                    wake: self.until,
                    ..Action::default()
                };
            }
        };
        let mut send = Send::Nothing;
        if due <= now {
            self.is_on = !self.is_on;
            let (length, what) = if self.is_on {
                self.bursts += 1;
                (self.phases.on(), Send::Resume)
            } else {
                (self.phases.off(), Send::Pause)
            };
            send = what;
            self.until = Some(due + length);
        }
        Action {
            send,
            wake: self.until,
            ..Action::default()
        }
    }
}

/// The end that receives a stream.
#[derive(Debug, Clone, Default)]
pub struct StreamReceiver {
    bytes: u64,
    /// On-times that do not count.
    first: u64,
}

impl StreamReceiver {
    pub(crate) fn start_counting(&mut self, bursts: u64) {
        *self = Self {
            bytes: 0,
            first: bursts,
        };
    }
    pub(crate) fn report(&self, bursts: u64) -> OnOffReport {
        OnOffReport {
            bytes: self.bytes,
            bursts: bursts.saturating_sub(self.first),
        }
    }
}

impl Application for StreamReceiver {
    fn poll(&mut self, _now: Time, input: Input) -> Action {
        if let Input::Bytes(bytes) = input {
            self.bytes += bytes;
        }
        Action::default()
    }
}

/// The end that sends datagrams; [`cbr::Receiver`](crate::cbr::Receiver) is its other end.
#[derive(Debug, Clone)]
pub struct DatagramSender {
    phases: Phases,
    size: Bytes,
    interval: Interval,
    /// When the next datagram is due, and when the on-time ends; `None` before the start.
    due: Option<(Time, Time)>,
    sent: u64,
}

impl DatagramSender {
    /// Sends datagrams of IP length `size` every `interval` while it is on.
    pub fn new(on: Period, off: Period, size: Bytes, interval: Interval, random: Random) -> Self {
        Self {
            phases: Phases { on, off, random },
            size,
            interval,
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
        normal_span(mean, self.interval.stddev, &mut self.phases.random)
    }
}

impl Application for DatagramSender {
    fn poll(&mut self, now: Time, input: Input) -> Action {
        let (mut due, mut on_until) = match (self.due, input) {
            (None, Input::Started { .. }) => (now, now + self.phases.on()),
            (Some(due), _) => due,
            (None, _) => return Action::default(),
        };
        let mut send = Send::Nothing;
        if due <= now {
            send = Send::Datagram(self.size);
            self.sent += 1;
            due += self.spacing();
            if due >= on_until {
                due = on_until + self.phases.off();
                on_until = due + self.phases.on();
            }
        }
        self.due = Some((due, on_until));
        Action {
            send,
            wake: Some(due),
            ..Action::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = Time::from_millis;
    const START: Input = Input::Started { opened: Time::ZERO };

    fn stream(on: Period, off: Period) -> StreamSender {
        StreamSender::new(on, off, Random::new(1, "on-off"))
    }

    /// What is sent when, while the sender is polled whenever it asks.
    fn times(sender: &mut impl Application, start: Time, end: Time) -> Vec<(Time, Send)> {
        let mut now = start;
        let mut action = sender.poll(now, START);
        let mut times = Vec::new();
        while now < end {
            if action.send != Send::Nothing {
                times.push((now, action.send));
            }
            now = action.wake.unwrap();
            action = sender.poll(now, Input::Wake);
        }
        times
    }

    #[test]
    fn a_stream_alternates_and_begins_on() {
        let mut sender = stream(Period::fixed(MS(30)), Period::fixed(MS(70)));
        assert_eq!(
            times(&mut sender, MS(5), MS(200)),
            [
                (MS(5), Send::Resume),
                (MS(35), Send::Pause),
                (MS(105), Send::Resume),
                (MS(135), Send::Pause)
            ]
        );
        // The one at 205 ms was polled as well.
        assert_eq!(sender.bursts(), 3);
    }

    #[test]
    fn a_late_host_is_polled_until_it_has_caught_up_and_nothing_else_moves_the_times() {
        let mut sender = stream(Period::fixed(MS(30)), Period::fixed(MS(70)));
        assert_eq!(sender.poll(MS(0), Input::Wake), Action::default());
        sender.poll(MS(0), START);
        let early = sender.poll(MS(10), Input::Bytes(5));
        assert_eq!((early.send, early.wake), (Send::Nothing, Some(MS(30))));
        for (send, wake) in [
            (Send::Pause, MS(100)),
            (Send::Resume, MS(130)),
            (Send::Nothing, MS(130)),
        ] {
            let action = sender.poll(MS(104), Input::Wake);
            assert_eq!((action.send, action.wake), (send, Some(wake)));
        }
    }

    #[test]
    fn exponential_times_have_their_means() {
        let mut sender = stream(Period::exponential(MS(20)), Period::exponential(MS(60)));
        let changes = times(&mut sender, Time::ZERO, Time::from_secs(2_000));
        let mut on = Time::ZERO;
        for pair in changes.chunks_exact(2) {
            assert_eq!((pair[0].1, pair[1].1), (Send::Resume, Send::Pause));
            on += pair[1].0 - pair[0].0;
        }
        // 25 000 cycles of 80 ms; a cycle deviates by 63 ms, an on-time by 20 ms. Four deviations.
        let bursts = changes.len() as f64 / 2.0;
        assert!((bursts - 25_000.0).abs() < 500.0, "{bursts}");
        let mean = on.as_nanos() as f64 / 1e6 / bursts;
        assert!((mean - 20.0).abs() < 0.51, "{mean}");
    }

    #[test]
    fn a_receiver_counts_bytes_and_the_bursts_of_its_stretch() {
        let mut receiver = StreamReceiver::default();
        receiver.poll(MS(0), START);
        receiver.poll(MS(1), Input::Bytes(7));
        assert_eq!(
            receiver.report(2),
            OnOffReport {
                bytes: 7,
                bursts: 2
            }
        );
        receiver.start_counting(2);
        receiver.poll(MS(2), Input::Bytes(5));
        assert_eq!(
            receiver.report(5),
            OnOffReport {
                bytes: 5,
                bursts: 3
            }
        );
    }

    fn datagrams(on: Period, off: Period, mean: Time) -> DatagramSender {
        let interval = Interval {
            mean,
            stddev: Time::ZERO,
        };
        let random = Random::new(1, "on-off");
        DatagramSender::new(on, off, Bytes::new(200), interval, random)
    }

    #[test]
    fn datagrams_leave_at_their_interval_while_on() {
        let mut sender = datagrams(Period::fixed(MS(50)), Period::fixed(MS(100)), MS(20));
        let sent = times(&mut sender, MS(10), MS(400));
        let sent: Vec<u64> = sent
            .iter()
            .map(|(at, _)| at.as_nanos() / 1_000_000)
            .collect();
        assert_eq!(sent, [10, 30, 50, 160, 180, 200, 310, 330, 350]);
    }

    #[test]
    fn the_shortest_on_time_has_one_datagram() {
        let nanosecond = Period::fixed(Time::ZERO);
        let mut sender = datagrams(nanosecond, Period::fixed(MS(100)), MS(20));
        assert_eq!(times(&mut sender, MS(0), MS(950)).len(), 10);
    }

    #[test]
    fn datagrams_have_the_rate_of_their_share_of_time() {
        let (on, off) = (
            Period::exponential(MS(1_004)),
            Period::exponential(MS(1_587)),
        );
        let mut sender = datagrams(on, off, MS(20));
        let sent = times(&mut sender, Time::ZERO, Time::from_secs(20_000)).len() as f64;
        // Talk spurts and pauses of ITU-T P.59; a spurt has 1/(1 - e^(-20/1004)) datagrams. 7 719
        // cycles: the ratio deviates by 1.4 %; four deviations.
        let expected = 20_000.0 / 2.591 / (1.0 - (-20.0_f64 / 1_004.0).exp());
        assert!((sent / expected - 1.0).abs() < 0.056, "{sent} {expected}");
    }
}
