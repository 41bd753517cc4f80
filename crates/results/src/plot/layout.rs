//! Gives everything in a picture its place.

use super::description::describe;
use super::drawing::{Anchor, Drawing, Frame, Item};
use super::end_labels;
use super::figure::{Figure, Panel, Series};
use super::marks;
use super::palette::{Style, styles};
use super::placed::{
    BELOW, GAP, HEIGHT, LEFT, MOST_COLUMNS, Placed, RIGHT, SMALL, WIDE, is_common, is_named, text,
    words_room,
};
use super::text::{fitting, width};

const TITLE: f64 = 15.0;
const MARGIN: f64 = 12.0;
/// Room above a panel's frame for its heading.
const ABOVE: f64 = 24.0;
/// A row of the legend, and the line of an entry.
const ROW: f64 = 18.0;
const SAMPLE: f64 = 34.0;

/// The picture of `figure`.
pub(super) fn lay_out(figure: &Figure) -> Drawing {
    let most = figure.panels.len().clamp(1, MOST_COLUMNS);
    let columns = figure.columns.clamp(1, most);
    let cell = LEFT + WIDE[columns - 1] + RIGHT;
    let styles = styles(figure);
    let at_ends = end_labels::of(figure, &styles, columns);
    let count = |panel: &Panel| panel.y.words.len() as f64 * (SMALL + 2.0);
    let high = figure.panels.iter().map(count).fold(HEIGHT, f64::max);
    let total = 2.0 * MARGIN + cell * columns as f64;
    let mut items = Vec::new();
    let mut top = MARGIN + TITLE;
    items.push(text(
        (MARGIN, top),
        fitting(&figure.title, TITLE, total - 2.0 * MARGIN),
        TITLE,
        Anchor::Start,
        true,
    ));
    top += GAP;
    top = legend(&entries(figure, &styles, &at_ends), total, top, &mut items);
    let rows = figure.panels.len().div_ceil(columns);
    let mut panels = Vec::new();
    for (index, panel) in figure.panels.iter().enumerate() {
        let (row, column) = (index / columns, index % columns);
        let left = words_room(panel).max(LEFT);
        let right = RIGHT.max(end_labels::room(&at_ends[index]));
        let frame = Frame {
            left: MARGIN + left + cell * column as f64,
            top: top + ABOVE + (ABOVE + high + BELOW) * row as f64,
            width: cell - left - right,
            height: high,
        };
        let placed = Placed::new(panel, frame);
        placed.draw(&styles[index], &mut items);
        placed.name_ends(&at_ends[index], &styles[index], &mut items);
        panels.push((placed.frame, placed.x));
    }
    Drawing {
        width: total,
        height: top + (ABOVE + high + BELOW) * rows as f64 + MARGIN,
        title: figure.title.clone(),
        description: describe(figure),
        items,
        panels,
    }
}

/// Each label once that does not stand at the end of its lines, with its colour and the way in which it is drawn first.
fn entries<'a>(
    figure: &'a Figure,
    styles: &[Vec<Style>],
    at_ends: &[Vec<&str>],
) -> Vec<(&'a Series, Style)> {
    let mut entries: Vec<(&Series, Style)> = Vec::new();
    let panels = figure.panels.iter().zip(styles).zip(at_ends);
    let all = panels.flat_map(|((panel, styles), at_ends)| {
        let all = panel.series.iter().zip(styles);
        all.filter(|(one, _)| !at_ends.contains(&&*one.label))
    });
    for (series, style) in all.filter(|(series, _)| is_named(series)) {
        if entries.iter().all(|one| one.0.label != series.label) {
            entries.push((series, *style));
        }
    }
    entries.retain(|(series, _)| is_common(figure, styles, &series.label));
    entries
}

/// Rows of entries; where they end.
fn legend(entries: &[(&Series, Style)], total: f64, top: f64, items: &mut Vec<Item>) -> f64 {
    let room = total - 2.0 * MARGIN;
    let (mut left, mut base) = (MARGIN, top + ROW - GAP / 2.0);
    for &(series, style) in entries {
        let label = fitting(&series.label, SMALL, room - SAMPLE - GAP);
        let wide = SAMPLE + GAP + width(&label, SMALL) + 3.0 * GAP;
        if left + wide > MARGIN + room && left > MARGIN {
            (left, base) = (MARGIN, base + ROW);
        }
        let middle = base - SMALL * 0.35;
        items.extend(marks::sample(series, style, (left, left + SAMPLE), middle));
        items.push(text(
            (left + SAMPLE + GAP, base),
            label,
            SMALL,
            Anchor::Start,
            false,
        ));
        left += wide;
    }
    if entries.is_empty() { top } else { base + GAP }
}
