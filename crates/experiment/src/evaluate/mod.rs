//! The values of an experiment file's expressions: at the points of its axes, over the runs of its plan.

mod beside;
mod calls;
mod case;
mod column;
mod given;
mod judge;
mod limits;
mod over;
mod plan;
mod points;
mod present;
mod render;

use std::any::Any;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use serde_json::Value as Json;

use crate::expression::{Binary, Expression, Node, Unary, Value};
use crate::file::{Axis, AxisKind, AxisValue, Definition, Depends, Label, Meaning, Over, Parts};
pub(crate) use beside::Estimates;
pub(crate) use case::Fault;
use case::{Case, Frame, Key, Mode, told};
use column::{Part, Unknown};
use limits::Spent;
use over::reduced;

/// What evaluates a file's expressions.
pub(crate) struct Engine<'a> {
    definition: &'a Definition,
    /// The axes; parts have their values from the results.
    axes: Vec<Axis>,
    labels: Vec<Vec<Value>>,
    /// The points of a covering, in order.
    covered: Option<Vec<Key>>,
    /// The results of each point of the axes that make runs, seed by seed.
    results: HashMap<Key, Vec<RunResult>>,
    /// What was evaluated: figures at the values of the axes on which they depend.
    figures: RefCell<HashMap<(usize, Key, Mode), Value>>,
    /// Whether points are left out.
    passing: RefCell<HashMap<(usize, Key), bool>>,
    /// The columns that were read; why, if no run has one.
    columns: RefCell<BTreeMap<String, Option<Unknown>>>,
    spent: Spent,
}

/// What a run gave.
struct RunResult {
    seed: u64,
    json: Json,
    /// The same for the figures of its measurement, if it has any in Rust.
    measured: Option<Box<dyn Any>>,
}

impl<'a> Engine<'a> {
    /// Without results.
    pub(crate) fn new(definition: &'a Definition) -> Result<Self, Fault> {
        let mut engine = Self {
            definition,
            axes: definition.axes.clone(),
            labels: definition
                .axes
                .iter()
                .map(|axis| vec![Value::None; axis.values.len()])
                .collect(),
            covered: None,
            results: HashMap::new(),
            figures: RefCell::default(),
            passing: RefCell::default(),
            columns: RefCell::default(),
            spent: Spent::default(),
        };
        for axis in 0..engine.axes.len() {
            for value in 0..engine.axes[axis].values.len() {
                let label = match engine.axes[axis].values[value].label.clone() {
                    Label::Value(value) => value,
                    Label::Template(template) => {
                        let case = Case::free(engine.axes.len()).with(axis, value);
                        Value::Text(engine.render(&template, &Frame::at(case))?)
                    }
                };
                engine.may_show(&label, 0)?;
                engine.labels[axis][value] = label;
            }
        }
        engine.forget();
        engine.covered = engine.covering()?;
        engine.forget();
        Ok(engine)
    }

    /// Forgets what was evaluated, because there are other labels or results now.
    fn forget(&mut self) {
        self.figures.get_mut().clear();
        self.passing.get_mut().clear();
        self.spent.forget();
    }

    /// Gives parts their values: those that any result has.
    fn divide(&mut self) {
        for axis in 0..self.axes.len() {
            let AxisKind::Parts(parts) = self.axes[axis].kind else {
                continue;
            };
            let mut labels: Vec<Value> = Vec::new();
            for result in self.in_order() {
                let names = |key: &str| -> Vec<Value> {
                    let all = column::phases(&result.json)
                        .into_iter()
                        .flat_map(move |one| one.get(key)?.as_array());
                    let names = all.flatten().filter_map(|one| one.get("name")?.as_str());
                    names.map(|name| Value::Text(name.to_owned())).collect()
                };
                let found = match parts {
                    Parts::Phases => {
                        let count = column::phases(&result.json).len();
                        (1..=count)
                            .map(|number| Value::Number(number as f64))
                            .collect()
                    }
                    Parts::Groups => names("groups"),
                    Parts::Queues => names("queues"),
                };
                for label in found {
                    if !labels.contains(&label) {
                        labels.push(label);
                    }
                }
            }
            self.axes[axis].values = labels.iter().map(|_| AxisValue::default()).collect();
            self.labels[axis] = labels;
        }
    }

    /// Every result, in the order of the points.
    fn in_order(&self) -> Vec<&RunResult> {
        let mut keys: Vec<&Key> = self.results.keys().collect();
        keys.sort();
        keys.into_iter()
            .flat_map(|key| &self.results[key])
            .collect()
    }

    /// The value of an expression.
    fn value(&self, expression: &Expression, frame: &Frame<'_>) -> Result<Value, Fault> {
        let at = expression.at;
        self.spend(at, 1)?;
        let value = self.deeper(at, || self.evaluated(expression, frame))?;
        if let Value::Text(_) | Value::List(_) = value {
            self.spend(at, self.weigh(&value, at)? / 16)?;
        }
        Ok(value)
    }

    fn evaluated(&self, expression: &Expression, frame: &Frame<'_>) -> Result<Value, Fault> {
        let at = expression.at;
        match &expression.node {
            Node::Value(value) => Ok(value.clone()),
            Node::Quantity(text) => Err(Fault::new(at, format!("{text} has no unit here"))),
            Node::List(all) => {
                let values = all.iter().map(|one| self.value(one, frame));
                Ok(Value::List(self.collected(at, values)?))
            }
            Node::Name(name) => self.name(name, at, frame),
            Node::Published(name) => match self.definition.names.field(name) {
                Some(axis) => self.field(axis, name, at, frame),
                None => Ok(Value::None),
            },
            Node::Column(path) => self.column(path, at, frame),
            Node::Measured(name, arguments) => self.measured(name, arguments, at, frame),
            Node::Call(name, arguments) => self.call(name, arguments, at, frame),
            Node::Each(between, template, filter) => {
                self.each(between, template, filter.as_deref(), frame)
            }
            Node::Written(template) => Ok(self
                .written(template, frame)?
                .map_or(Value::None, Value::Text)),
            Node::Select(of, axes) => match self.selected(axes, frame)? {
                Some(case) => self.value(of, &frame.moved(case)),
                None => Ok(Value::None),
            },
            Node::Unary(operation, of) => {
                let value = self.value(of, frame)?;
                match (operation, value) {
                    (Unary::Not, value) => Ok(Value::Flag(!value.holds())),
                    (Unary::Minus, Value::Number(number)) => Ok(Value::Number(-number)),
                    (Unary::Minus, Value::None) => Ok(Value::None),
                    (Unary::Minus, other) => Err(Fault::no_number(at, &other)),
                }
            }
            Node::Binary(operation, left, right) => self.binary(*operation, left, right, frame),
        }
    }

    fn binary(
        &self,
        operation: Binary,
        left: &Expression,
        right: &Expression,
        frame: &Frame<'_>,
    ) -> Result<Value, Fault> {
        let first = self.value(left, frame)?;
        match operation {
            Binary::And if !first.holds() => return Ok(Value::Flag(false)),
            Binary::Or if first.holds() => return Ok(Value::Flag(true)),
            _ => {}
        }
        let second = self.value(right, frame)?;
        match operation {
            Binary::And | Binary::Or => return Ok(Value::Flag(second.holds())),
            Binary::Equal => return Ok(Value::Flag(first.is(&second))),
            Binary::Unequal => return Ok(Value::Flag(!first.is(&second))),
            Binary::Within => {
                let near = match (&first, &second) {
                    (Value::Number(a), Value::List(near)) => match near.as_slice() {
                        [Value::Number(percent), Value::Number(b)] => {
                            (a - b).abs() <= percent / 100.0 * b.abs()
                        }
                        _ => false,
                    },
                    _ => false,
                };
                return Ok(Value::Flag(near));
            }
            Binary::In => {
                return match second {
                    Value::List(values) => {
                        Ok(Value::Flag(values.iter().any(|value| value.is(&first))))
                    }
                    other => Err(Fault::new(right.at, format!("{} is no list", told(&other)))),
                };
            }
            _ => {}
        }
        let is_comparison = matches!(
            operation,
            Binary::Less | Binary::AtMost | Binary::More | Binary::AtLeast
        );
        let (a, b) = match (&first, &second) {
            (Value::Number(a), Value::Number(b)) => (*a, *b),
            (Value::None, _) | (_, Value::None) if is_comparison => return Ok(Value::Flag(false)),
            (Value::None, _) | (_, Value::None) => return Ok(Value::None),
            (Value::Number(_), other) => {
                return Err(Fault::no_number(right.at, other));
            }
            (other, _) => {
                return Err(Fault::no_number(left.at, other));
            }
        };
        Ok(match operation {
            Binary::Less => Value::Flag(a < b),
            Binary::AtMost => Value::Flag(a <= b),
            Binary::More => Value::Flag(a > b),
            Binary::AtLeast => Value::Flag(a >= b),
            Binary::Plus => Value::Number(a + b),
            Binary::Minus => Value::Number(a - b),
            Binary::Times => Value::Number(a * b),
            Binary::Over => Value::Number(a / b),
            Binary::Power if b.fract() == 0.0 && b.abs() < 64.0 => Value::Number(a.powi(b as i32)),
            Binary::Power => Value::Number(a.powf(b)),
            _ => Value::None,
        })
    }

    fn name(&self, name: &str, at: usize, frame: &Frame<'_>) -> Result<Value, Fault> {
        if let Some((_, value)) = frame.named.iter().find(|(known, _)| *known == name) {
            return Ok(value.clone());
        }
        if name == "seconds" {
            return self.column(name, at, frame);
        }
        match self.definition.names.meaning(name) {
            Some(Meaning::Figure(figure)) => self.figure(figure, at, frame),
            Some(Meaning::Let) => match self.definition.lets.get(name) {
                Some(expression) => self.value(expression, frame),
                None => Ok(Value::None),
            },
            Some(Meaning::Field(axis)) => self.field(axis, name, at, frame),
            Some(Meaning::Axis(axis)) => match frame.case.at(axis) {
                Some(value) => Ok(self.labels[axis][value].clone()),
                None => Err(self.is_free(axis, at)),
            },
            None => Err(Fault::new(at, format!("{name} has no value here"))),
        }
    }

    fn is_free(&self, axis: usize, at: usize) -> Fault {
        let name = &self.axes[axis].name;
        Fault::new(
            at,
            format!("{name} is free here: use a list function such as mean(…), or choose with […]"),
        )
    }

    fn field(&self, axis: usize, name: &str, at: usize, frame: &Frame<'_>) -> Result<Value, Fault> {
        match frame.case.at(axis) {
            Some(value) => Ok(self.axes[axis].values[value]
                .fields
                .get(name)
                .cloned()
                .unwrap_or_default()),
            None => Err(self.is_free(axis, at)),
        }
    }

    /// Whether a case is of what the source printed.
    fn is_published(&self, case: &Case) -> bool {
        let mut fixed = case.fixed.iter().enumerate();
        fixed.any(|(axis, value)| {
            value.is_some_and(|value| self.axes[axis].values[value as usize].is_published)
        })
    }

    fn figure(&self, place: usize, at: usize, frame: &Frame<'_>) -> Result<Value, Fault> {
        let figure = &self.definition.figures[place];
        let depends = self.definition.names.of_figure(place);
        let mode = match figure.over {
            Over::Point => Mode::Point,
            _ => frame.mode,
        };
        let published = self.is_published(&frame.case);
        let depends = if published { Depends::MAX } else { depends };
        let key = (place, frame.case.key(depends), mode);
        if let Some(value) = self.figures.borrow().get(&key) {
            return Ok(value.clone());
        }
        let inner = Frame {
            case: Case {
                fixed: frame.case.fixed.clone(),
                chosen: 0,
                is_freed: false,
            },
            filter: None,
            mode,
            named: &[],
        };
        let value = self.deeper(at, || {
            if !self.exists(figure.filter.as_ref(), &inner)? {
                return Ok(Value::None);
            }
            if published {
                return match (&figure.published, self.definition.names.field(&figure.name)) {
                    (Some(published), _) => self.value(published, &inner.of(Mode::Point)),
                    (None, Some(axis)) => self.field(axis, &figure.name, at, &inner),
                    (None, None) if figure.over == Over::Point => self.value(&figure.of, &inner),
                    (None, None) => Ok(Value::None),
                };
            }
            match (mode, figure.over) {
                (_, Over::Point) | (Mode::Run(_) | Mode::Pooled, _) => {
                    self.value(&figure.of, &inner)
                }
                (Mode::Point, Over::Pooled) => self.value(&figure.of, &inner.of(Mode::Pooled)),
                (Mode::Point, Over::First) => self.value(&figure.of, &inner.of(Mode::Run(0))),
                (Mode::Point, over) => {
                    let runs = 0..self.runs_of(&inner.case, at)?.len();
                    let values = runs.map(|run| self.value(&figure.of, &inner.of(Mode::Run(run))));
                    Ok(reduced(over, self.collected(at, values)?))
                }
            }
        })?;
        if self.may_keep(&value) {
            self.figures.borrow_mut().insert(key, value.clone());
        }
        Ok(value)
    }

    /// The results of the point at which a case is.
    fn runs_of(&self, case: &Case, at: usize) -> Result<&[RunResult], Fault> {
        let runs = self.definition.names.runs();
        for axis in self.definition.names.places(runs) {
            if case.at(axis).is_none() {
                return Err(self.is_free(axis, at));
            }
        }
        Ok(self
            .results
            .get(&case.key(runs))
            .map_or(&[], |results| results))
    }

    fn column(&self, path: &str, at: usize, frame: &Frame<'_>) -> Result<Value, Fault> {
        if self.is_published(&frame.case) {
            return Ok(Value::None);
        }
        let results = self.runs_of(&frame.case, at)?;
        let of = |result: &RunResult| self.read(result, path, at, frame);
        match frame.mode {
            Mode::Run(run) => results.get(run).map_or(Ok(Value::None), of),
            Mode::Pooled => {
                let mut sum = Value::None;
                for result in results {
                    sum = column::add(sum, of(result)?);
                }
                Ok(sum)
            }
            Mode::Point => {
                let values = self.collected(at, results.iter().map(of))?;
                Ok(reduced(Over::Mean, values))
            }
        }
    }

    /// A column of one result.
    fn read(
        &self,
        result: &RunResult,
        path: &str,
        at: usize,
        frame: &Frame<'_>,
    ) -> Result<Value, Fault> {
        let whole = &result.json;
        let mut of = whole;
        if let Some((axis, _)) = self.parts(Parts::Phases)
            && let Some(value) = frame.case.at(axis)
        {
            match column::phases(whole).get(value) {
                Some(phase) => of = phase,
                None => return Ok(Value::None),
            }
        }
        let root = path.split('.').next().unwrap_or_default();
        let within = match self.definition.names.part(root) {
            None => None,
            Some(axis) => {
                let value = frame.case.at(axis).ok_or_else(|| self.is_free(axis, at))?;
                let key = match self.axes[axis].kind {
                    AxisKind::Parts(Parts::Queues) => "queues",
                    _ => "groups",
                };
                let name = self.labels[axis][value].plain();
                let all = column::root(of).get(key).and_then(Json::as_array);
                let found = all
                    .into_iter()
                    .flatten()
                    .find(|one| one.get("name").and_then(Json::as_str) == Some(&name));
                match found {
                    Some(found) => Some(found),
                    None => return Ok(Value::None),
                }
            }
        };
        let read = column::read(Part { of, within, whole }, path);
        let mut columns = self.columns.borrow_mut();
        match (read, columns.get_mut(path)) {
            (Ok(value), Some(unknown)) => {
                *unknown = None;
                Ok(value)
            }
            (Ok(value), None) => {
                columns.insert(path.to_owned(), None);
                Ok(value)
            }
            (Err(unknown), known) => {
                if known.is_none() {
                    columns.insert(path.to_owned(), Some(unknown));
                }
                Ok(Value::None)
            }
        }
    }

    /// The columns that were read, but that no run has: their names, and what is wrong with them.
    fn unknown_columns(&self) -> Vec<(String, String)> {
        let columns = self.columns.borrow();
        let unknown = columns
            .iter()
            .filter_map(|(path, unknown)| Some((path.clone(), unknown.as_ref()?.why())));
        unknown.collect()
    }

    fn parts(&self, parts: Parts) -> Option<(usize, &Axis)> {
        let mut axes = self.axes.iter().enumerate();
        axes.find(|(_, axis)| axis.kind == AxisKind::Parts(parts))
    }
}

#[cfg(test)]
mod tests;
