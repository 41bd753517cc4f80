//! Whether an expectation is met, and by how much it is not.

use std::cmp::Ordering;

use serde_json::Value as Json;

use super::names::{Kind, Names};
use super::{Fitted, Over, column, comparison};
use crate::evaluate::{Engine, Fault};
use crate::expression::{Binary, Expression, Node, Unary, Value};
use crate::file::Definition;

/// So many seeds are named one by one.
const MOST_NAMED: usize = 4;

/// Values that a percentile needs: of fewer it is one of the last of them.
const NEEDED: [(&str, f64); 3] = [("p90", 10.0), ("p99", 100.0), ("p999", 1_000.0)];

/// What counts the values of a distribution by how the distribution's name begins.
const COUNTED: [(&str, &str); 11] = [
    ("completion_", "completed"),
    ("normalised_", "completed"),
    ("page_load_", "pages_completed"),
    ("half_bytes_ms", "pages_completed"),
    ("network_ms", "pages_completed"),
    ("object_ms", "objects_completed"),
    ("one_way_delay_ms", "received"),
    ("mouth_to_ear_ms", "received"),
    ("playout_delay_ms", "received"),
    ("frame_delay_ms", "complete"),
    ("delay_ms", "packets"),
];

/// An expectation beside what came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// The condition as it was written.
    pub text: String,
    /// Its reason; empty without one.
    pub why: String,
    /// Whether it holds.
    pub is_met: bool,
    /// Whether the command fails where it does not hold.
    pub is_error: bool,
    /// What came out, in words.
    pub found: String,
}

/// Of which runs a value is.
#[derive(Clone, Copy)]
enum Of {
    Run(usize),
    Mean,
    Median,
}

/// A comparison in one run, or over all.
struct Side {
    /// The seed and its number of runs before.
    run: usize,
    left: Value,
    right: Value,
    holds: bool,
}

impl Fitted {
    /// Judges the results of the runs, each with its seed.
    pub fn judge(&self, runs: &[(u64, Json)]) -> Judged {
        let definition = Definition::default();
        let judged = Engine::new(&definition).and_then(|mut engine| {
            engine.take_runs(runs.iter().cloned());
            let seeds: Vec<u64> = runs.iter().map(|(seed, _)| *seed).collect();
            Bench {
                engine,
                seeds,
                fitted: self,
            }
            .judge()
        });
        let (is_met, found) = judged.unwrap_or_else(|fault| (false, fault.why));
        Judged {
            text: self.of.text.clone(),
            why: self.of.why.clone(),
            is_met,
            is_error: self.of.is_error,
            found,
        }
    }
}

impl Names {
    /// Every figure by its shortest name, with its value in each of these results; without any, with what it is and its units.
    pub fn list(&self, results: &[Json]) -> Vec<[String; 2]> {
        let definition = Definition::default();
        let mut engine = Engine::new(&definition).ok();
        if let Some(engine) = &mut engine {
            engine.take_runs((0..).zip(results.iter().cloned()));
        }
        let value = |column: &Expression, run: usize| engine.as_ref()?.of_run(column, run).ok();
        let listed = self.shortest().map(|(name, full, kind)| {
            let column = column(&full);
            let values = (0..results.len()).map(|run| match value(&column, run) {
                None | Some(Value::None) => "-".to_owned(),
                Some(value) => with_unit(&value, kind, false),
            });
            let values: Vec<String> = values.collect();
            match values.is_empty() {
                true => [name, kind.words().to_owned()],
                false => [name, values.join(", ")],
            }
        });
        listed.collect()
    }
}

/// The results, and what is expected of them.
struct Bench<'a> {
    engine: Engine<'a>,
    seeds: Vec<u64>,
    fitted: &'a Fitted,
}

impl Bench<'_> {
    fn judge(&self) -> Result<(bool, String), Fault> {
        if self.seeds.is_empty() {
            return Ok((false, "there is no result".to_owned()));
        }
        for figure in self.fitted.names.iter().filter(|figure| figure.is_needed) {
            for run in 0..self.seeds.len() {
                let is_none = self.engine.of_run(&figure.column(), run)? == Value::None;
                let few = self.few(&figure.name, run);
                if is_none || few.is_some() {
                    let (seed, few) = (self.with_seed(run), few.unwrap_or_default());
                    return Ok((false, format!("{} has no value{seed}{few}", figure.name)));
                }
            }
        }
        let of = match self.fitted.of.over {
            Over::Mean => vec![Of::Mean],
            Over::Median => vec![Of::Median],
            Over::Each | Over::Worst => (0..self.seeds.len()).map(Of::Run).collect(),
        };
        let Some((operation, left, right)) = comparison(&self.fitted.resolved.node) else {
            return self.joined(&of);
        };
        let mut sides = Vec::new();
        for (run, of) in of.iter().enumerate() {
            sides.push(Side {
                run,
                left: self.side(left, *of)?,
                right: self.side(right, *of)?,
                holds: self.holds(&self.fitted.resolved, *of)?,
            });
        }
        let is_met = sides.iter().all(|side| side.holds);
        let number = |value: &Value| match value {
            Value::List(near) => near.last().and_then(Value::number),
            value => value.number(),
        };
        let excess = |side: &Side| {
            let (left, right) = number(&side.left)
                .zip(number(&side.right))
                .unwrap_or_default();
            match operation {
                Binary::More | Binary::AtLeast => right - left,
                Binary::Less | Binary::AtMost => left - right,
                _ => (left - right).abs(),
            }
        };
        let by_excess = |one: &Side, other: &Side| {
            let by = excess(other)
                .partial_cmp(&excess(one))
                .unwrap_or(Ordering::Equal);
            one.holds.cmp(&other.holds).then(by)
        };
        sides.sort_by(by_excess);
        let is_constant = !has_column(right);
        let one = |side: &Side| self.show(side, number(&side.right), is_constant);
        let place = match (self.fitted.of.over, self.seeds.len()) {
            (_, 1) => return Ok((is_met, one(&sides[0]))),
            (Over::Mean | Over::Median, _) => self.over(of[0]),
            (Over::Each, many) if !is_met => return Ok((is_met, self.each(&sides, many, one))),
            (_, many) => format!(
                " in the worst of {many} seeds (seed {})",
                self.seeds[sides[0].run]
            ),
        };
        let (value, off) = one(&sides[0]).split_once(", ").map_or_else(
            || (one(&sides[0]), String::new()),
            |(value, off)| (value.to_owned(), format!(", {off}")),
        );
        let others = sides[1..].iter().take(MOST_NAMED);
        let others: Vec<String> = others.map(|side| self.text(&side.left)).collect();
        let others = match (is_met, others.is_empty()) {
            (false, false) => format!("; others {}", others.join(", ")),
            _ => String::new(),
        };
        Ok((is_met, format!("{value}{place}{off}{others}")))
    }

    /// That a percentile is made of too few values, or a figure of none; nothing where there are enough, or nobody counted.
    fn few(&self, name: &str, run: usize) -> Option<String> {
        let (distribution, part) = name.rsplit_once('.')?;
        let needed = NEEDED.iter().find(|(percentile, _)| *percentile == part);
        let counted = counted(distribution)?;
        let column = column(&counted);
        let count = self.engine.of_run(&column, run).ok()?.number()?;
        let counted = counted.rsplit('.').next().unwrap_or_default();
        match needed {
            Some((part, needed)) if count < *needed => {
                let count = number(count);
                Some(format!(": {counted} is {count}, a {part} needs {needed}"))
            }
            _ => None,
        }
    }

    /// The seeds that fail, one by one, and how many do not.
    fn each(&self, sides: &[Side], many: usize, one: impl Fn(&Side) -> String) -> String {
        let failed = sides.iter().filter(|side| !side.holds);
        let (count, named) = (failed.clone().count(), failed.take(MOST_NAMED));
        let named = named.map(|side| format!("{} (seed {})", one(side), self.seeds[side.run]));
        let mut words: Vec<String> = named.collect();
        if count > words.len() {
            words.push(format!("and {} more", count - words.len()));
        }
        format!("with {count} of {many} seeds: {}", words.join("; "))
    }

    /// Several comparisons: whether they hold together, and the values of the figures.
    fn joined(&self, of: &[Of]) -> Result<(bool, String), Fault> {
        let mut first = of[0];
        let mut is_met = true;
        for of in of {
            if !self.holds(&self.fitted.resolved, *of)? && is_met {
                (is_met, first) = (false, *of);
            }
        }
        let mut words = Vec::new();
        for figure in &self.fitted.names {
            let value = self.value(&figure.column(), first)?;
            let value = with_unit(&value, figure.kind, self.in_percent());
            words.push(format!("{} is {value}", figure.name));
        }
        let place = match first {
            Of::Run(run) => self.with_seed(run),
            of => self.over(of),
        };
        Ok((is_met, format!("{}{place}", words.join(", "))))
    }

    fn over(&self, of: Of) -> String {
        let how = if matches!(of, Of::Mean) {
            "mean"
        } else {
            "median"
        };
        format!(" in the {how} of {} seeds", self.seeds.len())
    }

    fn with_seed(&self, run: usize) -> String {
        match self.seeds.len() {
            1 => String::new(),
            _ => format!(" with seed {}", self.seeds[run]),
        }
    }

    /// Whether a condition holds.
    fn holds(&self, condition: &Expression, of: Of) -> Result<bool, Fault> {
        match &condition.node {
            Node::Binary(Binary::And, left, right) => {
                Ok(self.holds(left, of)? && self.holds(right, of)?)
            }
            Node::Binary(Binary::Or, left, right) => {
                Ok(self.holds(left, of)? || self.holds(right, of)?)
            }
            Node::Unary(Unary::Not, inner) => Ok(!self.holds(inner, of)?),
            Node::Binary(operation, left, right) => {
                let side = |side| Ok(Box::new(constant(self.side(side, of)?)));
                let node = Node::Binary(*operation, side(left)?, side(right)?);
                let at = condition.at;
                Ok(self.engine.given(&Expression { at, node })?.holds())
            }
            _ => Ok(false),
        }
    }

    /// The value of a side of a comparison. Nothing, and what a division by nothing gives, cannot be compared.
    fn side(&self, side: &Expression, of: Of) -> Result<Value, Fault> {
        match self.value(side, of)? {
            Value::Number(number) if number.is_finite() => Ok(Value::Number(number)),
            Value::Number(_) | Value::None => Err(Fault {
                at: side.at,
                why: "a side of the comparison has no value".to_owned(),
            }),
            other => Ok(other),
        }
    }

    /// The value of an expression.
    fn value(&self, side: &Expression, of: Of) -> Result<Value, Fault> {
        if let Of::Run(run) = of {
            return self.engine.of_run(side, run);
        }
        if let Node::List(parts) = &side.node {
            let parts = parts.iter().map(|part| self.value(part, of));
            return Ok(Value::List(parts.collect::<Result<_, _>>()?));
        }
        let runs = 0..self.seeds.len();
        let values = runs.map(|run| self.engine.of_run(side, run));
        let values: Vec<Value> = values.collect::<Result<_, _>>()?;
        let mut numbers: Vec<f64> = values.iter().filter_map(Value::number).collect();
        if numbers.len() < values.len() {
            // Words: what all runs share.
            let first = values[0].clone();
            let is_shared = values.iter().all(|value| *value == first);
            return Ok(if is_shared { first } else { Value::None });
        }
        numbers.sort_by(f64::total_cmp);
        let (middle, count) = (numbers.len() / 2, numbers.len() as f64);
        Ok(Value::Number(match of {
            Of::Median if numbers.len().is_multiple_of(2) => {
                (numbers[middle - 1] + numbers[middle]) / 2.0
            }
            Of::Median => numbers[middle],
            _ => numbers.iter().sum::<f64>() / count,
        }))
    }

    /// The value, and by how much it misses the bound.
    fn show(&self, side: &Side, bound: Option<f64>, is_constant: bool) -> String {
        let value = self.text(&side.left);
        let against = match (is_constant, bound) {
            (false, Some(bound)) => format!(" against {}", self.text(&Value::Number(bound))),
            _ => String::new(),
        };
        let off = match (side.holds, side.left.number(), bound) {
            (false, Some(value), Some(bound)) if bound != 0.0 && value != bound => {
                let percent = 100.0 * (value - bound).abs() / bound.abs();
                let way = if value > bound { "above" } else { "below" };
                format!(", {} % {way}", number(percent))
            }
            _ => String::new(),
        };
        format!("{value}{against}{off}")
    }

    fn in_percent(&self) -> bool {
        self.fitted.of.text.contains('%')
    }

    /// A value of the left side in the unit of its figure.
    fn text(&self, value: &Value) -> String {
        with_unit(value, self.fitted.kind, self.in_percent())
    }
}

/// A value in its unit; a share `in_percent` where it is one.
fn with_unit(value: &Value, kind: Kind, in_percent: bool) -> String {
    let Value::Number(value) = value else {
        return match value {
            Value::None => "nothing".to_owned(),
            value => value.plain(),
        };
    };
    let scaled = |units: &[(f64, &str)]| {
        let fits = |(size, _): &&(f64, &str)| value.abs() >= *size;
        let (size, unit) = units.iter().find(fits).unwrap_or(&units[units.len() - 1]);
        format!("{} {unit}", number(value / size))
    };
    match kind {
        Kind::Time(1.0) => format!("{} s", number(*value)),
        Kind::Time(1e-9) => format!("{} ns", number(*value)),
        Kind::Time(_) => format!("{} ms", number(*value)),
        Kind::Rate => scaled(&[
            (1e9, "Gbit/s"),
            (1e6, "Mbit/s"),
            (1e3, "kbit/s"),
            (1.0, "bit/s"),
        ]),
        Kind::Bytes => scaled(&[(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")]),
        Kind::Percent => format!("{} %", number(*value)),
        Kind::Share if in_percent => {
            format!("{} %", number(value * 100.0))
        }
        _ => number(*value),
    }
}

/// The column that counts the values of a distribution, or no fewer.
fn counted(distribution: &str) -> Option<String> {
    let (around, name) = distribution.rsplit_once('.')?;
    let plain = name.strip_prefix("back_").unwrap_or(name);
    let back = &name[..name.len() - plain.len()];
    let mut all = COUNTED.iter();
    let (_, count) = all.find(|(begin, _)| plain.starts_with(begin))?;
    Some(format!("{around}.{back}{count}"))
}

fn constant(value: Value) -> Expression {
    match value {
        Value::List(values) => Expression {
            at: 0,
            node: Node::List(values.into_iter().map(constant).collect()),
        },
        value => Expression::value(value),
    }
}

fn has_column(expression: &Expression) -> bool {
    matches!(expression.node, Node::Column(_)) || expression.parts().into_iter().any(has_column)
}

/// A number with three digits that count at least, and its thousands apart.
fn number(value: f64) -> String {
    let size = value.abs();
    let decimals = match size {
        _ if size >= 100.0 || value.fract() == 0.0 => 0,
        _ if size >= 10.0 => 1,
        _ if size >= 1.0 => 2,
        _ => (2.0 - size.log10().floor()).clamp(3.0, 9.0) as usize,
    };
    let text = format!("{value:.decimals$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    let point = text.find('.').unwrap_or(text.len());
    let mut out = String::new();
    for (at, next) in text.char_indices() {
        let is_apart = at < point && (point - at).is_multiple_of(3);
        if is_apart && out.ends_with(|last: char| last.is_ascii_digit()) {
            out.push(' ');
        }
        out.push(next);
    }
    out
}
