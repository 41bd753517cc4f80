//! When somebody sent, from the series of a result: a link is judged in that time, not in the pauses between transfers.
//!
//! An interval counts if a flow that sends as fast as it can delivered data in it, or if packets waited in a queue at its end: data, or
//! the acknowledgements of data. What sends at a rate of its own (a call, a game) is always there and fills nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use quell_measure::{Direction, GroupSummary, Summary};

use crate::read::ReadError;
use crate::read::columns;

/// Applications that send what they have as fast as they can, and then may pause.
const EAGER: [&str; 5] = ["bulk", "transfer", "web", "has", "program"];
/// The series of more flows take long to read.
const MOST_FLOWS: usize = 1_000;

/// The time in which somebody sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Sending {
    /// Its share of the measured time.
    share: f64,
    /// Of the bytes of each direction of a link, the share that it carried in that time.
    carried: BTreeMap<(String, &'static str), f64>,
}

/// The kind of the group's application.
pub(super) fn kind(group: &GroupSummary) -> &str {
    group.app.as_ref().map_or("", |app| &app.kind)
}

/// Whether the group's application sends as fast as it can.
pub(super) fn is_eager(group: &GroupSummary) -> bool {
    group.count > 0 && EAGER.contains(&kind(group))
}

impl Sending {
    /// From the series in `folder`; `None` where nobody sends as fast as it can, or there are too many flows to look at.
    ///
    /// # Errors
    ///
    /// A series cannot be read.
    pub fn read(folder: &Path, summary: &Summary) -> Result<Option<Self>, ReadError> {
        let groups = &summary.figures.groups;
        let flows: usize = groups.iter().map(|group| group.count).sum();
        let eager = groups.iter().filter(|group| is_eager(group));
        let eager: BTreeSet<&str> = eager.map(|group| group.name.as_str()).collect();
        if eager.is_empty() || flows > MOST_FLOWS {
            return Ok(None);
        }
        let mut active = BTreeSet::new();
        let wanted = ["time_ns", "group", "delivered_bytes"];
        for [time, group, bytes] in columns::read(&folder.join("flows.parquet"), wanted)? {
            if bytes.number() > 0.0 && eager.contains(group.text()) {
                active.insert(time.number() as u64);
            }
        }
        let wanted = [
            "time_ns",
            "length_ns",
            "direction",
            "hop",
            "bytes",
            "backlog_bytes",
        ];
        let rows = columns::read(&folder.join("queues.parquet"), wanted)?;
        for [time, .., backlog] in &rows {
            if backlog.number() > 0.0 {
                active.insert(time.number() as u64);
            }
        }
        let mut lengths: BTreeMap<u64, f64> = BTreeMap::new();
        let mut bytes: BTreeMap<(String, &'static str), [f64; 2]> = BTreeMap::new();
        for [time, length, direction, hop, carried, _] in &rows {
            let middle_s = (time.number() - length.number() / 2.0) / 1e9;
            if middle_s < summary.warmup_s {
                continue;
            }
            let time = time.number() as u64;
            lengths.insert(time, length.number());
            let direction = match direction.text() {
                "reverse" => Direction::Reverse,
                _ => Direction::Forward,
            };
            let sums = bytes.entry((hop.text().to_owned(), direction.name()));
            let sums = sums.or_default();
            sums[0] += carried.number();
            if active.contains(&time) {
                sums[1] += carried.number();
            }
        }
        let whole: f64 = lengths.values().sum();
        let sent = lengths.iter().filter(|(time, _)| active.contains(time));
        let sent: f64 = sent.map(|(_, length)| length).sum();
        let shares = bytes.into_iter();
        let carried = shares.map(|(link, [all, sent])| (link, sent / f64::max(all, 1.0)));
        Ok((sent > 0.0).then(|| Self {
            share: sent / whole,
            carried: carried.collect(),
        }))
    }

    /// Its share of the measured time.
    pub fn share(&self) -> f64 {
        self.share
    }

    /// The utilisation in this time of a direction of the link `hop`, of that in the whole measured time.
    pub fn used(&self, hop: &str, direction: Direction, whole: f64) -> f64 {
        let key = (hop.to_owned(), direction.name());
        let carried = self.carried.get(&key).copied().unwrap_or(1.0);
        (whole * carried / self.share).min(1.0)
    }
}
