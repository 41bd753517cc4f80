//! Counters of a recorder that exist only with several links in a row.

use quell_units::Time;

use crate::distribution::{Distribution, Resolution};
use crate::label::GroupId;

/// Counters of one direction of one of several links.
#[derive(Debug, Clone)]
pub(crate) struct Several {
    /// Bytes that wait in all queues together, and since when.
    bytes: u64,
    since: Time,
    /// Time with a backlog in the open segment and in the closed ones of the whole.
    backlogged: Time,
    whole_backlogged: Time,
    /// Sums of sojourn times by group, if this is the last of several queues.
    crossings: Vec<Option<Crossing>>,
}

/// Sums of sojourn times in ns, in the open segment and in the closed ones of the whole.
#[derive(Debug, Clone)]
pub(crate) struct Crossing {
    pub(crate) delay: Distribution,
    pub(crate) whole: Distribution,
}

impl Several {
    pub(crate) fn new(ends: &[bool], resolution: Resolution) -> Self {
        let crossing = |&end: &bool| {
            end.then(|| Crossing {
                delay: Distribution::new(resolution),
                whole: Distribution::new(resolution),
            })
        };
        Self {
            bytes: 0,
            since: Time::ZERO,
            backlogged: Time::ZERO,
            whole_backlogged: Time::ZERO,
            crossings: ends.iter().map(crossing).collect(),
        }
    }

    pub(crate) fn add(&mut self, bytes: u64, now: Time) {
        self.account(now);
        self.bytes += bytes;
    }
    pub(crate) fn remove(&mut self, bytes: u64, now: Time) {
        self.account(now);
        self.bytes = self.bytes.saturating_sub(bytes);
    }
    fn account(&mut self, now: Time) {
        if self.bytes > 0 {
            self.backlogged += now - self.since;
        }
        self.since = now;
    }

    /// A packet of `group` has `waited` in all queues of its way.
    pub(crate) fn cross(&mut self, group: Option<GroupId>, waited: Time) {
        let crossing = group.and_then(|group| self.crossings.get_mut(group.index())?.as_mut());
        if let Some(crossing) = crossing {
            crossing.delay.record(waited.as_nanos());
        }
    }

    pub(crate) fn crossing(&self, group: usize) -> Option<&Crossing> {
        self.crossings.get(group)?.as_ref()
    }
    pub(crate) fn backlogged(&self) -> Time {
        self.backlogged
    }
    pub(crate) fn whole_backlogged(&self) -> Time {
        self.whole_backlogged
    }
    /// Distributions of the whole.
    pub(crate) fn crossings(&self) -> Vec<Option<Distribution>> {
        let crossings = self.crossings.iter();
        crossings
            .map(|crossing| crossing.as_ref().map(|one| one.whole.clone()))
            .collect()
    }

    /// Must be called before the figures of a segment that ends at `at` are read.
    pub(crate) fn end_segment(&mut self, at: Time) {
        self.account(at);
    }
    /// Ends the open segment, which becomes part of the whole if `measured`.
    pub(crate) fn close_segment(&mut self, measured: bool) {
        if measured {
            self.whole_backlogged += self.backlogged;
        }
        self.backlogged = Time::ZERO;
        for crossing in self.crossings.iter_mut().flatten() {
            if measured {
                crossing.whole.merge(&crossing.delay);
            }
            crossing.delay.clear();
        }
    }
}
