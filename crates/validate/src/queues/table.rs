//! The table of `docs/evidence/validation.md`, between two markers; the text around it is a person's.
//!
//! Under it stands a list of misses.

use std::fmt::Write as _;

use quell_measure::{Estimate, Summary};

use crate::document::{self, Explanations, UNEXPLAINED};
use crate::queues::figures::{Difference, Figure};
use crate::queues::point::Point;

const NAME: &str = "make parity";

/// What is known of a point.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    pub(crate) quell: Vec<Summary>,
    pub(crate) kernel: Vec<Summary>,
    /// Why it has no runs.
    pub(crate) not_run: Option<String>,
}

impl Measured {
    pub(crate) fn differences(&self) -> Vec<Difference> {
        Difference::all(&self.quell, &self.kernel)
    }
}

/// A document with its generated part replaced; `None` if it lacks the markers.
pub(crate) fn replace(document: &str, points: &[(Point, Measured)], facts: &str) -> Option<String> {
    document::replace(document, NAME, |explanations| {
        let mut text = format!("{facts}\n");
        table(&mut text, points);
        misses(&mut text, points, explanations);
        text
    })
}

/// A row per point and group.
fn table(text: &mut String, points: &[(Point, Measured)]) {
    text.push_str("| queue | Mbit/s | flows | group | ECN |");
    for figure in Figure::ALL {
        let _ = write!(text, " {} |", figure.title());
    }
    text.push_str("\n| --- | --- | --- | --- | --- |");
    text.push_str(&" --- |".repeat(Figure::ALL.len()));
    text.push('\n');
    for (point, measured) in points {
        let differences = measured.differences();
        let mut groups: Vec<&str> = differences.iter().map(|one| one.group.as_str()).collect();
        groups.dedup();
        if groups.is_empty() {
            groups.push("");
        }
        for group in groups {
            let ecn = if point.ecn && group != "classic" {
                "yes"
            } else {
                "no"
            };
            let _ = write!(
                text,
                "| {} | {} | {} | {group} | {ecn} |",
                point.queue.name(),
                point.rate_mbps,
                point.flows
            );
            for figure in Figure::ALL {
                let of_cell = |one: &&Difference| one.group == group && one.figure == figure;
                let cell = match differences.iter().find(of_cell) {
                    Some(difference) => cell(difference),
                    None if differences.is_empty() => "not run".to_owned(),
                    None => String::new(),
                };
                let _ = write!(text, " {cell} |");
            }
            text.push('\n');
        }
    }
    text.push('\n');
    for (point, measured) in points {
        if let Some(why) = &measured.not_run {
            let _ = writeln!(text, "Not run: {}: {why}\n", point.id());
        }
    }
}

/// `quell / kernel: ratio ± error`, and whether the bound is missed.
fn cell(difference: &Difference) -> String {
    let miss = if difference.holds() { "" } else { " **miss**" };
    format!("{}: {}{miss}", both(difference), ratio(difference))
}

fn both(difference: &Difference) -> String {
    let of = |mean: Estimate| format!("{:.*}", document::digits(mean.mean), mean.mean);
    let [quell, kernel] = [difference.quell, difference.kernel].map(of);
    format!("{quell} / {kernel}")
}

/// The ratio, with the combined standard error in parts of the kernel's figure.
fn ratio(difference: &Difference) -> String {
    let error = difference.standard_error() / difference.kernel.mean;
    if difference.kernel.mean == 0.0 {
        return "no ratio".to_owned();
    }
    format!("{:.3} ± {error:.3}", difference.ratio())
}

fn misses(text: &mut String, points: &[(Point, Measured)], explanations: &Explanations) {
    let differences: Vec<(String, Difference)> = points
        .iter()
        .flat_map(|(point, measured)| {
            let of_point = measured.differences().into_iter();
            of_point.map(move |difference| (point.id(), difference))
        })
        .collect();
    let missed: Vec<_> = differences.iter().filter(|(_, one)| !one.holds()).collect();
    let _ = writeln!(
        text,
        "{} of {} bounds hold.\n",
        differences.len() - missed.len(),
        differences.len()
    );
    if missed.is_empty() {
        return;
    }
    text.push_str("| point | group | figure | quell / kernel | ratio | explanation |\n");
    text.push_str("| --- | --- | --- | --- | --- | --- |\n");
    for (point, difference) in missed {
        let title = difference.figure.title();
        let key = [point, difference.group.as_str(), title];
        let explanation = explanations.of(key).unwrap_or(UNEXPLAINED);
        let _ = writeln!(
            text,
            "| {point} | {} | {title} | {} | {} | {explanation} |",
            difference.group,
            both(difference),
            ratio(difference),
        );
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_is_written_between_its_markers() {
        let document = "by hand\n<!-- begin: written by make parity -->\n\nformer\n<!-- end: written by make parity -->\nbelow\n";
        let new = replace(document, &[], "facts").expect("markers");
        assert!(new.starts_with("by hand\n") && new.ends_with("\nbelow\n"));
        assert!(new.contains("facts") && !new.contains("former"));
        assert_eq!(replace("no markers", &[], ""), None);
    }
}
