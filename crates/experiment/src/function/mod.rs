//! The functions of expressions: the closed set of those that any file may use, and the named figures of measurements.
//!
//! What one statement alone needs, and no expression can say, is a figure of a measurement in a file of its own here. A function computes;
//! it gives no verdict.

mod items;
mod list;
mod path;
mod sizes;

use std::any::Any;
use std::fmt;
use std::ops::RangeInclusive;

use crate::expression::Value;
use crate::measure::Measure;
use crate::probe::items::Items;
use crate::probe::path::PathResult;
use crate::probe::sizes::QueueSizes;

/// Functions of expressions, with how many values they take.
const FUNCTIONS: [(&str, RangeInclusive<usize>); 32] = [
    ("mean", 1..=1),
    ("sum", 1..=1),
    ("min", 1..=2),
    ("max", 1..=2),
    ("count", 1..=1),
    ("length", 1..=1),
    ("first", 1..=1),
    ("last", 1..=1),
    ("all", 1..=1),
    ("any", 1..=1),
    ("list", 1..=1),
    ("jain", 1..=1),
    ("quantile", 2..=2),
    ("autocorrelation", 2..=2),
    ("at", 2..=2),
    ("error", 1..=1),
    ("seeds", 1..=1),
    ("sqrt", 1..=1),
    ("cbrt", 1..=1),
    ("ln", 1..=1),
    ("abs", 1..=1),
    ("floor", 1..=1),
    ("round", 1..=1),
    ("mod", 2..=2),
    ("hypot", 2..=2),
    ("circular", 3..=3),
    ("index", 1..=1),
    ("text", 2..=2),
    ("if", 3..=3),
    ("default", 2..=2),
    ("each", 2..=3),
    ("finite", 1..=1),
];

/// Why a function has no value of what was given to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unfit(String);

impl Unfit {
    pub(crate) fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What was given to a function.
#[derive(Debug)]
pub(crate) struct Args<'a>(pub(crate) &'a [Value]);

impl Args<'_> {
    /// The number at a place.
    ///
    /// # Errors
    ///
    /// There is none.
    pub(crate) fn number(&self, place: usize) -> Result<f64, Unfit> {
        let number = self.0.get(place).and_then(Value::number);
        number.ok_or_else(|| Unfit(format!("value {} must be a number", place + 1)))
    }

    /// The whole number at a place.
    ///
    /// # Errors
    ///
    /// There is none.
    pub(crate) fn whole(&self, place: usize) -> Result<usize, Unfit> {
        let number = self.number(place)?;
        match number >= 0.0 && number.fract() == 0.0 && number < 1e9 {
            true => Ok(number as usize),
            false => Err(Unfit(format!("value {} must be a whole number", place + 1))),
        }
    }

    /// The text at a place.
    ///
    /// # Errors
    ///
    /// There is none.
    pub(crate) fn text(&self, place: usize) -> Result<&str, Unfit> {
        match self.0.get(place) {
            Some(Value::Text(text)) => Ok(text),
            _ => Err(Unfit(format!("value {} must be a text", place + 1))),
        }
    }
}

/// A figure of a measurement: of what some runs gave, and of the values that an expression gives it.
pub(crate) type OfMeasurement = fn(&[&dyn Any], &Args<'_>) -> Result<Value, Unfit>;
/// A function of a list of numbers, which come first.
pub(crate) type OfList = fn(&[f64], &[f64]) -> Result<f64, Unfit>;

/// What a name in front of brackets is.
#[derive(Clone, Copy)]
pub(crate) enum Named {
    Measurement(OfMeasurement),
    List(OfList),
}

/// Rows of [`NAMED`] for functions of measurements: each has the name of its path.
macro_rules! measured {
    ($($module:ident.$figure:ident),*) => {
        &[$((
            concat!(stringify!($module), ".", stringify!($figure)),
            Named::Measurement(|runs, args| typed(runs, args, $module::$figure)),
        ),)*
        ("list.least", Named::List(list::least)),
        ("list.plateau", Named::List(list::plateau))]
    };
}

/// Measurement and figure, by name.
const NAMED: &[(&str, Named)] = measured!(
    items.count,
    items.geometric_mean,
    items.late_after_set_up,
    items.normalised,
    items.set_up_late,
    items.times,
    path.fewest_probe_rtts,
    path.goodput,
    path.goodputs,
    path.late_until,
    path.longest,
    path.probe_rtts_apart,
    path.reaches,
    sizes.quantile
);

/// What a run gave, for the figures of its measurement; `None` for one without figures in Rust.
pub(crate) fn read(
    measure: Measure,
    json: &str,
) -> Result<Option<Box<dyn Any>>, serde_json::Error> {
    Ok(Some(match measure {
        Measure::Items => Box::new(serde_json::from_str::<Items>(json)?),
        Measure::Path => Box::new(serde_json::from_str::<PathResult>(json)?),
        Measure::Sizes => Box::new(serde_json::from_str::<QueueSizes>(json)?),
        Measure::Summary | Measure::Bursts | Measure::Rounds | Measure::Cubic => return Ok(None),
    }))
}

/// The figure of runs that have the measurement.
fn typed<T: 'static>(
    runs: &[&dyn Any],
    args: &Args<'_>,
    figure: fn(&[&T], &Args<'_>) -> Result<Value, Unfit>,
) -> Result<Value, Unfit> {
    let runs: Option<Vec<&T>> = runs.iter().map(|run| run.downcast_ref()).collect();
    let runs = runs.ok_or_else(|| Unfit::new("the runs have another measurement"))?;
    figure(&runs, args)
}

/// How many values the function takes, if there is one.
pub(crate) fn arguments_of(name: &str) -> Option<RangeInclusive<usize>> {
    let found = FUNCTIONS.iter().find(|(known, _)| *known == name);
    found.map(|(_, range)| range.clone())
}

/// The functions that any file may use.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|(name, _)| *name)
}

/// The figure of a measurement, or the function of a list, with this name.
pub(crate) fn of_measurement(name: &str) -> Option<Named> {
    let found = NAMED.iter().find(|(known, _)| *known == name);
    found.map(|(_, named)| *named)
}

/// The names of all of them.
pub(crate) fn measured_names() -> impl Iterator<Item = &'static str> {
    NAMED.iter().map(|(name, _)| *name)
}
