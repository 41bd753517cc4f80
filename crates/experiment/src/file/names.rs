//! What the names of expressions mean, and on which axes an expression depends.

use std::collections::{BTreeMap, BTreeSet};

use quell_lab::scenario::tree::Node as Place;
use quell_lab::scenario::{Problem, closest};

use super::definition::{Axis, AxisKind, Figure, MOST_NAMES, MOST_PROBLEMS, Parts};
use crate::expression::{Expression, Node};
use crate::function;

/// A set of axes: a bit for each.
pub(crate) type Depends = u64;

/// What a name means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    Figure(usize),
    Let,
    Field(usize),
    Axis(usize),
}

/// The names of a file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    meanings: BTreeMap<String, Meaning>,
    /// Fields that have the name of a figure: what the source printed of it.
    fields: BTreeMap<String, usize>,
    axes: Vec<String>,
    /// On what a column depends: the axes that make runs, and those that divide results.
    runs: Depends,
    phases: Depends,
    /// Axes of groups or queues: the first part of their columns.
    parts: BTreeMap<String, usize>,
    figures: Vec<Depends>,
    lets: BTreeMap<String, Depends>,
    used: Vec<(Problem, Expression)>,
    functions: BTreeSet<String>,
    repeated: Vec<String>,
}

/// What functions of lists begin with; those of measurements begin with the measurement.
pub(crate) const LIST: &str = "list.";
/// Bytes of a name at most for which a similar one is looked for.
const LONGEST_MEANT: usize = 64;
/// Words that have a meaning where a check or a number is shown.
const SHOWN: [&str; 4] = ["seconds", "seed", "value", "label"];

impl Names {
    /// An expression that the file has: its names are checked later.
    pub(super) fn used(&mut self, file: &str, key: &str, node: &Place, expression: &Expression) {
        let problem = Problem {
            file: file.to_owned(),
            origin: node.origin.clone(),
            key: key.to_owned(),
            found: None,
            allowed: String::new(),
        };
        self.used.push((problem, expression.clone()));
    }

    /// The names that the file declares.
    pub(crate) fn declare(
        &mut self,
        axes: &[Axis],
        lets: &BTreeMap<String, Expression>,
        figures: &[Figure],
    ) {
        for (at, axis) in axes.iter().enumerate() {
            let bit = 1 << at.min(63);
            match axis.kind {
                AxisKind::Runs => self.runs |= bit,
                AxisKind::Parts(Parts::Phases) => self.phases |= bit,
                AxisKind::Parts(_) => {
                    self.parts.insert(axis.name.clone(), at);
                }
                AxisKind::Loose => {}
            }
            self.axes.push(axis.name.clone());
            self.mean(&axis.name, Meaning::Axis(at));
        }
        for (name, at) in axes
            .iter()
            .enumerate()
            .flat_map(|(at, axis)| axis.fields().into_iter().map(move |name| (name, at)))
        {
            if self.fields.insert(name.to_owned(), at).is_some() {
                self.repeated.push(format!("{name} is a field of two axes"));
            }
        }
        for name in lets.keys() {
            self.mean(name, Meaning::Let);
        }
        for (at, figure) in figures.iter().enumerate() {
            self.mean(&figure.name, Meaning::Figure(at));
        }
        for (name, at) in self.fields.clone() {
            if !matches!(self.meanings.get(&name), Some(Meaning::Figure(_))) {
                self.mean(&name, Meaning::Field(at));
            }
        }
        self.figures = vec![0; figures.len()];
        self.lets = BTreeMap::new();
        self.follow(lets, figures);
    }

    fn mean(&mut self, name: &str, meaning: Meaning) {
        if self.meanings.insert(name.to_owned(), meaning).is_some() {
            self.repeated
                .push(format!("{name} has two meanings: rename one"));
        }
    }

    /// Finds on what lets and figures depend, those before them on which they are built, and what goes in a circle.
    fn follow(&mut self, lets: &BTreeMap<String, Expression>, figures: &[Figure]) {
        let meanings = self.meanings.clone();
        let of = |name: &str| -> Vec<&Expression> {
            match meanings.get(name) {
                Some(Meaning::Let) => lets.get(name).into_iter().collect(),
                Some(Meaning::Figure(at)) => {
                    let figure = &figures[*at];
                    std::iter::once(&figure.of).chain(&figure.filter).collect()
                }
                _ => Vec::new(),
            }
        };
        let mut found = Vec::new();
        let mut known: BTreeMap<&str, bool> = BTreeMap::new();
        for name in meanings.keys().map(String::as_str) {
            // Depth first, without recursion: names in progress are `false`.
            let mut stack = vec![(name, false)];
            while let Some((name, is_left)) = stack.pop() {
                if is_left {
                    known.insert(name, true);
                    let depends = of(name).into_iter();
                    let depends = depends.fold(0, |all, one| all | self.depends(one));
                    match meanings.get(name) {
                        Some(Meaning::Figure(at)) => self.figures[*at] = depends,
                        Some(Meaning::Let) => drop(self.lets.insert(name.to_owned(), depends)),
                        _ => {}
                    }
                    continue;
                }
                match known.get(name) {
                    Some(true) => continue,
                    Some(false) => {
                        found.push(format!("{name} is made of itself"));
                        continue;
                    }
                    None => {}
                }
                known.insert(name, false);
                stack.push((name, true));
                let mut inner: Vec<&Expression> = of(name);
                while let Some(one) = inner.pop() {
                    if let Node::Name(used) = &one.node
                        && let Some((used, _)) = meanings.get_key_value(used)
                    {
                        stack.push((used, false));
                    }
                    inner.extend(one.parts());
                }
            }
        }
        self.repeated.extend(found);
    }

    /// What is wrong with the names of the file's expressions.
    pub(crate) fn problems(&mut self, file: &str) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (place, expression) in std::mem::take(&mut self.used) {
            if problems.len() >= MOST_PROBLEMS {
                break;
            }
            let mut inner = vec![&expression];
            while let Some(one) = inner.pop() {
                if let Node::Measured(name, _) = &one.node {
                    let of = name.split('.').next().unwrap_or_default();
                    self.functions.insert(of.to_owned());
                }
                if problems.len() < MOST_PROBLEMS
                    && let Some(why) = self.problem(one)
                {
                    let allowed = format!("at character {}: {why}", one.at + 1);
                    problems.push(Problem {
                        allowed,
                        ..place.clone()
                    });
                }
                inner.extend(one.parts());
            }
        }
        for allowed in std::mem::take(&mut self.repeated)
            .into_iter()
            .take(MOST_PROBLEMS)
        {
            problems.push(Problem {
                file: file.to_owned(),
                origin: quell_lab::scenario::Origin::Line(1),
                key: String::new(),
                found: None,
                allowed,
            });
        }
        problems
    }

    fn problem(&self, one: &Expression) -> Option<String> {
        let unknown = |what: &str, name: &str, known: Vec<&str>| {
            let usual = |name: &&str| name.len() <= LONGEST_MEANT;
            let known = known.into_iter().filter(usual).take(MOST_NAMES);
            let meant = usual(&name).then(|| closest(name, known)).flatten();
            let meant = meant.map_or(String::new(), |meant| format!("; did you mean {meant}?"));
            Some(format!("there is no {what} {name}{meant}"))
        };
        match &one.node {
            Node::Name(name)
                if !self.meanings.contains_key(name) && !SHOWN.contains(&name.as_str()) =>
            {
                unknown(
                    "figure, field or axis",
                    name,
                    self.meanings.keys().map(String::as_str).collect(),
                )
            }
            Node::Published(name) if !self.fields.contains_key(name) => unknown(
                "field",
                name,
                self.fields.keys().map(String::as_str).collect(),
            ),
            Node::Call(name, arguments) => match function::arguments_of(name) {
                None => unknown("function", name, function::names().collect()),
                Some(range) if !range.contains(&arguments.len()) => {
                    let (least, most) = (range.start(), range.end());
                    Some(format!(
                        "{name} takes {least} to {most} values, not {}",
                        arguments.len()
                    ))
                }
                Some(_) => None,
            },
            Node::Measured(name, _) if function::of_measurement(name).is_none() => unknown(
                "function of a measurement",
                name,
                function::measured_names().collect(),
            ),
            Node::Select(_, axes) => axes.iter().find_map(|(axis, _)| match self.axis(axis) {
                Some(_) => None,
                None => unknown("axis", axis, self.axes.iter().map(String::as_str).collect()),
            }),
            _ => None,
        }
    }

    /// What the functions in Rust that expressions name begin with: measurements, and `list`.
    pub(crate) fn functions(&self) -> impl Iterator<Item = &str> {
        self.functions.iter().map(String::as_str)
    }

    /// What a name means.
    pub(crate) fn meaning(&self, name: &str) -> Option<Meaning> {
        self.meanings.get(name).copied()
    }

    /// The axis whose values have the field.
    pub(crate) fn field(&self, name: &str) -> Option<usize> {
        self.fields.get(name).copied()
    }

    /// The place of an axis.
    pub(crate) fn axis(&self, name: &str) -> Option<usize> {
        self.axes.iter().position(|axis| axis == name)
    }

    /// The axis of groups or queues with this name.
    pub(crate) fn part(&self, name: &str) -> Option<usize> {
        self.parts.get(name).copied()
    }

    /// The axes that make runs.
    pub(crate) fn runs(&self) -> Depends {
        self.runs
    }

    /// The axes on which an expression depends.
    pub(crate) fn depends(&self, expression: &Expression) -> Depends {
        match &expression.node {
            Node::Name(name) if name == "seconds" => self.runs | self.phases,
            Node::Name(name) => match self.meaning(name) {
                Some(Meaning::Figure(at)) => self.figures.get(at).copied().unwrap_or(0),
                Some(Meaning::Let) => self.lets.get(name).copied().unwrap_or(0),
                Some(Meaning::Field(at) | Meaning::Axis(at)) => 1 << at,
                None => 0,
            },
            Node::Published(name) => self.field(name).map_or(0, |at| 1 << at),
            Node::Column(name) if name.starts_with("whole.") => self.runs,
            Node::Column(name) => {
                let root = name.split('.').next().unwrap_or_default();
                self.runs | self.phases | self.parts.get(root).map_or(0, |at| 1 << at)
            }
            Node::Measured(name, _) if !name.starts_with(LIST) => {
                let inner = expression
                    .parts()
                    .into_iter()
                    .map(|part| self.depends(part));
                inner.fold(self.runs, |all, one| all | one)
            }
            Node::Select(of, axes) => {
                let selected = axes.iter().filter_map(|(axis, _)| self.axis(axis));
                let selected = selected.fold(0, |all: Depends, at| all | (1 << at));
                let values = axes.iter().filter_map(|(_, value)| value.as_ref());
                let values = values.fold(0, |all, value| all | self.depends(value));
                (self.depends(of) & !selected) | values
            }
            _ => {
                let inner = expression
                    .parts()
                    .into_iter()
                    .map(|part| self.depends(part));
                inner.fold(0, |all, one| all | one)
            }
        }
    }

    /// The axes on which a figure depends.
    pub(crate) fn of_figure(&self, place: usize) -> Depends {
        self.figures.get(place).copied().unwrap_or(0)
    }

    /// The places of the axes in a set, in order.
    pub(crate) fn places(&self, depends: Depends) -> Vec<usize> {
        (0..self.axes.len())
            .filter(|at| depends & (1 << at) != 0)
            .collect()
    }

    /// Whether an expression reads results itself, and not only through figures; `lets` are the names of `[let]` that do.
    pub(super) fn reads(expression: &Expression, lets: &BTreeSet<String>) -> bool {
        match &expression.node {
            Node::Column(_) => true,
            Node::Measured(name, _) if !name.starts_with(LIST) => true,
            Node::Name(name) => name == "seconds" || lets.contains(name),
            _ => expression
                .parts()
                .into_iter()
                .any(|one| Self::reads(one, lets)),
        }
    }
}
