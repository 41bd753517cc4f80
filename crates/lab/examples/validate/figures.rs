//! What is compared, and how far two worlds may differ.
//!
//! A bound applies beyond the standard error of the difference of the two means: what differs by
//! less cannot be told from chance.

use quell_measure::{Estimate, Figures, GroupSummary, Summary};

/// A figure of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Figure {
    /// Goodput of the group under test, Mbit/s.
    TestGoodput,
    /// Goodput of the CUBIC flow, Mbit/s.
    CubicGoodput,
    /// Goodput per flow under test / goodput of the CUBIC flow.
    RateRatio,
    /// Mean queue delay of the group under test, ms.
    TestDelay,
    /// Mean queue delay of the CUBIC flow, ms.
    CubicDelay,
    /// Newly marked / delivered, of the group under test, %.
    Marks,
    /// Dropped / (delivered + dropped), over all, %.
    Drops,
}

impl Figure {
    pub(crate) const ALL: [Self; 7] = [
        Self::TestGoodput,
        Self::CubicGoodput,
        Self::RateRatio,
        Self::TestDelay,
        Self::CubicDelay,
        Self::Marks,
        Self::Drops,
    ];

    /// The head of its column.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::TestGoodput => "test, Mbit/s",
            Self::CubicGoodput => "CUBIC, Mbit/s",
            Self::RateRatio => "rate ratio",
            Self::TestDelay => "test delay, ms",
            Self::CubicDelay => "CUBIC delay, ms",
            Self::Marks => "marks, %",
            Self::Drops => "drops, %",
        }
    }

    /// How far the simulator may be from `reference`, standard errors apart.
    pub(crate) fn bound(self, reference: f64) -> f64 {
        let relative = |share: f64| share * reference.abs();
        match self {
            Self::TestGoodput | Self::CubicGoodput => relative(0.03),
            Self::RateRatio => relative(0.20),
            Self::TestDelay | Self::CubicDelay => relative(0.10).max(0.3),
            Self::Marks | Self::Drops => relative(0.25),
        }
    }

    /// Its value in a run; `None` where the run does not have it.
    pub(crate) fn of(self, summary: &Summary) -> Option<f64> {
        let figures = &summary.figures;
        let [test, cubic] = figures.groups.as_slice() else {
            return None;
        };
        let goodput = |group: &GroupSummary| group.goodput_bps.iter().sum::<f64>() / 1e6;
        let delay = |group: &GroupSummary| group.delay_ms.map(|dist| dist.mean);
        match self {
            Self::TestGoodput => Some(goodput(test)),
            Self::CubicGoodput => Some(goodput(cubic)),
            Self::RateRatio => {
                let flows = test.goodput_bps.len().max(1) as f64;
                Some(goodput(test) / flows / goodput(cubic))
            }
            Self::TestDelay => delay(test),
            Self::CubicDelay => delay(cubic),
            Self::Marks => Some(percent(test.marked, test.packets)),
            Self::Drops => Some(drops(figures)),
        }
    }
}

fn drops(figures: &Figures) -> f64 {
    let sum = |of: fn(&GroupSummary) -> u64| figures.groups.iter().map(of).sum::<u64>();
    let dropped = sum(|group| group.dropped);
    percent(dropped, dropped + sum(|group| group.packets))
}

fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

/// One figure in two worlds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Difference {
    pub(crate) figure: Figure,
    pub(crate) sim: Estimate,
    pub(crate) live: Estimate,
}

impl Difference {
    /// From the runs of each world; `None` where either has none.
    pub(crate) fn new(figure: Figure, sim: &[Summary], live: &[Summary]) -> Option<Self> {
        let estimate = |runs: &[Summary]| {
            let values: Vec<f64> = runs.iter().filter_map(|run| figure.of(run)).collect();
            Estimate::new(&values)
        };
        Some(Self {
            figure,
            sim: estimate(sim)?,
            live: estimate(live)?,
        })
    }
    /// The standard error of the difference of the means.
    pub(crate) fn standard_error(&self) -> f64 {
        let [sim, live] = [self.sim, self.live].map(|mean| mean.standard_error.unwrap_or(0.0));
        sim.hypot(live)
    }
    /// Whether the means differ by no more than the bound and the standard error.
    pub(crate) fn holds(&self) -> bool {
        let allowed = self.figure.bound(self.live.mean) + self.standard_error();
        (self.sim.mean - self.live.mean).abs() <= allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(figure: Figure, sim: [f64; 2], live: [f64; 2]) -> Difference {
        Difference {
            figure,
            sim: Estimate::new(&sim).expect("values"),
            live: Estimate::new(&live).expect("values"),
        }
    }

    #[test]
    fn a_bound_applies_beyond_the_standard_errors() {
        // (figure, sim, live, holds); no spread, then the means' errors are 0.5 each.
        for (figure, sim, live, holds) in [
            (Figure::TestGoodput, [102.9; 2], [100.0; 2], true),
            (Figure::TestGoodput, [103.1; 2], [100.0; 2], false),
            (Figure::TestGoodput, [103.2, 104.2], [99.5, 100.5], true),
            (Figure::RateRatio, [0.81; 2], [1.0; 2], true),
            (Figure::RateRatio, [0.79; 2], [1.0; 2], false),
            (Figure::TestDelay, [0.49; 2], [0.2; 2], true),
            (Figure::CubicDelay, [16.6; 2], [15.0; 2], false),
            (Figure::Drops, [1.24; 2], [1.0; 2], true),
            (Figure::Marks, [1.26; 2], [1.0; 2], false),
        ] {
            let found = difference(figure, sim, live).holds();
            assert_eq!(found, holds, "{figure:?} {sim:?} {live:?}");
        }
    }
}
