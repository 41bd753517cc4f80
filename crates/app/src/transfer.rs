//! Finite transfers with their completion time: what a download, a page or a request feels like.
//!
//! A transfer is a TCP connection of its own. Its completion time runs from the request for the
//! connection to the moment at which the receiving application has the last byte, so it includes
//! the handshake and slow start, as a user would measure it. With `repeat` the flow is renewed: so
//! long after the end of a connection the next one opens, with a fresh window and RTT estimate.
//! That is what a distribution of completion times asks for: were the connection kept, the first
//! transfer alone would have a handshake, and all others would depend on those before them.
//!
//! Either end may be the one whose host opens connections. Both draw the pauses from the same
//! stream, and so agree.

use quell_units::{Bytes, Random, Time};

use crate::{Action, Application, Durations, Input, Period, Send, TransferReport};

/// When the next connection opens.
#[derive(Debug, Clone)]
struct Renewal {
    repeat: Option<Period>,
    random: Random,
}

impl Renewal {
    /// The connection ended at `now`.
    fn ended(&mut self, now: Time) -> Action {
        let again = self.repeat.map(|pause| now + pause.draw(&mut self.random));
        Action {
            again,
            done: true,
            ..Action::default()
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
    /// Sends `size` bytes on each connection.
    pub fn new(size: Bytes, repeat: Option<Period>, random: Random) -> Self {
        let renewal = Renewal { repeat, random };
        Self { size, renewal }
    }
}

impl Application for Sender {
    fn poll(&mut self, now: Time, input: Input) -> Action {
        match input {
            Input::Started { .. } => Action {
                send: Send::Bytes(self.size.get()),
                done: true,
                ..Action::default()
            },
            Input::Closed => self.renewal.ended(now),
            Input::Wake | Input::Bytes(_) | Input::Datagram { .. } => Action::default(),
        }
    }
}

/// The end that receives.
#[derive(Debug, Clone)]
pub struct Receiver {
    size: Bytes,
    renewal: Renewal,
    /// When the connection of the transfer under way was asked for.
    opened: Option<Time>,
    /// Bytes of that transfer.
    arrived: u64,
    bytes: u64,
    cut_short: u64,
    completion: Durations,
}

impl Receiver {
    /// Expects `size` bytes on each connection.
    pub fn new(size: Bytes, repeat: Option<Period>, random: Random) -> Self {
        Self {
            size,
            renewal: Renewal { repeat, random },
            opened: None,
            arrived: 0,
            bytes: 0,
            cut_short: 0,
            completion: Durations::default(),
        }
    }

    pub(crate) fn start_counting(&mut self) {
        self.bytes = 0;
        self.cut_short = 0;
        self.completion = Durations::default();
    }

    pub(crate) fn report(&self) -> TransferReport {
        TransferReport {
            bytes: self.bytes,
            cut_short: self.cut_short,
            under_way: u64::from(self.opened.is_some()),
            completed_bytes: self.completion.count() * self.size.get(),
            completion: self.completion.clone(),
        }
    }

    fn take(&mut self, now: Time, bytes: u64) {
        self.bytes += bytes;
        self.arrived += bytes;
        if self.arrived >= self.size.get()
            && let Some(opened) = self.opened.take()
        {
            self.completion.record(now - opened);
        }
    }
}

impl Application for Receiver {
    fn poll(&mut self, now: Time, input: Input) -> Action {
        match input {
            Input::Started { opened } => {
                self.opened = Some(opened);
                self.arrived = 0;
            }
            Input::Bytes(bytes) => self.take(now, bytes),
            Input::Closed => {
                self.cut_short += u64::from(self.opened.take().is_some());
                return self.renewal.ended(now);
            }
            Input::Wake | Input::Datagram { .. } => {}
        }
        Action::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = Time::from_millis;
    const SIZE: Bytes = Bytes::new(10_000);

    fn receiver(repeat: Option<Period>) -> Receiver {
        Receiver::new(SIZE, repeat, Random::new(1, "transfer"))
    }

    fn opened(at: Time) -> Input {
        Input::Started { opened: at }
    }

    #[test]
    fn sends_its_size_and_closes() {
        let mut sender = Sender::new(SIZE, None, Random::new(1, "transfer"));
        let action = sender.poll(MS(20), opened(MS(0)));
        assert_eq!((action.send, action.done), (Send::Bytes(10_000), true));
        let action = sender.poll(MS(90), Input::Closed);
        assert_eq!((action.send, action.again), (Send::Nothing, None));
    }

    #[test]
    fn completes_with_the_last_byte_and_counts_from_the_request_for_the_connection() {
        let mut receiver = receiver(None);
        receiver.poll(MS(5), opened(MS(5)));
        receiver.poll(MS(40), Input::Bytes(9_999));
        assert_eq!(receiver.report().completion.count(), 0);
        assert_eq!(receiver.report().under_way, 1);
        receiver.poll(MS(65), Input::Bytes(1));
        receiver.poll(MS(70), Input::Closed);
        let report = receiver.report();
        assert_eq!(report.completion.max(), Some(MS(60)));
        assert_eq!((report.completed(), report.unfinished()), (1, 0));
        assert_eq!((report.bytes, report.completed_bytes), (10_000, 10_000));
        // 10 kB in 60 ms.
        assert_eq!(report.goodput_bps(), Some(80_000.0 / 0.06));
    }

    #[test]
    fn a_transfer_that_ends_before_its_time_is_unfinished() {
        let mut receiver = receiver(None);
        receiver.poll(MS(0), opened(MS(0)));
        receiver.poll(MS(40), Input::Bytes(9_999));
        receiver.poll(MS(50), Input::Closed);
        let report = receiver.report();
        assert_eq!((report.cut_short, report.under_way), (1, 0));
        assert_eq!((report.completed(), report.unfinished()), (0, 1));
        assert_eq!((report.goodput_bps(), report.bytes), (None, 9_999));
    }

    #[test]
    fn a_transfer_belongs_to_the_stretch_in_which_it_completes() {
        let mut receiver = receiver(None);
        receiver.poll(MS(0), opened(MS(0)));
        receiver.poll(MS(40), Input::Bytes(4_000));
        let mut whole = receiver.report();
        receiver.start_counting();
        receiver.poll(MS(60), Input::Bytes(6_000));
        let second = receiver.report();
        assert_eq!((whole.completed(), whole.unfinished()), (0, 1));
        assert_eq!((second.completed(), second.unfinished()), (1, 0));
        assert_eq!(second.completion.min(), Some(MS(60)));
        assert_eq!((whole.bytes, second.bytes), (4_000, 6_000));
        whole.append(&second);
        assert_eq!((whole.completed(), whole.unfinished()), (1, 0));
        assert_eq!(whole.bytes, 10_000);
    }

    #[test]
    fn both_ends_of_a_renewed_flow_agree_when_the_next_connection_opens() {
        for pause in [Period::fixed(MS(500)), Period::exponential(MS(500))] {
            let mut sender = Sender::new(SIZE, Some(pause), Random::new(7, "flow"));
            let mut receiver = Receiver::new(SIZE, Some(pause), Random::new(7, "flow"));
            let mut pauses = Vec::new();
            for n in 1..=50 {
                let now = MS(1_000 * n);
                receiver.poll(now, opened(now));
                let again = sender.poll(now, Input::Closed).again.unwrap();
                assert_eq!(receiver.poll(now, Input::Closed).again, Some(again));
                pauses.push(again - now);
            }
            pauses.dedup();
            let is_fixed = pause == Period::fixed(MS(500));
            assert_eq!(pauses.len(), if is_fixed { 1 } else { 50 });
        }
    }
}
