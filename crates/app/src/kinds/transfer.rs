//! Finite transfers with their completion time: what a download, a page or a request feels like.
//!
//! A transfer is a TCP connection of its own. Its completion time runs from the request for the
//! connection to the moment at which the receiving application has the last byte, so it includes
//! the handshake and slow start, as a user would measure it. With `repeat` the flow is renewed: that
//! long after the end of a connection the next one opens, with a fresh window and RTT estimate. A
//! distribution of completion times needs this: on a kept connection only the first transfer would
//! have a handshake, and all others would depend on those before them.
//!
//! Either end may be the one whose host opens connections. Both draw from the same stream, so the
//! pauses are the same.

use quell_units::parameter::Domain;
use quell_units::{Bytes, Parameter, Period, Random, Time, parameters};

use crate::exponential::draw;
use crate::kind::DAY;
use crate::{
    Action, Application, ApplicationKind, Column, ConnectionId, Data, Durations, Ends, Figure,
    FigureInfo, Form, FormInfo, Input, KindReport, Notation, Part, Quantity, Role, Times, Value,
};

/// The largest transfer.
const MAX_SIZE: Bytes = Bytes::new(1_000_000_000_000);

parameters! {
    /// The parameters of finite transfers.
    pub struct Parameters {
        /// Payload of a transfer.
        size: Bytes = Parameter::FIXED.domain(Domain::Bytes(1, MAX_SIZE.get())).required(),
        /// From the end of a connection to the opening of the next.
        repeat: Option<Period> = Parameter::FIXED.domain(Domain::Period(Time::ZERO, DAY)).derived("a single transfer"),
    }
}

/// Finite transfers on connections of their own, with their completion time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Payload; at least 1 byte.
    pub size: Bytes,
    /// Time from the end of one connection to the opening of the next; `None` for a single transfer.
    pub repeat: Option<Period>,
}

impl ApplicationKind for Transfer {
    const NAME: &'static str = "transfer";
    const SUMMARY: &'static str =
        "finite transfers, each a TCP connection of its own, with their completion time";
    const EXAMPLE: &'static str = r#"app = { kind = "transfer", size = "100kB", repeat = "2s" }"#;
    type Parameters = Parameters;
    type End = Ends<Sender, Receiver>;
    type Report = TransferReport;

    fn new(Parameters { size, repeat }: Parameters) -> Self {
        Self { size, repeat }
    }
    fn end(&self, role: Role, random: Random) -> Self::End {
        match role {
            Role::Sender => Ends::Sender(Sender::new(self, random)),
            Role::Receiver => Ends::Receiver(Receiver::new(self, random)),
        }
    }
    fn renews(&self) -> bool {
        self.repeat.is_some()
    }
    fn most_payload(&self) -> Option<Bytes> {
        Some(self.size)
    }
}

/// Times of finite transfers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TransferReport {
    /// Payload bytes that arrived in order, also of transfers that did not complete.
    pub bytes: u64,
    /// Transfers that ended before all had arrived, because their flow was stopped.
    pub cut_short: u64,
    /// Transfers that had begun and not ended when the report was made.
    pub in_flight: u64,
    /// Payload bytes of the transfers that completed.
    pub completed_bytes: u64,
    /// Completion times, from the request for the connection to the last byte at the receiving
    /// application.
    pub completion: Durations,
    /// Time from the request for the connection to the first byte at the receiving application.
    pub flow_startup: Durations,
}

impl TransferReport {
    /// Transfers that completed.
    pub fn completed(&self) -> u64 {
        self.completion.count()
    }
    /// Transfers that were cut short, or were still in flight at the end.
    pub fn unfinished(&self) -> u64 {
        self.cut_short + self.in_flight
    }
    /// Payload of the completed transfers over the time that they took; `None` if none did.
    pub fn goodput_bps(&self) -> Option<f64> {
        let seconds = self.completion.sum_ns() as f64 / 1e9;
        (seconds > 0.0).then(|| self.completed_bytes as f64 * 8.0 / seconds)
    }
}

const COUNT: Notation = Notation::Plain(0);
const MS: Notation = Notation::Plain(1);

const FORM: Form<TransferReport> = Form {
    table: Some("transfers"),
    figures: &[
        Figure::<TransferReport>::new(
            "completed",
            Quantity::Count,
            "transfers that completed",
            |report| Value::Count(report.completed()),
        )
        .shown(&[Column::new("completed", COUNT)]),
        Figure::<TransferReport>::new(
            "unfinished",
            Quantity::Count,
            "transfers in flight at the end, or cut short",
            |report| Value::Count(report.unfinished()),
        )
        .shown(&[Column::new("unfinished", COUNT)]),
        Figure::<TransferReport>::new(
            "bytes",
            Quantity::Count,
            "payload bytes that arrived in order",
            |report| Value::Count(report.bytes),
        ),
        Figure::<TransferReport>::new(
            "completion_ms",
            Quantity::Times,
            "ms; of the completed ones: from the request for the connection to the last byte; null if none did",
            |report| Value::Times(Times::of(&report.completion, None)),
        )
        .shown(&[
            Column::of("mean ms", Part::Mean, MS),
            Column::of("min ms", Part::Min, MS).rank(1),
            Column::of("P50 ms", Part::P50, MS),
            Column::of("P90 ms", Part::P90, MS),
            Column::of("P99 ms", Part::P99, MS),
            Column::of("max ms", Part::Max, MS).rank(0),
        ]),
        Figure::<TransferReport>::new(
            "flow_startup_ms",
            Quantity::Times,
            "ms; flow startup time: from the request for the connection to the first byte; null if no byte arrived",
            |report| Value::Times(Times::backed(&report.flow_startup)),
        ),
        Figure::<TransferReport>::new(
            "goodput_bps",
            Quantity::MaybeNumber,
            "bit/s; payload of the completed ones over the time that they took; null if none did",
            |report| Value::Number(report.goodput_bps()),
        )
        .shown(&[Column::new("goodput", Notation::Rate).rank(2)]),
    ],
};

impl KindReport for TransferReport {
    fn forms() -> Vec<FormInfo> {
        vec![FORM.info()]
    }
    fn figures(&self) -> Vec<(FigureInfo, Value)> {
        FORM.of(self)
    }
    fn merge(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.cut_short += other.cut_short;
        self.in_flight += other.in_flight;
        self.completed_bytes += other.completed_bytes;
        self.completion.merge(&other.completion);
        self.flow_startup.merge(&other.flow_startup);
    }
    /// `next` says what has become of the transfer that was in flight.
    fn append(&mut self, next: &Self) {
        self.in_flight = 0;
        self.merge(next);
    }
}

/// Opens the flow's connections, at the end whose host does.
#[derive(Debug, Clone)]
struct Renewal {
    repeat: Option<Period>,
    random: Random,
    /// Whether this is that end.
    opens: bool,
}

impl Renewal {
    fn new(transfer: &Transfer, random: Random) -> Self {
        Self {
            repeat: transfer.repeat,
            random,
            opens: false,
        }
    }

    fn poll(&mut self, now: Time, input: Input, actions: &mut Vec<Action>) {
        match input {
            Input::Started => {
                self.opens = true;
                actions.push(Action::Open(ConnectionId::ONLY));
            }
            Input::Wake => actions.push(Action::Open(ConnectionId::ONLY)),
            Input::Closed { .. } => {
                if let (true, Some(pause)) = (self.opens, self.repeat) {
                    actions.push(Action::WakeAt(now + draw(pause, &mut self.random)));
                }
            }
            _ => {}
        }
    }
}

/// The end that sends.
#[derive(Debug, Clone)]
pub struct Sender {
    size: Bytes,
    renewal: Renewal,
}

impl Sender {
    fn new(transfer: &Transfer, random: Random) -> Self {
        Self {
            size: transfer.size,
            renewal: Renewal::new(transfer, random),
        }
    }
}

impl Application for Sender {
    type Report = TransferReport;

    fn poll(&mut self, now: Time, input: Input, actions: &mut Vec<Action>) {
        if let Input::Opened { connection, .. } = input {
            actions.push(Action::Send(connection, Data::Bytes(self.size.get())));
            actions.push(Action::Finish(connection));
        }
        self.renewal.poll(now, input, actions);
    }
}

/// The end that receives.
#[derive(Debug, Clone)]
pub struct Receiver {
    size: Bytes,
    renewal: Renewal,
    /// Time of the request for the connection of the transfer in flight.
    asked: Option<Time>,
    /// Bytes of that transfer.
    arrived: u64,
    bytes: u64,
    cut_short: u64,
    completion: Durations,
    flow_startup: Durations,
}

impl Receiver {
    fn new(transfer: &Transfer, random: Random) -> Self {
        Self {
            size: transfer.size,
            renewal: Renewal::new(transfer, random),
            asked: None,
            arrived: 0,
            bytes: 0,
            cut_short: 0,
            completion: Durations::default(),
            flow_startup: Durations::default(),
        }
    }

    fn take(&mut self, now: Time, bytes: u64) {
        self.bytes += bytes;
        if self.arrived == 0
            && let Some(asked) = self.asked
        {
            self.flow_startup.record(now - asked);
        }
        self.arrived += bytes;
        if self.arrived >= self.size.get()
            && let Some(asked) = self.asked.take()
        {
            self.completion.record(now - asked);
        }
    }
}

impl Application for Receiver {
    type Report = TransferReport;

    fn poll(&mut self, now: Time, input: Input, actions: &mut Vec<Action>) {
        match input {
            Input::Opened { asked, .. } => {
                self.asked = Some(asked);
                self.arrived = 0;
            }
            Input::Bytes { count, .. } => self.take(now, count),
            Input::Closed { .. } => self.cut_short += u64::from(self.asked.take().is_some()),
            _ => {}
        }
        self.renewal.poll(now, input, actions);
    }

    fn start_counting(&mut self, _sent: u64) {
        self.bytes = 0;
        self.cut_short = 0;
        self.completion = Durations::default();
        self.flow_startup = Durations::default();
    }

    fn report(&self, _sent: u64) -> Option<TransferReport> {
        Some(TransferReport {
            bytes: self.bytes,
            cut_short: self.cut_short,
            in_flight: u64::from(self.asked.is_some()),
            completed_bytes: self.completion.count() * self.size.get(),
            completion: self.completion.clone(),
            flow_startup: self.flow_startup.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer;

    const MS: fn(u64) -> Time = Time::from_millis;
    const SIZE: Bytes = Bytes::new(10_000);
    const ONLY: ConnectionId = ConnectionId::ONLY;
    const CLOSED: Input = Input::Closed { connection: ONLY };

    fn sender(repeat: Option<Period>) -> Sender {
        Sender::new(&Transfer { size: SIZE, repeat }, Random::new(7, "flow"))
    }

    fn receiver(repeat: Option<Period>) -> Receiver {
        Receiver::new(&Transfer { size: SIZE, repeat }, Random::new(7, "flow"))
    }

    fn opened(asked: Time) -> Input {
        let connection = ONLY;
        Input::Opened {
            connection,
            serial: 0,
            asked,
        }
    }

    fn bytes(count: u64) -> Input {
        let connection = ONLY;
        Input::Bytes { connection, count }
    }

    fn report(receiver: &Receiver) -> TransferReport {
        receiver.report(0).unwrap()
    }

    #[test]
    fn sends_its_size_and_closes() {
        let mut sender = sender(None);
        assert_eq!(
            answer(&mut sender, MS(0), Input::Started),
            [Action::Open(ONLY)]
        );
        assert_eq!(
            answer(&mut sender, MS(20), opened(MS(0))),
            [
                Action::Send(ONLY, Data::Bytes(10_000)),
                Action::Finish(ONLY)
            ]
        );
        assert_eq!(answer(&mut sender, MS(90), CLOSED), []);
    }

    #[test]
    fn completes_with_the_last_byte_and_counts_from_the_request_for_the_connection() {
        let mut receiver = receiver(None);
        answer(&mut receiver, MS(5), opened(MS(5)));
        answer(&mut receiver, MS(40), bytes(9_999));
        assert_eq!(report(&receiver).completion.count(), 0);
        assert_eq!(report(&receiver).in_flight, 1);
        answer(&mut receiver, MS(65), bytes(1));
        answer(&mut receiver, MS(70), CLOSED);
        let report = report(&receiver);
        assert_eq!(report.completion.max(), Some(MS(60)));
        // 40 ms is the first byte, of the only connection.
        assert_eq!(report.flow_startup.max(), Some(MS(35)));
        assert_eq!(report.flow_startup.count(), 1);
        assert_eq!((report.completed(), report.unfinished()), (1, 0));
        assert_eq!((report.bytes, report.completed_bytes), (10_000, 10_000));
        // 10 kB in 60 ms.
        assert_eq!(report.goodput_bps(), Some(80_000.0 / 0.06));
    }

    #[test]
    fn a_transfer_that_ends_before_its_time_is_unfinished() {
        let mut receiver = receiver(None);
        answer(&mut receiver, MS(0), opened(MS(0)));
        answer(&mut receiver, MS(40), bytes(9_999));
        answer(&mut receiver, MS(50), CLOSED);
        let report = report(&receiver);
        assert_eq!((report.cut_short, report.in_flight), (1, 0));
        assert_eq!((report.completed(), report.unfinished()), (0, 1));
        assert_eq!((report.goodput_bps(), report.bytes), (None, 9_999));
    }

    #[test]
    fn a_transfer_belongs_to_the_stretch_in_which_it_completes() {
        let mut receiver = receiver(None);
        answer(&mut receiver, MS(0), opened(MS(0)));
        answer(&mut receiver, MS(40), bytes(4_000));
        let mut whole = report(&receiver);
        receiver.start_counting(0);
        answer(&mut receiver, MS(60), bytes(6_000));
        let second = report(&receiver);
        assert_eq!((whole.completed(), whole.unfinished()), (0, 1));
        assert_eq!((second.completed(), second.unfinished()), (1, 0));
        // Its first byte belongs to the stretch before.
        assert_eq!(whole.flow_startup.max(), Some(MS(40)));
        assert_eq!(second.flow_startup.count(), 0);
        assert_eq!(second.completion.min(), Some(MS(60)));
        assert_eq!((whole.bytes, second.bytes), (4_000, 6_000));
        whole.append(&second);
        assert_eq!((whole.completed(), whole.unfinished()), (1, 0));
        assert_eq!(whole.bytes, 10_000);
    }

    #[test]
    fn the_end_that_was_started_opens_the_next_connection_whichever_it_is() {
        for pause in [Period::fixed(MS(500)), Period::exponential(MS(500))] {
            let (mut one, mut other) = (sender(Some(pause)), receiver(Some(pause)));
            answer(&mut one, MS(0), Input::Started);
            answer(&mut other, MS(0), Input::Started);
            let mut pauses = Vec::new();
            for n in 1..=50 {
                let now = MS(1_000 * n);
                let asked = answer(&mut one, now, CLOSED);
                let [Action::WakeAt(again)] = asked[..] else {
                    panic!("{asked:?}")
                };
                assert_eq!(answer(&mut other, now, CLOSED), asked);
                let open = [Action::Open(ONLY)];
                assert_eq!(answer(&mut one, again, Input::Wake), open);
                pauses.push(again - now);
            }
            pauses.dedup();
            let is_fixed = pause == Period::fixed(MS(500));
            assert_eq!(pauses.len(), if is_fixed { 1 } else { 50 });
            assert_eq!(answer(&mut sender(Some(pause)), MS(0), CLOSED), []);
        }
    }

    #[test]
    fn transfers_of_several_flows_are_one_distribution() {
        let of = |spans: &[u64], in_flight| {
            let mut completion: Durations = Durations::default();
            spans
                .iter()
                .for_each(|&ms| completion.record(Time::from_millis(ms)));
            TransferReport {
                bytes: 1_000,
                cut_short: 0,
                in_flight,
                completed_bytes: 500 * spans.len() as u64,
                flow_startup: completion.clone(),
                completion,
            }
        };
        let mut both = of(&[10, 30], 1);
        both.merge(&of(&[20], 1));
        assert_eq!((both.completed(), both.unfinished()), (3, 2));
        assert_eq!(both.completion.mean_ns(), Some(20e6));
        assert_eq!(both.flow_startup.mean_ns(), Some(20e6));
        // 1 500 bytes in 60 ms.
        assert_eq!(both.goodput_bps(), Some(200_000.0));
        // The next stretch of one flow: it says what has become of what was in flight.
        let mut one = of(&[10], 1);
        one.append(&of(&[40], 1));
        assert_eq!((one.completed(), one.unfinished()), (2, 1));
    }
}
