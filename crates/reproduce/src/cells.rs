//! The results of an experiment's cells.

use quell_lab::sweep::Stored;
use quell_measure::Summary;
use serde::de::DeserializeOwned;

/// The results of an experiment's cells, in the order of its plan. All are there.
#[derive(Debug, Clone, Copy)]
pub struct Cells<'a>(pub(crate) &'a [Stored]);

impl<'a> Cells<'a> {
    /// Those before a place, and the others.
    pub fn split_at(self, place: usize) -> (Self, Self) {
        let (before, after) = self.0.split_at(place);
        (Self(before), Self(after))
    }

    /// Their summaries.
    ///
    /// # Panics
    ///
    /// A cell has a probe.
    pub fn summaries(self) -> Vec<Summary> {
        let summary = |stored: &Stored| match stored {
            Stored::Summary(summary) => Summary::clone(summary),
            other => panic!("no summary but {other:?}"),
        };
        self.0.iter().map(summary).collect()
    }

    /// What their probes measured.
    ///
    /// # Panics
    ///
    /// A cell has no probe, or one that measures something else.
    pub fn figures<T: DeserializeOwned>(self) -> Vec<T> {
        let figures = |stored: &Stored| match stored {
            Stored::Figures(json) => serde_json::from_str(json)
                .unwrap_or_else(|error| panic!("other figures: {error}: {json}")),
            other => panic!("no figures but {other:?}"),
        };
        self.0.iter().map(figures).collect()
    }
}
