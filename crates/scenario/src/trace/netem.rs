//! Patterns of netem-trace in JSON or TOML: the deterministic models of bandwidth, and of delay and loss.
//!
//! Read are `StaticBwConfig`, `TraceBwConfig`, `StaticDelayConfig`, `StaticLossConfig` and the repeated patterns of these. Of a list of
//! losses the first is the probability after a packet that came through, the second that after a loss, which is `enter` and 1 − `leave`. Bandwidths are `{ "gbps": 0, "bps": 12000000 }` or
//! `"12Mbps"`, durations `{ "secs": 1, "nanos": 0 }` or `"1s"`. A pattern that repeats for ever (`count` 0) is read once, because the
//! link repeats the trace. Models that draw at random are refused: their numbers depend on that library's generator.

use quell_aqm::link_trace::RateTrace;
use quell_units::{Rate, Time, notation};
use serde_json::{Map, Value};

use super::TextError;
use super::number::scaled;
use super::path::PathRows;
use crate::path_course::PARTS;
use crate::tree::{self, Node, TomlType, Tree};

/// The defaults of netem-trace.
const RATE: Rate = Rate::from_mbps(12);
const DURATION: Time = Time::from_secs(1);
const DELAY: Time = Time::from_millis(10);
/// Of `[0.1, 0.2]`.
const LOSSES: [u64; 3] = [0, PARTS / 10, PARTS / 10 * 8];
/// The most steps: a short text may repeat a pattern very often.
const MOST_STEPS: usize = 1 << 22;
/// The most patterns within one another.
const DEEPEST: usize = 16;

pub(super) fn parse(text: &str) -> Result<RateTrace, TextError> {
    let (steps, end) = steps(text)?;
    let rate = |(at, step)| match step {
        Step::Rate(rate) => Some((at, rate)),
        _ => None,
    };
    let rates: Option<Vec<_>> = steps.into_iter().map(rate).collect();
    let allowed = "has delays or losses, which are for impair = { trace = … }";
    let rates = rates.ok_or_else(|| TextError::new(1, "", allowed))?;
    RateTrace::new(rates, end).map_err(TextError::whole)
}

pub(super) fn parse_path(text: &str) -> Result<PathRows, TextError> {
    let (steps, length) = steps(text)?;
    let keys: &[&str] = match steps.first() {
        Some((_, Step::Delay(_))) => &["delay"],
        _ => &["loss", "enter", "leave"],
    };
    let mut values = Vec::new();
    for (_, step) in &steps {
        match step {
            Step::Delay(delay) => values.push(delay.as_nanos()),
            Step::Loss(all) => values.extend(all),
            Step::Rate(_) => values.clear(),
        }
    }
    if steps.is_empty() || values.len() != steps.len() * keys.len() {
        let allowed = "must be models of delay, or of loss, alone";
        return Err(TextError::new(1, "", allowed));
    }
    Ok(PathRows {
        keys: keys.to_vec(),
        times: steps.into_iter().map(|(at, _)| at).collect(),
        values,
        length,
    })
}

/// What holds from a time on.
enum Step {
    Rate(Rate),
    Delay(Time),
    /// `loss`, `enter` and `leave`, in parts.
    Loss([u64; 3]),
}

/// The steps, and their end.
fn steps(text: &str) -> Result<(Vec<(Time, Step)>, Time), TextError> {
    let json = serde_json::from_str(text)
        .map_err(|error| TextError::new(error.line(), "", format!("this is not JSON: {error}")));
    let value = json.or_else(|error| match tree::read("", text) {
        Ok(toml) => Ok(as_json(&toml)),
        Err(_) => Err(error),
    })?;
    let mut steps = Steps {
        steps: Vec::new(),
        end: Time::ZERO,
    };
    steps
        .model(&value, DEEPEST)
        .map_err(|error| TextError::new(1, "", error.to_string()))?;
    Ok((steps.steps, steps.end))
}

/// rattan writes the same patterns as TOML.
fn as_json(node: &Node) -> Value {
    match &node.value {
        Tree::Scalar(TomlType::String | TomlType::Other, text) => Value::String(text.clone()),
        Tree::Scalar(_, text) => serde_json::from_str(text).unwrap_or(Value::Null),
        Tree::Array(nodes) => nodes.iter().map(as_json).collect(),
        Tree::Table(table) => {
            let keys = table.iter();
            let keys = keys.map(|(key, node)| (key.to_owned(), as_json(node)));
            Value::Object(keys.collect())
        }
    }
}

/// An error in a pattern.
#[derive(Debug, thiserror::Error)]
enum PatternError {
    #[error("patterns are nested too deeply")]
    Deep,
    #[error("must be a model of bandwidth, delay or loss, such as {{ \"StaticBwConfig\": … }}")]
    NoModel,
    #[error("{0} is not read; let netem-trace write it as a mahimahi trace")]
    Random(String),
    #[error("{0} is no model that is read here")]
    Unknown(String),
    #[error("a repeated pattern needs a list named pattern")]
    NoPattern,
    #[error("count must be a whole number")]
    Count,
    #[error("TraceBwConfig needs a list named pattern, of [duration, [bandwidth, …]]")]
    NoTrace,
    #[error("at most {MOST_STEPS} steps are allowed")]
    ManySteps,
    #[error("the trace is too long")]
    Long,
    #[error("{0} is not understood: {1}")]
    Field(&'static str, Value),
}

struct Steps {
    steps: Vec<(Time, Step)>,
    end: Time,
}

impl Steps {
    fn model(&mut self, value: &Value, deeper: usize) -> Result<(), PatternError> {
        let deeper = deeper.checked_sub(1).ok_or(PatternError::Deep)?;
        if let Value::Array(models) = value {
            return models
                .iter()
                .try_for_each(|model| self.model(model, deeper));
        }
        let only = value.as_object().filter(|object| object.len() == 1);
        let Some((name, Value::Object(model))) = only.and_then(|object| object.iter().next())
        else {
            return Err(PatternError::NoModel);
        };
        match name.as_str() {
            "StaticBwConfig" => {
                let rate = field(model, "bw", bandwidth)?.unwrap_or(RATE);
                let time = field(model, "duration", duration)?.unwrap_or(DURATION);
                self.add(Step::Rate(rate), time)
            }
            "StaticDelayConfig" => {
                let delay = field(model, "delay", delay)?.unwrap_or(DELAY);
                let time = field(model, "duration", duration)?.unwrap_or(DURATION);
                self.add(Step::Delay(delay), time)
            }
            "StaticLossConfig" => {
                let loss = field(model, "loss", losses)?.unwrap_or(LOSSES);
                let time = field(model, "duration", duration)?.unwrap_or(DURATION);
                self.add(Step::Loss(loss), time)
            }
            "TraceBwConfig" => self.trace(model),
            "RepeatedBwPatternConfig"
            | "RepeatedDelayPatternConfig"
            | "RepeatedLossPatternConfig" => self.repeated(model, deeper),
            "NormalizedBwConfig" | "SawtoothBwConfig" => Err(PatternError::Random(name.clone())),
            _ => Err(PatternError::Unknown(name.clone())),
        }
    }

    fn repeated(&mut self, model: &Map<String, Value>, deeper: usize) -> Result<(), PatternError> {
        let pattern = model.get("pattern").and_then(Value::as_array);
        let pattern = pattern.ok_or(PatternError::NoPattern)?;
        let count = model.get("count").map_or(Some(0), Value::as_u64);
        let count = count.ok_or(PatternError::Count)?.max(1);
        for _ in 0..count {
            let before = self.end;
            pattern
                .iter()
                .try_for_each(|part| self.model(part, deeper))?;
            if self.end == before {
                break;
            }
        }
        Ok(())
    }

    fn trace(&mut self, model: &Map<String, Value>) -> Result<(), PatternError> {
        let pattern = model.get("pattern").and_then(Value::as_array);
        for part in pattern.ok_or(PatternError::NoTrace)? {
            let (time, rates) = match part.as_array().map(Vec::as_slice) {
                Some([time, Value::Array(rates)]) => {
                    (duration(time).ok_or(PatternError::NoTrace)?, rates)
                }
                _ => return Err(PatternError::NoTrace),
            };
            for rate in rates {
                let rate = bandwidth(rate).ok_or(PatternError::NoTrace)?;
                self.add(Step::Rate(rate), time)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, step: Step, time: Time) -> Result<(), PatternError> {
        if time.is_zero() {
            return Ok(());
        }
        if self.steps.len() == MOST_STEPS {
            return Err(PatternError::ManySteps);
        }
        let end = self.end.as_nanos().checked_add(time.as_nanos());
        let end = end
            .filter(|end| *end <= i64::MAX as u64)
            .ok_or(PatternError::Long)?;
        self.steps.push((self.end, step));
        self.end = Time::from_nanos(end);
        Ok(())
    }
}

/// A field that may be missing or null.
fn field<T>(
    model: &Map<String, Value>,
    name: &'static str,
    read: fn(&Value) -> Option<T>,
) -> Result<Option<T>, PatternError> {
    match model.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let found = read(value).map(Some);
            found.ok_or_else(|| PatternError::Field(name, value.clone()))
        }
    }
}

fn bandwidth(value: &Value) -> Option<Rate> {
    let bps = match value {
        Value::Object(parts) => {
            let part = |name| parts.get(name).map_or(Some(0), Value::as_u64);
            part("gbps")?
                .checked_mul(1_000_000_000)?
                .checked_add(part("bps")?)?
        }
        Value::String(text) => {
            let text = text.trim();
            let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic())?);
            let unit = match unit.to_ascii_lowercase().as_str() {
                "bps" => 1,
                "kbps" => 1_000,
                "mbps" => 1_000_000,
                "gbps" => 1_000_000_000,
                "tbps" => 1_000_000_000_000,
                _ => return None,
            };
            scaled(number.trim(), unit)?
        }
        _ => return None,
    };
    Some(Rate::from_bps(bps)).filter(|rate| *rate <= Rate::from_mbps(1_000_000))
}

/// A delay that a scenario can have.
fn delay(value: &Value) -> Option<Time> {
    duration(value).filter(|delay| *delay <= Time::from_secs(10))
}

/// `loss`, `enter` and `leave` of a list with the probability of a loss, or of one after none and of one after a loss.
fn losses(value: &Value) -> Option<[u64; 3]> {
    let parts = |value: &Value| match value.as_f64()? {
        share @ 0.0..=1.0 => scaled(&format!("{share:.9}"), PARTS),
        _ => None,
    };
    match value.as_array().map(Vec::as_slice)? {
        [only] => Some([parts(only)?, 0, PARTS / 10]),
        [first, second] => Some([0, parts(first)?, PARTS - parts(second)?]),
        _ => None,
    }
}

/// Several parts add up: `"1s 500ms"`.
fn duration(value: &Value) -> Option<Time> {
    match value {
        Value::Object(parts) => {
            let part = |name| parts.get(name).map_or(Some(0), Value::as_u64);
            let nanos = part("secs")?
                .checked_mul(1_000_000_000)?
                .checked_add(part("nanos")?)?;
            Some(Time::from_nanos(nanos))
        }
        Value::String(text) => {
            let mut parts = text
                .split_whitespace()
                .map(|part| notation::time(part).ok());
            parts.try_fold(Time::ZERO, |sum, part| Some(sum + part?))
        }
        _ => None,
    }
}
