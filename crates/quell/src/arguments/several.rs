//! Options about the figures of several seeds.

use clap::Args;
use quell_lab::scenario::Loaded;

use super::error::{ArgumentError, NotAllowed};
use quell_lab::results::summary::Spread;

/// How the figures of several seeds are combined.
#[derive(Debug, Args)]
pub(crate) struct Several {
    /// With several seeds, print half of the confidence interval of this level (Student's t) after each mean,
    /// such as 0.95 [default: the standard error]
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    pub(crate) confidence: Option<f64>,
    /// With several seeds, print the smallest and the largest value below each mean
    #[arg(long, conflicts_with = "json")]
    range: bool,
}

impl Several {
    /// How to print the spread of several seeds.
    pub(crate) fn spread(&self) -> Spread {
        Spread::new(self.confidence, self.range)
    }

    /// Refuses options that would have no effect.
    pub(crate) fn check(&self, loaded: &Loaded) -> Result<(), ArgumentError> {
        let given = match (self.confidence, self.range) {
            (Some(_), _) => "--confidence",
            (None, true) => "--range",
            (None, false) => return Ok(()),
        };
        match loaded.scenario.run.seeds.len() {
            0 | 1 => Err(ArgumentError::OneSeed(given)),
            _ => Ok(()),
        }
    }
}

/// Parses the level of a confidence interval.
pub(crate) fn level(text: &str) -> Result<f64, NotAllowed> {
    let level = text
        .parse()
        .ok()
        .filter(|level| (0.5..=0.9999).contains(level));
    level.ok_or(NotAllowed::but("from 0.5 to 0.9999, such as 0.95"))
}
