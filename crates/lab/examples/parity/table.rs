//! The table of `docs/validation.md`, between two markers; the text around it is a person's.
//!
//! Under it stands a list of misses. The explanation of each is a person's too: it is read from the old list before the new
//! one is written, and stays with its point, group and figure.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use quell_measure::{Estimate, Summary};

use crate::figures::{Difference, Figure};
use crate::point::Point;

const BEGIN: &str = "<!-- begin: written by make parity -->";
const END: &str = "<!-- end: written by make parity -->";
/// The explanation of a miss that nobody has explained.
const UNEXPLAINED: &str = "not explained yet";

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
    let (before, rest) = document.split_once(BEGIN)?;
    let (old, after) = rest.split_once(END)?;
    let explanations = explanations(old);
    let mut text = format!("{before}{BEGIN}\n\n{facts}\n");
    table(&mut text, points);
    misses(&mut text, points, &explanations);
    text.push_str(END);
    text.push_str(after);
    Some(text)
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
    let [quell, kernel] = [difference.quell, difference.kernel].map(|mean| estimate(&mean));
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

fn estimate(mean: &Estimate) -> String {
    // Three significant digits.
    let digits = match mean.mean.abs() {
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        value if value >= 1.0 => 2,
        _ => 3,
    };
    format!("{:.digits$}", mean.mean)
}

fn misses(
    text: &mut String,
    points: &[(Point, Measured)],
    explanations: &BTreeMap<[String; 3], String>,
) {
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
        let key = [point.clone(), difference.group.clone(), title.to_owned()];
        let explanation = explanations.get(&key).map_or(UNEXPLAINED, String::as_str);
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

/// What people have written beside misses, by point, group and figure.
fn explanations(old: &str) -> BTreeMap<[String; 3], String> {
    old.lines()
        .filter_map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let [point, group, figure, _, _, explanation] = cells.as_slice() else {
                return None;
            };
            let is_written = *explanation != UNEXPLAINED
                && Figure::ALL.iter().any(|known| known.title() == *figure);
            let key = [point, group, figure].map(|cell| (*cell).to_owned());
            is_written.then(|| (key, (*explanation).to_owned()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explanations_stay_with_their_point_group_and_figure() {
        let document = format!(
            "by hand\n{BEGIN}\n\n| point | group | figure | quell / kernel | ratio | explanation |\n\
             | --- | --- | --- | --- | --- | --- |\n\
             | pie-10mbit-1 | test | delay, ms | 1 / 2 | 0.5 | chance |\n\
             | pie-10mbit-1 | test | drops, % | 1 / 2 | 0.5 | {UNEXPLAINED} |\n{END}\nbelow\n"
        );
        let (_, rest) = document.split_once(BEGIN).expect("a marker");
        let known = explanations(rest);
        assert_eq!(known.len(), 1);
        let key = ["pie-10mbit-1", "test", "delay, ms"].map(str::to_owned);
        assert_eq!(known[&key], "chance");
        let new = replace(&document, &[], "facts").expect("markers");
        assert!(new.starts_with("by hand\n") && new.ends_with("\nbelow\n"));
        assert!(!new.contains("chance"));
        assert_eq!(replace("no markers", &[], ""), None);
    }
}
