//! Lines, shapes and texts with their places: what every kind of file draws in its own way.

use super::axis::Span;

/// A picture in points, from the upper left corner.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Drawing {
    pub(super) width: f64,
    pub(super) height: f64,
    /// What the picture shows, in one line.
    pub(super) title: String,
    /// The same in sentences, for those who do not see it.
    pub(super) description: String,
    pub(super) items: Vec<Item>,
    /// Frame and axis of x of each panel.
    pub(super) panels: Vec<(Frame, Span)>,
}

/// What something is drawn with; each kind of file has colours for it, for light and dark paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ink {
    /// Texts and axes.
    Text,
    /// Texts and lines that stand back.
    Faint,
    /// Lines behind everything.
    Grid,
    /// Stretches that are shaded.
    Shade,
    /// A series, by its place in the palette.
    Series(usize),
}

/// Where a text stands from its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    /// How far before its place a text of this length begins, in the same unit.
    pub(super) fn shift(self, length: f64) -> f64 {
        match self {
            Self::Start => 0.0,
            Self::Middle => length / 2.0,
            Self::End => length,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Item {
    Line {
        from: (f64, f64),
        to: (f64, f64),
        ink: Ink,
        width: f64,
        dashes: &'static [f64],
    },
    Box {
        corner: (f64, f64),
        size: (f64, f64),
        ink: Ink,
    },
    Text {
        at: (f64, f64),
        text: String,
        size: f64,
        anchor: Anchor,
        is_bold: bool,
        is_upright: bool,
        ink: Ink,
    },
    /// A series within a panel, clipped to it.
    Series {
        label: String,
        ink: Ink,
        clip: Frame,
        shape: Shape,
    },
}

/// A rectangle: left, top, width, height.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// What a series looks like.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shape {
    /// Lines, each from point to point.
    Lines {
        lines: Vec<Vec<(f64, f64)>>,
        width: f64,
        dashes: &'static [f64],
    },
    /// Dots of this radius.
    Dots { at: Vec<(f64, f64)>, radius: f64 },
    /// Bars down to the bottom of the panel.
    Bars(Vec<Frame>),
    /// Polygons, filled with this opacity.
    Areas {
        areas: Vec<Vec<(f64, f64)>>,
        opacity: f32,
    },
}

/// Opacity of a band, through which lines and other bands are seen.
pub(super) const BAND: f32 = 0.18;

/// Dashes of traffic, and of what is neither traffic nor a queue, so that lines differ without colours too.
pub(super) const DASHES: [&[f64]; 8] = [
    &[],
    &[7.0, 2.5],
    &[2.0, 2.0],
    &[8.0, 2.5, 2.0, 2.5],
    &[12.0, 3.0],
    &[4.0, 2.0],
    &[8.0, 2.0, 2.0, 2.0, 2.0, 2.0],
    &[1.0, 2.0],
];
