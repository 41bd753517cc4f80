//! Divides cells among calls of the program, so that each has about the same to do.
//!
//! The most expensive cell goes first, each to the shard that has least so far (longest processing time first, Graham 1969). The
//! division depends on the plan alone, not on what is done already, so that shards never meet.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU32;
use std::str::FromStr;

use super::cell::Cell;

/// One of several parts of a sweep, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    number: u32,
    of: NonZeroU32,
}

/// More shards than that are an error.
const MOST: u32 = 100_000;

/// A text is no shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be K/N with K from 1 to N and N at most {MOST}, such as 1/4")]
pub struct NoShard;

impl FromStr for Shard {
    type Err = NoShard;

    /// From `K/N`.
    fn from_str(text: &str) -> Result<Self, NoShard> {
        let (number, of) = text.split_once('/').ok_or(NoShard)?;
        let number: u32 = number.trim().parse().map_err(|_| NoShard)?;
        let of: NonZeroU32 = of.trim().parse().map_err(|_| NoShard)?;
        let fits = (1..=of.get()).contains(&number) && of.get() <= MOST;
        fits.then_some(Self { number, of }).ok_or(NoShard)
    }
}

/// The cells of `shard`, or all, as places in `cells`; the most expensive first.
pub(crate) fn choose(cells: &[Cell], shard: Option<Shard>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..cells.len()).collect();
    order.sort_by_key(|&index| (Reverse(cells[index].cost), index));
    // What is in the plan twice runs once.
    let mut seen = std::collections::HashSet::new();
    order.retain(|&index| seen.insert(cells[index].key));
    let Some(shard) = shard else {
        return order;
    };
    let shards = (1..=shard.of.get()).map(|number| Reverse((0_u64, number)));
    let mut loads: BinaryHeap<_> = shards.collect();
    order.retain(|&index| {
        let Some(Reverse((load, number))) = loads.pop() else {
            return false;
        };
        loads.push(Reverse((load.saturating_add(cells[index].cost), number)));
        number == shard.number
    });
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::identity::Key;
    use proptest::prelude::*;

    fn cells(costs: &[u64]) -> Vec<Cell> {
        let cell = |(index, &cost): (usize, &u64)| Cell {
            point: index as u32,
            seed: 1,
            key: Key::of(&index.to_string()),
            cost,
            duration: quell_units::Time::ZERO,
        };
        costs.iter().enumerate().map(cell).collect()
    }

    proptest! {
        #[test]
        fn every_cell_is_in_one_shard_and_shards_are_even(costs in prop::collection::vec(1_u64..10_000, 0..300), of in 1_u32..9) {
            let cells = cells(&costs);
            let shards: Vec<Vec<usize>> = (1..=of)
                .map(|number| choose(&cells, Some(format!("{number}/{of}").parse().unwrap())))
                .collect();
            let mut all: Vec<usize> = shards.concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..cells.len()).collect::<Vec<_>>());
            let load = |shard: &Vec<usize>| shard.iter().map(|&cell| costs[cell]).sum::<u64>();
            let loads: Vec<u64> = shards.iter().map(load).collect();
            let (least, most) = (loads.iter().min().unwrap(), loads.iter().max().unwrap());
            prop_assert!(most - least <= costs.iter().copied().max().unwrap_or(0));
        }
    }

    #[test]
    fn a_cell_that_is_there_twice_runs_once() {
        let mut cells = cells(&[5, 9, 9]);
        cells[2].key = cells[1].key;
        assert_eq!(choose(&cells, None), [1, 0]);
    }

    #[test]
    fn a_shard_is_a_number_of_a_number() {
        assert!("3/3".parse::<Shard>().is_ok());
        for wrong in [
            "", "0/3", "4/3", "1", "1/0", "a/b", "1/2/3", "-1/2", "1/100001",
        ] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
