//! Several small frames in place of one with too many lines: a frame for each result, all with the same axes.

use super::figure::{Axis, Panel, Series};
use super::placed::ends;

/// More lines than this are not told apart in one frame.
pub(super) const MOST: usize = 7;

/// The panels, each with too many lines as one for each result, by its name. A frame then shows one queue, whose lines are those of its
/// traffic; `alone` is what a line is called that is not of a part of its result.
pub(super) fn split(panels: Vec<Panel>, results: &[&str], alone: &str) -> Vec<Panel> {
    let each = panels.into_iter();
    each.flat_map(|panel| match is_full(&panel) {
        true => apart(&panel, results, alone),
        false => vec![panel],
    })
    .collect()
}

/// Whether it has too many lines, of several results.
fn is_full(panel: &Panel) -> bool {
    let mut labels: Vec<&str> = panel.series.iter().map(|one| &*one.label).collect();
    labels.sort_unstable();
    labels.dedup();
    let first = panel.series.first().map(|one| one.of.0);
    labels.len() > MOST && panel.series.iter().any(|one| Some(one.of.0) != first)
}

fn apart(panel: &Panel, results: &[&str], alone: &str) -> Vec<Panel> {
    let [x, y, right] = ends(panel);
    let fixed = |axis: &Axis, (low, high)| axis.clone().between(low, high);
    let of = |(index, result): (usize, &&str)| {
        let mut one = Panel::new(result, fixed(&panel.x, x), fixed(&panel.y, y));
        one.right = panel.right.as_ref().map(|axis| fixed(axis, right));
        let is_own = |series: &&Series| [index, usize::MAX].contains(&series.of.0);
        one.series = panel.series.iter().filter(is_own).cloned().collect();
        let mut notes: Vec<String> = Vec::new();
        for series in &mut one.series {
            let short = series.label.strip_prefix(result).unwrap_or(&series.label);
            // What stands in brackets is of this frame alone, so that it is no part of a legend.
            let (name, note) = short.split_once(" (").unwrap_or((short, ""));
            let name = match name.trim_start() {
                "" => alone,
                name => name,
            };
            notes.extend((!note.is_empty()).then(|| match short.starts_with(" (") {
                true => note.trim_end_matches(')').to_owned(),
                false => format!("{name} {}", note.trim_end_matches(')')),
            }));
            series.label = name.to_owned();
        }
        if !notes.is_empty() {
            one.title = format!("{result}: {}", notes.join(", "));
        }
        (one.shades, one.levels) = (panel.shades.clone(), panel.levels.clone());
        one
    };
    let each = results.iter().enumerate().map(of);
    each.filter(|one| one.series.iter().any(|one| one.of.0 != usize::MAX))
        .collect()
}
