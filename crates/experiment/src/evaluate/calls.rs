//! Functions in expressions.

use std::any::Any;

use super::Engine;
use super::case::{Case, Fault, Frame, Mode, told};
use super::over::reduced;
use crate::expression::{Expression, Node, Template, Value};
use crate::file::{Meaning, Over};
use crate::function::{self, Args, Named, Unfit};
use crate::statistics;

impl Engine<'_> {
    pub(super) fn call(
        &self,
        name: &str,
        arguments: &[Expression],
        at: usize,
        frame: &Frame<'_>,
    ) -> Result<Value, Fault> {
        let [first, rest @ ..] = arguments else {
            return Err(Fault::new(at, format!("{name} has no values")));
        };
        match (name, rest) {
            ("if", [yes, no]) => {
                let holds = self.value(first, frame)?.holds();
                return self.value(if holds { yes } else { no }, frame);
            }
            ("default", [other]) => {
                let value = self.value(first, frame)?;
                return if value == Value::None {
                    self.value(other, frame)
                } else {
                    Ok(value)
                };
            }
            ("index", []) => return self.index(first, at, frame),
            ("error", []) => {
                let numbers = self.spread(first, frame)?;
                return Ok(match numbers.is_empty() {
                    true => Value::None,
                    false => Value::Number(statistics::mean(numbers).error),
                });
            }
            ("seeds", []) => return Ok(self.spread(first, frame)?.into_iter().collect()),
            ("at", [place]) => return self.element(first, place, frame),
            ("text", [form]) => return self.formed(first, form, at, frame),
            ("min" | "max", [_]) => {}
            (
                "mean" | "sum" | "min" | "max" | "count" | "length" | "first" | "last" | "all"
                | "any" | "list" | "jain",
                [],
            )
            | ("quantile" | "autocorrelation", [_]) => {
                return self.of_list(name, first, rest, at, frame);
            }
            _ => {}
        }
        self.of_numbers(name, arguments, at, frame)
    }

    /// The value at a place of a list, from 0.
    fn element(
        &self,
        of: &Expression,
        place: &Expression,
        frame: &Frame<'_>,
    ) -> Result<Value, Fault> {
        let place = self.value(place, frame)?.number();
        let place = place.filter(|place| *place >= 0.0);
        let values = self.gathered(of, frame)?;
        let found = place.and_then(|place| values.get(place as usize).cloned());
        Ok(found.unwrap_or_default())
    }

    fn formed(
        &self,
        of: &Expression,
        form: &Expression,
        at: usize,
        frame: &Frame<'_>,
    ) -> Result<Value, Fault> {
        let (value, form) = (self.value(of, frame)?, self.value(form, frame)?);
        self.may_show(&value, at)?;
        let form = told(&form);
        let formed = value.formed(&form);
        let text = formed.ok_or_else(|| Fault::new(at, format!("{form:?} is no form")))?;
        self.wrote(text.len())?;
        Ok(match value {
            Value::None => Value::None,
            _ => Value::Text(text),
        })
    }

    /// A function of numbers; of none it is none.
    fn of_numbers(
        &self,
        name: &str,
        arguments: &[Expression],
        at: usize,
        frame: &Frame<'_>,
    ) -> Result<Value, Fault> {
        let values = arguments.iter().map(|one| self.value(one, frame));
        let values = self.collected(at, values)?;
        if values.contains(&Value::None) {
            return Ok(Value::None);
        }
        let number = |place: usize| {
            let argument = &arguments[place];
            let value = &values[place];
            value
                .number()
                .ok_or_else(|| Fault::no_number(argument.at, value))
        };
        let first = number(0)?;
        Ok(Value::Number(match name {
            "sqrt" => first.sqrt(),
            "cbrt" => first.cbrt(),
            "ln" => first.ln(),
            "abs" => first.abs(),
            "floor" => first.floor(),
            "round" => first.round(),
            "min" => first.min(number(1)?),
            "max" => first.max(number(1)?),
            "mod" => first.rem_euclid(number(1)?),
            "hypot" => first.hypot(number(1)?),
            "circular" => statistics::circular(first, number(1)?, number(2)?),
            "finite" => return Ok(Value::Flag(first.is_finite())),
            _ => return Err(Fault::new(at, format!("{name} cannot be used so"))),
        }))
    }

    /// The place of an axis's value, from 0; what the source printed does not count.
    fn index(&self, of: &Expression, at: usize, frame: &Frame<'_>) -> Result<Value, Fault> {
        let axis = match &of.node {
            Node::Name(name) => self.definition.names.axis(name),
            _ => None,
        };
        let axis = axis.ok_or_else(|| Fault::new(at, "index has the name of an axis"))?;
        let Some(place) = frame.case.at(axis) else {
            return Err(self.is_free(axis, at));
        };
        let ours = self.ours(axis).position(|one| one == place);
        Ok(ours.map(|place| place as f64).into())
    }

    fn of_list(
        &self,
        name: &str,
        of: &Expression,
        rest: &[Expression],
        at: usize,
        frame: &Frame<'_>,
    ) -> Result<Value, Fault> {
        let mut values = self.gathered(of, frame)?;
        match name {
            "count" => {
                let count = values.iter().filter(|value| value.holds()).count();
                return Ok(Value::Number(count as f64));
            }
            "all" => return Ok(Value::Flag(values.iter().all(Value::holds))),
            "any" => return Ok(Value::Flag(values.iter().any(Value::holds))),
            _ => values.retain(|value| *value != Value::None),
        }
        match name {
            "length" => return Ok(Value::Number(values.len() as f64)),
            "first" => return Ok(values.into_iter().next().unwrap_or_default()),
            "last" => return Ok(values.pop().unwrap_or_default()),
            "list" => return Ok(Value::List(values)),
            _ => {}
        }
        let number = |value: &Value| value.number().ok_or_else(|| Fault::no_number(at, value));
        let mut numbers: Vec<f64> = values.iter().map(number).collect::<Result<_, _>>()?;
        if numbers.is_empty() {
            return Ok(if name == "sum" {
                Value::Number(0.0)
            } else {
                Value::None
            });
        }
        let second = match rest.first() {
            Some(second) => self.value(second, frame)?.number().unwrap_or(f64::NAN),
            None => f64::NAN,
        };
        Ok(Value::Number(match name {
            "mean" => return Ok(reduced(Over::Mean, values)),
            "sum" => numbers.iter().fold(0.0, |sum, number| sum + number),
            "min" => numbers.iter().copied().fold(f64::INFINITY, f64::min),
            "max" => numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            "jain" => {
                let (sum, squares) = numbers
                    .iter()
                    .fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
                sum * sum / (numbers.len() as f64 * squares)
            }
            "quantile" => {
                numbers.sort_by(f64::total_cmp);
                let place = (numbers.len() as f64 * second) as usize;
                numbers[place.min(numbers.len() - 1)]
            }
            "autocorrelation" => match second >= 0.0 && (second as usize) < numbers.len() {
                true => statistics::autocorrelation(&numbers, second as usize),
                false => return Err(Fault::new(at, "the lag is longer than the list")),
            },
            _ => return Err(Fault::new(at, format!("{name} takes no list"))),
        }))
    }

    /// The cases over which a list function goes: of the free axes on which its value depends.
    fn completions(
        &self,
        depends: u64,
        frame: &Frame<'_>,
    ) -> Result<impl Iterator<Item = Result<Case, Fault>>, Fault> {
        let axes = self.definition.names.places(depends).into_iter();
        let axes: Vec<usize> = axes.filter(|axis| frame.case.at(*axis).is_none()).collect();
        let is_alone = axes.is_empty();
        let cases = self.product(&axes, &frame.case, false)?;
        Ok(cases.filter_map(move |case| {
            let is_wanted = match is_alone {
                true => Ok(true),
                false => self.is_wanted(&case, frame),
            };
            match is_wanted {
                Ok(true) => Some(Ok(case)),
                Ok(false) => None,
                Err(fault) => Some(Err(fault)),
            }
        }))
    }

    /// The values of a list function, those that are none too; lists are joined.
    fn gathered(&self, of: &Expression, frame: &Frame<'_>) -> Result<Vec<Value>, Fault> {
        let (mut values, mut total) = (Vec::new(), 0);
        for case in self.completions(self.definition.names.depends(of), frame)? {
            match self.value(of, &frame.moved(case?))? {
                Value::List(list) => {
                    for value in list {
                        self.collect(of.at, &mut values, &mut total, value)?;
                    }
                }
                value => self.collect(of.at, &mut values, &mut total, value)?,
            }
        }
        self.spend(of.at, total / 16)?;
        Ok(values)
    }

    pub(super) fn each(
        &self,
        between: &str,
        template: &Template,
        filter: Option<&Expression>,
        frame: &Frame<'_>,
    ) -> Result<Value, Fault> {
        let all = template.expressions().chain(filter);
        let depends = all.fold(0, |all, one| all | self.definition.names.depends(one));
        let mut joined: Option<String> = None;
        for case in self.completions(depends, frame)? {
            let frame = frame.moved(case?);
            let is_wanted = match filter {
                Some(filter) => self.value(filter, &frame)?.holds(),
                None => true,
            };
            if is_wanted {
                let text = self.render(template, &frame)?;
                match &mut joined {
                    Some(joined) => {
                        self.append(joined, between)?;
                        self.append(joined, &text)?;
                    }
                    None => joined = Some(text),
                }
            }
        }
        Ok(joined.map_or(Value::None, Value::Text))
    }

    /// The numbers behind a mean: of the runs of a figure, or those that `mean` goes over.
    pub(super) fn spread(&self, of: &Expression, frame: &Frame<'_>) -> Result<Vec<f64>, Fault> {
        match &of.node {
            Node::Select(inner, axes) => match self.selected(axes, frame)? {
                Some(case) => return self.spread(inner, &frame.moved(case)),
                None => return Ok(Vec::new()),
            },
            Node::Call(name, arguments) if name == "mean" => {
                let values = self.gathered(&arguments[0], frame)?;
                return Ok(values.iter().filter_map(Value::number).collect());
            }
            Node::Name(name) => match self.definition.names.meaning(name) {
                Some(Meaning::Figure(place))
                    if self.definition.figures[place].over == Over::Point =>
                {
                    return self.deeper(of.at, || {
                        self.spread(&self.definition.figures[place].of, &frame.only(None))
                    });
                }
                Some(Meaning::Let) => {
                    return self.deeper(of.at, || match self.definition.lets.get(name) {
                        Some(inner) => self.spread(inner, frame),
                        None => Ok(Vec::new()),
                    });
                }
                _ => {}
            },
            _ => {}
        }
        let mut numbers = Vec::new();
        self.spend(of.at, 1)?;
        for run in 0..self.runs_of(&frame.case, of.at)?.len() {
            numbers.extend(self.value(of, &frame.of(Mode::Run(run)))?.number());
        }
        Ok(numbers)
    }

    pub(super) fn measured(
        &self,
        name: &str,
        arguments: &[Expression],
        at: usize,
        frame: &Frame<'_>,
    ) -> Result<Value, Fault> {
        let fault = |why: Unfit| Fault::new(at, format!("{name}: {why}"));
        let named = function::of_measurement(name)
            .ok_or_else(|| fault(Unfit::new("there is no such function")))?;
        let figure = match named {
            Named::List(of) => {
                let [first, rest @ ..] = arguments else {
                    return Err(fault(Unfit::new("has no list")));
                };
                let numbers = |values: Vec<Value>| {
                    values
                        .iter()
                        .filter_map(Value::number)
                        .collect::<Vec<f64>>()
                };
                let list = numbers(self.gathered(first, frame)?);
                let rest = self.collected(at, rest.iter().map(|one| self.value(one, frame)))?;
                return of(&list, &numbers(rest)).map(Value::Number).map_err(fault);
            }
            Named::Measurement(figure) => figure,
        };
        if self.is_published(&frame.case) {
            return Ok(Value::None);
        }
        let values = self.collected(at, arguments.iter().map(|one| self.value(one, frame)))?;
        let results = self.runs_of(&frame.case, at)?;
        let runs: Vec<&dyn Any> = results
            .iter()
            .filter_map(|result| result.measured.as_deref())
            .collect();
        let args = Args(&values);
        match frame.mode {
            Mode::Run(run) => runs
                .get(run)
                .map_or(Ok(Value::None), |run| figure(&[*run], &args).map_err(fault)),
            Mode::Pooled => figure(&runs, &args).map_err(fault),
            Mode::Point => {
                let all = runs.iter().map(|run| figure(&[*run], &args).map_err(fault));
                Ok(reduced(Over::Mean, self.collected(at, all)?))
            }
        }
    }
}
