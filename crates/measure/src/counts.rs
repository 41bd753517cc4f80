//! Running totals of a queue or a group. The counts of a stretch of time are the difference of two
//! copies.

use std::collections::BTreeMap;

use quell_aqm::{DropReason, MarkReason};

/// Counters of packets since the start of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    /// Delivered packets.
    pub(crate) packets: u64,
    /// Delivered IP bytes.
    pub(crate) bytes: u64,
    /// Sum of the sojourn times of delivered packets, in ns.
    pub(crate) delay: u128,
    /// Newly marked packets, by [`MarkReason::index`].
    pub(crate) marks: [u64; MarkReason::ALL.len()],
    /// Dropped packets, by [`DropReason::index`].
    pub(crate) drops: [u64; DropReason::ALL.len()],
}

impl Counts {
    /// The counts between `earlier` and now.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            packets: self.packets - earlier.packets,
            bytes: self.bytes - earlier.bytes,
            delay: self.delay - earlier.delay,
            marks: std::array::from_fn(|i| self.marks[i] - earlier.marks[i]),
            drops: std::array::from_fn(|i| self.drops[i] - earlier.drops[i]),
        }
    }

    pub(crate) fn marked(&self) -> u64 {
        self.marks.iter().sum()
    }
    pub(crate) fn dropped(&self) -> u64 {
        self.drops.iter().sum()
    }
    /// Newly marked / delivered; 0 if nothing was delivered.
    pub(crate) fn mark_ratio(&self) -> f64 {
        self.marked() as f64 / self.packets.max(1) as f64
    }
    /// Dropped / (delivered + dropped); 0 if there was nothing to drop.
    pub(crate) fn drop_ratio(&self) -> f64 {
        self.dropped() as f64 / (self.packets + self.dropped()).max(1) as f64
    }
    /// Every reason with its count, including those that did not occur: the keys never change.
    pub(crate) fn marks_by_reason(&self) -> BTreeMap<String, u64> {
        let reasons = MarkReason::ALL.iter();
        reasons
            .map(|reason| (reason.name().to_owned(), self.marks[reason.index()]))
            .collect()
    }
    /// Every reason with its count, including those that did not occur.
    pub(crate) fn drops_by_reason(&self) -> BTreeMap<String, u64> {
        let reasons = DropReason::ALL.iter();
        reasons
            .map(|reason| (reason.name().to_owned(), self.drops[reason.index()]))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_those_of_the_result_format() {
        let mut counts = Counts::default();
        assert_eq!((counts.mark_ratio(), counts.drop_ratio()), (0.0, 0.0));
        counts.packets = 8;
        counts.marks[MarkReason::Step.index()] = 4;
        counts.drops[DropReason::Limit.index()] = 2;
        assert_eq!((counts.mark_ratio(), counts.drop_ratio()), (0.5, 0.2));
        assert_eq!(counts.marks_by_reason()["step"], 4);
        assert_eq!(counts.drops_by_reason()["aqm"], 0);
    }

    #[test]
    fn a_stretch_is_the_difference_of_two_totals() {
        let earlier = Counts {
            packets: 3,
            bytes: 4_500,
            delay: 7,
            ..Counts::default()
        };
        let mut now = earlier;
        now.packets += 2;
        now.drops[0] += 1;
        let stretch = now.since(&earlier);
        assert_eq!(
            (stretch.packets, stretch.bytes, stretch.dropped()),
            (2, 0, 1)
        );
    }
}
