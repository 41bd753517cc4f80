//! Any end of any application, dispatched statically.

use quell_units::{Random, Time};

use crate::{Action, AppConfig, Application, Input, Report, bulk, cbr, on_off, transfer};

/// One end of one flow's application.
#[derive(Debug, Clone)]
pub enum App {
    /// See [`bulk::Sender`].
    BulkSender(bulk::Sender),
    /// See [`bulk::Receiver`].
    BulkReceiver(bulk::Receiver),
    /// See [`cbr::Sender`].
    CbrSender(cbr::Sender),
    /// See [`cbr::Receiver`]; also of datagrams in bursts.
    CbrReceiver(cbr::Receiver),
    /// See [`transfer::Sender`].
    TransferSender(transfer::Sender),
    /// See [`transfer::Receiver`].
    TransferReceiver(transfer::Receiver),
    /// See [`on_off::StreamSender`].
    OnOffSender(on_off::StreamSender),
    /// See [`on_off::StreamReceiver`].
    OnOffReceiver(on_off::StreamReceiver),
    /// See [`on_off::DatagramSender`].
    BurstSender(on_off::DatagramSender),
}

impl App {
    pub(crate) fn sender(config: &AppConfig, random: Random) -> Self {
        match *config {
            AppConfig::Bulk => Self::BulkSender(bulk::Sender),
            AppConfig::Cbr { size, interval } => {
                Self::CbrSender(cbr::Sender::new(size, interval, random))
            }
            AppConfig::Transfer { size, repeat } => {
                Self::TransferSender(transfer::Sender::new(size, repeat, random))
            }
            AppConfig::OnOff { on, off, datagrams } => match datagrams {
                None => Self::OnOffSender(on_off::StreamSender::new(on, off, random)),
                Some(crate::Datagrams { size, interval }) => {
                    Self::BurstSender(on_off::DatagramSender::new(on, off, size, interval, random))
                }
            },
        }
    }

    pub(crate) fn receiver(config: &AppConfig, random: Random) -> Self {
        match *config {
            AppConfig::Bulk => Self::BulkReceiver(bulk::Receiver::default()),
            AppConfig::Transfer { size, repeat } => {
                Self::TransferReceiver(transfer::Receiver::new(size, repeat, random))
            }
            AppConfig::OnOff {
                datagrams: None, ..
            } => Self::OnOffReceiver(on_off::StreamReceiver::default()),
            AppConfig::Cbr { .. } | AppConfig::OnOff { .. } => {
                Self::CbrReceiver(cbr::Receiver::default())
            }
        }
    }

    /// What the report of the other end needs to know: datagrams that this end has handed to its
    /// host since its start, or bursts of a stream that it has begun; 0 of anything else and at a
    /// receiving end.
    pub fn sent(&self) -> u64 {
        match self {
            Self::CbrSender(sender) => sender.sent(),
            Self::BurstSender(sender) => sender.sent(),
            Self::OnOffSender(sender) => sender.bursts(),
            Self::BulkSender(_)
            | Self::TransferSender(_)
            | Self::BulkReceiver(_)
            | Self::CbrReceiver(_)
            | Self::TransferReceiver(_)
            | Self::OnOffReceiver(_) => 0,
        }
    }

    /// The measured time starts: forgets what was counted so far. `sent` is [`App::sent`] of the
    /// other end at this moment; datagrams that are still under way are not counted at all. A
    /// transfer that is under way counts when it completes.
    pub fn start_counting(&mut self, sent: u64) {
        match self {
            Self::BulkReceiver(receiver) => *receiver = bulk::Receiver::default(),
            Self::CbrReceiver(receiver) => receiver.start_counting(sent),
            Self::TransferReceiver(receiver) => receiver.start_counting(),
            Self::OnOffReceiver(receiver) => receiver.start_counting(sent),
            Self::BulkSender(_)
            | Self::CbrSender(_)
            | Self::TransferSender(_)
            | Self::OnOffSender(_)
            | Self::BurstSender(_) => {}
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
            Self::TransferReceiver(receiver) => Some(Report::Transfer(receiver.report())),
            Self::OnOffReceiver(receiver) => Some(Report::OnOff(receiver.report(sent))),
            Self::BulkSender(_)
            | Self::CbrSender(_)
            | Self::TransferSender(_)
            | Self::OnOffSender(_)
            | Self::BurstSender(_) => None,
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
            Self::TransferSender(end) => end.poll(now, input),
            Self::TransferReceiver(end) => end.poll(now, input),
            Self::OnOffSender(end) => end.poll(now, input),
            Self::OnOffReceiver(end) => end.poll(now, input),
            Self::BurstSender(end) => end.poll(now, input),
        }
    }
}
