//! Names of lines at their ends, in ink, in place of a legend: where a frame has few lines, and all of them end near its right side.

use super::drawing::{Anchor, Ink, Item};
use super::figure::{Figure, Mark, Panel, Series};
use super::multiples::MOST;
use super::palette::Style;
use super::placed::{GAP, MOST_COLUMNS, Placed, SMALL, WIDE, ends, is_common, is_named, text};
use super::text::width;

/// Between the end of a line and its name, and from one name to the next.
const LEADER: f64 = 12.0;
const STEP: f64 = SMALL + 2.0;
/// Of the width of a frame, what names may take, and where lines have to end.
const MOST_ROOM: f64 = 0.3;
const END: f64 = 0.9;

/// For each panel the labels that stand at the ends of its lines. Small frames have them only where a legend cannot.
pub(super) fn of<'a>(
    figure: &'a Figure,
    styles: &[Vec<Style>],
    columns: usize,
) -> Vec<Vec<&'a str>> {
    let is_own = |label: &&str| columns < MOST_COLUMNS || !is_common(figure, styles, label);
    let of = |panel| labels(panel, columns).filter(|labels| labels.iter().any(is_own));
    let all = figure.panels.iter();
    all.map(|panel| of(panel).unwrap_or_default()).collect()
}

/// The labels of a panel if they can stand at its side.
fn labels(panel: &Panel, columns: usize) -> Option<Vec<&str>> {
    let [(low, high), ..] = ends(panel);
    let mut labels: Vec<&str> = Vec::new();
    for series in panel.series.iter().filter(is_line) {
        let is_far = last(series)?.0 >= low + END * (high - low);
        if !is_far || panel.right.is_some() || !is_named(series) {
            return None;
        }
        if !labels.contains(&&*series.label) {
            labels.push(&series.label);
        }
    }
    let fits = room(&labels) <= MOST_ROOM * WIDE[columns - 1];
    (fits && labels.len() <= MOST).then_some(labels)
}

fn is_line(series: &&Series) -> bool {
    matches!(series.mark, Mark::Line | Mark::Step)
}

fn last(series: &Series) -> Option<(f64, f64)> {
    let mut points = series.points.iter().rev();
    points.find(|(_, y)| y.is_finite()).copied()
}

/// The room right of a frame for these labels.
pub(super) fn room(labels: &[&str]) -> f64 {
    let widest = labels.iter().map(|label| width(label, SMALL));
    widest.fold(0.0, f64::max) + LEADER + GAP
}

impl Placed<'_> {
    /// Names the lines with these labels, from top to bottom as they end.
    pub(super) fn name_ends(&self, labels: &[&str], styles: &[Style], items: &mut Vec<Item>) {
        let (top, bottom) = (self.frame.top, self.bottom());
        let end = |label: &&str| {
            let mut all = self.panel.series.iter().zip(styles);
            let (line, style) = all.find(|(one, _)| one.label == **label && is_line(one))?;
            // What has no place on the axis is below it.
            let at = self.at(line, last(line)?);
            let y = at.map_or(bottom, |at| at.1.clamp(top, bottom));
            Some((y, style.color, (*label).to_owned()))
        };
        let mut ends: Vec<_> = labels.iter().filter_map(end).collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        let places = apart(ends.iter().map(|(y, ..)| *y).collect(), bottom);
        for ((y, color, label), place) in ends.into_iter().zip(places) {
            items.push(Item::Line {
                from: (self.right(), y),
                to: (self.right() + LEADER - 2.0, place),
                ink: Ink::Series(color),
                width: 1.0,
                dashes: &[],
            });
            let at = (self.right() + LEADER, place + SMALL * 0.35);
            items.push(text(at, label, SMALL, Anchor::Start, false));
        }
    }
}

/// Places from top to bottom, moved until each is a step below the one before, and none below the bottom.
fn apart(mut places: Vec<f64>, bottom: f64) -> Vec<f64> {
    let mut free = f64::NEG_INFINITY;
    for place in &mut places {
        *place = place.max(free);
        free = *place + STEP;
    }
    let mut most = bottom;
    for place in places.iter_mut().rev() {
        *place = place.min(most);
        most = *place - STEP;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_moved_apart_and_stay_beside_the_frame() {
        assert_eq!(apart(vec![10.0, 11.0, 90.0], 100.0), [10.0, 23.0, 90.0]);
        assert_eq!(apart(vec![98.0, 99.0, 100.0], 100.0), [74.0, 87.0, 100.0]);
    }
}
