//! The tables of `docs/validation.md`, between two markers; the text around them is a person's.
//!
//! Under the tables stands a list of misses. The explanation of each is a person's too: it is read
//! from the old list before the new one is written, and stays with its point and figure.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use quell_measure::{Estimate, Summary};

use crate::figures::{Difference, Figure};
use crate::point::{CONTROLS, Point, QUEUES};

const BEGIN: &str = "<!-- begin: written by make validate -->";
const END: &str = "<!-- end: written by make validate -->";
/// The explanation of a miss that nobody has explained.
const UNEXPLAINED: &str = "not explained yet";

/// What is known of a point.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    /// In the simulator, over a link as late as the live one.
    pub(crate) sim: Vec<Summary>,
    pub(crate) live: Vec<Summary>,
    /// In the simulator, over a link that is never late.
    pub(crate) punctual: Vec<Summary>,
    /// Live runs that were thrown away because the machine was late.
    pub(crate) late_runs: u32,
    /// Why there are no runs in the live world.
    pub(crate) not_run: Option<String>,
}

impl Measured {
    pub(crate) fn differences(&self) -> Vec<Difference> {
        self.differences_of(&self.sim)
    }
    pub(crate) fn punctual_differences(&self) -> Vec<Difference> {
        self.differences_of(&self.punctual)
    }
    fn differences_of(&self, sim: &[Summary]) -> Vec<Difference> {
        Figure::ALL
            .iter()
            .filter_map(|&figure| Difference::new(figure, sim, &self.live))
            // Marks where nothing can be marked agree trivially.
            .filter(|one| one.sim.mean != 0.0 || one.live.mean != 0.0)
            .collect()
    }
}

/// A document with its generated part replaced; `None` if it lacks the markers.
pub(crate) fn replace(document: &str, points: &[(Point, Measured)], facts: &str) -> Option<String> {
    let (before, rest) = document.split_once(BEGIN)?;
    let (old, after) = rest.split_once(END)?;
    let explanations = explanations(old);
    let mut text = format!("{before}{BEGIN}\n\n{facts}\n");
    for queue in QUEUES {
        for control in CONTROLS {
            let of_table =
                |(point, _): &&(Point, Measured)| point.queue == queue && point.control == control;
            let rows: Vec<_> = points.iter().filter(of_table).collect();
            if !rows.is_empty() {
                table(&mut text, queue, control, &rows);
            }
        }
    }
    misses(&mut text, points, &explanations);
    text.push_str(END);
    text.push_str(after);
    Some(text)
}

/// One table: a row per rate and RTT.
fn table(text: &mut String, queue: &str, control: &str, rows: &[&(Point, Measured)]) {
    let _ = writeln!(text, "### {control}, {queue}\n");
    let figures: Vec<Figure> = Figure::ALL
        .into_iter()
        .filter(|&figure| figure != Figure::Marks || (control, queue) == ("dctcp", "dualpi2"))
        .collect();
    text.push_str("| Mbit/s | RTT, ms |");
    for figure in &figures {
        let _ = write!(text, " {} |", figure.title());
    }
    text.push_str("\n| --- | --- |");
    text.push_str(&" --- |".repeat(figures.len()));
    text.push('\n');
    for (point, measured) in rows {
        let _ = write!(text, "| {} | {} |", point.rate_mbps, point.rtt_ms);
        for &figure in &figures {
            let cell = match Difference::new(figure, &measured.sim, &measured.live) {
                Some(difference) => cell(&difference),
                None => "not run".to_owned(),
            };
            let _ = write!(text, " {cell} |");
        }
        text.push('\n');
    }
    text.push('\n');
    let mut reasons = rows
        .iter()
        .filter_map(|(_, measured)| measured.not_run.as_ref());
    if let Some(reason) = reasons.next_back() {
        let _ = writeln!(text, "Not run: {reason}\n");
    }
}

/// `sim ± error / live ± error`, and whether the bound is missed.
fn cell(difference: &Difference) -> String {
    let both = [difference.sim, difference.live].map(|mean| estimate(&mean));
    let miss = if difference.holds() { "" } else { " **miss**" };
    format!("{} / {}{miss}", both[0], both[1])
}

fn estimate(mean: &Estimate) -> String {
    let error = mean.standard_error.unwrap_or(0.0);
    // Three significant digits.
    let digits = match mean.mean.abs() {
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        value if value >= 1.0 => 2,
        _ => 3,
    };
    format!("{:.digits$} ± {error:.digits$}", mean.mean)
}

fn misses(
    text: &mut String,
    points: &[(Point, Measured)],
    explanations: &BTreeMap<(String, String), String>,
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
        "### Misses\n\n{} of {} bounds hold.\n",
        differences.len() - missed.len(),
        differences.len()
    );
    if missed.is_empty() {
        return;
    }
    text.push_str("| point | figure | sim / live | off by | explanation |\n");
    text.push_str("| --- | --- | --- | --- | --- |\n");
    for (point, difference) in missed {
        let title = difference.figure.title();
        let key = (point.clone(), title.to_owned());
        let explanation = explanations.get(&key).map_or(UNEXPLAINED, String::as_str);
        let off = difference.sim.mean / difference.live.mean - 1.0;
        let both = [difference.sim, difference.live].map(|mean| estimate(&mean));
        let _ = writeln!(
            text,
            "| {point} | {title} | {} / {} | {:+.1} % | {explanation} |",
            both[0],
            both[1],
            100.0 * off
        );
    }
    text.push('\n');
}

/// What people have written beside misses, by point and figure.
fn explanations(old: &str) -> BTreeMap<(String, String), String> {
    old.lines()
        .filter_map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let [point, figure, _, _, explanation] = cells.as_slice() else {
                return None;
            };
            let is_written = *explanation != UNEXPLAINED
                && Figure::ALL.iter().any(|known| known.title() == *figure);
            is_written.then(|| {
                (
                    (point.to_string(), figure.to_string()),
                    explanation.to_string(),
                )
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explanations_stay_with_their_point_and_figure() {
        let document = format!(
            "by hand\n{BEGIN}\n\n| point | figure | sim / live | off by | explanation |\n\
             | --- | --- | --- | --- | --- |\n\
             | fifo-reno-10mbit-5ms | rate ratio | 1 / 2 | -50 % | chance |\n\
             | fifo-reno-10mbit-5ms | drops, % | 1 / 2 | -50 % | {UNEXPLAINED} |\n{END}\nbelow\n"
        );
        let (_, rest) = document.split_once(BEGIN).expect("a marker");
        let known = explanations(rest);
        assert_eq!(known.len(), 1);
        let key = ("fifo-reno-10mbit-5ms".to_owned(), "rate ratio".to_owned());
        assert_eq!(known[&key], "chance");
        let new = replace(&document, &[], "facts").expect("markers");
        assert!(new.starts_with("by hand\n") && new.ends_with("\nbelow\n"));
        assert!(!new.contains("chance"));
        assert_eq!(replace("no markers", &[], ""), None);
    }
}
