//! Covering arrays: a small part of a grid in which every combination of the values of a few factors occurs.
//!
//! Greedy and without chance: again and again the point that brings the most combinations which do not occur yet, the first of
//! equals. That is some tenths above the smallest array, and needs no table of published ones, which know no excluded points.

use std::collections::BTreeSet;

/// Some factors, and the value of each.
type Combination = Vec<(usize, usize)>;

/// `points` have the index of the value of each factor. The indices of those of them in which every combination of `strength` factors' values that occurs in `points` occurs, in
/// the order in which they were chosen.
pub(crate) fn cover(points: &[Vec<usize>], strength: usize) -> Vec<usize> {
    let of_point: Vec<BTreeSet<Combination>> = points
        .iter()
        .map(|point| combinations(point, strength))
        .collect();
    let mut missing: BTreeSet<&Combination> = of_point.iter().flatten().collect();
    let mut chosen = Vec::new();
    while !missing.is_empty() {
        let gain = |index: &usize| {
            let new = of_point[*index].iter().filter(|one| missing.contains(one));
            // `max_by_key` takes the last of equals.
            (new.count(), std::cmp::Reverse(*index))
        };
        let Some(best) = (0..points.len()).max_by_key(gain) else {
            break;
        };
        for combination in &of_point[best] {
            missing.remove(combination);
        }
        chosen.push(best);
    }
    chosen
}

fn combinations(point: &[usize], strength: usize) -> BTreeSet<Combination> {
    let mut all: Vec<Combination> = vec![Vec::new()];
    for (factor, &value) in point.iter().enumerate() {
        let longer: Vec<Combination> = all
            .iter()
            .filter(|some| some.len() < strength)
            .map(|some| [some.as_slice(), &[(factor, value)]].concat())
            .collect();
        all.extend(longer);
    }
    all.into_iter()
        .filter(|some| some.len() == strength)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Vec<Vec<usize>> {
        let mut all = Vec::new();
        for first in 0..4 {
            for second in 0..3 {
                for third in 0..2 {
                    for fourth in 0..2 {
                        all.push(vec![first, second, third, fourth]);
                    }
                }
            }
        }
        all
    }

    #[test]
    fn every_combination_that_is_possible_occurs() {
        // Without the points in which the first two factors have their first values.
        let points: Vec<Vec<usize>> = grid()
            .into_iter()
            .filter(|point| point[..2] != [0, 0])
            .collect();
        for strength in 1..=4 {
            let wanted: BTreeSet<_> = points
                .iter()
                .flat_map(|point| combinations(point, strength))
                .collect();
            let chosen = cover(&points, strength);
            let found: BTreeSet<_> = chosen
                .iter()
                .flat_map(|&index| combinations(&points[index], strength))
                .collect();
            assert_eq!(found, wanted);
            // The least that is possible: the values of the largest factors.
            let least = [4, 11, 22, 44][strength - 1];
            assert!(
                (least..=least * 5 / 4).contains(&chosen.len()),
                "{chosen:?}"
            );
        }
    }

    #[test]
    fn a_combination_names_factor_and_value() {
        let found = combinations(&[7, 8, 9], 2);
        let wanted = [[(0, 7), (1, 8)], [(0, 7), (2, 9)], [(1, 8), (2, 9)]];
        assert_eq!(found, wanted.map(Vec::from).into());
    }
}
