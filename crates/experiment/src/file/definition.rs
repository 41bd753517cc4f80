//! What an experiment file is made of: axes, figures, statements, tables, pictures; and how much of each it may have.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

use crate::expression::{Expression, Template, Value};
use crate::measure::Measure;
use crate::reference::Beside;
use crate::ruling::Level;

/// The version of the format.
pub(super) const SCHEMA: &str = "1";
/// Values of an axis at most.
pub(super) const MOST_VALUES: usize = 10_000;
/// Points at most.
pub(crate) const MOST_POINTS: usize = 200_000;
/// What the values of an axis may weigh together, with what they all have: numbers, and texts of 16 bytes.
pub(super) const HEAVIEST_AXIS: usize = 2_000_000;
/// Bytes of a file at most, and of a file that it names.
pub(crate) const MOST_BYTES: usize = 4 << 20;
/// Figures and names of `[let]` at most.
pub(super) const MOST_NAMES: usize = 1_000;
/// What many places of a file share, copied to each, at most: numbers, and texts of 16 bytes.
pub(super) const MOST_COPIED: usize = 4_000_000;
/// Problems that are reported at most.
pub(super) const MOST_PROBLEMS: usize = 100;
/// Seeds of a point at most.
pub(super) const MOST_SEEDS: u64 = 10_000;
/// The largest strength of a covering.
pub(super) const MOST_STRENGTH: u64 = 4;
/// Axes at most: a set of axes is a number of 64 bits.
pub(super) const MOST_AXES: usize = 32;

/// Into what results are divided, by its name in files.
pub(super) const PARTS: [(&str, Parts); 3] = [
    ("phases", Parts::Phases),
    ("groups", Parts::Groups),
    ("queues", Parts::Queues),
];
/// Whether a quick run is a slow one.
pub(super) const QUICK: [(&str, bool); 2] = [("2s", false), ("20s", true)];
/// How strongly a clause asks.
pub(super) const LEVELS: [(&str, Level); 4] = [
    ("MUST", Level::Must),
    ("SHOULD", Level::Should),
    ("MAY", Level::May),
    ("none", Level::None),
];
/// Whether points are chosen so that they cover combinations.
pub(super) const METHODS: [(&str, bool); 2] = [("grid", false), ("covering", true)];

/// What a file says of runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunKeys {
    pub(crate) scenario: Option<Template>,
    pub(crate) set: Vec<(String, Template)>,
    pub(crate) over_linux: Vec<(String, Template)>,
    pub(crate) seeds: Option<Seeds>,
    pub(crate) measure: Option<Measure>,
    /// A queue that is watched from outside: `quell`, or that of the kernel in the words of tc.
    pub(crate) watched: Option<Template>,
    /// A quick run lasts 20 s and not 2 s, because the application needs time to begin.
    pub(crate) is_slow: Option<bool>,
}

/// The seeds of a point: different ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Seeds {
    /// From one on, so many.
    Range(u64, u64),
    /// These.
    List(Vec<u64>),
}

impl Default for Seeds {
    fn default() -> Self {
        Self::Range(1, 1)
    }
}

impl Seeds {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Range(_, count) => *count as usize,
            Self::List(seeds) => seeds.len(),
        }
    }

    /// The seeds in their order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.len()).map(|place| match self {
            Self::Range(from, _) => from + place as u64,
            Self::List(seeds) => seeds[place],
        })
    }
}

/// What varies.
#[derive(Debug, Clone)]
pub(crate) struct Axis {
    pub(crate) name: String,
    pub(crate) kind: AxisKind,
    /// Empty for parts until there are results.
    pub(crate) values: Vec<AxisValue>,
}

/// How an axis divides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AxisKind {
    /// Runs.
    Runs,
    /// Each result, into its phases, groups or queues.
    Parts(Parts),
    /// Nothing: figures take its values.
    Loose,
}

/// Into what a result is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parts {
    Phases,
    Groups,
    Queues,
}

/// A value of an axis.
#[derive(Debug, Clone, Default)]
pub(crate) struct AxisValue {
    pub(crate) label: Label,
    pub(crate) fields: BTreeMap<String, Value>,
    pub(crate) runs: RunKeys,
    /// What the source printed: without runs.
    pub(crate) is_published: bool,
}

/// What a value is called.
#[derive(Debug, Clone)]
pub(crate) enum Label {
    Value(Value),
    Template(Template),
}

impl Default for Label {
    fn default() -> Self {
        Self::Value(Value::None)
    }
}

/// A named figure.
#[derive(Debug, Clone)]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) of: Expression,
    /// Over the runs of a point, or once.
    pub(crate) over: Over,
    pub(crate) filter: Option<Expression>,
    pub(crate) label: Template,
    /// The form of its numbers.
    pub(crate) show: Option<String>,
    /// At the published point.
    pub(crate) published: Option<Expression>,
}

/// How the figures of a point's runs become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    /// It has no runs: it is evaluated once, from figures that have become one.
    Point,
    Mean,
    Median,
    First,
    Sum,
    /// Columns are added over the runs before the expression is evaluated.
    Pooled,
    /// All of them, as a list.
    List,
}

impl Over {
    pub(super) const ALL: [(&'static str, Self); 7] = [
        ("point", Self::Point),
        ("mean", Self::Mean),
        ("median", Self::Median),
        ("first", Self::First),
        ("sum", Self::Sum),
        ("pooled", Self::Pooled),
        ("list", Self::List),
    ];
}

/// A value or statement of the source.
#[derive(Debug, Clone)]
pub(crate) struct Statement {
    pub(crate) id: String,
    pub(crate) published: String,
    pub(crate) checked: String,
    pub(crate) filter: Option<Expression>,
    pub(crate) checks: Vec<Check>,
    pub(crate) guards: Vec<Check>,
    pub(crate) differs: Option<String>,
    pub(crate) cannot: Option<String>,
    pub(crate) shown: Option<Template>,
    pub(crate) clause: Option<Clause>,
}

/// What a standard asks for, beyond the checks of a statement.
#[derive(Debug, Clone)]
pub(crate) struct Clause {
    /// Document and section.
    pub(crate) by: String,
    pub(crate) level: Level,
    /// Reasons, each with its condition: it does not apply.
    pub(crate) not_applicable: Vec<(String, Expression)>,
    /// The same: nobody can say.
    pub(crate) open: Vec<(String, Expression)>,
    /// Where checks miss, it fails only if this holds.
    pub(crate) fails: Option<Expression>,
    pub(crate) is_note: bool,
    pub(crate) is_quick: bool,
}

/// What has to hold.
#[derive(Debug, Clone)]
pub(crate) struct Check {
    /// The value, and the figure that it is.
    pub(crate) value: Option<Expression>,
    pub(crate) figure: Option<usize>,
    pub(crate) label: Option<Template>,
    pub(crate) form: Form,
    /// Together with that of the statement.
    pub(crate) filter: Option<Expression>,
    pub(crate) only: Option<Vec<String>>,
    pub(crate) except: Vec<String>,
    /// The axes over which it repeats.
    pub(crate) each: Vec<usize>,
    /// It repeats for each run of a point.
    pub(crate) is_of_runs: bool,
    pub(crate) what: Option<Template>,
    /// The guard of a deviation, in percent.
    pub(crate) guard: Option<f64>,
}

/// The form of a check.
#[derive(Debug, Clone)]
pub(crate) enum Form {
    /// Within some percent of a value, or within some of its units.
    Within {
        percent: Expression,
        of: Expression,
        or: Option<Expression>,
    },
    /// Between bounds.
    Bounds(Vec<(Bound, Expression)>),
    /// A condition.
    Holds(Expression),
    /// Near what is recorded of another world.
    Beside(Beside),
}

/// How a value lies to a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    Is,
    Above,
    Below,
    AtLeast,
    AtMost,
}

/// A table.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    /// The axes of its rows.
    pub(crate) rows: Vec<usize>,
    pub(crate) filter: Option<Expression>,
    pub(crate) kind: TableKind,
}

/// What a table has.
#[derive(Debug, Clone)]
pub(crate) enum TableKind {
    /// Rows of cells for each point of its axes; each with the condition under which it is there.
    Cells {
        columns: Vec<Column>,
        lines: Vec<Vec<Template>>,
        /// Lines behind the rows.
        foot: Vec<Vec<Template>>,
    },
    /// What another table has.
    Same(String),
    /// How far figures are from published ones.
    Deviations {
        within: f64,
        figures: Vec<usize>,
        place: Template,
        show: Option<Template>,
    },
}

/// A column, or one for each value of an axis.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) head: Template,
    pub(crate) each: Option<usize>,
}

/// A picture of the book.
#[derive(Debug, Clone)]
pub(crate) struct Picture {
    pub(crate) title: Template,
    /// The axes of which each value has a picture.
    pub(crate) each: Vec<usize>,
    /// The outer loop.
    pub(crate) rows: Vec<usize>,
    pub(crate) kind: PictureKind,
}

/// What a picture shows.
#[derive(Debug, Clone)]
pub(crate) enum PictureKind {
    /// Values side by side.
    Pairs { axis: String, pairs: Vec<Pair> },
    /// Curves over a quantity.
    Curves {
        axes: [String; 2],
        curves: Vec<Curve>,
    },
}

/// A value beside the published one.
#[derive(Debug, Clone)]
pub(crate) struct Pair {
    pub(crate) label: Template,
    pub(crate) ours: Expression,
    pub(crate) published: Option<Expression>,
    pub(crate) filter: Option<Expression>,
    /// Where it repeats by itself and not beside the others.
    pub(crate) rows: Option<Vec<usize>>,
}

/// A curve, or one for each value of some axes.
#[derive(Debug, Clone)]
pub(crate) struct Curve {
    pub(crate) name: Template,
    pub(crate) is_published: bool,
    pub(crate) y: Expression,
    pub(crate) x: Option<Expression>,
    pub(crate) over: Option<usize>,
    pub(crate) each: Vec<usize>,
    pub(crate) filter: Option<Expression>,
}

/// Where the files lie that an experiment file names: their text by the name that it has there.
pub(crate) type Files<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Whether a name is that of a file beside another one or below it, and not elsewhere.
pub(crate) fn is_beside(name: &str) -> bool {
    let parts = Path::new(name).components();
    !name.is_empty()
        && parts
            .into_iter()
            .all(|part| matches!(part, Component::Normal(_)))
}

impl Axis {
    /// The names of its values' fields, in order.
    pub(super) fn fields(&self) -> BTreeSet<&str> {
        let values = self.values.iter();
        let names = values.flat_map(|value| value.fields.keys());
        names.map(String::as_str).collect()
    }
}
