//! Confidence intervals of means: Student's t.
//!
//! Whole degrees of freedom have a closed form: Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 26.7.3 and
//! 26.7.4. The quantile is found by halving, so it is as exact as the sum.

use std::f64::consts::{FRAC_PI_2, PI};

use quell_measure::Estimate;

/// Half the width of the interval around `estimate` that holds the true mean with probability `level` (above 0, below 1), if
/// the figures of runs are normally distributed; `None` for a single run.
pub fn half_width(estimate: &Estimate, level: f64) -> Option<f64> {
    let error = estimate.standard_error?;
    Some(error * student_t(level, estimate.n.checked_sub(1)?)?)
}

/// The t that a variable of Student's distribution with `freedom` degrees of freedom stays within, on both sides, with probability
/// `level`. `None` without a degree of freedom, and for a level that is not between 0 and 1.
pub fn student_t(level: f64, freedom: usize) -> Option<f64> {
    if freedom == 0 || !(level > 0.0 && level < 1.0) {
        return None;
    }
    let (mut low, mut high) = (0.0, FRAC_PI_2);
    // Halves until no number lies between.
    loop {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            return Some(low.tan() * (freedom as f64).sqrt());
        }
        if within(middle, freedom) < level {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// A(t|ν), the probability of staying within ±t, by the angle θ = arctan(t/√ν).
fn within(angle: f64, freedom: usize) -> f64 {
    let (sin, cos) = angle.sin_cos();
    let square = cos * cos;
    if freedom % 2 == 1 {
        // "A(t|ν) = 2/π {θ + sin θ [cos θ + 2/3 cos³ θ + ... + (2·4···(ν-3))/(3·5···(ν-2)) cos^(ν-2) θ]}", and 2θ/π for ν = 1.
        let (mut term, mut sum) = (cos, 0.0);
        for k in 1..=(freedom - 1) / 2 {
            sum += term;
            term *= square * (2 * k) as f64 / (2 * k + 1) as f64;
        }
        2.0 / PI * (angle + sin * sum)
    } else {
        // "A(t|ν) = sin θ {1 + 1/2 cos² θ + (1·3)/(2·4) cos⁴ θ + ... + (1·3·5···(ν-3))/(2·4·6···(ν-2)) cos^(ν-2) θ}"
        let (mut term, mut sum) = (1.0, 0.0);
        for k in 1..=freedom / 2 {
            sum += term;
            term *= square * (2 * k - 1) as f64 / (2 * k) as f64;
        }
        sin * sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Abramowitz and Stegun, table 26.10: A(t|ν) = 0.9, 0.95, 0.99, 0.999.
    #[test]
    fn quantiles_are_those_of_the_printed_table() {
        for (freedom, printed) in [
            (1, [6.314, 12.706, 63.657, 636.619]),
            (2, [2.920, 4.303, 9.925, 31.598]),
            (3, [2.353, 3.182, 5.841, 12.924]),
            (4, [2.132, 2.776, 4.604, 8.610]),
            (5, [2.015, 2.571, 4.032, 6.869]),
            (9, [1.833, 2.262, 3.250, 4.781]),
            (10, [1.812, 2.228, 3.169, 4.587]),
            (29, [1.699, 2.045, 2.756, 3.659]),
            (30, [1.697, 2.042, 2.750, 3.646]),
            (120, [1.658, 1.980, 2.617, 3.373]),
        ] {
            for (level, expected) in [0.9, 0.95, 0.99, 0.999].into_iter().zip(printed) {
                let t = student_t(level, freedom).unwrap();
                // Half a unit of the last printed digit; the old table has 31.598 where later ones have 31.599.
                assert!(
                    (t - expected).abs() < 0.0011,
                    "{freedom} {level}: {t} {expected}"
                );
            }
        }
        // Of many it is the normal distribution's: 1.959964.
        assert!((student_t(0.95, 100_000).unwrap() - 1.959_964).abs() < 1e-4);
    }

    #[test]
    fn a_single_run_has_no_interval() {
        assert_eq!(half_width(&Estimate::new(&[7.0]).unwrap(), 0.95), None);
        for level in [0.0, 1.0, -1.0, f64::NAN] {
            assert_eq!(student_t(level, 3), None);
        }
        // Of 1, 2, 3, 4: standard error √(5/12), t(0.95, 3) = 3.182.
        let half = half_width(&Estimate::new(&[1.0, 2.0, 3.0, 4.0]).unwrap(), 0.95);
        assert!((half.unwrap() - 3.182 * (5.0_f64 / 12.0).sqrt()).abs() < 1e-3);
    }
}
