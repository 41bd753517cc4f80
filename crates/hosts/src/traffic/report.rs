//! What is reported of the flows: samples while they run, and a report of each at the end.

use quell_app::{Recorded, Report};
use quell_units::{Bytes, Time};

use super::error::FlowFailure;
use super::tcp_info::TcpInfo;

/// One flow at one moment. Taken for each flow that is up; at a boundary also for those that have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// When it was taken: at the tick or as soon after it as the host woke.
    pub at: Time,
    /// Index of the group.
    pub group: usize,
    /// Index within the group.
    pub flow: usize,
    /// Payload that the receiving application has received since the flow's start.
    pub delivered: Bytes,
    /// Smoothed RTT at the data sender, in a session of its connection that was opened last and is not over; `None` for
    /// datagrams, before the first measurement and without a connection.
    pub rtt: Option<Time>,
    /// Congestion window of the data sender in segments, in a session the sum of its connections; `None` for datagrams and
    /// without a connection.
    pub cwnd: Option<u64>,
    /// Segments that the data sender has retransmitted since the flow's start; `None` where its TCP is not known.
    pub retransmitted: Option<u64>,
}

/// What the traffic hands out while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(
    clippy::large_enum_variant,
    reason = "it is handed over, one at a time"
)]
pub enum Told {
    /// A flow at one moment.
    Sample(Sample),
    /// An event that an application has recorded.
    Event {
        /// Index of the flow's group.
        group: usize,
        /// Index within the group.
        flow: usize,
        /// The event.
        event: Recorded,
    },
}

/// What the application saw between two neighbouring boundaries (the run's start and end are boundaries, too).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// The earlier boundary.
    pub from: Time,
    /// The later boundary; earlier where the run was stopped before.
    pub to: Time,
    /// The report of both ends. Datagrams in flight at `to` are in its `lost_last`, and not in the next stretch.
    pub report: Report,
}

/// Adds the stretches of the other end of the same flow: what both ends saw between two boundaries is one stretch.
pub(super) fn join(stretches: &mut Vec<Stretch>, others: Vec<Stretch>) {
    for other in others {
        let same = |mine: &&mut Stretch| (mine.from, mine.to) == (other.from, other.to);
        match stretches.iter_mut().find(same) {
            Some(mine) => mine.report.merge(&other.report),
            None => stretches.push(other),
        }
    }
    stretches.sort_by_key(|stretch| (stretch.from, stretch.to));
}

/// One flow at the end of the run.
#[derive(Debug)]
pub struct FlowReport {
    /// Index of the group.
    pub group: usize,
    /// Index within the group.
    pub flow: usize,
    /// When the data's sender was up: connected, or at the start of its datagrams or its session; `None` if never.
    pub up: Option<Time>,
    /// Payload that the receiving application received.
    pub delivered: Bytes,
    /// The connection at its data sender, when it ended, or all connections of a session; `None` for datagrams and where there was
    /// no connection.
    pub tcp: Option<TcpInfo>,
    /// The application's own report, stretch by stretch from the flow's first; neighbours may be merged.
    pub stretches: Vec<Stretch>,
    /// Connections of a session that were asked for; 0 of other flows.
    pub connections: u64,
    /// Those among them that did not come up, or died without having been reset by one of the ends. Their flow goes on.
    pub not_connected: u64,
    /// Why the first of these failed.
    pub why_not: Option<FlowFailure>,
    /// Why the flow failed; `None` if it did not.
    pub failure: Option<FlowFailure>,
}

/// The share of a connection's busy time from which on a limit is worth a warning: less is the start of a flow, while the kernel
/// still enlarges its buffers.
const NOTEWORTHY_PERCENT: u64 = 5;

/// What puts figures in doubt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The flow that it concerns, as the index of its group and its index therein; `None` for all flows.
    pub flow: Option<(usize, usize)>,
    /// What is wrong.
    pub text: String,
}

impl FlowReport {
    /// What puts the flow's figures in doubt.
    pub fn warnings(&self) -> Vec<Warning> {
        let warning = |text| Warning {
            flow: Some((self.group, self.flow)),
            text,
        };
        let mut warnings = Vec::new();
        if let Some(failure) = &self.failure {
            warnings.push(warning(failure.to_string()));
        }
        if let Some(why) = &self.why_not {
            warnings.push(warning(format!(
                "{} of its {} connections failed, the first because: {why}",
                self.not_connected, self.connections
            )));
        }
        let Some(tcp) = self.tcp else { return warnings };
        let limits = [
            ("receive window", tcp.receive_window_limited),
            ("send buffer", tcp.send_buffer_limited),
        ];
        for (name, limited) in limits {
            let percent = limited.as_nanos().saturating_mul(100) / tcp.busy.as_nanos().max(1);
            if percent >= NOTEWORTHY_PERCENT {
                warnings.push(warning(format!(
                    "limited by its {name} for {percent} % of its busy time; raise the hosts' buffers"
                )));
            }
        }
        warnings
    }
}

/// The outcome of all flows.
#[derive(Debug)]
pub struct TrafficReport {
    /// One report per plan, in the order of the plans.
    pub flows: Vec<FlowReport>,
    /// Datagrams that the hosts' own receive buffers dropped: lost outside the queue.
    pub receive_drops: u64,
    /// When the hosts stopped.
    pub ended: Time,
    /// Whether that was before the run's duration.
    pub partial: bool,
}

impl TrafficReport {
    /// The flows that failed.
    pub fn failed(&self) -> impl Iterator<Item = &FlowReport> {
        self.flows.iter().filter(|flow| flow.failure.is_some())
    }

    /// What puts the figures in doubt.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings: Vec<_> = self.flows.iter().flat_map(FlowReport::warnings).collect();
        if self.receive_drops > 0 {
            warnings.push(Warning {
                flow: None,
                text: format!(
                    "{} datagrams were lost in the hosts' receive buffers, not in the queue: the machine is too slow for their rate",
                    self.receive_drops
                ),
            });
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_noteworthy_limit_is_a_warning() {
        let of = |receive, send| FlowReport {
            group: 1,
            flow: 2,
            up: Some(Time::ZERO),
            delivered: Bytes::ZERO,
            tcp: Some(TcpInfo {
                busy: Time::from_secs(100),
                receive_window_limited: Time::from_secs(receive),
                send_buffer_limited: Time::from_secs(send),
                ..TcpInfo::default()
            }),
            stretches: Vec::new(),
            connections: 0,
            not_connected: 0,
            why_not: None,
            failure: None,
        };
        assert!(of(4, 4).warnings().is_empty());
        let [warning] = &of(4, 30).warnings()[..] else {
            panic!()
        };
        assert!(
            warning.flow == Some((1, 2))
                && warning
                    .text
                    .starts_with("limited by its send buffer for 30 %"),
            "{warning:?}"
        );
        assert!(of(5, 0).warnings()[0].text.contains("receive window"));
    }
}
