//! Figures of a flow, and the reports of its applications.

use quell_app::{App, Application as _, Recorded, Report};
use quell_measure::FlowSample;
use quell_tcp::SenderStats;
use quell_units::{Bytes, Time};

use super::{ConnectionState, Flow, Transport};

impl Flow {
    /// Measured values at the present time.
    pub(crate) fn sample(&self) -> FlowSample {
        match &self.transport {
            Transport::Stream(stream) => {
                let stats = stream.sender.stats();
                let is_up = matches!(self.state, ConnectionState::Opening | ConnectionState::Up);
                let living = is_up || !stream.sender.is_done();
                let (delivered, retransmitted) = match &self.renewal {
                    Some(renewal) => (renewal.delivered, renewal.stats.retransmitted),
                    None => (0, 0),
                };
                let mss = u64::from(stream.sender.mss());
                FlowSample {
                    delivered: Bytes::new(delivered + stream.receiver.delivered()),
                    retransmitted: Some(retransmitted + stats.retransmitted),
                    rtt: Some(stats.srtt).filter(|rtt| living && !rtt.is_zero()),
                    congestion_window: living.then(|| Bytes::new(u64::from(stats.cwnd) * mss)),
                }
            }
            Transport::Datagrams(datagrams) => FlowSample {
                delivered: Bytes::new(datagrams.delivered),
                ..FlowSample::default()
            },
        }
    }

    /// Counters and state of the TCP sender, over all connections; `None` for datagrams.
    pub(crate) fn stats(&self) -> Option<SenderStats> {
        match &self.transport {
            Transport::Stream(stream) => Some(match &self.renewal {
                Some(renewal) => stream.sender.stats().following(&renewal.stats),
                None => stream.sender.stats(),
            }),
            Transport::Datagrams(_) => None,
        }
    }

    /// Whether it has started.
    pub(crate) fn is_up(&self) -> bool {
        self.state != ConnectionState::Waiting
    }

    /// Adds a record of each event that its applications have begun and not ended.
    pub(crate) fn unfinished(&self, records: &mut Vec<Recorded>) {
        if self.is_up() {
            let mut events = Vec::new();
            self.sender_app.unfinished(&mut events);
            self.receiver_app.unfinished(&mut events);
            records.extend(events.into_iter().map(super::recorded));
        }
    }

    /// Report of both applications since the last call, or since the start.
    pub(crate) fn take_report(&mut self, now: Time) -> Option<Report> {
        if !self.is_up() {
            return None;
        }
        take_reports(&mut self.sender_app, &mut self.receiver_app, now)
    }
}

/// The report of both ends of a flow since the last call.
pub(crate) fn take_reports(sender: &mut App, receiver: &mut App, now: Time) -> Option<Report> {
    let [of_sender, of_receiver] = [sender.sent(), receiver.sent()];
    let report = take_report(receiver, of_sender, now);
    let others = take_report(sender, of_receiver, now);
    match (report, others) {
        (Some(mut report), Some(others)) => {
            report.merge(&others);
            Some(report)
        }
        (report, others) => report.or(others),
    }
}

/// The report of `app` at `now`, after which it counts anew. The other end has sent `sent`.
fn take_report(app: &mut App, sent: u64, now: Time) -> Option<Report> {
    app.advance(now);
    let report = app.report(sent);
    app.start_counting(sent);
    report
}
