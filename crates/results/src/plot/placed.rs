//! A panel with its axes, and all that is drawn within its frame.

use super::axis::{Span, number};
use super::drawing::{Anchor, Frame, Ink, Item, Shape};
use super::figure::{Axis, Figure, Mark, Panel, Series};
use super::marks;
use super::palette::Style;
use super::text::{fitting, width};

const HEADING: f64 = 12.0;
pub(super) const SMALL: f64 = 11.0;
/// Room left of a panel's frame for its numbers and its label, right of it, and below it.
pub(super) const LEFT: f64 = 64.0;
pub(super) const RIGHT: f64 = 16.0;
pub(super) const BELOW: f64 = 44.0;
/// Panels beside each other.
pub(super) const MOST_COLUMNS: usize = 3;
/// The frame of a panel, alone, beside another one, and beside two.
pub(super) const WIDE: [f64; MOST_COLUMNS] = [760.0, 380.0, 240.0];
pub(super) const HEIGHT: f64 = 240.0;
/// How far bands reach above the lines at most.
const BEYOND: f64 = 1.5;
/// Space between a text and what is beside it.
pub(super) const GAP: f64 = 6.0;

/// Whether a legend has an entry of it: not of the range of something.
pub(super) fn is_named(series: &Series) -> bool {
    !series.label.is_empty() && !matches!(series.mark, Mark::Band | Mark::Whiskers)
}

pub(super) fn text(at: (f64, f64), text: String, size: f64, anchor: Anchor, is_bold: bool) -> Item {
    Item::Text {
        at,
        text,
        size,
        anchor,
        is_bold,
        is_upright: false,
        ink: Ink::Text,
    }
}

/// Room left of a frame with words at its axis.
pub(super) fn words_room(panel: &Panel) -> f64 {
    const MOST: f64 = 170.0;
    let words = panel.y.words.iter().map(|word| width(word, SMALL));
    words.fold(0.0, f64::max).min(MOST) + 2.0 * GAP
}

/// Whether a label has one colour in all panels; else it is of the queue that the heading of each names.
pub(super) fn is_common(figure: &Figure, styles: &[Vec<Style>], label: &str) -> bool {
    let all = figure.panels.iter().flat_map(|panel| &panel.series);
    let all = all.zip(styles.iter().flatten());
    let mut colors = all
        .filter(|one| one.0.label == label)
        .map(|one| one.1.color);
    let first = colors.next();
    colors.all(|color| Some(color) == first)
}

/// The ends of the axes of x, of y and at the right, as they are where nothing else gives them.
pub(super) fn ends(panel: &Panel) -> [(f64, f64); 3] {
    let frame = Frame {
        left: 0.0,
        top: 0.0,
        width: WIDE[0],
        height: HEIGHT,
    };
    let placed = Placed::new(panel, frame);
    let right = placed.right.unwrap_or(placed.y);
    [placed.x, placed.y, right].map(|span| (span.low(), span.high()))
}

/// A panel whose axes have ends.
pub(super) struct Placed<'a> {
    pub(super) panel: &'a Panel,
    pub(super) frame: Frame,
    pub(super) x: Span,
    y: Span,
    /// Of the axis at the right.
    right: Option<Span>,
}

impl<'a> Placed<'a> {
    pub(super) fn new(panel: &'a Panel, mut frame: Frame) -> Self {
        if panel.right.is_some() {
            frame.width -= LEFT - RIGHT;
        }
        let right = panel.right.as_ref().map(|axis| {
            let series = panel.series.iter().filter(|series| series.is_right);
            let points = series.flat_map(|series| &series.points);
            span(axis, points.map(|(_, y)| *y))
        });
        let series = || panel.series.iter().filter(|series| !series.is_right);
        let points = || series().flat_map(|series| &series.points);
        let bars = panel.series.iter().any(|series| series.mark == Mark::Bars);
        let half = if bars { spacing(panel) / 2.0 } else { 0.0 };
        let across = points().flat_map(|(x, _)| [x - half, x + half]);
        let levels = panel.levels.iter().map(|level| level.at);
        // What happens during the warm-up is drawn, and does not decide how high the rest is.
        let warmup = panel.shades.iter().find(|shade| shade.from == 0.0);
        let warmup = warmup.map_or(f64::NEG_INFINITY, |shade| shade.to);
        let later = || points().filter(move |(x, y)| *x > warmup && y.is_finite());
        let warmup = if later().next().is_some() {
            warmup
        } else {
            f64::NEG_INFINITY
        };
        let heights = |is_band: bool| {
            let some = series().filter(move |one| (one.mark == Mark::Band) == is_band);
            let points = some.flat_map(|series| &series.points);
            points.filter(|(x, _)| *x > warmup).map(|(_, y)| *y)
        };
        // A band may leave the frame: it does not press the lines together.
        let most = heights(false).fold(0.0, f64::max) * BEYOND;
        let heights = heights(false).chain(heights(true).map(|y| y.min(most)));
        Self {
            panel,
            frame,
            x: span(&panel.x, across),
            y: span(&panel.y, heights.chain(levels)),
            right,
        }
    }

    fn at_x(&self, x: f64) -> Option<f64> {
        let place = self.x.place(x)?;
        Some(self.frame.left + place * self.frame.width)
    }

    fn at_y(&self, y: f64) -> Option<f64> {
        self.height(&self.y, y)
    }

    fn height(&self, span: &Span, y: f64) -> Option<f64> {
        let place = span.place(y)?;
        Some(self.bottom() - place * self.frame.height)
    }

    pub(super) fn bottom(&self) -> f64 {
        self.frame.top + self.frame.height
    }

    pub(super) fn right(&self) -> f64 {
        self.frame.left + self.frame.width
    }

    pub(super) fn draw(&self, styles: &[Style], items: &mut Vec<Item>) {
        self.shades(items);
        self.grid(items);
        let all = || self.panel.series.iter().zip(styles);
        let is_band = |(series, _): &(&Series, _)| series.mark == Mark::Band;
        let behind = all().filter(is_band);
        for (series, style) in behind.chain(all().filter(|one| !is_band(one))) {
            items.push(self.series(series, *style));
        }
        self.levels(items);
        self.labels(items);
    }

    fn shades(&self, items: &mut Vec<Item>) {
        for shade in &self.panel.shades {
            let place = |x: f64| self.at_x(x.clamp(self.x.low(), self.x.high()));
            let (Some(from), Some(to)) = (place(shade.from), place(shade.to)) else {
                continue;
            };
            if to - from < 0.5 {
                continue;
            }
            items.push(Item::Box {
                corner: (from, self.frame.top),
                size: (to - from, self.frame.height),
                ink: Ink::Shade,
            });
            let label = shade.label.clone();
            if width(&label, SMALL) < to - from - GAP {
                items.push(faint(
                    (from + GAP / 2.0, self.frame.top + SMALL + 1.0),
                    label,
                    Anchor::Start,
                ));
            }
        }
    }

    /// Lines at the ticks, with their numbers.
    fn grid(&self, items: &mut Vec<Item>) {
        let (left, right, top, bottom) =
            (self.frame.left, self.right(), self.frame.top, self.bottom());
        for (place, label) in self.ticks(&self.panel.y, &self.y, 6, |y| self.at_y(y)) {
            items.push(line((left, place), (right, place), Ink::Grid));
            let room = match self.panel.y.words.is_empty() {
                true => LEFT - SMALL - 2.0 * GAP,
                false => words_room(self.panel) - GAP,
            };
            let label = fitting(&label, SMALL, room);
            items.push(text(
                (left - GAP, place + SMALL * 0.35),
                label,
                SMALL,
                Anchor::End,
                false,
            ));
        }
        // As many as stand beside each other.
        for most in [10, 8, 6, 5, 4, 3, 2] {
            let ticks = self.ticks(&self.panel.x, &self.x, most, |x| self.at_x(x));
            let mut free = f64::NEG_INFINITY;
            let fits = ticks.iter().all(|(place, label)| {
                let half = width(label, SMALL) / 2.0;
                let fits = place - half > free;
                free = place + half + GAP;
                fits
            });
            if !fits && most > 2 && self.panel.x.words.is_empty() {
                continue;
            }
            let count = ticks.len().max(1) as f64;
            for (place, label) in ticks {
                items.push(line((place, top), (place, bottom), Ink::Grid));
                let label = match self.panel.x.words.is_empty() {
                    true => label,
                    false => fitting(&label, SMALL, self.frame.width / count - GAP),
                };
                items.push(text(
                    (place, bottom + SMALL + 4.0),
                    label,
                    SMALL,
                    Anchor::Middle,
                    false,
                ));
            }
            break;
        }
        items.push(line((left, bottom), (right, bottom), Ink::Text));
        items.push(line((left, top), (left, bottom), Ink::Text));
        if let (Some(axis), Some(span)) = (&self.panel.right, &self.right) {
            for (place, label) in self.ticks(axis, span, 6, |y| self.height(span, y)) {
                items.push(line((right, place), (right + 4.0, place), Ink::Text));
                let label = fitting(&label, SMALL, LEFT - SMALL - 2.0 * GAP);
                let at = (right + GAP, place + SMALL * 0.35);
                items.push(text(at, label, SMALL, Anchor::Start, false));
            }
            items.push(line((right, top), (right, bottom), Ink::Text));
        }
    }

    fn ticks(
        &self,
        axis: &Axis,
        span: &Span,
        most: usize,
        at: impl Fn(f64) -> Option<f64>,
    ) -> Vec<(f64, String)> {
        if !axis.words.is_empty() {
            let words = axis.words.iter().enumerate();
            return words
                .filter_map(|(index, word)| Some((at(index as f64)?, word.clone())))
                .collect();
        }
        let values = span.ticks(most).into_iter();
        values
            .filter_map(|value| Some((at(value)?, number(value, 4))))
            .collect()
    }

    fn series(&self, series: &Series, style: Style) -> Item {
        let shape = match series.mark {
            Mark::Line => self.lines(series, style, false),
            Mark::Step => self.lines(series, style, true),
            Mark::Dots => {
                let points = series.points.iter();
                let at = points.filter_map(|&point| self.at(series, point));
                let at = at.filter(|at| self.has_within(*at));
                marks::dots(series, style, at.collect())
            }
            Mark::Bars => marks::bars(style, self.bars(series)),
            Mark::Band => marks::band(self.pairs(series)),
            Mark::Whiskers => marks::whiskers(self.pairs(series)),
        };
        let more = if series.mark == Mark::Dots {
            marks::LARGE + 1.0
        } else {
            0.0
        };
        let clip = Frame {
            left: self.frame.left - more,
            top: self.frame.top - more,
            width: self.frame.width + 2.0 * more,
            height: self.frame.height + 2.0 * more,
        };
        Item::Series {
            label: series.label.clone(),
            ink: Ink::Series(style.color),
            clip,
            shape,
        }
    }

    /// Whether a place is in the frame or at its side: a mark there is drawn whole.
    fn has_within(&self, (x, y): (f64, f64)) -> bool {
        let (across, down) = (x - self.frame.left, y - self.frame.top);
        let is = |at: f64, most: f64| (-0.5..=most + 0.5).contains(&at);
        is(across, self.frame.width) && is(down, self.frame.height)
    }

    /// The places of each two points, without those that have none; a gap is between two lists.
    fn pairs(&self, series: &Series) -> Vec<Vec<[(f64, f64); 2]>> {
        let pairs = series.points.chunks_exact(2);
        let places = pairs.map(|pair| Some([self.at(series, pair[0])?, self.at(series, pair[1])?]));
        let places: Vec<_> = places.collect();
        let parts = places.split(Option::is_none);
        let parts = parts.map(|part| part.iter().flatten().copied().collect());
        parts.filter(|part: &Vec<_>| !part.is_empty()).collect()
    }

    pub(super) fn at(&self, series: &Series, (x, y): (f64, f64)) -> Option<(f64, f64)> {
        let span = match series.is_right {
            true => self.right.as_ref()?,
            false => &self.y,
        };
        Some((self.at_x(x)?, self.height(span, y)?))
    }

    fn lines(&self, series: &Series, style: Style, is_step: bool) -> Shape {
        let mut lines = vec![Vec::new()];
        for &point in &series.points {
            let Some(at) = self.at(series, point) else {
                lines.push(Vec::new());
                continue;
            };
            let line = lines.last_mut().expect("there is always one");
            if let (true, Some(&(_, before))) = (is_step, line.last()) {
                line.push((at.0, before));
            }
            line.push(at);
        }
        lines.retain(|line| !line.is_empty());
        Shape::Lines {
            lines: lines.iter().map(|line| apart(line)).collect(),
            width: style.width * if series.is_one_of_many { 0.8 } else { 1.8 },
            dashes: style.dashes,
        }
    }

    fn bars(&self, series: &Series) -> Vec<Frame> {
        let all = self.panel.series.iter();
        let beside: Vec<&Series> = all.filter(|one| one.mark == Mark::Bars).collect();
        let number = beside.iter().position(|one| std::ptr::eq(*one, series));
        let room = 0.9 * spacing(self.panel);
        let each = room / beside.len().max(1) as f64;
        let first = number.unwrap_or(0) as f64 * each - room / 2.0;
        let bar = |&(x, y): &(f64, f64)| {
            let (left, right) = (self.at_x(x + first)?, self.at_x(x + first + each)?);
            let top = self.at_y(y)?;
            Some(Frame {
                left,
                top,
                width: right - left,
                height: (self.bottom() - top).max(0.0),
            })
        };
        series.points.iter().filter_map(bar).collect()
    }

    fn levels(&self, items: &mut Vec<Item>) {
        for level in &self.panel.levels {
            let Some(place) = self.at_y(level.at) else {
                continue;
            };
            items.push(Item::Line {
                from: (self.frame.left, place),
                to: (self.right(), place),
                ink: Ink::Faint,
                width: 1.2,
                dashes: &[4.0, 3.0],
            });
            let label = fitting(&level.label, SMALL, self.frame.width - 2.0 * GAP);
            items.push(faint(
                (self.frame.left + GAP, place - 3.0),
                label,
                Anchor::Start,
            ));
        }
    }

    /// The heading, and what the axes are.
    fn labels(&self, items: &mut Vec<Item>) {
        let heading = fitting(&self.panel.title, HEADING, self.frame.width);
        if !heading.is_empty() {
            items.push(text(
                (self.frame.left, self.frame.top - GAP),
                heading,
                HEADING,
                Anchor::Start,
                true,
            ));
        }
        let middle = self.frame.left + self.frame.width / 2.0;
        let label = fitting(&self.panel.x.text(), SMALL, self.frame.width);
        items.push(text(
            (middle, self.bottom() + BELOW - GAP * 2.0),
            label,
            SMALL,
            Anchor::Middle,
            false,
        ));
        let beside = [
            (Some(&self.panel.y), self.frame.left - LEFT + SMALL),
            (self.panel.right.as_ref(), self.right() + LEFT - GAP),
        ];
        for (axis, at) in beside {
            let Some(axis) = axis else { continue };
            items.push(Item::Text {
                at: (at, self.frame.top + self.frame.height / 2.0),
                text: fitting(&axis.text(), SMALL, self.frame.height),
                size: SMALL,
                anchor: Anchor::Middle,
                is_bold: false,
                is_upright: true,
                ink: Ink::Text,
            });
        }
    }
}

fn span(axis: &Axis, values: impl Iterator<Item = f64>) -> Span {
    match axis.words.len() {
        0 => Span::new(axis.scale, axis.ends, values),
        many => Span::new(axis.scale, (Some(-0.5), Some(many as f64 - 0.5)), values),
    }
}

fn line(from: (f64, f64), to: (f64, f64), ink: Ink) -> Item {
    Item::Line {
        from,
        to,
        ink,
        width: if ink == Ink::Text { 1.0 } else { 0.6 },
        dashes: &[],
    }
}

fn faint(at: (f64, f64), text: String, anchor: Anchor) -> Item {
    Item::Text {
        at,
        text,
        size: SMALL - 1.0,
        anchor,
        is_bold: false,
        is_upright: false,
        ink: Ink::Faint,
    }
}

/// The least distance between the points of bars.
fn spacing(panel: &Panel) -> f64 {
    let bars = panel
        .series
        .iter()
        .filter(|series| series.mark == Mark::Bars);
    let mut all: Vec<f64> = bars
        .flat_map(|series| &series.points)
        .map(|(x, _)| *x)
        .collect();
    all.sort_by(f64::total_cmp);
    let gaps = all.windows(2).map(|pair| pair[1] - pair[0]);
    let least = gaps.filter(|gap| *gap > 0.0).fold(f64::INFINITY, f64::min);
    if least.is_finite() { least } else { 1.0 }
}

/// Of points that nobody tells apart the first and the last, so that a step stays upright.
fn apart(line: &[(f64, f64)]) -> Vec<(f64, f64)> {
    const NEAR: f64 = 0.4;
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for (index, point) in line.iter().enumerate() {
        let is_near = |other: &(f64, f64)| {
            let last = kept.last();
            last.is_some_and(|last| {
                (other.0 - last.0).abs() < NEAR && (other.1 - last.1).abs() < NEAR
            })
        };
        let next = line.get(index + 1);
        if !is_near(point) || !next.is_some_and(is_near) {
            kept.push(*point);
        }
    }
    kept
}
