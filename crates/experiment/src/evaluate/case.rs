//! Where an expression is evaluated: at which values of which axes, and of which runs.

use crate::expression::{Expression, Value};
use crate::file::Depends;

/// The fixed values of some axes.
pub(super) type Key = Vec<Option<u32>>;

/// Values of some axes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Case {
    /// The place of the value of each axis; `None` where the axis is free.
    pub(super) fixed: Key,
    /// Axes that a selection chose: what restricts points does not ask for these.
    pub(super) chosen: Depends,
    /// A selection freed an axis: nothing restricts points.
    pub(super) is_freed: bool,
}

impl Case {
    /// With every axis free.
    pub(super) fn free(axes: usize) -> Self {
        Self {
            fixed: vec![None; axes],
            chosen: 0,
            is_freed: false,
        }
    }

    /// With a value of an axis.
    pub(super) fn with(&self, axis: usize, value: usize) -> Self {
        let mut case = self.clone();
        case.fixed[axis] = Some(value as u32);
        case
    }

    /// The place of the value of an axis.
    pub(super) fn at(&self, axis: usize) -> Option<usize> {
        self.fixed[axis].map(|value| value as usize)
    }

    /// The fixed values of these axes, as a key.
    pub(super) fn key(&self, depends: Depends) -> Key {
        let of = |(axis, value): (usize, &Option<u32>)| match depends & (1 << axis) {
            0 => None,
            _ => *value,
        };
        self.fixed.iter().enumerate().map(of).collect()
    }
}

/// Of which runs a column is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Mode {
    /// Of all runs of a point: their mean.
    Point,
    /// Of one.
    Run(usize),
    /// Of all, added.
    Pooled,
}

/// Where an expression is evaluated.
#[derive(Debug, Clone)]
pub(super) struct Frame<'f> {
    pub(super) case: Case,
    /// What restricts the points over which list functions go.
    pub(super) filter: Option<&'f Expression>,
    pub(super) mode: Mode,
    /// Names of the moment: `value`, `label`, `seed`.
    pub(super) named: &'f [(&'static str, Value)],
}

impl<'f> Frame<'f> {
    /// At a case, of all runs.
    pub(super) fn at(case: Case) -> Self {
        Self {
            case,
            filter: None,
            mode: Mode::Point,
            named: &[],
        }
    }

    /// The same at another case.
    pub(super) fn moved(&self, case: Case) -> Self {
        Self {
            case,
            ..self.clone()
        }
    }

    /// The same of other runs.
    pub(super) fn of(&self, mode: Mode) -> Self {
        Self {
            mode,
            ..self.clone()
        }
    }

    /// The same with points restricted.
    pub(super) fn only(&self, filter: Option<&'f Expression>) -> Self {
        Self {
            filter,
            ..self.clone()
        }
    }
}

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) at: usize,
    pub(crate) why: String,
}

impl Fault {
    pub(super) fn new(at: usize, why: impl Into<String>) -> Self {
        Self {
            at,
            why: why.into(),
        }
    }

    /// A value is none where a number must stand.
    pub(super) fn no_number(at: usize, value: &Value) -> Self {
        Self::new(at, format!("{} is no number", told(value)))
    }
}

/// A value in a message: what is long is cut.
pub(super) fn told(value: &Value) -> String {
    const LONGEST: usize = 80;
    match value {
        Value::List(values) if values.len() > LONGEST / 2 => {
            format!("a list of {} values", values.len())
        }
        Value::Text(text) if text.chars().count() > LONGEST => {
            let begin: String = text.chars().take(LONGEST).collect();
            format!("{begin}…")
        }
        value => value.plain(),
    }
}
