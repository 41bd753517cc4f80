//! Which values the points of a sweep have: every combination, or drawn by chance.
//!
//! Draws are whole numbers of the portable generator, and each axis has a stream of its own: an axis that is added does not change
//! the values of the others, and every machine draws the same.

use quell_scenario::Origin;
use quell_scenario::tree::Node;
use quell_units::Random;

use super::file::{Axis, Method, Values};
use super::quantity::{Position, Range};

/// The values of an axis, and for each point the place of its value in them. Grids leave the places to [`combinations`].
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) values: Vec<Node>,
    pub(crate) points: Vec<u32>,
}

/// Steps of a stratum: a draw has so many bits.
const STEPS: u64 = 1 << 32;

impl Column {
    /// The values of `axis`, chosen by `method`.
    pub(crate) fn new(axis: &Axis, method: Method) -> Self {
        let origin = &axis.node.origin;
        match (&axis.values, method) {
            (Values::Any(range), _) => Self::drawn(*range, &axis.key, origin, method),
            (Values::List(nodes), _) => Self::chosen(nodes.clone(), &axis.key, method),
            (Values::Steps(range, steps), _) => {
                let of = steps - 1;
                let value = |at| range.value(Position { at, of }, false);
                let nodes = (0..*steps).map(|at| value(at).node(origin.clone()));
                Self::chosen(nodes.collect(), &axis.key, method)
            }
        }
    }

    /// From a list.
    fn chosen(values: Vec<Node>, key: &str, method: Method) -> Self {
        let many = values.len() as u128;
        let places = positions(key, method).into_iter();
        // A stratum belongs to one value as a whole, so that each has as many points as any other, or one more.
        let whole = match method {
            Method::Lhs { .. } => STEPS,
            Method::Grid | Method::Random { .. } => 1,
        };
        let place = |Position { at, of }: Position| {
            let place = u128::from(at / whole * whole) * many / u128::from(of);
            place.min(many - 1) as u32
        };
        let points = places.map(place).collect();
        Self { values, points }
    }

    /// From a range without steps.
    fn drawn(range: Range, key: &str, origin: &Origin, method: Method) -> Self {
        let places = positions(key, method).into_iter();
        let node = |position| range.value(position, true).node(origin.clone());
        let values: Vec<Node> = places.map(node).collect();
        let points = (0..values.len() as u32).collect();
        Self { values, points }
    }
}

/// Where each point lies on an axis; nothing for a grid.
fn positions(key: &str, method: Method) -> Vec<Position> {
    match method {
        Method::Grid => Vec::new(),
        Method::Random { cells, seed } => {
            let mut random = Random::new(seed, &format!("sweep {key}"));
            let at = (0..cells).map(|_| u64::from(random.u32()));
            at.map(|at| Position { at, of: STEPS }).collect()
        }
        Method::Lhs { cells, seed } => {
            let mut random = Random::new(seed, &format!("sweep {key}"));
            let mut strata: Vec<u64> = (0..cells).collect();
            for last in (1..strata.len()).rev() {
                let other = random.below(last as u64 + 1) as usize;
                strata.swap(last, other);
            }
            let of = cells * STEPS;
            let at = strata
                .into_iter()
                .map(|stratum| stratum * STEPS + u64::from(random.u32()));
            at.map(|at| Position { at, of }).collect()
        }
    }
}

/// Every combination of so many values each, the last axis fastest.
pub(crate) fn combinations(counts: &[usize]) -> impl Iterator<Item = Vec<u32>> + '_ {
    let total: usize = counts.iter().product();
    (0..total).map(move |number| {
        let mut rest = number;
        let mut places: Vec<u32> = counts
            .iter()
            .rev()
            .map(|&count| {
                let place = rest % count;
                rest /= count;
                place as u32
            })
            .collect();
        places.reverse();
        places
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::file;
    use crate::sweep::quantity::Quantity;
    use proptest::prelude::*;

    fn column(axis: &str, method: Method) -> Column {
        let written = match method {
            Method::Grid => String::new(),
            Method::Random { .. } => "method = \"random\"\ncells = 1\n".to_owned(),
            Method::Lhs { .. } => "method = \"lhs\"\ncells = 1\n".to_owned(),
        };
        let text =
            format!("schema = 1\nscenario = \"a\"\n{written}[axis]\n\"link.rate\" = {axis}\n");
        let file = file::read("f", &text).unwrap();
        Column::new(&file.axes.unwrap()[0], method)
    }

    #[test]
    fn the_last_axis_is_the_fastest() {
        let all: Vec<Vec<u32>> = combinations(&[2, 3]).collect();
        assert_eq!(all, [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]);
        assert_eq!(combinations(&[]).count(), 1);
    }

    proptest! {
        /// Each stratum of a range, and each value of a list, is drawn from equally often.
        #[test]
        fn a_latin_hypercube_covers_each_axis(cells in 1_u64..200, seed in 0..u64::MAX, many in 1_usize..9) {
            let method = Method::Lhs { cells, seed };
            let range = column("{ from = 0, to = 1000000000000 }", method);
            let mut strata: Vec<u64> = range.points.iter().map(|&point| {
                let value = Quantity::of(&range.values[point as usize]).unwrap().count;
                // Rounded to four digits, so that the stratum is found up to its neighbour.
                (u128::from(value) * u128::from(cells) / 1_000_000_000_000) as u64
            }).collect();
            strata.sort_unstable();
            for (index, stratum) in strata.into_iter().enumerate() {
                prop_assert!(stratum.abs_diff(index as u64) <= 1);
            }
            let list: Vec<String> = (0..many).map(|value| value.to_string()).collect();
            let list = column(&format!("[{}]", list.join(", ")), method);
            for value in 0..many as u32 {
                let often = list.points.iter().filter(|&&point| point == value).count() as u64;
                let even = cells / many as u64;
                prop_assert!((even..=even + 1).contains(&often), "{often} of {cells} for {many}");
            }
        }
    }

    #[test]
    fn draws_are_the_same_everywhere_and_differ_by_seed() {
        let texts = |seed| {
            let method = Method::Random { cells: 3, seed };
            let column = column("{ log = [\"1mbit\", \"1gbit\"] }", method);
            column.values.iter().map(file::text).collect::<Vec<_>>()
        };
        assert_eq!(texts(7), texts(7));
        assert_ne!(texts(7), texts(8));
        let mean = |method| {
            let column = column("{ from = 0, to = 1000000 }", method);
            let values = column
                .values
                .iter()
                .map(|node| Quantity::of(node).unwrap().count);
            values.sum::<u64>() / column.values.len() as u64
        };
        // A mean of 10 000 uniform draws has a standard error of 0.29 %.
        let (cells, seed) = (10_000, 1);
        assert!(mean(Method::Random { cells, seed }).abs_diff(500_000) < 12_000);
        assert!(mean(Method::Lhs { cells, seed }).abs_diff(500_000) < 100);
    }
}
