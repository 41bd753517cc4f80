//! A figure of several runs as text: the mean with its uncertainty.

use std::cell::Cell;

use quell_measure::Estimate;

use crate::confidence;

/// How figures of several runs are shown.
#[derive(Debug)]
pub struct Spread {
    /// Level of the confidence interval behind `±`; `None` prints the standard error.
    confidence: Option<f64>,
    /// Print the smallest and the largest value below.
    range: bool,
    /// True once a figure had fewer runs than there are.
    fewer: Cell<bool>,
}

/// The format of a number.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    /// This number of digits behind the point.
    Plain(usize),
    /// A ratio in percent, with this number of digits behind the point.
    Percent(usize),
    /// A rate in bit/s.
    Rate,
}

impl Spread {
    /// With a confidence interval of that level, or with the standard error.
    pub fn new(confidence: Option<f64>, range: bool) -> Self {
        Self {
            confidence,
            range,
            fewer: Cell::new(false),
        }
    }

    /// True with `--range`.
    pub fn has_range(&self) -> bool {
        self.range
    }

    /// The mean of those of `runs` that have the figure; with `±` if there are several, and with their number if it is not that of
    /// all.
    pub fn cell(&self, form: Form, runs: usize, values: &[f64]) -> String {
        let Some(estimate) = Estimate::new(values) else {
            return "-".to_owned();
        };
        let half = match self.confidence {
            Some(level) => confidence::half_width(&estimate, level),
            None => estimate.standard_error,
        };
        let (scale, digits, unit) = form.scale(estimate.mean);
        let mut text = format!("{:.digits$}", estimate.mean * scale);
        if let Some(half) = half {
            text += &format!(" ± {:.digits$}", half * scale);
        }
        text += unit;
        if estimate.n < runs {
            self.fewer.set(true);
            text += &format!(" ({})", estimate.n);
        }
        text
    }

    /// `SMALLEST to LARGEST`.
    pub fn range(form: Form, values: &[f64]) -> String {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if values.is_empty() {
            return String::new();
        }
        let (scale, digits, unit) = form.scale(greatest);
        format!(
            "{:.digits$} to {:.digits$}{unit}",
            least * scale,
            greatest * scale
        )
    }

    /// Explains the figures of several runs; `None` for one run.
    pub fn heading(&self, runs: usize) -> Option<String> {
        let half = match self.confidence {
            _ if runs < 2 => return None,
            Some(level) => format!(
                "half of its {} % confidence interval (Student's t)",
                percent(level)
            ),
            None => "its standard error".to_owned(),
        };
        let range = if self.range {
            ", with the smallest and the largest value below"
        } else {
            ""
        };
        Some(format!(
            "Each figure is the mean of {runs} runs ± {half}{range}."
        ))
    }

    /// Explains the numbers in brackets, if there are any.
    pub fn footnote(&self) -> Option<&'static str> {
        let words = "(n): the mean of only n runs, because the others lack this figure.";
        self.fewer.get().then_some(words)
    }
}

impl Form {
    /// Factor, digits behind the point, and unit, for a number of that size.
    fn scale(self, size: f64) -> (f64, usize, &'static str) {
        match self {
            Self::Plain(digits) => (1.0, digits, ""),
            Self::Percent(digits) => (100.0, digits, ""),
            Self::Rate if size >= 1e9 => (1e-9, 2, " Gbit/s"),
            Self::Rate if size >= 1e6 => (1e-6, 2, " Mbit/s"),
            Self::Rate => (1e-3, 1, " kbit/s"),
        }
    }

    /// A single number.
    pub fn text(self, value: f64) -> String {
        let (scale, digits, unit) = self.scale(value);
        format!("{:.digits$}{unit}", value * scale)
    }
}

/// `95`, `99.9`
fn percent(level: f64) -> String {
    let text = format!("{:.4}", level * 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_how_sure_a_mean_is() {
        let plain = Spread::new(None, false);
        let (ms, values) = (Form::Plain(2), [1.0, 2.0, 3.0, 4.0]);
        // Standard deviation √(5/3), over √4; t(0.975, 3) = 3.182 of every table.
        assert_eq!(plain.cell(ms, 4, &values), "2.50 ± 0.65");
        let sure = Spread::new(Some(0.95), false);
        assert_eq!(sure.cell(ms, 4, &values), "2.50 ± 2.05");
        assert!(
            sure.heading(4)
                .unwrap()
                .contains("95 % confidence interval")
        );
        assert_eq!((plain.heading(1), plain.footnote()), (None, None));
        assert_eq!(Spread::range(ms, &values), "1.00 to 4.00");
        assert_eq!(plain.cell(Form::Rate, 1, &[7.24e6]), "7.24 Mbit/s");
        assert_eq!(plain.cell(Form::Rate, 2, &[7e6, 9e6]), "8.00 ± 1.00 Mbit/s");
        assert_eq!(plain.cell(Form::Percent(3), 2, &[0.5]), "50.000 (1)");
        assert!(plain.footnote().is_some());
        assert_eq!(plain.cell(ms, 2, &[]), "-");
    }
}
