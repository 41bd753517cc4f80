//! Data during on-times, silence during off-times: bursts, talk spurts, an adaptive video's chunks.
//!
//! Over TCP the application always has data while it is on, and writes as the transport takes it;
//! the transport takes at most [`UNSENT`](crate::UNSENT) bytes ahead of what it has sent, so off
//! stops new data soon and what was taken still leaves. The connection stays up: how TCP treats a
//! window that it has not used (congestion window validation, slow start after idle) is part of
//! what this application shows.
//!
//! As datagrams each on-time is a stretch of [`cbr`](super::cbr), whose first datagram leaves as
//! the on-time begins.
//!
//! The times depend on the plan only, as with `cbr`: a host that is late does not shift them. A flow
//! begins with an on-time as soon as it is up. Lengths below 1 ns count as 1 ns.

use quell_units::parameter::Domain;
use quell_units::{Bytes, Interval, Parameter, Period, Random, Time, name_of, parameters};

use crate::datagrams::{self, Receiver as DatagramReceiver};
use crate::exponential::draw;
use crate::kind::DAY;
use crate::{
    Action, Application, ApplicationKind, ConnectionId, Data, DatagramReport, Datagrams, Figure,
    FigureInfo, Form, FormInfo, Input, KindReport, Quantity, Role, Value,
};

parameters! {
    /// The parameters of data during on-times.
    pub struct Parameters {
        /// Length of an on-time. The first begins with the flow.
        on: Period = PHASE,
        /// Length of an off-time.
        off: Period = PHASE,
        /// IP length of a datagram; with it on-times are datagrams at intervals.
        size: Option<Bytes> = datagrams::SIZE.derived("TCP, as much as it takes"),
        /// Time between the datagrams of an on-time.
        interval: Option<Interval> = datagrams::INTERVAL.derived("none without size"),
    }
}

/// Data during on-times only, over TCP or as datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnOff {
    /// Longer than zero.
    pub on: Period,
    /// Longer than zero.
    pub off: Period,
    /// The rate while on; `None` for as much as TCP takes.
    pub datagrams: Option<Datagrams>,
}

impl ApplicationKind for OnOff {
    const NAME: &'static str = "on-off";
    const SUMMARY: &'static str = "data during on-times only, over TCP or as datagrams";
    const TOGETHER: &'static [&'static str] =
        &[name_of!(Parameters, size), name_of!(Parameters, interval)];
    const EXAMPLE: &'static str =
        r#"app = { kind = "on-off", on = "1s", off = "1.6s", size = "200B", interval = "20ms" }"#;
    type Parameters = Parameters;
    type End = End;
    type Report = OnOffReport;

    fn new(parameters: Parameters) -> Self {
        let datagrams = parameters.size.zip(parameters.interval);
        Self {
            on: parameters.on,
            off: parameters.off,
            datagrams: datagrams.map(|(size, interval)| Datagrams::plain(size, interval)),
        }
    }
    fn end(&self, role: Role, random: Random) -> Self::End {
        let phases = Phases {
            on: self.on,
            off: self.off,
            random,
        };
        match (role, self.datagrams) {
            (Role::Sender, None) => End::StreamSender(StreamSender::new(phases)),
            (Role::Receiver, None) => End::StreamReceiver(StreamReceiver::default()),
            (Role::Sender, Some(datagrams)) => {
                End::DatagramSender(DatagramSender::new(phases, datagrams))
            }
            (Role::Receiver, Some(_)) => End::DatagramReceiver(DatagramReceiver::default()),
        }
    }
    fn datagrams(&self) -> Option<Datagrams> {
        self.datagrams
    }
    /// Each on-time begins with a datagram, so where on and off follow each other quickly they set
    /// the pace, and not the interval.
    fn datagram_gap(&self) -> Option<Time> {
        let interval = self.datagrams?.gap().as_nanos();
        let cycle = (self.on.mean + self.off.mean).as_nanos().max(1);
        // One at each beginning, and one for each interval.
        let gap =
            u128::from(interval) * u128::from(cycle) / (u128::from(interval) + u128::from(cycle));
        // Not above the smaller of the two.
        Some(Time::from_nanos((gap as u64).max(1)))
    }
}

/// The parameter for the length of on- or off-times.
const PHASE: Parameter = Parameter::FIXED
    .domain(Domain::Period(Time::from_nanos(1), DAY))
    .required();

/// Either end, over TCP or as datagrams.
#[derive(Debug, Clone)]
pub enum End {
    /// Sends a stream.
    StreamSender(StreamSender),
    /// Receives a stream.
    StreamReceiver(StreamReceiver),
    /// Sends datagrams.
    DatagramSender(DatagramSender),
    /// Receives datagrams.
    DatagramReceiver(DatagramReceiver),
}

impl Application for End {
    type Report = OnOffReport;

    fn poll(&mut self, now: Time, input: Input, actions: &mut Vec<Action>) {
        match self {
            Self::StreamSender(end) => end.poll(now, input, actions),
            Self::StreamReceiver(end) => end.poll(now, input, actions),
            Self::DatagramSender(end) => end.poll(now, input, actions),
            Self::DatagramReceiver(end) => end.poll(now, input, actions),
        }
    }
    fn sent(&self) -> u64 {
        match self {
            Self::StreamSender(end) => end.bursts,
            Self::DatagramSender(end) => end.sent,
            Self::StreamReceiver(_) | Self::DatagramReceiver(_) => 0,
        }
    }
    fn start_counting(&mut self, sent: u64) {
        match self {
            Self::StreamReceiver(end) => end.start_counting(sent),
            Self::DatagramReceiver(end) => end.start_counting(sent),
            Self::StreamSender(_) | Self::DatagramSender(_) => {}
        }
    }
    fn report(&self, sent: u64) -> Option<OnOffReport> {
        match self {
            Self::StreamReceiver(end) => Some(OnOffReport::Stream(end.report(sent))),
            Self::DatagramReceiver(end) => end.report(sent).map(OnOffReport::Datagrams),
            Self::StreamSender(_) | Self::DatagramSender(_) => None,
        }
    }
}

/// The bursts that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnOffReport {
    /// Over TCP.
    Stream(BurstReport),
    /// As datagrams.
    Datagrams(DatagramReport),
}

/// The bursts of a stream that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BurstReport {
    /// Payload bytes that arrived in order.
    pub bytes: u64,
    /// On-times that began.
    pub bursts: u64,
}

const FORM: Form<BurstReport> = Form {
    table: None,
    figures: &[
        Figure::<BurstReport>::new(
            "bytes",
            Quantity::Count,
            "payload bytes that arrived in order",
            |report| Value::Count(report.bytes),
        ),
        Figure::<BurstReport>::new("bursts", Quantity::Count, "on-times that began", |report| {
            Value::Count(report.bursts)
        }),
    ],
};

impl KindReport for OnOffReport {
    fn forms() -> Vec<FormInfo> {
        let mut forms = DatagramReport::forms();
        forms.push(FORM.info());
        forms
    }
    fn figures(&self) -> Vec<(FigureInfo, Value)> {
        match self {
            Self::Stream(report) => FORM.of(report),
            Self::Datagrams(report) => report.figures(),
        }
    }
    fn merge(&mut self, other: &Self) {
        match (self, other) {
            (Self::Stream(report), Self::Stream(other)) => {
                report.bytes += other.bytes;
                report.bursts += other.bursts;
            }
            (Self::Datagrams(report), Self::Datagrams(other)) => report.merge(other),
            (Self::Stream(_) | Self::Datagrams(_), _) => {}
        }
    }
    fn append(&mut self, next: &Self) {
        match (self, next) {
            (Self::Datagrams(report), Self::Datagrams(next)) => report.append(next),
            (mine, next) => mine.merge(next),
        }
    }
}

/// The times of a source.
#[derive(Debug, Clone)]
struct Phases {
    on: Period,
    off: Period,
    random: Random,
}

impl Phases {
    fn on(&mut self) -> Time {
        draw(self.on, &mut self.random).max(Time::from_nanos(1))
    }
    fn off(&mut self) -> Time {
        draw(self.off, &mut self.random).max(Time::from_nanos(1))
    }
}

/// The end that sends a stream.
#[derive(Debug, Clone)]
pub struct StreamSender {
    phases: Phases,
    /// The connection, once it is up.
    connection: Option<ConnectionId>,
    is_on: bool,
    /// End of the present on or off time.
    until: Time,
    bursts: u64,
}

impl StreamSender {
    fn new(phases: Phases) -> Self {
        Self {
            phases,
            connection: None,
            is_on: false,
            until: Time::ZERO,
            bursts: 0,
        }
    }

    fn poll(&mut self, now: Time, input: Input, actions: &mut Vec<Action>) {
        let due = match (self.connection, input) {
            (None, Input::Started) => return actions.push(Action::Open(ConnectionId::ONLY)),
            (None, Input::Opened { connection, .. }) => {
                self.connection = Some(connection);
                now
            }
            (Some(_), Input::Wake) => self.until,
            _ => return,
        };
        let Some(connection) = self.connection else {
            return;
        };
        if due <= now {
            self.is_on = !self.is_on;
            let (length, data) = if self.is_on {
                self.bursts += 1;
                (self.phases.on(), Data::Resume)
            } else {
                (self.phases.off(), Data::Pause)
            };
            actions.push(Action::Send(connection, data));
            self.until = due + length;
        }
        actions.push(Action::WakeAt(self.until));
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
    fn poll(&mut self, _now: Time, input: Input, actions: &mut Vec<Action>) {
        match input {
            Input::Started => actions.push(Action::Open(ConnectionId::ONLY)),
            Input::Bytes { count, .. } => self.bytes += count,
            _ => {}
        }
    }
    fn start_counting(&mut self, bursts: u64) {
        *self = Self {
            bytes: 0,
            first: bursts,
        };
    }
    fn report(&self, bursts: u64) -> BurstReport {
        BurstReport {
            bytes: self.bytes,
            bursts: bursts.saturating_sub(self.first),
        }
    }
}

/// The end that sends datagrams.
#[derive(Debug, Clone)]
pub struct DatagramSender {
    phases: Phases,
    datagrams: Datagrams,
    /// Time of the next datagram, and end of the on-time; `None` before the start.
    due: Option<(Time, Time)>,
    sent: u64,
}

impl DatagramSender {
    fn new(phases: Phases, datagrams: Datagrams) -> Self {
        Self {
            phases,
            datagrams,
            due: None,
            sent: 0,
        }
    }

    fn poll(&mut self, now: Time, input: Input, actions: &mut Vec<Action>) {
        let (mut due, mut on_until) = match (self.due, input) {
            (None, Input::Started) => (now, now + self.phases.on()),
            (Some(due), Input::Wake) => due,
            _ => return,
        };
        if due <= now {
            actions.push(self.datagrams.one());
            self.sent += 1;
            due += self.datagrams.draw_gap(&mut self.phases.random);
            if due >= on_until {
                due = on_until + self.phases.off();
                on_until = due + self.phases.on();
            }
        }
        self.due = Some((due, on_until));
        actions.push(Action::WakeAt(due));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interval, answer};
    use quell_units::Bytes;

    const MS: fn(u64) -> Time = Time::from_millis;
    const ONLY: ConnectionId = ConnectionId::ONLY;
    const SIZE: Bytes = Bytes::new(200);
    const OPENED: Input = Input::Opened {
        connection: ONLY,
        serial: 0,
        asked: Time::ZERO,
    };

    fn end(role: Role, on: Period, off: Period, interval: Option<Time>) -> End {
        let datagrams = interval.map(|mean| {
            let stddev = Time::ZERO;
            Datagrams::plain(SIZE, Interval { mean, stddev })
        });
        let on_off = OnOff { on, off, datagrams };
        on_off.end(role, Random::new(1, "on-off"))
    }

    fn stream(on: Period, off: Period) -> End {
        end(Role::Sender, on, off, None)
    }

    fn datagrams(on: Period, off: Period, mean: Time) -> End {
        end(Role::Sender, on, off, Some(mean))
    }

    /// The actions besides waiting, and when, while the sender is polled whenever it asks.
    fn times(sender: &mut End, first: Input, start: Time, until: Time) -> Vec<(Time, Action)> {
        let (mut now, mut input) = (start, first);
        let mut times = Vec::new();
        while now < until {
            let mut next = None;
            for action in answer(sender, now, input) {
                match action {
                    Action::WakeAt(at) => next = Some(at),
                    other => times.push((now, other)),
                }
            }
            (now, input) = (next.unwrap(), Input::Wake);
        }
        times
    }

    #[test]
    fn a_stream_alternates_and_begins_on() {
        let mut sender = stream(Period::fixed(MS(30)), Period::fixed(MS(70)));
        let opens = answer(&mut sender, MS(0), Input::Started);
        assert_eq!(opens, [Action::Open(ONLY)]);
        let (resume, pause) = (
            Action::Send(ONLY, Data::Resume),
            Action::Send(ONLY, Data::Pause),
        );
        assert_eq!(
            times(&mut sender, OPENED, MS(5), MS(200)),
            [
                (MS(5), resume),
                (MS(35), pause),
                (MS(105), resume),
                (MS(135), pause)
            ]
        );
        assert_eq!(sender.sent(), 2);
    }

    #[test]
    fn a_late_host_is_polled_until_it_has_caught_up_and_nothing_else_moves_the_times() {
        let mut sender = stream(Period::fixed(MS(30)), Period::fixed(MS(70)));
        assert_eq!(answer(&mut sender, MS(0), Input::Wake), []);
        answer(&mut sender, MS(0), OPENED);
        let connection = ONLY;
        let bytes = Input::Bytes {
            connection,
            count: 5,
        };
        assert_eq!(answer(&mut sender, MS(10), bytes), []);
        for (data, wake) in [
            (Some(Data::Pause), MS(100)),
            (Some(Data::Resume), MS(130)),
            (None, MS(130)),
        ] {
            let data = data.map(|data| Action::Send(ONLY, data));
            let expected: Vec<Action> = data.into_iter().chain([Action::WakeAt(wake)]).collect();
            assert_eq!(answer(&mut sender, MS(104), Input::Wake), expected);
        }
    }

    #[test]
    fn exponential_times_have_their_means() {
        let mut sender = stream(Period::exponential(MS(20)), Period::exponential(MS(60)));
        let changes = times(&mut sender, OPENED, Time::ZERO, Time::from_secs(2_000));
        let mut on = Time::ZERO;
        for pair in changes.chunks_exact(2) {
            assert_eq!(pair[0].1, Action::Send(ONLY, Data::Resume));
            assert_eq!(pair[1].1, Action::Send(ONLY, Data::Pause));
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
        let period = Period::fixed(MS(1));
        let mut receiver = end(Role::Receiver, period, period, None);
        let bytes = |count| Input::Bytes {
            connection: ONLY,
            count,
        };
        answer(&mut receiver, MS(0), OPENED);
        answer(&mut receiver, MS(1), bytes(7));
        let stretch = |bytes, bursts| Some(OnOffReport::Stream(BurstReport { bytes, bursts }));
        assert_eq!(receiver.report(2), stretch(7, 2));
        receiver.start_counting(2);
        answer(&mut receiver, MS(2), bytes(5));
        assert_eq!(receiver.report(5), stretch(5, 3));
    }

    #[test]
    fn datagrams_leave_at_their_interval_while_on() {
        let mut sender = datagrams(Period::fixed(MS(50)), Period::fixed(MS(100)), MS(20));
        let sent = times(&mut sender, Input::Started, MS(10), MS(400));
        assert!(
            sent.iter()
                .all(|sent| matches!(sent.1, Action::Datagram { size: SIZE, .. }))
        );
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
        assert_eq!(times(&mut sender, Input::Started, MS(0), MS(950)).len(), 10);
    }

    #[test]
    fn datagrams_have_the_rate_of_their_share_of_time() {
        let (on, off) = (
            Period::exponential(MS(1_004)),
            Period::exponential(MS(1_587)),
        );
        let mut sender = datagrams(on, off, MS(20));
        let sent = times(
            &mut sender,
            Input::Started,
            Time::ZERO,
            Time::from_secs(20_000),
        );
        let sent = sent.len() as f64;
        // Talk spurts and pauses of ITU-T P.59; a spurt has 1/(1 - e^(-20/1004)) datagrams. 7 719
        // cycles: the ratio deviates by 1.4 %; four deviations.
        let expected = 20_000.0 / 2.591 / (1.0 - (-20.0_f64 / 1_004.0).exp());
        assert!((sent / expected - 1.0).abs() < 0.056, "{sent} {expected}");
    }

    #[test]
    fn short_on_times_set_the_pace_of_datagrams() {
        let gap = |on, off| {
            let interval = Interval {
                mean: MS(20),
                stddev: Time::ZERO,
            };
            let size = SIZE;
            let on_off = OnOff {
                on: Period::fixed(on),
                off: Period::fixed(off),
                datagrams: Some(Datagrams::plain(size, interval)),
            };
            on_off.datagram_gap()
        };
        let ns = Time::from_nanos;
        for (on, off, expected) in [
            (MS(30), MS(30), MS(15)),
            (ns(1), ns(1), ns(1)),
            (Time::ZERO, ns(99), ns(98)),
        ] {
            assert_eq!(gap(on, off), Some(expected));
        }
    }
}
