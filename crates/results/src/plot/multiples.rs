//! Several small frames in place of one with too many lines: a frame for each result, all with the same axes.

use super::figure::{Axis, Panel};
use super::layout::ends;
use super::source::Source;

/// More lines than this are not told apart in one frame.
pub(super) const MOST: usize = 7;

/// The panels, each with too many lines as one for each result. A frame then shows one queue, whose lines are those of its traffic.
pub(super) fn split(panels: Vec<Panel>, sources: &[Source]) -> Vec<Panel> {
    let each = panels.into_iter();
    each.flat_map(|panel| match is_full(&panel) {
        true => apart(&panel, sources),
        false => vec![panel],
    })
    .collect()
}

/// Each label once.
pub(super) fn labels(panel: &Panel) -> Vec<&str> {
    let mut labels: Vec<&str> = panel.series.iter().map(|one| one.label.as_str()).collect();
    labels.sort_unstable();
    labels.dedup();
    labels
}

/// Whether it has too many lines, of several results. With an axis at the right each frame would need two, and a legend of its own.
fn is_full(panel: &Panel) -> bool {
    let first = panel.series.first().map(|one| one.of.0);
    labels(panel).len() > MOST
        && panel.right.is_none()
        && panel.series.iter().any(|one| Some(one.of.0) != first)
}

fn apart(panel: &Panel, sources: &[Source]) -> Vec<Panel> {
    let [x, y] = ends(panel);
    let fixed = |axis: &Axis, (low, high)| axis.clone().between(low, high);
    let of = |(index, source): (usize, &Source)| {
        let mut one = Panel::new(&source.label, fixed(&panel.x, x), fixed(&panel.y, y));
        let all = panel.series.iter();
        one.series = all.filter(|one| one.of.0 == index).cloned().collect();
        for series in &mut one.series {
            let short = series
                .label
                .strip_prefix(&source.label)
                .map(str::trim_start);
            series.label = match short {
                Some("") => "queue".to_owned(),
                short => short.unwrap_or(&series.label).to_owned(),
            };
        }
        (one.shades, one.levels) = (panel.shades.clone(), panel.levels.clone());
        one
    };
    let each = sources.iter().enumerate().map(of);
    each.filter(|one| !one.series.is_empty()).collect()
}
