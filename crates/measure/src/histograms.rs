//! `histograms.json`: full distributions over the measured part of a run, as `[value, count]` pairs in
//! ascending order. Each value stands for its bucket of the histogram: 3 significant digits, or fewer
//! for groups if there are very many.

use serde::{Deserialize, Serialize};

use crate::distribution::Distribution;
use crate::figures::LinkResults;
use crate::label::Direction;
use crate::summary::{GroupInfo, SCHEMA};

/// The file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histograms {
    /// The version of the format, that of the summary.
    pub schema: u32,
    /// Every queue, in the order of the summary.
    pub queues: Vec<QueueHistograms>,
    /// Every group, in the order of the scenario.
    pub groups: Vec<GroupHistograms>,
}

/// One queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueHistograms {
    /// Name within the discipline.
    pub name: String,
    /// Name of the link behind the queue.
    pub hop: String,
    /// Direction of the link.
    pub direction: Direction,
    /// Sojourn times of delivered packets, in ns.
    pub delay_ns: Vec<(u64, u64)>,
    /// IP bytes that each delivered packet left behind in its queue.
    pub backlog_at_dequeue_bytes: Vec<(u64, u64)>,
}

/// One group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupHistograms {
    /// Name in the scenario.
    pub name: String,
    /// Sojourn times of delivered packets, in ns; over several links the sum of those at each.
    pub delay_ns: Vec<(u64, u64)>,
}

impl Histograms {
    /// The distributions of a run with these groups, from the same results as [`Summary::new`](crate::Summary::new).
    pub fn new(groups: &[GroupInfo], links: &[&LinkResults]) -> Self {
        let queues = links.iter().flat_map(|link| {
            let delays = link.queue_delays.iter().zip(&link.backlogs_at_dequeue);
            link.whole
                .queues
                .iter()
                .zip(delays)
                .map(|(queue, (delay, backlog))| QueueHistograms {
                    name: queue.name.clone(),
                    hop: queue.hop.clone(),
                    direction: queue.direction,
                    delay_ns: delay.counts(),
                    backlog_at_dequeue_bytes: backlog.counts(),
                })
        });
        let groups = groups.iter().enumerate().map(|(i, group)| {
            // Over several links the sum of the delays at each.
            let mut crossed = links.iter().map(|link| &link.group_crossings);
            let mut at_one = links.iter().map(|link| &link.group_delays);
            let delay = crossed
                .find_map(|all| all.get(i)?.as_ref())
                .or_else(|| at_one.find_map(|all| all.get(i)?.as_ref()));
            GroupHistograms {
                name: group.name.clone(),
                delay_ns: delay.map_or_else(Vec::new, Distribution::counts),
            }
        });
        Self {
            schema: SCHEMA,
            queues: queues.collect(),
            groups: groups.collect(),
        }
    }
}
