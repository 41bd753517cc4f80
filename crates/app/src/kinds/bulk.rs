//! A transfer without end: the load of most experiments with congestion control.
//!
//! The reads of its receiver show in the shares: TCP acknowledges data with PSH once it is read, so who reads every segment at once mostly gets more
//! ACKs, with less in each.

use quell_units::{Parameter, Random, Time, parameters, words};

use crate::{
    Action, Application, ApplicationKind, ConnectionId, Data, Ends, Figure, FigureInfo, Form,
    FormInfo, Input, KindReport, Quantity, Role, Value,
};

words! {
    /// The reads of a receiver of bulk data.
    #[derive(Default)]
    pub enum Reads {
        /// Some segments at a time, as quell's hosts do by default.
        #[default]
        Pieces = "pieces",
        /// Whatever is there as soon as something is, as iperf3 and web servers' clients do.
        AtOnce = "at-once",
    }
}

parameters! {
    /// The parameters of bulk data.
    pub struct Parameters {
        /// How the receiver reads: in pieces of some segments above about 4 Mbit/s, which costs the machine least, or
        /// at once, as common programs do. When TCP acknowledges depends on it, and so do shares.
        reads: Option<Reads> = Parameter::FIXED.derived("pieces"),
    }
}

/// A TCP flow that always has data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bulk {
    /// The reads of its receiver.
    pub reads: Reads,
}

impl ApplicationKind for Bulk {
    const NAME: &'static str = "bulk";
    const SUMMARY: &'static str = "a TCP flow that always has data";
    const GREEDY: bool = true;
    const EXAMPLE: &'static str = r#"app = { kind = "bulk", reads = "at-once" }"#;
    type Parameters = Parameters;
    type End = Ends<Sender, Receiver>;
    type Report = BulkReport;

    fn new(parameters: Parameters) -> Self {
        Self {
            reads: parameters.reads.unwrap_or_default(),
        }
    }
    fn reads_in_pieces(&self) -> bool {
        self.reads == Reads::Pieces
    }
    fn end(&self, role: Role, _random: Random) -> Self::End {
        match role {
            Role::Sender => Ends::Sender(Sender),
            Role::Receiver => Ends::Receiver(Receiver::default()),
        }
    }
}

/// The part of a transfer without end that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BulkReport {
    /// Payload bytes that arrived in order.
    pub bytes: u64,
}

const FORM: Form<BulkReport> = Form {
    table: None,
    figures: &[Figure::<BulkReport>::new(
        "bytes",
        Quantity::Count,
        "payload bytes that arrived in order",
        |report| Value::Count(report.bytes),
    )],
};

impl KindReport for BulkReport {
    fn forms() -> Vec<FormInfo> {
        vec![FORM.info()]
    }
    fn figures(&self) -> Vec<(FigureInfo, Value)> {
        FORM.of(self)
    }
    fn merge(&mut self, other: &Self) {
        self.bytes += other.bytes;
    }
}

/// Always has more to send.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sender;

impl Application for Sender {
    type Report = BulkReport;

    fn poll(&mut self, _now: Time, input: Input, actions: &mut Vec<Action>) {
        match input {
            Input::Started => actions.push(Action::Open(ConnectionId::ONLY)),
            Input::Opened { connection, .. } => {
                actions.push(Action::Send(connection, Data::Endless));
            }
            _ => {}
        }
    }
}

/// Counts what arrives.
#[derive(Debug, Clone, Copy, Default)]
pub struct Receiver {
    bytes: u64,
}

impl Application for Receiver {
    type Report = BulkReport;

    #[inline]
    fn poll(&mut self, _now: Time, input: Input, actions: &mut Vec<Action>) {
        match input {
            Input::Started => actions.push(Action::Open(ConnectionId::ONLY)),
            Input::Bytes { count, .. } => self.bytes += count,
            _ => {}
        }
    }
    fn start_counting(&mut self, _sent: u64) {
        self.bytes = 0;
    }
    fn report(&self, _sent: u64) -> Option<BulkReport> {
        Some(BulkReport { bytes: self.bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{App, AppConfig, Report, Transport, answer};

    const OPENED: Input = Input::Opened {
        connection: ConnectionId::ONLY,
        serial: 0,
        asked: Time::ZERO,
    };

    fn end(role: Role) -> App {
        AppConfig::from(Bulk::default()).end(role, Random::new(1, "bulk"))
    }

    fn bytes(count: u64) -> Input {
        let connection = ConnectionId::ONLY;
        Input::Bytes { connection, count }
    }

    #[test]
    fn sends_without_end_and_counts_what_arrives() {
        assert_eq!(
            AppConfig::from(Bulk::default()).transport(),
            Transport::Stream
        );
        let mut sender = end(Role::Sender);
        assert_eq!(
            answer(&mut sender, Time::ZERO, OPENED),
            [Action::Send(ConnectionId::ONLY, Data::Endless)]
        );
        assert_eq!(sender.report(0), None);

        let mut receiver = end(Role::Receiver);
        assert_eq!(answer(&mut receiver, Time::ZERO, OPENED), []);
        answer(&mut receiver, Time::from_millis(1), bytes(1_000));
        receiver.start_counting(0);
        answer(&mut receiver, Time::from_millis(2), bytes(1_448));
        answer(&mut receiver, Time::from_millis(3), bytes(2_896));
        let report = BulkReport { bytes: 4_344 };
        assert_eq!(receiver.report(0), Some(Report::Bulk(report)));
    }

    #[test]
    fn the_end_that_is_started_opens_the_connection() {
        for role in [Role::Sender, Role::Receiver] {
            assert_eq!(
                answer(&mut end(role), Time::ZERO, Input::Started),
                [Action::Open(ConnectionId::ONLY)]
            );
        }
    }
}
