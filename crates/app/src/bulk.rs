//! A transfer without end: the load of most experiments with congestion control.

use quell_units::Time;

use crate::{Action, Application, Input, Send};

/// Always has more to send.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sender;

impl Application for Sender {
    fn poll(&mut self, _now: Time, input: Input) -> Action {
        let send = match input {
            Input::Started { .. } => Send::Endless,
            Input::Wake | Input::Bytes(_) | Input::Datagram { .. } | Input::Closed => Send::Nothing,
        };
        Action {
            send,
            ..Action::default()
        }
    }
}

/// Counts what arrives.
#[derive(Debug, Clone, Copy, Default)]
pub struct Receiver {
    bytes: u64,
}

impl Receiver {
    /// Bytes that arrived in order.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Application for Receiver {
    fn poll(&mut self, _now: Time, input: Input) -> Action {
        if let Input::Bytes(bytes) = input {
            self.bytes += bytes;
        }
        Action::default()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Action, AppConfig, Application as _, Input, Report, Send, Transport};
    use quell_units::{Random, Time};

    const START: Input = Input::Started { opened: Time::ZERO };

    #[test]
    fn sends_without_end_and_counts_what_arrives() {
        let config = AppConfig::Bulk;
        assert_eq!(config.transport(), Transport::Stream);
        let mut sender = config.sender(Random::new(1, "bulk"));
        let action = sender.poll(Time::ZERO, START);
        assert_eq!(
            (action.send, action.wake, action.done),
            (Send::Endless, None, false)
        );
        assert_eq!(sender.report(0), None);

        let mut receiver = config.receiver(Random::new(1, "bulk"));
        assert_eq!(receiver.poll(Time::ZERO, START), Action::default());
        receiver.poll(Time::from_millis(1), Input::Bytes(1_000));
        receiver.start_counting(0);
        receiver.poll(Time::from_millis(2), Input::Bytes(1_448));
        receiver.poll(Time::from_millis(3), Input::Bytes(2_896));
        assert_eq!(receiver.report(0), Some(Report::Bulk { bytes: 4_344 }));
    }
}
