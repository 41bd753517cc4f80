//! The reports of a group's application, as a summary holds them: figures under their names.
//!
//! Which figures there are depends on the kind of the application, which this crate does not know.
//! Keys are written in alphabetical order.

use std::collections::BTreeMap;

use serde::ser::SerializeMap as _;
use serde::{Deserialize, Serialize, Serializer};

/// The report of a group's application.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct AppSummary {
    /// Name of the kind of application.
    pub kind: String,
    /// Every figure under its name; none where no flow has reported.
    #[serde(flatten)]
    pub figures: BTreeMap<String, AppFigure>,
}

/// One figure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AppFigure {
    /// A whole number.
    Count(u64),
    /// Any other number.
    Number(f64),
    /// A distribution of times.
    Times(AppTimes),
    /// There was nothing to measure: `null`.
    Nothing,
}

/// A distribution of times, in ms.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AppTimes {
    /// Maximum.
    pub max: f64,
    /// Mean.
    pub mean: f64,
    /// Minimum.
    pub min: f64,
    /// 1st percentile.
    pub p1: f64,
    /// 25th percentile.
    pub p25: f64,
    /// Median.
    pub p50: f64,
    /// 75th percentile.
    pub p75: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile; `None` where too few values are behind it.
    pub p99: Option<f64>,
    /// 99.9th percentile; `None` likewise.
    pub p999: Option<f64>,
}

impl AppSummary {
    /// Without figures.
    pub fn new(kind: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            figures: BTreeMap::new(),
        }
    }
    /// Adds a figure.
    pub fn insert(&mut self, name: &str, figure: AppFigure) {
        self.figures.insert(name.to_owned(), figure);
    }
    /// The whole number `name`; `None` if there is none of this name.
    pub fn count(&self, name: &str) -> Option<u64> {
        match self.figures.get(name)? {
            AppFigure::Count(count) => Some(*count),
            _ => None,
        }
    }
    /// The number `name`, whole or not; `None` if there is none of this name.
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.figures.get(name)? {
            AppFigure::Count(count) => Some(*count as f64),
            AppFigure::Number(number) => Some(*number),
            AppFigure::Times(_) | AppFigure::Nothing => None,
        }
    }
    /// The distribution `name`; `None` if there is none of this name, or nothing was recorded.
    pub fn times(&self, name: &str) -> Option<&AppTimes> {
        match self.figures.get(name)? {
            AppFigure::Times(times) => Some(times),
            _ => None,
        }
    }
}

impl Serialize for AppSummary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const KIND: &str = "kind";
        let mut map = serializer.serialize_map(Some(self.figures.len() + 1))?;
        let figures = |is_first| {
            let figures = self.figures.iter();
            figures.filter(move |(name, _)| (name.as_str() < KIND) == is_first)
        };
        for (name, figure) in figures(true) {
            map.serialize_entry(name, figure)?;
        }
        map.serialize_entry(KIND, &self.kind)?;
        for (name, figure) in figures(false) {
            map.serialize_entry(name, figure)?;
        }
        map.end()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Times whose parts are all equal.
    pub(crate) fn times(ms: f64) -> AppTimes {
        AppTimes {
            max: ms,
            mean: ms,
            min: ms,
            p1: ms,
            p25: ms,
            p50: ms,
            p75: ms,
            p90: ms,
            p99: Some(ms),
            p999: Some(ms),
        }
    }

    #[test]
    fn keys_are_in_alphabetical_order_and_every_figure_reads_back() {
        let mut app = AppSummary::new("transfer");
        app.insert("unfinished", AppFigure::Count(1));
        app.insert("goodput_bps", AppFigure::Number(2.0));
        app.insert("loss_ratio", AppFigure::Nothing);
        app.insert("completion_ms", AppFigure::Times(times(0.5)));
        let text = serde_json::to_string(&app).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        // The order of a map of JSON values.
        assert_eq!(text, value.to_string());
        assert_eq!(serde_json::from_str::<AppSummary>(&text).unwrap(), app);
        assert_eq!(
            (app.count("unfinished"), app.count("goodput_bps")),
            (Some(1), None)
        );
        assert_eq!(
            (app.number("unfinished"), app.number("goodput_bps")),
            (Some(1.0), Some(2.0))
        );
        assert_eq!(
            (app.number("loss_ratio"), app.times("loss_ratio")),
            (None, None)
        );
        assert_eq!(app.times("completion_ms").map(|times| times.p50), Some(0.5));
    }
}
