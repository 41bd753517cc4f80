//! Figures of the book: what was published and what came out, as numbers.

/// Points of one curve, in the order of their drawing.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Its name in the legend.
    pub name: String,
    /// Whether the source printed it.
    pub published: bool,
    /// x and y.
    pub points: Vec<(f64, f64)>,
}

/// A value of the source beside ours.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// What it is.
    pub label: String,
    /// Where the source printed a value.
    pub published: Option<f64>,
    /// What came out.
    pub ours: f64,
}

/// A figure.
#[derive(Debug, Clone, PartialEq)]
pub enum Figure {
    /// Curves over a quantity.
    Curves {
        /// What it shows.
        title: String,
        /// The axes, with their units.
        axes: [String; 2],
        /// The curves.
        curves: Vec<Curve>,
    },
    /// Values side by side.
    Pairs {
        /// What it shows.
        title: String,
        /// The axis of the values, with its unit.
        axis: String,
        /// The values.
        pairs: Vec<Pair>,
    },
}

impl Figure {
    /// Curves, of which there are none yet.
    pub fn curves(title: &str, x: &str, y: &str) -> Self {
        Self::Curves {
            title: title.to_owned(),
            axes: [x, y].map(str::to_owned),
            curves: Vec::new(),
        }
    }

    /// Values side by side, of which there are none yet.
    pub fn pairs(title: &str, axis: &str) -> Self {
        Self::Pairs {
            title: title.to_owned(),
            axis: axis.to_owned(),
            pairs: Vec::new(),
        }
    }

    /// Adds a curve of ours.
    #[must_use]
    pub fn ours(self, name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        self.curve(name, false, points)
    }

    /// Adds a curve that the source printed.
    #[must_use]
    pub fn published(self, name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        self.curve(name, true, points)
    }

    fn curve(
        mut self,
        name: &str,
        published: bool,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) -> Self {
        if let Self::Curves { curves, .. } = &mut self {
            curves.push(Curve {
                name: name.to_owned(),
                published,
                points: points.into_iter().collect(),
            });
        }
        self
    }

    /// Adds a value.
    #[must_use]
    pub fn pair(mut self, label: &str, published: Option<f64>, ours: f64) -> Self {
        if let Self::Pairs { pairs, .. } = &mut self {
            pairs.push(Pair {
                label: label.to_owned(),
                published,
                ours,
            });
        }
        self
    }
}
