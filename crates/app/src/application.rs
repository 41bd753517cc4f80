//! Any end of any application, dispatched statically.

use quell_aqm::{Random, Time};

use crate::{Action, AppConfig, Application, Input, Report, bulk, cbr};

/// One end of one flow's application.
#[derive(Debug, Clone)]
pub enum App {
    /// See [`bulk::Sender`].
    BulkSender(bulk::Sender),
    /// See [`bulk::Receiver`].
    BulkReceiver(bulk::Receiver),
    /// See [`cbr::Sender`].
    CbrSender(cbr::Sender),
    /// See [`cbr::Receiver`].
    CbrReceiver(cbr::Receiver),
}

impl App {
    pub(crate) fn sender(config: &AppConfig, random: Random) -> Self {
        match *config {
            AppConfig::Bulk => Self::BulkSender(bulk::Sender),
            AppConfig::Cbr { size, interval } => {
                Self::CbrSender(cbr::Sender::new(size, interval, random))
            }
        }
    }

    pub(crate) fn receiver(config: &AppConfig) -> Self {
        match config {
            AppConfig::Bulk => Self::BulkReceiver(bulk::Receiver::default()),
            AppConfig::Cbr { .. } => Self::CbrReceiver(cbr::Receiver::default()),
        }
    }

    /// Datagrams that this end has handed to its host since its start; 0 on a stream or at a
    /// receiving end.
    pub fn sent(&self) -> u64 {
        match self {
            Self::CbrSender(sender) => sender.sent(),
            Self::BulkSender(_) | Self::BulkReceiver(_) | Self::CbrReceiver(_) => 0,
        }
    }

    /// The measured time starts: forgets what was counted so far. `sent` is [`App::sent`] of the
    /// other end at this moment; datagrams that are still under way are not counted at all.
    pub fn start_counting(&mut self, sent: u64) {
        match self {
            Self::BulkReceiver(receiver) => *receiver = bulk::Receiver::default(),
            Self::CbrReceiver(receiver) => receiver.start_counting(sent),
            Self::BulkSender(_) | Self::CbrSender(_) => {}
        }
    }

    /// What happened since the start, or since [`App::start_counting`]; `None` at a sending end.
    ///
    /// `sent` is [`App::sent`] of the other end. A datagram among them that has not arrived counts
    /// as lost: take the count early enough for the last one to have arrived, or read
    /// [`CbrReport::lost_last`](crate::CbrReport::lost_last).
    pub fn report(&self, sent: u64) -> Option<Report> {
        match self {
            Self::BulkReceiver(receiver) => Some(Report::Bulk {
                bytes: receiver.bytes(),
            }),
            Self::CbrReceiver(receiver) => Some(Report::Cbr(receiver.report(sent))),
            Self::BulkSender(_) | Self::CbrSender(_) => None,
        }
    }
}

impl Application for App {
    fn poll(&mut self, now: Time, input: Input) -> Action {
        match self {
            Self::BulkSender(end) => end.poll(now, input),
            Self::BulkReceiver(end) => end.poll(now, input),
            Self::CbrSender(end) => end.poll(now, input),
            Self::CbrReceiver(end) => end.poll(now, input),
        }
    }
}
