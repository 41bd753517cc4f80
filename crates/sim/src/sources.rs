//! Finds the source of the next event.
//!
//! A simulation has few sources of events, however many flows there are: the two bottlenecks, the
//! head of each wire (packets on a wire of constant delay leave in the order in which they came),
//! and the earliest timer of all hosts. They are found by a tournament tree over their times whose
//! nodes have eight children each: a node is one cache line, its smallest key three comparisons deep.
//! If there are one or two base RTTs, all sources are in the root, and setting a time is a write.
//!
//! At equal times the source with the smaller number goes first; [`Sources`] are numbered so that
//! bottlenecks come before wires and wires before timers.

use quell_units::Time;

/// Bits of a key that hold the source's number.
const NUMBER_BITS: u32 = 10;
/// The most sources.
pub(crate) const MOST_SOURCES: usize = 1 << NUMBER_BITS;
/// 208 days: events from then on never happen. The last time that a key can hold, so that a key that no event has is this late.
pub(crate) const HORIZON: Time = Time::from_nanos((1 << (64 - NUMBER_BITS)) - 1);

/// A key that no event has.
const NEVER: u64 = u64::MAX;

/// Children of a node.
const FAN: usize = 8;

/// The time of the next event of each source.
#[derive(Debug)]
pub(crate) struct Sources {
    /// Node 0. A leaf holds the keys of eight sources, time in the upper bits and number of the source in the lower; any other node the
    /// smallest key of each of its children.
    root: [u64; FAN],
    /// The other nodes from 1 on: the children of `i` from `8 i + 1`.
    below: Vec<[u64; FAN]>,
    /// The first of the leaves.
    leaves: usize,
}

impl Sources {
    /// A number of sources, without events.
    pub(crate) fn new(count: usize) -> Self {
        debug_assert!(count <= MOST_SOURCES);
        let (mut leaves, mut room) = (0, FAN);
        while room < count {
            leaves = leaves * FAN + 1;
            room *= FAN;
        }
        Self {
            root: [NEVER; FAN],
            below: vec![[NEVER; FAN]; leaves + count.div_ceil(FAN).max(1) - 1],
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
        if self.leaves == 0 {
            self.root[source % FAN] = key;
        } else {
            self.set_below(source, key);
        }
    }
    #[inline(never)]
    fn set_below(&mut self, source: usize, key: u64) {
        let mut node = self.leaves + source / FAN;
        self.below[node - 1][source % FAN] = key;
        while node > 0 {
            let winner = smallest(&self.below[node - 1]);
            let place = (node - 1) % FAN;
            node = (node - 1) / FAN;
            match node {
                0 => self.root[place] = winner,
                _ => self.below[node - 1][place] = winner,
            }
        }
    }

    /// When the next event happens, and at which source; [`HORIZON`] if none ever.
    #[inline]
    pub(crate) fn first(&self) -> (Time, usize) {
        let key = smallest(&self.root);
        let source = key & (MOST_SOURCES as u64 - 1);
        (Time::from_nanos(key >> NUMBER_BITS), source as usize)
    }
}

/// Pairwise, so that comparisons do not wait for one another.
#[inline]
fn smallest(&[a, b, c, d, e, f, g, h]: &[u64; FAN]) -> u64 {
    (a.min(b).min(c.min(d))).min(e.min(f).min(g.min(h)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_smaller_number_goes_first_at_equal_times() {
        let mut sources = Sources::new(3);
        assert_eq!(sources.first().0, HORIZON);
        let at = Time::from_secs(86_400);
        for source in [2, 0, 1] {
            sources.set(source, at);
        }
        assert_eq!(sources.first(), (at, 0));
        sources.set(0, Time::MAX);
        assert_eq!(sources.first(), (at, 1));
        sources.set(1, Time::MAX);
        sources.set(2, HORIZON);
        assert_eq!(sources.first().0, HORIZON);
    }

    #[test]
    fn what_lies_beyond_the_horizon_never_happens() {
        let mut sources = Sources::new(2);
        sources.set(1, HORIZON);
        assert_eq!(sources.first().0, HORIZON);
        let last = HORIZON - Time::from_nanos(1);
        sources.set(1, last);
        assert_eq!(sources.first(), (last, 1));
    }

    proptest! {
        /// Against the slow way: look at all of them.
        #[test]
        fn finds_the_smallest(count in 1_usize..600, changes in prop::collection::vec((0_usize..600, 0_u64..20), 1..200)) {
            let mut sources = Sources::new(count);
            let mut times = vec![u64::MAX; count];
            for (source, at) in changes {
                let source = source % count;
                times[source] = if at == 0 { u64::MAX } else { at };
                sources.set(source, Time::from_nanos(times[source]));
                let (expected, at) = times.iter().enumerate().min_by_key(|&(i, &at)| (at, i)).unwrap();
                let first = sources.first();
                prop_assert_eq!(first.0, Time::from_nanos(*at).min(HORIZON));
                prop_assert!(*at == u64::MAX || first.1 == expected);
            }
        }
    }
}
