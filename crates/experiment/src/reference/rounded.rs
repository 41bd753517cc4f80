//! Means as records and documents have them: to three digits.

use quell_measure::Estimate;

/// Three significant digits of `value`, of which at most three are behind the point.
fn digits(value: f64) -> usize {
    match value.abs() {
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        value if value >= 1.0 => 2,
        _ => 3,
    }
}

/// A mean and its standard error, to three significant digits of the mean; empty where there is none.
pub(crate) fn cells(mean: &Estimate) -> [String; 2] {
    let digits = digits(mean.mean);
    let error = mean.standard_error;
    [
        format!("{:.digits$}", mean.mean),
        error.map_or(String::new(), |error| format!("{error:.digits$}")),
    ]
}

/// `mean ± standard error`; of one run, which has no error, the mean.
pub(crate) fn estimate(mean: &Estimate) -> String {
    let [mean, error] = cells(mean);
    match error.is_empty() {
        true => mean,
        false => format!("{mean} ± {error}"),
    }
}
