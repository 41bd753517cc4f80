//! Means with their errors, and what is periodic in a series.

use std::fmt;

/// A mean and its standard error.
#[derive(Clone, Copy)]
pub(crate) struct Mean {
    /// The mean.
    pub value: f64,
    /// Its standard error.
    pub error: f64,
}

/// Of at least one value; the error of a single one is 0.
pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> Mean {
    let values: Vec<f64> = values.into_iter().collect();
    let n = values.len() as f64;
    let value = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|x| (x - value) * (x - value)).sum();
    let error = (squares / (n - 1.0).max(1.0) / n).sqrt();
    Mean { value, error }
}

impl Mean {
    /// With so many decimals.
    pub(crate) fn show(&self, decimals: usize) -> String {
        format!("{:.decimals$} ± {:.decimals$}", self.value, self.error)
    }
}

/// With two digits of the error, or three of the value where there is none. It stands in what the reader is told of a difference.
impl fmt::Debug for Mean {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, digits) = match self.error {
            error if error > 0.0 => (error, 2),
            _ => (self.value.abs(), 3),
        };
        let magnitude = match number > 0.0 {
            true => number.log10().floor() as i32,
            false => 0,
        };
        let decimals = (digits - 1 - magnitude).clamp(0, 12);
        f.write_str(&self.show(decimals as usize))
    }
}

/// The correlation of a series with itself `lag` later, about one mean.
pub(crate) fn autocorrelation(series: &[f64], lag: usize) -> f64 {
    let centre = mean(series.iter().copied()).value;
    let deviation: Vec<f64> = series.iter().map(|x| x - centre).collect();
    let variance: f64 = deviation.iter().map(|x| x * x).sum();
    let pairs = deviation.iter().zip(&deviation[lag..]);
    pairs.map(|(x, y)| x * y).sum::<f64>() / variance
}

/// How far apart two places are on a circle.
pub(crate) fn circular(a: f64, b: f64, circle: f64) -> f64 {
    let apart = (a - b).rem_euclid(circle);
    apart.min(circle - apart)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_has_the_error_of_its_scatter() {
        let mean = mean([1.0, 2.0, 3.0, 6.0]);
        // Variance 14/3, so the error is √(14/12).
        assert_eq!(mean.show(3), "3.000 ± 1.080");
    }

    #[test]
    fn a_mean_is_told_with_two_digits_of_its_error() {
        for (value, error, told) in [
            (1.607_801_2, 0.039_330_9, "1.608 ± 0.039"),
            (22.4, 3.07, "22.4 ± 3.1"),
            (12_345.6, 789.0, "12346 ± 789"),
            (0.1234, 0.0, "0.123 ± 0.000"),
            (0.0, 0.0, "0.00 ± 0.00"),
        ] {
            assert_eq!(format!("{:?}", Mean { value, error }), told);
        }
    }

    #[test]
    fn a_period_correlates_with_itself_and_not_with_its_half() {
        let series: Vec<f64> = (0..1_000).map(|i| f64::from(i % 50 / 25)).collect();
        assert!(autocorrelation(&series, 50) > 0.9);
        assert!(autocorrelation(&series, 25) < -0.9);
    }

    #[test]
    fn places_on_a_circle_are_near_across_its_seam() {
        assert_eq!(circular(1_490.0, 20.0, 1_500.0), 30.0);
        assert_eq!(circular(200.0, 500.0, 1_500.0), 300.0);
        assert_eq!(circular(3_010.0, 0.0, 1_500.0), 10.0);
    }
}
