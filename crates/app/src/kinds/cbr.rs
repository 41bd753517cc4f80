//! Datagrams of one size at a constant mean rate, like voice.
//!
//! Spacing is exact, or normally distributed as in the home-gateway study (186 bytes every
//! N(20 ms, 1 ms)). The schedule depends on the plan only: a host that is late sends what is due at
//! once, and the rate does not drift.

use quell_units::{Bytes, Interval, Random, Time, parameters};

use crate::datagrams::{self, Receiver};
use crate::normal::normal_span;
use crate::timed_value::TimedValue;
use crate::{Action, Application, ApplicationKind, DatagramReport, Datagrams, Ends, Input, Role};

parameters! {
    /// The parameters of datagrams at regular intervals.
    pub struct Parameters {
        /// IP length of a datagram.
        size: Bytes = datagrams::SIZE.required(),
        /// Time between datagrams. Where it changes, so does what is left of the present one, in proportion.
        interval: Interval = datagrams::INTERVAL.required().live(),
    }
}

/// Datagrams at regular intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cbr {
    /// IP length, from [`MIN_DATAGRAM`](crate::MIN_DATAGRAM) to [`MAX_DATAGRAM`](crate::MAX_DATAGRAM).
    pub size: Bytes,
    /// Time between two datagrams.
    pub interval: Interval,
}

impl ApplicationKind for Cbr {
    const NAME: &'static str = "cbr";
    const SUMMARY: &'static str = "datagrams at regular intervals";
    const EXAMPLE: &'static str = r#"app = { kind = "cbr", size = "200B", interval = "20ms" }"#;
    type Parameters = Parameters;
    type End = Ends<Sender, Receiver>;
    type Report = DatagramReport;

    fn new(Parameters { size, interval }: Parameters) -> Self {
        Self { size, interval }
    }
    fn end(&self, role: Role, random: Random) -> Self::End {
        match role {
            Role::Sender => Ends::Sender(Sender::new(self.plan(), random)),
            Role::Receiver => Ends::Receiver(Receiver::default()),
        }
    }
    fn change(&self, end: &mut Self::End, at: Time) {
        if let Ends::Sender(sender) = end {
            sender.interval.change(at, self.interval);
        }
    }
    fn datagrams(&self) -> Option<Datagrams> {
        Some(self.plan())
    }
}

impl Cbr {
    const fn plan(&self) -> Datagrams {
        Datagrams::plain(self.size, self.interval)
    }
}

/// The end that sends.
#[derive(Debug, Clone)]
pub struct Sender {
    datagrams: Datagrams,
    interval: TimedValue<Interval>,
    random: Random,
    /// Time of the next datagram; `None` before the start.
    due: Option<Time>,
    sent: u64,
}

impl Sender {
    fn new(datagrams: Datagrams, random: Random) -> Self {
        Self {
            datagrams,
            interval: TimedValue::new(datagrams.interval),
            random,
            due: None,
            sent: 0,
        }
    }

    /// Time of the datagram after the one of `due`.
    fn after(&mut self, due: Time) -> Time {
        let interval = self.interval.at(due);
        let pace = |interval: Interval| interval.mean.max(Time::from_nanos(1));
        let gap = normal_span(pace(interval), interval.stddev, &mut self.random);
        if self.interval.is_settled() {
            return due + gap;
        }
        let of = |what: u128, pace: Time, other: Time| {
            what * u128::from(pace.as_nanos()) / u128::from(other.as_nanos())
        };
        let first = pace(interval);
        self.interval.pass(
            due,
            gap.as_nanos().into(),
            |now, left| {
                let span = u64::try_from(of(left, pace(now), first));
                Time::from_nanos(span.unwrap_or(u64::MAX))
            },
            |now, time| of(time.as_nanos().into(), first, pace(now)),
        )
    }
}

impl Application for Sender {
    type Report = DatagramReport;

    fn poll(&mut self, now: Time, input: Input, actions: &mut Vec<Action>) {
        let due = match (self.due, input) {
            (None, Input::Started) => now,
            (Some(due), Input::Wake) => due,
            _ => return,
        };
        let next = if due <= now {
            actions.push(self.datagrams.one());
            self.sent += 1;
            self.after(due)
        } else {
            due
        };
        self.due = Some(next);
        actions.push(Action::WakeAt(next));
    }

    fn sent(&self) -> u64 {
        self.sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer;

    const SIZE: Bytes = Bytes::new(186);

    fn sender(mean: Time, stddev: Time) -> Sender {
        let interval = Interval { mean, stddev };
        let size = SIZE;
        Sender::new(Datagrams::plain(size, interval), Random::new(1, "cbr"))
    }

    /// Polls `sender` whenever it asks, and returns the times of its datagrams.
    fn times(sender: &mut Sender, start: Time, count: usize) -> Vec<Time> {
        let (mut now, mut input) = (start, Input::Started);
        let mut times = Vec::new();
        while times.len() < count {
            let mut next = None;
            for action in answer(sender, now, input) {
                match action {
                    Action::Datagram { size: SIZE, .. } => times.push(now),
                    Action::WakeAt(at) => next = Some(at),
                    other => panic!("{other:?}"),
                }
            }
            (now, input) = (next.unwrap(), Input::Wake);
        }
        times
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
    fn where_the_interval_changes_so_does_what_is_left_of_the_present_one() {
        let mut sender = sender(Time::from_millis(20), Time::ZERO);
        let interval = |ms| Interval {
            mean: Time::from_millis(ms),
            stddev: Time::ZERO,
        };
        // Before the start; at a quarter of a gap; and to what it is already.
        for (at, ms) in [(3, 20), (55, 4), (61, 4), (68, 60)] {
            sender.interval.change(Time::from_millis(at), interval(ms));
        }
        let ms = |time: &Time| time.as_nanos() / 1_000_000;
        let times: Vec<_> = times(&mut sender, Time::from_millis(10), 9)
            .iter()
            .map(ms)
            .collect();
        // 10, 30, 50; a quarter has passed at 55, and 3 of 4 ms are left; half is left at 68 of the
        // gap that begins at 66.
        assert_eq!(times, [10, 30, 50, 58, 62, 66, 98, 158, 218]);
    }

    #[test]
    fn a_late_host_is_polled_until_it_has_caught_up() {
        let mut sender = sender(Time::from_millis(10), Time::ZERO);
        answer(&mut sender, Time::ZERO, Input::Started);
        let late = Time::from_millis(35);
        for k in 2..=4 {
            let next = Action::WakeAt(Time::from_millis(10 * k));
            let content = [0; 2];
            let size = SIZE;
            assert_eq!(
                answer(&mut sender, late, Input::Wake),
                [Action::Datagram { size, content }, next]
            );
        }
        assert_eq!(
            answer(&mut sender, late, Input::Wake),
            [Action::WakeAt(Time::from_millis(40))]
        );
        assert_eq!(sender.sent(), 4);
    }
}
