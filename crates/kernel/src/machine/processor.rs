//! One processor for each machine.
//!
//! A user-mode kernel and its processes take turns, thousands of times a second, and never work at the same time. On two
//! processors every turn is a message from one to the other, which in a virtual machine is an exit to its host: the same ten
//! seconds took 16.5 s spread over two processors and 1.5 s on one (Linux 7.2 inside, 100 Mbit/s, a busy machine of two).
//! So each machine keeps to one, the least used by this program, and of those the one that the scheduler chose.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// Number of machines of this program on each processor.
static USED: Mutex<BTreeMap<usize, u32>> = Mutex::new(BTreeMap::new());

/// A processor, in use until this is dropped.
#[derive(Debug)]
pub(super) struct Processor(usize);

impl Processor {
    /// Reserves the least used processor that this thread may run on; `None` if the system does not report them.
    pub(super) fn reserve() -> Option<Self> {
        let allowed = sched_getaffinity(None).ok()?;
        let allowed: Vec<usize> = (0..CpuSet::MAX_CPU)
            .filter(|&number| allowed.is_set(number))
            .collect();
        let mut used = USED.lock().unwrap_or_else(PoisonError::into_inner);
        let number = choose(&allowed, &used, sched_getcpu())?;
        *used.entry(number).or_default() += 1;
        Some(Self(number))
    }

    pub(super) fn number(&self) -> usize {
        self.0
    }
}

impl Drop for Processor {
    fn drop(&mut self) {
        let mut used = USED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = used.get_mut(&self.0) {
            *count = count.saturating_sub(1);
        }
    }
}

fn choose(allowed: &[usize], used: &BTreeMap<usize, u32>, here: usize) -> Option<usize> {
    let cost = |number: &usize| (used.get(number).copied().unwrap_or(0), *number != here);
    allowed.iter().copied().min_by_key(cost)
}

/// Makes the calling process, and those that it starts, run on this processor only.
pub(super) fn keep_to(number: usize) -> rustix::io::Result<()> {
    let mut only = CpuSet::new();
    only.set(number);
    sched_setaffinity(None, &only)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_used_is_taken_and_of_equals_the_present_one() {
        let used = |counts: &[(usize, u32)]| counts.iter().copied().collect::<BTreeMap<_, _>>();
        for (allowed, counts, here, expected) in [
            (&[0, 1, 2][..], &[][..], 2, Some(2)),
            (&[0, 1], &[(0, 1)], 0, Some(1)),
            (&[0, 1], &[(0, 1), (1, 1)], 1, Some(1)),
            (&[3], &[(3, 7)], 0, Some(3)),
            (&[4, 6], &[(6, 0)], 1, Some(4)),
            (&[], &[], 0, None),
        ] {
            assert_eq!(choose(allowed, &used(counts), here), expected);
        }
    }

    #[test]
    fn machines_of_one_program_spread_and_give_their_processors_back() {
        let allowed = sched_getaffinity(None).unwrap().count();
        let all: Vec<_> = (0..allowed).filter_map(|_| Processor::reserve()).collect();
        let mut numbers: Vec<_> = all.iter().map(Processor::number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), allowed as usize);
        let again = numbers[0];
        drop(all);
        assert_eq!(USED.lock().unwrap()[&again], 0);
    }
}
