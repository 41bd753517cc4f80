//! Figures of one direction of a link: a [`Recorder`](crate::Recorder) returns them, and the summary is made of them.

use std::collections::BTreeMap;

use quell_aqm::impair;
use quell_units::{Rate, Time};
use serde::{Deserialize, Serialize};

use crate::counts::Counts;
use crate::distribution::{Dist, Distribution};
use crate::label::{Direction, Hop};
use crate::timeline::Span;

/// Nanoseconds in a millisecond.
pub(crate) const MILLISECOND: f64 = 1e6;

/// Figures of one direction of one link in one stretch of time.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkFigures {
    /// The link.
    pub hop: Hop,
    /// The direction of the link.
    pub direction: Direction,
    /// The stretch of time.
    pub span: Span,
    /// Mean rate over the stretch; [`Rate::UNLIMITED`] if it was unlimited at any time.
    pub rate: Rate,
    /// Time in which the link transmitted.
    pub busy: Time,
    /// The share that the link carried of its trace's offer; `None` for a link without a trace.
    pub share: Option<f64>,
    /// Time in which packets waited for it; measured where there are several links.
    pub backlogged: Option<Time>,
    /// Packets lost, copied and damaged outside the queue discipline.
    pub outside: impair::Counts,
    /// Figures of the queues, by [`QueueId`](quell_aqm::QueueId).
    pub queues: Vec<QueueSummary>,
    /// Packets of the groups, by [`GroupId`](crate::GroupId); `None` for a group whose data goes elsewhere.
    pub groups: Vec<Option<GroupPackets>>,
}

impl LinkFigures {
    /// Busy time / length; 0 for a stretch of length zero. Of a link that follows a trace: carried / offered.
    pub fn utilisation(&self) -> f64 {
        self.share.unwrap_or_else(|| self.part(self.busy))
    }
    /// Time with a backlog / length; `None` where it is not measured.
    pub fn bottleneck_share(&self) -> Option<f64> {
        self.backlogged.map(|time| self.part(time))
    }
    fn part(&self, time: Time) -> f64 {
        time.as_nanos() as f64 / self.span.length().as_nanos().max(1) as f64
    }
}

/// The packets of one group at one queue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroupPackets {
    /// Delivered packets.
    pub packets: u64,
    /// Newly marked packets.
    pub marked: u64,
    /// Dropped packets.
    pub dropped: u64,
    /// Sojourn times of the delivered packets in milliseconds.
    pub delay_ms: Option<Dist>,
    /// Behind the last of several queues: the sum of the sojourn times in all of them, in milliseconds.
    pub crossed_ms: Option<Dist>,
}

impl GroupPackets {
    pub(crate) fn new(
        counts: &Counts,
        delay: &Distribution,
        crossed: Option<&Distribution>,
    ) -> Self {
        Self {
            packets: counts.packets,
            marked: counts.marked(),
            dropped: counts.dropped(),
            delay_ms: delay.dist(MILLISECOND),
            crossed_ms: crossed.and_then(|crossed| crossed.dist(MILLISECOND)),
        }
    }
}

/// The results of a recorder.
#[derive(Debug, Clone)]
pub struct LinkResults {
    /// Figures from the end of the warm-up to the end of the run.
    pub whole: LinkFigures,
    /// The phases in order.
    pub phases: Vec<LinkFigures>,
    /// Sojourn times in ns over the whole, by [`QueueId`](quell_aqm::QueueId).
    pub queue_delays: Vec<Distribution>,
    /// Bytes that each delivered packet left in its queue, over the whole, by [`QueueId`](quell_aqm::QueueId).
    pub backlogs_at_dequeue: Vec<Distribution>,
    /// Sojourn times in ns over the whole, by [`GroupId`](crate::GroupId); `None` for a group whose data goes elsewhere.
    pub group_delays: Vec<Option<Distribution>>,
    /// Behind the last of several queues: sums of the sojourn times in all of them, in ns over the whole, by
    /// [`GroupId`](crate::GroupId); `None` for any other group. Empty where there is one link.
    pub group_crossings: Vec<Option<Distribution>>,
}

/// One queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueueSummary {
    /// Name within the discipline.
    pub name: String,
    /// Name of the link behind the queue.
    #[serde(default = "only_hop")]
    pub hop: String,
    /// Direction of the link.
    pub direction: Direction,
    /// Delivered packets.
    pub packets: u64,
    /// Delivered IP bytes.
    pub bytes: u64,
    /// Newly marked packets.
    pub marked: u64,
    /// Dropped packets.
    pub dropped: u64,
    /// Newly marked / delivered.
    pub mark_ratio: f64,
    /// Dropped / (delivered + dropped).
    pub drop_ratio: f64,
    /// Newly marked packets by reason.
    pub marks: BTreeMap<String, u64>,
    /// Dropped packets by reason.
    pub drops: BTreeMap<String, u64>,
    /// Sojourn times of delivered packets in milliseconds.
    pub delay_ms: Option<Dist>,
    /// Backlog in IP bytes, weighted by time, without the packet in service.
    pub backlog_bytes: Option<Dist>,
}

/// Results of earlier versions do not name the link.
fn only_hop() -> String {
    Hop::ONLY_NAME.to_owned()
}
