//! Figures over the seeds: means with 95 % intervals, and quantiles of all samples together.

use std::collections::BTreeMap;

use quell_lab::confidence::{half_width, student_t};
use quell_measure::Estimate;
use serde::{Deserialize, Serialize};

/// Confidence level of the intervals.
pub(crate) const LEVEL: f64 = 0.95;

/// Figures of one stretch of one run, by name.
pub type Named = BTreeMap<String, f64>;

/// A figure over the seeds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Mean over the runs that have the figure.
    pub mean: f64,
    /// Half of the 95 % interval (Student's t); `null` of a single run.
    pub half: Option<f64>,
    /// Runs that have the figure.
    pub n: usize,
    /// Whether the interval lies wholly above or below that of drop-tail in the same scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<Beside>,
}

/// Where an interval lies beside that of drop-tail, if they do not overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Beside {
    /// The interval lies above.
    Higher,
    /// The interval lies below.
    Lower,
}

impl Figure {
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        let estimate = Estimate::new(values)?;
        Some(Self {
            mean: estimate.mean,
            half: half_width(&estimate, LEVEL),
            n: estimate.n,
            beside: None,
        })
    }

    /// The same with the interval of another confidence level.
    pub(crate) fn at(&self, level: f64) -> Self {
        let t = |level| student_t(level, self.n.checked_sub(1)?);
        let wider = t(level).zip(t(LEVEL)).map(|(other, usual)| other / usual);
        let half = self.half.zip(wider).map(|(half, wider)| half * wider);
        Self { half, ..*self }
    }

    /// The ends of the interval; `None` of a single run, which has none.
    pub fn ends(&self) -> Option<(f64, f64)> {
        let half = self.half?;
        Some((self.mean - half, self.mean + half))
    }

    /// The side of `other` on which this interval lies; `None` where they overlap.
    pub fn beside(&self, other: &Self) -> Option<Beside> {
        let ((low, high), (other_low, other_high)) = (self.ends()?, other.ends()?);
        if low > other_high {
            Some(Beside::Higher)
        } else if high < other_low {
            Some(Beside::Lower)
        } else {
            None
        }
    }
}

/// The shares of a distribution, in thousandths: enough to draw it with both tails.
pub const SHARES: [u64; 25] = [
    0, 1, 5, 10, 20, 50, 100, 150, 200, 250, 300, 400, 500, 600, 700, 750, 800, 850, 900, 950, 980,
    990, 995, 999, 1_000,
];

/// The values of several runs together, with their counts, ascending.
pub fn pooled<'a>(runs: impl Iterator<Item = &'a [(u64, u64)]>) -> Vec<(u64, u64)> {
    let mut all: BTreeMap<u64, u64> = BTreeMap::new();
    for &(value, count) in runs.flatten() {
        *all.entry(value).or_default() += count;
    }
    all.into_iter().collect()
}

/// The value at each of [`SHARES`]; empty where there are no values.
pub fn quantiles(counts: &[(u64, u64)]) -> Vec<u64> {
    let values = SHARES.iter();
    values
        .filter_map(|&share| quantile(counts, share))
        .collect()
}

/// The smallest value with at least so many thousandths of all at or below it; the smallest of all for 0.
pub(crate) fn quantile(counts: &[(u64, u64)], thousandths: u64) -> Option<u64> {
    let total: u64 = counts.iter().map(|(_, count)| count).sum();
    let rank = (total * thousandths).div_ceil(1_000).max(1);
    let mut below = 0;
    let reached = |&&(_, count): &&(u64, u64)| {
        below += count;
        below >= rank
    };
    counts.iter().find(reached).map(|&(value, _)| value)
}

/// Figures over the seeds: every name that a run has.
pub fn over(runs: &[&Named]) -> BTreeMap<String, Figure> {
    let names = runs.iter().flat_map(|run| run.keys());
    let mut all = BTreeMap::new();
    for name in names {
        if !all.contains_key(name) {
            let values: Vec<f64> = runs
                .iter()
                .filter_map(|run| run.get(name).copied())
                .collect();
            if let Some(figure) = Figure::of(&values) {
                all.insert(name.clone(), figure);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_that_do_not_overlap_lie_above_or_below() {
        let of = |values: &[f64]| Figure::of(values).unwrap();
        // Half of the interval of 1, 2, 3 is 4.303 · 0.577.
        let low = of(&[1.0, 2.0, 3.0]);
        assert!((low.half.unwrap() - 2.484).abs() < 0.001);
        assert_eq!(of(&[9.0, 9.1, 9.2]).beside(&low), Some(Beside::Higher));
        assert_eq!(low.beside(&of(&[9.0, 9.1, 9.2])), Some(Beside::Lower));
        assert_eq!(of(&[4.0, 4.1, 4.2]).beside(&low), None);
        // A single run has none.
        assert_eq!(of(&[9.0]).beside(&low), None);
    }

    #[test]
    fn percentiles_are_nearest_ranks() {
        assert_eq!(quantile(&[(1, 98), (50, 2)], 990), Some(50));
        assert_eq!(quantile(&[(1, 99), (50, 1)], 990), Some(1));
        assert_eq!(quantile(&[], 990), None);
    }

    #[test]
    fn a_distribution_goes_from_the_smallest_to_the_largest_value_of_all_runs() {
        let all = pooled([&[(3, 1), (9, 1)][..], &[(1, 1), (3, 1)]].into_iter());
        assert_eq!(all, [(1, 1), (3, 2), (9, 1)]);
        let values = quantiles(&all);
        assert_eq!(values.len(), SHARES.len());
        let at = |share: u64| values[SHARES.iter().position(|one| *one == share).unwrap()];
        assert_eq!((at(0), at(250), at(300), at(500)), (1, 1, 3, 3));
        assert_eq!((at(750), at(800), at(1_000)), (3, 9, 9));
        assert!(quantiles(&[]).is_empty());
    }

    #[test]
    fn a_figure_that_some_runs_lack_is_the_mean_of_the_others() {
        let run = |pairs: &[(&str, f64)]| -> Named {
            pairs
                .iter()
                .map(|&(name, value)| (name.to_owned(), value))
                .collect()
        };
        let all = over(&[&run(&[("a", 1.0)]), &run(&[("a", 3.0), ("b", 5.0)])]);
        assert_eq!((all["a"].mean, all["a"].n), (2.0, 2));
        assert_eq!((all["b"].mean, all["b"].half, all["b"].n), (5.0, None, 1));
    }
}
