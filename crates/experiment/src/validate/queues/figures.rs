//! What is compared: what the packets and applications of a group met with, measured outside of the queue.
//!
//! A bound applies beyond the standard error of the difference of the two means.

use quell_measure::{Estimate, Summary};
use serde_json::Value;

/// How far quell's queue may be from the kernel's, in parts of the kernel's figure.
const BOUND: f64 = 0.10;

/// A figure of a group in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Figure {
    /// Mbit/s of payload.
    Goodput,
    /// Mean sojourn time, ms.
    Delay,
    /// Dropped / (delivered + dropped), %.
    Drops,
    /// Newly marked / delivered, %.
    Marks,
}

impl Figure {
    pub(crate) const ALL: [Self; 4] = [Self::Goodput, Self::Delay, Self::Drops, Self::Marks];

    /// The head of its column.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Goodput => "goodput, Mbit/s",
            Self::Delay => "delay, ms",
            Self::Drops => "drops, %",
            Self::Marks => "marks, %",
        }
    }

    /// Its value for group number `group`; `None` where the run does not have it.
    fn of(self, summary: &Summary, group: usize) -> Option<f64> {
        let crossed = summary.figures.link.extra.get("path")?;
        let crossed = crossed.get("groups")?.get(group)?;
        let count = |key: &str| crossed.get(key).and_then(Value::as_f64);
        match self {
            Self::Goodput => {
                let goodput = &summary.figures.groups.get(group)?.goodput_bps;
                Some(goodput.iter().sum::<f64>() / 1e6)
            }
            Self::Delay => crossed.get("delay_ms")?.get("mean")?.as_f64(),
            Self::Drops => percent(count("dropped")?, count("dropped")? + count("packets")?),
            Self::Marks => percent(count("marked")?, count("packets")?),
        }
    }
}

fn percent(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| 100.0 * part / whole)
}

/// One figure of one group with both queues.
#[derive(Debug, Clone)]
pub(crate) struct Difference {
    pub(crate) group: String,
    pub(crate) figure: Figure,
    pub(crate) quell: Estimate,
    pub(crate) kernel: Estimate,
}

impl Difference {
    /// Every figure of every group, from the runs with each queue. Drops and marks that neither queue has are left out.
    pub(crate) fn all(quell: &[Summary], kernel: &[Summary]) -> Vec<Self> {
        let Some(one) = quell.first() else {
            return Vec::new();
        };
        let mut all = Vec::new();
        for (index, group) in one.figures.groups.iter().enumerate() {
            for figure in Figure::ALL {
                let estimate = |runs: &[Summary]| {
                    let values: Vec<f64> = runs
                        .iter()
                        .filter_map(|run| figure.of(run, index))
                        .collect();
                    Estimate::new(&values)
                };
                if let (Some(quell), Some(kernel)) = (estimate(quell), estimate(kernel))
                    && (quell.mean != 0.0 || kernel.mean != 0.0)
                {
                    all.push(Self {
                        group: group.name.clone(),
                        figure,
                        quell,
                        kernel,
                    });
                }
            }
        }
        all
    }

    /// The figure with quell's queue over that with the kernel's.
    pub(crate) fn ratio(&self) -> f64 {
        self.quell.mean / self.kernel.mean
    }

    /// The standard error of the difference of the means.
    pub(crate) fn standard_error(&self) -> f64 {
        let [quell, kernel] =
            [self.quell, self.kernel].map(|mean| mean.standard_error.unwrap_or(0.0));
        quell.hypot(kernel)
    }

    /// Whether the means differ by no more than the bound and the standard error.
    pub(crate) fn holds(&self) -> bool {
        let allowed = BOUND * self.kernel.mean.abs() + self.standard_error();
        (self.quell.mean - self.kernel.mean).abs() <= allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_applies_beyond_the_standard_errors() {
        // (quell, kernel, holds); two values that differ by one have an error of a half.
        for (quell, kernel, holds) in [
            ([10.9; 2], [10.0; 2], true),
            ([11.1; 2], [10.0; 2], false),
            ([8.9; 2], [10.0; 2], false),
            ([11.1, 12.1], [9.5, 10.5], true),
            ([11.4, 12.4], [9.5, 10.5], false),
            ([0.0; 2], [1.0; 2], false),
            ([0.1; 2], [0.0; 2], false),
        ] {
            let difference = Difference {
                group: String::new(),
                figure: Figure::Delay,
                quell: Estimate::new(&quell).expect("values"),
                kernel: Estimate::new(&kernel).expect("values"),
            };
            assert_eq!(difference.holds(), holds, "{quell:?} {kernel:?}");
        }
    }
}
