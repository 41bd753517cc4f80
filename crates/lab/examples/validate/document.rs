//! The generated parts of `docs/validation.md`, each between two markers; the text around them is a person's.
//!
//! In each part stands a list of misses. The explanation of a miss is a person's too: it is read from the old list before the
//! new one is written, and stays with its point, figure and world.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use quell_measure::Estimate;

use crate::figures::{Difference, Figure, Reference};

/// The explanation of a miss that nobody has explained.
const UNEXPLAINED: &str = "not explained yet";
/// Of one that is not to be told from chance.
const CHANCE: &str = "may be chance";
/// Two means of five differ by more than so many standard errors in one case of twenty: Student's t with 8 degrees of freedom.
const CHANCE_ERRORS: f64 = 2.3;

/// What people have written beside misses, by point, figure and world.
#[derive(Debug, Default)]
pub(crate) struct Explanations(BTreeMap<[String; 3], String>);

/// A document with the part called `name` replaced by what `write` makes of the old explanations; `None` if it lacks the markers.
pub(crate) fn replace(
    document: &str,
    name: &str,
    write: impl FnOnce(&Explanations) -> String,
) -> Option<String> {
    let begin = format!("<!-- begin: written by {name} -->");
    let end = format!("<!-- end: written by {name} -->");
    let (before, rest) = document.split_once(&begin)?;
    let (old, after) = rest.split_once(&end)?;
    let part = write(&Explanations::read(old));
    Some(format!("{before}{begin}\n\n{part}\n{end}{after}"))
}

impl Explanations {
    fn read(old: &str) -> Self {
        let rows = old.lines().filter_map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let [point, figure, world, _, _, _, explanation] = cells.as_slice() else {
                return None;
            };
            let is_written = ![UNEXPLAINED, CHANCE].contains(explanation)
                && Figure::ALL.iter().any(|known| known.title() == *figure);
            let key = [point, figure, world].map(|cell| cell.to_string());
            is_written.then(|| (key, explanation.to_string()))
        });
        Self(rows.collect())
    }

    fn of(&self, point: &str, difference: &Difference) -> &str {
        let key = [point, difference.figure.title(), world(difference)].map(str::to_owned);
        let by_itself = if difference.distance() < CHANCE_ERRORS * difference.standard_error() {
            CHANCE
        } else {
            UNEXPLAINED
        };
        self.0.get(&key).map_or(by_itself, String::as_str)
    }
}

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
            explanations.of(point, difference),
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

/// `mean ± standard error`, to three significant digits; of one run, which has no error, the mean.
pub(crate) fn estimate(mean: &Estimate) -> String {
    let digits = match mean.mean.abs() {
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        value if value >= 1.0 => 2,
        _ => 3,
    };
    let text = format!("{:.digits$}", mean.mean);
    match mean.standard_error {
        Some(error) => format!("{text} ± {error:.digits$}"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explanations_stay_with_their_point_and_figure() {
        let old = format!(
            "\n\n| point | figure | world | sim / world | off by | bounds | explanation |\n\
             | --- | --- | --- | --- | --- | --- | --- |\n\
             | fifo-reno | rate ratio | live | 1 / 2 | -50 % | 2.0 | phase |\n\
             | fifo-reno | drops, % | live | 1 / 2 | -50 % | 2.0 | {UNEXPLAINED} |\n"
        );
        let document = format!(
            "by hand\n<!-- begin: written by x -->{old}<!-- end: written by x -->\nbelow\n"
        );
        let difference = |figure, reference, error| Difference {
            figure,
            reference,
            sim: Estimate::new(&[1.0 - error, 1.0 + error]).expect("values"),
            other: Estimate::new(&[2.0; 2]).expect("values"),
        };
        let of = |reference, error| difference(Figure::RateRatio, reference, error);
        let new = replace(&document, "x", |known| {
            assert_eq!(known.0.len(), 1);
            assert_eq!(known.of("fifo-reno", &of(Reference::Live, 0.0)), "phase");
            let elsewhere = of(Reference::Virtual, 0.1);
            assert_eq!(known.of("fifo-reno", &elsewhere), UNEXPLAINED);
            let by_chance = of(Reference::Virtual, 0.5);
            assert_eq!(known.of("fifo-reno", &by_chance), CHANCE);
            "new".to_owned()
        });
        let wanted =
            "by hand\n<!-- begin: written by x -->\n\nnew\n<!-- end: written by x -->\nbelow\n";
        assert_eq!(new.as_deref(), Some(wanted));
        assert_eq!(replace(&document, "y", |_| String::new()), None);
    }
}
