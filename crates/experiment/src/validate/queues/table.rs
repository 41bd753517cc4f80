//! The table of `docs/evidence/validation.md`, between two markers; the text around it is a person's.
//!
//! Under it stands a list of misses.

use std::fmt::Write as _;

use quell_measure::{Estimate, Summary};

use crate::validate::document::{Explanations, UNEXPLAINED};
use crate::validate::queues::figures::Difference;
use crate::validate::queues::point::Point;
use crate::validate::sheet::{Sheet, cells};

pub(crate) const NAME: &str = "make parity";

/// What is known of a point.
#[derive(Debug, Default)]
pub(crate) struct PointRuns {
    pub(crate) quell: Vec<Summary>,
    pub(crate) kernel: Vec<Summary>,
    /// Why it has no runs.
    pub(crate) not_run: Option<String>,
}

impl PointRuns {
    pub(crate) fn differences(&self) -> Vec<Difference> {
        Difference::all(&self.quell, &self.kernel)
    }
}

/// The generated part of the document.
pub(crate) fn part(
    points: &[(Point, PointRuns)],
    facts: &str,
    explanations: &Explanations,
) -> String {
    let mut text = format!("{facts}\n");
    table(&mut text, points);
    misses(&mut text, points, explanations);
    text
}

/// A row per queue: how many bounds hold, and the figure that is furthest off.
fn table(text: &mut String, points: &[(Point, PointRuns)]) {
    text.push_str("| queue | bounds that hold | furthest off: quell / kernel | at |\n| --- | --- | --- | --- |\n");
    let mut queues: Vec<&str> = points.iter().map(|(point, _)| point.queue.name()).collect();
    queues.dedup();
    for queue in queues {
        let of_queue: Vec<(String, Difference)> = points
            .iter()
            .filter(|(point, _)| point.queue.name() == queue)
            .flat_map(|(point, measured)| {
                let of_point = measured.differences().into_iter();
                of_point.map(|difference| (point.id(), difference))
            })
            .collect();
        let held = of_queue.iter().filter(|(_, one)| one.holds()).count();
        let furthest = of_queue.iter().max_by(|(_, one), (_, other)| {
            let off = |one: &Difference| (one.ratio() - 1.0).abs();
            off(one).total_cmp(&off(other))
        });
        let Some((point, one)) = furthest else {
            let _ = writeln!(text, "| {queue} | not run | | |");
            continue;
        };
        let _ = writeln!(
            text,
            "| {queue} | {held} of {} | {}: {} | {}, {point}{} |",
            of_queue.len(),
            both(one),
            ratio(one),
            one.figure.title(),
            if one.group == "test" {
                String::new()
            } else {
                format!(", {}", one.group)
            },
        );
    }
    text.push('\n');
    for (point, measured) in points {
        if let Some(why) = &measured.not_run {
            let _ = writeln!(text, "Not run: {}: {why}\n", point.id());
        }
    }
}

/// Each figure of each group at each point, with both queues.
pub(crate) fn sheet(points: &[(Point, PointRuns)]) -> Sheet {
    let mut sheet = Sheet::new(
        "parity.csv",
        &[
            "queue",
            "rate_mbps",
            "flows",
            "group",
            "ecn",
            "figure",
            "quell",
            "kernel",
            "ratio",
            "ratio_error",
            "missed",
        ],
    );
    for (point, measured) in points {
        for one in measured.differences() {
            let is_ecn = point.ecn && one.group != "classic";
            let [quell, kernel] = [&one.quell, &one.kernel].map(estimate);
            let (ratio, error) = match one.kernel.mean {
                0.0 => (String::new(), String::new()),
                kernel => (
                    format!("{:.3}", one.ratio()),
                    format!("{:.3}", one.standard_error() / kernel),
                ),
            };
            sheet.row(&[
                point.queue.name().to_owned(),
                point.rate_mbps.to_string(),
                point.flows.to_string(),
                one.group.clone(),
                if is_ecn { "yes" } else { "no" }.to_owned(),
                one.figure.title().to_owned(),
                quell,
                kernel,
                ratio,
                error,
                if one.holds() { "" } else { "kernel" }.to_owned(),
            ]);
        }
    }
    sheet
}

fn both(difference: &Difference) -> String {
    let [quell, kernel] = [&difference.quell, &difference.kernel].map(estimate);
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
    let [mean, _] = cells(Some(mean));
    mean
}

fn misses(text: &mut String, points: &[(Point, PointRuns)], explanations: &Explanations) {
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
    use crate::validate::document::replaced;

    #[test]
    fn the_part_is_written_between_its_markers() {
        let document = "by hand\n<!-- begin: written by make parity -->\n\nformer\n<!-- end: written by make parity -->\nbelow\n";
        let write = |known: &_| part(&[], "facts", known);
        let (new, _) = replaced(document, "", NAME, write).expect("markers");
        assert!(new.starts_with("by hand\n") && new.ends_with("\nbelow\n"));
        assert!(new.contains("facts") && !new.contains("former"));
        assert!(replaced("no markers", "", NAME, write).is_none());
    }
}
