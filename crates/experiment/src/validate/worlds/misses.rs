//! The list of what does not hold.

use std::fmt::Write as _;

use crate::validate::document::{CHANCE, Explanations, UNEXPLAINED, estimate};
use crate::validate::worlds::figures::{Difference, Reference};

/// Two means of five differ by more than so many standard errors in one case of twenty: Student's t with 8 degrees of freedom.
const CHANCE_ERRORS: f64 = 2.3;

pub(crate) fn world(difference: &Difference) -> &'static str {
    match difference.reference {
        Reference::Live => "live",
        Reference::Virtual => "virtual",
    }
}

/// The list of what does not hold, the worst first.
pub(crate) fn misses(differences: &[(String, Difference)], explanations: &Explanations) -> String {
    let mut missed: Vec<_> = differences.iter().filter(|(_, one)| !one.holds()).collect();
    missed.sort_by(|(_, one), (_, other)| other.bounds_off().total_cmp(&one.bounds_off()));
    let mut text = format!(
        "{} of {} bounds hold.\n\n",
        differences.len() - missed.len(),
        differences.len()
    );
    if missed.is_empty() {
        return text;
    }
    text.push_str("| point | figure | world | sim / world | off by | bounds | explanation |\n");
    text.push_str("| --- | --- | --- | --- | --- | --- | --- |\n");
    for (point, difference) in missed {
        let _ = writeln!(
            text,
            "| {point} | {} | {} | {} / {} | {} | {:.1} | {} |",
            difference.figure.title(),
            world(difference),
            estimate(&difference.sim),
            estimate(&difference.other),
            off_by(difference),
            difference.bounds_off(),
            explanation(point, difference, explanations),
        );
    }
    text
}

/// How far the simulator is off, in per cent of the other world.
pub(crate) fn off_by(difference: &Difference) -> String {
    if difference.other.mean == 0.0 {
        return "from 0".to_owned();
    }
    let off = difference.sim.mean / difference.other.mean - 1.0;
    format!("{:+.1} %", 100.0 * off)
}

fn explanation<'a>(
    point: &str,
    difference: &Difference,
    explanations: &'a Explanations,
) -> &'a str {
    let key = [point, difference.figure.title(), world(difference)];
    let by_itself = if difference.distance() < CHANCE_ERRORS * difference.standard_error() {
        CHANCE
    } else {
        UNEXPLAINED
    };
    explanations.of(key).unwrap_or(by_itself)
}

#[cfg(test)]
mod tests {
    use quell_measure::Estimate;

    use super::*;
    use crate::validate::worlds::figures::Figure;

    #[test]
    fn what_nobody_has_explained_is_chance_only_within_the_errors() {
        let difference = |error: f64| Difference {
            figure: Figure::RateRatio,
            reference: Reference::Virtual,
            sim: Estimate::new(&[1.0 - error, 1.0 + error]).expect("values"),
            other: Estimate::new(&[2.0; 2]).expect("values"),
        };
        let none = Explanations::default();
        let of = |error| explanation("fifo-reno", &difference(error), &none);
        assert_eq!(of(0.1), UNEXPLAINED);
        assert_eq!(of(0.5), CHANCE);
    }
}
