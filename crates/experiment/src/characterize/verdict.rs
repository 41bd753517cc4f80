//! Verdicts: figures of the queue against thresholds, each with its source. There is no grade of the whole: RFC 7928 has no
//! thresholds, and different users want different things.
//!
//! A threshold is met or missed where the whole interval lies on one side of it: that of 95 %, or a wider one where a card
//! that chooses its seeds looks several times. A bound on a delay that the queue's own limit
//! implies, whatever the queue does, is not judged.

use serde::{Deserialize, Serialize};

use crate::characterize::figures::Figure;

/// A figure against a threshold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The scenario.
    pub scenario: String,
    /// The congestion control of standard flows, where there are several.
    pub control: Option<String>,
    /// The queue, by its name.
    pub queue: String,
    /// What is judged, in words.
    pub what: String,
    /// Whose threshold it is.
    pub source: String,
    /// The figure.
    pub found: Figure,
    /// The threshold.
    pub threshold: f64,
    /// Its unit; empty of a ratio.
    pub unit: String,
    /// Whether the figure is to be at most the threshold; else at least.
    pub at_most: bool,
    /// How it ended.
    pub ending: Ending,
}

/// How a verdict ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    /// The whole interval is on the right side.
    Met,
    /// It is on the wrong side.
    Missed,
    /// The threshold lies within the interval.
    Open,
    /// The queue cannot miss it: its limit is less than the threshold.
    Implied,
}

impl Verdict {
    /// The scenario, with its control where there are several, and with the queue if it is not that of the card.
    pub fn label(&self, card: &str) -> String {
        let mut label = self.scenario.clone();
        let queue = (self.queue != card).then_some(&self.queue);
        for part in self.control.iter().chain(queue) {
            label = format!("{label} {part}");
        }
        label
    }
}

impl Ending {
    /// In words.
    pub fn word(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Missed => "missed",
            Self::Open => "open",
            Self::Implied => "cannot fail here",
        }
    }

    /// Of a figure that can be `longest` at most.
    pub(crate) fn of_bounded(
        figure: &Figure,
        threshold: f64,
        at_most: bool,
        longest: Option<f64>,
    ) -> Self {
        match longest {
            Some(longest) if at_most && longest <= threshold => Self::Implied,
            _ => Self::of(figure, threshold, at_most),
        }
    }

    pub(crate) fn of(figure: &Figure, threshold: f64, at_most: bool) -> Self {
        let (low, high) = figure.ends().unwrap_or((figure.mean, figure.mean));
        let (best, worst) = if at_most { (low, high) } else { (-high, -low) };
        let threshold = if at_most { threshold } else { -threshold };
        if worst <= threshold {
            Self::Met
        } else if best > threshold {
            Self::Missed
        } else {
            Self::Open
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_within_the_interval_is_open() {
        let of = |mean: f64, half: Option<f64>| Figure {
            mean,
            half,
            n: 5,
            beside: None,
        };
        for (figure, at_most, expected) in [
            (of(0.97, Some(0.01)), false, Ending::Met),
            (of(0.955, Some(0.01)), false, Ending::Open),
            (of(0.90, Some(0.01)), false, Ending::Missed),
            (of(0.90, Some(0.01)), true, Ending::Met),
            (of(0.97, Some(0.01)), true, Ending::Missed),
            (of(0.95, None), false, Ending::Met),
            (of(0.94, None), false, Ending::Missed),
        ] {
            assert_eq!(Ending::of(&figure, 0.95, at_most), expected, "{figure:?}");
        }
        let delay = of(12.0, Some(1.0));
        for (longest, at_most, expected) in [
            (Some(20.0), true, Ending::Implied),
            (Some(75.1), true, Ending::Met),
            (None, true, Ending::Met),
            (Some(20.0), false, Ending::Missed),
        ] {
            let found = Ending::of_bounded(&delay, 75.0, at_most, longest);
            assert_eq!(found, expected, "{longest:?} {at_most}");
        }
    }
}
