//! Figures of one queue and of one group, per segment and for the whole.

use quell_units::Time;

use crate::counts::Counts;
use crate::distribution::{Distribution, Resolution};

/// Sojourn times are resolved up to 1000 s.
const LONGEST_DELAY: u64 = 1_000_000_000_000;
/// Backlogs are resolved up to 64 GiB.
const LARGEST_BACKLOG: u64 = 1 << 36;
/// Significant digits of the distributions of groups, and the memory in bytes that all of them together
/// may take with so many digits. 3 digits only while they fit the caches: with 500 groups they more than
/// tripled the cost of a packet. 2 digits while memory does not matter; then 1, with which 25 000 groups
/// still fit.
const GROUP_BUDGETS: [(u8, u64); 3] = [(3, 32 << 20), (2, 256 << 20), (1, u64::MAX)];

/// Sojourn times in ns, for a queue.
pub(crate) fn delay_resolution() -> Resolution {
    Resolution::new(3, LONGEST_DELAY)
}

/// Bytes waiting in a queue.
pub(crate) fn backlog_resolution() -> Resolution {
    Resolution::new(3, LARGEST_BACKLOG)
}

/// Times in ns for each of `groups` groups, with two distributions each; see [`GROUP_BUDGETS`].
pub(crate) fn group_resolution(groups: usize) -> Resolution {
    let [.., (mut digits, _)] = GROUP_BUDGETS;
    for (finer, budget) in GROUP_BUDGETS.into_iter().rev() {
        let memory = Resolution::new(finer, LONGEST_DELAY).memory();
        if memory.saturating_mul(2 * groups as u64) <= budget {
            digits = finer;
        }
    }
    Resolution::new(digits, LONGEST_DELAY)
}

/// Counters and sojourn times of a queue or a group.
#[derive(Debug, Clone)]
pub(crate) struct Tally {
    /// Since the start of the run, without the delays of the open segment: see [`Tally::counts`].
    pub(crate) counts: Counts,
    /// Sojourn times in ns of the open segment.
    pub(crate) delay: Distribution,
    /// [`Tally::counts`] at the start of the open segment.
    counts_before: Counts,
    /// [`Tally::counts`] at the start of the whole.
    counts_unmeasured: Counts,
    /// Sojourn times in ns of the closed segments of the whole.
    pub(crate) whole_delay: Distribution,
}

impl Tally {
    pub(crate) fn new(resolution: Resolution) -> Self {
        Self {
            counts: Counts::default(),
            delay: Distribution::new(resolution),
            counts_before: Counts::default(),
            counts_unmeasured: Counts::default(),
            whole_delay: Distribution::new(resolution),
        }
    }

    /// Counts a packet of `bytes` that was delivered after `sojourn`, which has this bucket in [`Tally::delay`].
    #[inline]
    pub(crate) fn deliver(&mut self, bytes: u64, sojourn: Time, bucket: usize) {
        self.counts.packets += 1;
        self.counts.bytes += bytes;
        self.delay.record_in(bucket, sojourn.as_nanos(), 1);
    }

    /// Since the start of the run.
    pub(crate) fn counts(&self) -> Counts {
        Counts {
            delay: self.counts.delay + self.delay.sum(),
            ..self.counts
        }
    }
    /// Counters of the open segment.
    pub(crate) fn segment(&self) -> Counts {
        self.counts().since(&self.counts_before)
    }
    /// Counters of the closed segments of the whole.
    pub(crate) fn whole(&self) -> Counts {
        self.counts_before.since(&self.counts_unmeasured)
    }

    /// Ends the open segment, which becomes part of the whole if `measured`.
    pub(crate) fn close_segment(&mut self, measured: bool) {
        self.counts = self.counts();
        if measured {
            self.whole_delay.merge(&self.delay);
        } else {
            self.counts_unmeasured = self.counts;
        }
        self.delay.clear();
        self.counts_before = self.counts;
    }
}

/// The backlog of a queue over time, without the packet in service.
#[derive(Debug, Clone)]
pub(crate) struct BacklogTally {
    bytes: u64,
    /// The bucket of `bytes` in all three distributions.
    bucket: usize,
    since: Time,
    /// The open segment is part of the whole.
    measured: bool,
    /// Bytes in the open segment, weighted by ns.
    pub(crate) weighted: Distribution,
    /// Bytes in the closed segments of the whole, weighted by ns.
    pub(crate) whole_weighted: Distribution,
    /// Bytes that each delivered packet left in the queue, over the whole.
    pub(crate) at_dequeue: Distribution,
}

impl BacklogTally {
    pub(crate) fn new(measured: bool) -> Self {
        let empty = Distribution::new(backlog_resolution());
        Self {
            bytes: 0,
            bucket: empty.bucket(0),
            since: Time::ZERO,
            measured,
            weighted: empty.clone(),
            whole_weighted: empty.clone(),
            at_dequeue: empty,
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    #[inline]
    pub(crate) fn add(&mut self, bytes: u64, now: Time) {
        self.account(now);
        self.set(self.bytes + bytes);
    }

    #[inline]
    fn set(&mut self, bytes: u64) {
        self.bytes = bytes;
        self.bucket = self.weighted.bucket(bytes);
    }

    #[inline]
    pub(crate) fn remove(&mut self, bytes: u64, now: Time) {
        self.account(now);
        debug_assert!(bytes <= self.bytes, "what leaves a queue was in it");
        self.set(self.bytes.saturating_sub(bytes));
    }

    /// Removes a delivered packet of `bytes`.
    #[inline]
    pub(crate) fn deliver(&mut self, bytes: u64, now: Time) {
        self.remove(bytes, now);
        if self.measured {
            self.at_dequeue.record_in(self.bucket, self.bytes, 1);
        }
    }

    /// A packet is delivered as it comes.
    #[inline]
    pub(crate) fn pass(&mut self, now: Time) {
        self.account(now);
        if self.measured {
            self.at_dequeue.record_in(self.bucket, self.bytes, 1);
        }
    }

    /// Counts the present backlog for the time up to `now`.
    #[inline]
    fn account(&mut self, now: Time) {
        let length = (now - self.since).as_nanos();
        self.weighted.record_in(self.bucket, self.bytes, length);
        self.since = now;
    }

    /// Prepares the end of the open segment at `at`: a backlog across the end counts in part on both
    /// sides.
    pub(crate) fn end_segment(&mut self, at: Time) {
        self.account(at);
    }

    /// Ends the segment after its figures have been read. The next one is `measured` or not.
    pub(crate) fn close_segment(&mut self, measured: bool) {
        if self.measured {
            self.whole_weighted.merge(&self.weighted);
        }
        self.weighted.clear();
        self.measured = measured;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_groups_are_resolved_less_finely_and_fit_the_memory() {
        for (groups, digits) in [
            (0, 3),
            (60, 3),
            (70, 2),
            (3_000, 2),
            (5_000, 1),
            (25_000, 1),
        ] {
            let resolution = group_resolution(groups);
            assert_eq!(
                resolution,
                Resolution::new(digits, LONGEST_DELAY),
                "{groups}"
            );
            assert!(resolution.memory() * 2 * groups as u64 <= 256 << 20);
        }
    }

    #[test]
    fn backlog_is_weighted_by_the_time_for_which_it_stands() {
        let mut backlog = BacklogTally::new(true);
        backlog.add(1_500, Time::ZERO);
        backlog.remove(1_500, Time::from_millis(1));
        backlog.end_segment(Time::from_millis(4));
        let dist = backlog.weighted.dist(1.0).unwrap();
        assert_eq!((dist.mean, dist.p75, dist.max), (375.0, 0.0, 1_500.0));
        assert_eq!(dist.p90, 1_500.0);
    }
}
