//! Patterns of netem-trace in JSON: the deterministic models of bandwidth.
//!
//! Read are `StaticBwConfig`, `TraceBwConfig` and `RepeatedBwPatternConfig` of these. Bandwidths are `{ "gbps": 0, "bps": 12000000 }` or
//! `"12Mbps"`, durations `{ "secs": 1, "nanos": 0 }` or `"1s"`. A pattern that repeats for ever (`count` 0) is read once, because the
//! link repeats the trace. Models that draw at random are refused: their numbers depend on that library's generator.

use quell_aqm::link_trace::RateTrace;
use quell_units::{Rate, Time, notation};
use serde_json::{Map, Value};

use super::TextError;
use super::number::scaled;

/// What netem-trace takes where nothing is given.
const RATE: Rate = Rate::from_mbps(12);
const DURATION: Time = Time::from_secs(1);
/// The most steps: a short text may repeat a pattern very often.
const MOST_STEPS: usize = 1 << 22;
/// Patterns within patterns.
const DEEPEST: usize = 16;

pub(super) fn parse(text: &str) -> Result<RateTrace, TextError> {
    let value: Value = serde_json::from_str(text)
        .map_err(|error| TextError::new(error.line(), "", format!("this is not JSON: {error}")))?;
    let mut steps = Steps {
        steps: Vec::new(),
        end: Time::ZERO,
    };
    steps
        .model(&value, DEEPEST)
        .map_err(|allowed| TextError::new(1, "", allowed))?;
    RateTrace::new(steps.steps, steps.end).map_err(TextError::whole)
}

struct Steps {
    steps: Vec<(Time, Rate)>,
    end: Time,
}

impl Steps {
    fn model(&mut self, value: &Value, deeper: usize) -> Result<(), String> {
        let deeper = deeper
            .checked_sub(1)
            .ok_or("patterns are nested too deeply")?;
        if let Value::Array(models) = value {
            return models
                .iter()
                .try_for_each(|model| self.model(model, deeper));
        }
        let only = value.as_object().filter(|object| object.len() == 1);
        let Some((name, Value::Object(model))) = only.and_then(|object| object.iter().next())
        else {
            return Err(
                "must be a model of bandwidth, such as { \"StaticBwConfig\": … }".to_owned(),
            );
        };
        match name.as_str() {
            "StaticBwConfig" => {
                let rate = field(model, "bw", bandwidth)?.unwrap_or(RATE);
                let time = field(model, "duration", duration)?.unwrap_or(DURATION);
                self.add(rate, time)
            }
            "TraceBwConfig" => self.trace(model),
            "RepeatedBwPatternConfig" => self.repeated(model, deeper),
            "NormalizedBwConfig" | "SawtoothBwConfig" => Err(format!(
                "{name} is not read; let netem-trace write it as a mahimahi trace"
            )),
            _ => Err(format!("{name} is no model of bandwidth that is read here")),
        }
    }

    fn repeated(&mut self, model: &Map<String, Value>, deeper: usize) -> Result<(), String> {
        let pattern = model.get("pattern").and_then(Value::as_array);
        let pattern = pattern.ok_or("RepeatedBwPatternConfig needs a list named pattern")?;
        let count = model.get("count").map_or(Some(0), Value::as_u64);
        let count = count.ok_or("count must be a whole number")?.max(1);
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

    fn trace(&mut self, model: &Map<String, Value>) -> Result<(), String> {
        let form = "TraceBwConfig needs a list named pattern, of [duration, [bandwidth, …]]";
        let pattern = model.get("pattern").and_then(Value::as_array).ok_or(form)?;
        for part in pattern {
            let (time, rates) = match part.as_array().map(Vec::as_slice) {
                Some([time, Value::Array(rates)]) => (duration(time).ok_or(form)?, rates),
                _ => return Err(form.to_owned()),
            };
            for rate in rates {
                self.add(bandwidth(rate).ok_or(form)?, time)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, rate: Rate, time: Time) -> Result<(), String> {
        if time.is_zero() {
            return Ok(());
        }
        if self.steps.len() == MOST_STEPS {
            return Err(format!("at most {MOST_STEPS} steps are allowed"));
        }
        let end = self.end.as_nanos().checked_add(time.as_nanos());
        let end = end
            .filter(|end| *end <= i64::MAX as u64)
            .ok_or("the trace is too long")?;
        self.steps.push((self.end, rate));
        self.end = Time::from_nanos(end);
        Ok(())
    }
}

/// A field that may be missing or null.
fn field<T>(
    model: &Map<String, Value>,
    name: &str,
    read: fn(&Value) -> Option<T>,
) -> Result<Option<T>, String> {
    match model.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let found = read(value).map(Some);
            found.ok_or_else(|| format!("{name} is not understood: {value}"))
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
