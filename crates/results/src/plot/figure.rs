//! What a picture shows, before anything has a place: panels with axes, and series of points.

use super::axis::Scale;

/// A picture: panels with one legend.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// What it shows, above everything.
    pub title: String,
    /// In reading order.
    pub panels: Vec<Panel>,
    /// Panels beside each other.
    pub columns: usize,
}

/// A pair of axes with what is drawn between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// What this one shows; empty where the title of the picture says it.
    pub title: String,
    /// From left to right.
    pub x: Axis,
    /// From bottom to top.
    pub y: Axis,
    /// The same at the right, of the series that are [`Series::is_right`].
    pub right: Option<Axis>,
    /// In the order of drawing.
    pub series: Vec<Series>,
    /// Stretches of x that are shaded, such as the warm-up.
    pub shades: Vec<Shade>,
    /// Lines across the panel at a value of y.
    pub levels: Vec<Level>,
}

/// An axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// The quantity.
    pub label: String,
    /// Its unit; empty for a number of things.
    pub unit: &'static str,
    /// How values are spread.
    pub scale: Scale,
    /// Ends, where the values of the series do not say them.
    pub ends: (Option<f64>, Option<f64>),
    /// Words instead of numbers, at 0, 1, 2 …
    pub words: Vec<String>,
}

impl Axis {
    /// A linear one from the smallest to the largest value.
    pub fn new(label: &str, unit: &'static str) -> Self {
        Self {
            label: label.to_owned(),
            unit,
            scale: Scale::Linear,
            ends: (None, None),
            words: Vec::new(),
        }
    }

    /// The same from 0.
    #[must_use]
    pub fn from_zero(mut self) -> Self {
        self.ends.0 = Some(0.0);
        self
    }

    /// The same with these ends.
    #[must_use]
    pub fn between(mut self, low: f64, high: f64) -> Self {
        self.ends = (Some(low), Some(high));
        self
    }

    /// The same with equal steps for equal ratios.
    #[must_use]
    pub fn logarithmic(mut self) -> Self {
        self.scale = Scale::Logarithmic;
        self
    }

    /// The label with its unit.
    pub fn text(&self) -> String {
        match self.unit {
            "" => self.label.clone(),
            unit => format!("{}, {unit}", self.label),
        }
    }
}

/// How the points of a series are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// A line from point to point.
    Line,
    /// A line that keeps a value until the next point.
    Step,
    /// A dot at each point.
    Dots,
    /// A bar from 0, centred at each point, as wide as points are apart.
    Bars,
    /// The area between the lower and the upper of each two points, behind everything.
    Band,
    /// A stroke from the first to the second of each two points.
    Whiskers,
}

/// Points that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// In the legend; series of one label share an entry.
    pub label: String,
    /// The result that it is of, from 0, and which part of that: a queue, a group; empty for the only one. There is no result of what was
    /// not measured.
    pub of: (usize, String),
    /// What of it, such as `marked`; empty where there is only one thing.
    pub variant: &'static str,
    /// Place in the palette, from 0, of a series in a picture whose labels name no queue; a queue has the colour of its name.
    pub color: usize,
    /// Its place among the dashes, from 0, likewise.
    pub dashes: usize,
    /// How it is drawn.
    pub mark: Mark,
    /// Its values are those of the axis at the right.
    pub is_right: bool,
    /// One of several that are alike, such as the flows of a group: thinner.
    pub is_one_of_many: bool,
    /// In the order of drawing; NaN as y breaks a line.
    pub points: Vec<(f64, f64)>,
}

/// A stretch of x.
#[derive(Debug, Clone, PartialEq)]
pub struct Shade {
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// What it is, such as `warm-up`.
    pub label: String,
}

/// A value of y that means something.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// The value.
    pub at: f64,
    /// What it is.
    pub label: String,
}

impl Series {
    /// In a colour and with dashes by the place of its result.
    pub fn new(label: &str, of: (usize, String), mark: Mark, points: Vec<(f64, f64)>) -> Self {
        Self {
            label: label.to_owned(),
            variant: "",
            color: of.0,
            dashes: of.0,
            of,
            mark,
            is_right: false,
            is_one_of_many: false,
            points,
        }
    }
}

impl Panel {
    /// Without series.
    pub fn new(title: &str, x: Axis, y: Axis) -> Self {
        Self {
            title: title.to_owned(),
            x,
            y,
            right: None,
            series: Vec::new(),
            shades: Vec::new(),
            levels: Vec::new(),
        }
    }
}
