//! Where the next event comes from.
//!
//! A simulation has few sources of events, whatever the number of flows: the two bottlenecks, the
//! head of each wire (packets on a wire of constant delay leave in the order in which they came),
//! and the earliest timer of all hosts. A tournament tree over their times finds the next; changing
//! the time of one costs as many steps as the tree is high, three for one base RTT.
//!
//! At equal times the source with the smaller number goes first; [`Sources`] are numbered so that
//! bottlenecks come before wires and wires before timers.

use quell_aqm::Time;

/// Bits of a key that hold the source's number.
const NUMBER_BITS: u32 = 10;
/// The most sources.
pub(crate) const MOST_SOURCES: usize = 1 << NUMBER_BITS;
/// The first time that a key cannot hold, 208 days; events from then on never happen.
pub(crate) const HORIZON: Time = Time::from_nanos(1 << (64 - NUMBER_BITS));

/// A key that no event has.
const NEVER: u64 = u64::MAX;

/// Times of the next event of each source.
#[derive(Debug)]
pub(crate) struct Sources {
    /// The root at 1, the children of `i` at `2 i` and `2 i + 1`, the sources at the end. Each node
    /// is the smallest key below it: time in the upper bits, number of the source in the lower.
    tree: Vec<u64>,
    leaves: usize,
}

impl Sources {
    /// So many sources without events.
    pub(crate) fn new(count: usize) -> Self {
        debug_assert!(count <= MOST_SOURCES);
        let leaves = count.next_power_of_two().max(2);
        Self {
            tree: vec![NEVER; 2 * leaves],
            leaves,
        }
    }

    /// The next event of `source` is at `at`; [`Time::MAX`] for none.
    #[inline]
    pub(crate) fn set(&mut self, source: usize, at: Time) {
        let key = if at < HORIZON {
            at.as_nanos() << NUMBER_BITS | source as u64
        } else {
            NEVER
        };
        let mut node = self.leaves + source;
        if self.tree[node] == key {
            return;
        }
        self.tree[node] = key;
        while node > 1 {
            let winner = self.tree[node].min(self.tree[node ^ 1]);
            node /= 2;
            self.tree[node] = winner;
        }
    }

    /// When the next event happens, and at which source; [`Time::MAX`] if none ever.
    #[inline]
    pub(crate) fn first(&self) -> (Time, usize) {
        let key = self.tree[1];
        if key == NEVER {
            (Time::MAX, 0)
        } else {
            let source = key & (MOST_SOURCES as u64 - 1);
            (Time::from_nanos(key >> NUMBER_BITS), source as usize)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_smaller_number_goes_first_at_equal_times() {
        let mut sources = Sources::new(3);
        assert_eq!(sources.first().0, Time::MAX);
        let at = Time::from_secs(86_400);
        for source in [2, 0, 1] {
            sources.set(source, at);
        }
        assert_eq!(sources.first(), (at, 0));
        sources.set(0, Time::MAX);
        assert_eq!(sources.first(), (at, 1));
    }

    #[test]
    fn what_lies_beyond_the_horizon_never_happens() {
        let mut sources = Sources::new(2);
        sources.set(1, HORIZON);
        assert_eq!(sources.first().0, Time::MAX);
        let last = HORIZON - Time::from_nanos(1);
        sources.set(1, last);
        assert_eq!(sources.first(), (last, 1));
    }

    proptest! {
        /// Against the slow way: look at all of them.
        #[test]
        fn finds_the_smallest(count in 1_usize..40, changes in prop::collection::vec((0_usize..40, 0_u64..20), 1..200)) {
            let mut sources = Sources::new(count);
            let mut times = vec![u64::MAX; count];
            for (source, at) in changes {
                let source = source % count;
                times[source] = if at == 0 { u64::MAX } else { at };
                sources.set(source, Time::from_nanos(times[source]));
                let (expected, at) = times.iter().enumerate().min_by_key(|&(i, &at)| (at, i)).unwrap();
                let first = sources.first();
                prop_assert_eq!(first.0.as_nanos(), *at);
                prop_assert!(*at == u64::MAX || first.1 == expected);
            }
        }
    }
}
