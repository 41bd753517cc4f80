//! Columns of results: the keys of `summary.json`, or of what a measurement gave, joined by dots.

use quell_lab::scenario::closest;
use serde_json::Value as Json;

use crate::expression::Value;

/// So many names are listed beside one that is not there.
const MOST_NAMED: usize = 12;

/// What a column is read from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part<'a> {
    /// The phase, or the whole.
    pub(super) of: &'a Json,
    /// The group or queue in it, for a column that begins with its axis.
    pub(super) within: Option<&'a Json>,
    pub(super) whole: &'a Json,
}

/// The summary in what a measurement gave, or all of it.
pub(super) fn root(json: &Json) -> &Json {
    json.get("summary").unwrap_or(json)
}

/// Phases of a result; one without phases is one itself.
pub(super) fn phases(json: &Json) -> Vec<&Json> {
    match root(json).get("phases").and_then(Json::as_array) {
        Some(phases) if !phases.is_empty() => phases.iter().collect(),
        _ => vec![root(json)],
    }
}

/// The value of a column, which is `none` where the result has no such value. A column that the result does not know is an error.
pub(super) fn read(part: Part<'_>, path: &str) -> Result<Value, Unknown> {
    let keys: Vec<&str> = path.split('.').collect();
    let top = root(part.of);
    match keys.as_slice() {
        ["seconds"] => Ok(seconds(part.of)),
        ["whole", "seconds"] => Ok(seconds(part.whole)),
        ["whole", rest @ ..] => below(root(part.whole), rest),
        ["run", rest @ ..] => walk(top, rest),
        keys => match (part.within, keys) {
            (Some(within), [_, rest @ ..]) => walk(within, rest),
            _ => below(top, keys),
        },
    }
}

/// A column that a result does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unknown {
    /// The first part of its name that is not there.
    pub(super) key: String,
    /// What there is in its place.
    pub(super) known: Vec<String>,
}

impl Unknown {
    fn new<'a>(key: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let mut known: Vec<String> = known.into_iter().map(str::to_owned).collect();
        known.dedup();
        Self {
            key: key.to_owned(),
            known,
        }
    }

    /// What is wrong with the column of this name.
    pub(super) fn why(&self) -> String {
        let known = self.known.iter().map(String::as_str);
        let meant = closest(&self.key, known.clone());
        let meant = meant.map_or(String::new(), |meant| format!("; did you mean {meant}?"));
        let known: Vec<&str> = known.take(MOST_NAMED).collect();
        let known = match known.is_empty() {
            true => String::new(),
            false => format!(" beside {}", known.join(", ")),
        };
        format!("no run has {}{known}{meant}", self.key)
    }
}

fn below(top: &Json, keys: &[&str]) -> Result<Value, Unknown> {
    let queues = |hop: Option<&str>, direction: &str, name: &str, rest: &[&str]| match queue(
        top, hop, direction, name,
    ) {
        Some(found) => walk(found, rest),
        None => Err(Unknown::new(name, names(&top["queues"]))),
    };
    match keys {
        ["queue", name, rest @ ..] => queues(None, "forward", name, rest),
        ["reverse", "queue", name, rest @ ..] => queues(None, "reverse", name, rest),
        [hop, "queue", name, rest @ ..] => queues(Some(hop), "forward", name, rest),
        [hop, "reverse", "queue", name, rest @ ..] => queues(Some(hop), "reverse", name, rest),
        ["group", name, rest @ ..] => match named(&top["groups"], name) {
            Some(found) => walk(found, rest),
            None => Err(Unknown::new(name, names(&top["groups"]))),
        },
        ["phase", number, rest @ ..] => {
            let phase = number
                .parse::<usize>()
                .ok()
                .and_then(|number| top["phases"].get(number.checked_sub(1)?));
            match phase {
                Some(phase) => below(phase, rest),
                None => Err(Unknown::new(&format!("phase {number}"), [])),
            }
        }
        keys => walk(top, keys),
    }
}

fn names(list: &Json) -> impl Iterator<Item = &str> {
    let all = list.as_array().into_iter().flatten();
    all.filter_map(|one| one.get("name")?.as_str())
}

/// The measured seconds of a phase, of a run, or of a measurement.
fn seconds(of: &Json) -> Value {
    let number = |of: &Json, key: &str| of.get(key).and_then(Json::as_f64);
    let inner = root(of);
    let between = |start: &str, end: &str| Some(number(inner, end)? - number(inner, start)?);
    let phase = between("start_s", "end_s");
    let run = || between("warmup_s", "duration_s");
    let measured = || number(of, "length_ns").map(|length| length / 1e9);
    phase.or_else(run).or_else(measured).into()
}

fn named<'a>(list: &'a Json, name: &str) -> Option<&'a Json> {
    let found = list.as_array()?.iter();
    let is = |one: &&Json| one.get("name").and_then(Json::as_str) == Some(name);
    found.clone().find(is)
}

fn queue<'a>(top: &'a Json, hop: Option<&str>, direction: &str, name: &str) -> Option<&'a Json> {
    let text = |one: &'a Json, key: &str| one.get(key).and_then(Json::as_str);
    let all = top.get("queues")?.as_array()?;
    all.iter().find(|one| {
        let is_there = match hop {
            Some(hop) => text(one, "hop") == Some(hop),
            None => true,
        };
        is_there
            && text(one, "name") == Some(name)
            && text(one, "direction").is_none_or(|own| own == direction)
    })
}

fn walk(mut of: &Json, keys: &[&str]) -> Result<Value, Unknown> {
    for (place, key) in keys.iter().enumerate() {
        let next = match of {
            // A distribution of nothing.
            Json::Null => return Ok(Value::None),
            Json::Object(fields) => fields.get(*key),
            Json::Array(items) => {
                if place + 1 == keys.len()
                    && let Some(value) = reduced(items, key)
                {
                    return Ok(value);
                }
                named(of, key).or_else(|| items.get(key.parse::<usize>().ok()?.checked_sub(1)?))
            }
            _ => None,
        };
        match next {
            Some(next) => of = next,
            // Only reasons that happened are counted.
            None if place > 0 && matches!(keys[place - 1], "marks" | "drops") => {
                return Ok(Value::Number(0.0));
            }
            None => {
                let fields = of.as_object().into_iter().flat_map(|fields| fields.keys());
                let fields = fields.map(String::as_str);
                return Err(Unknown::new(key, fields.chain(names(of))));
            }
        }
    }
    Ok(value(of))
}

fn value(of: &Json) -> Value {
    match of {
        Json::Null | Json::Object(_) => Value::None,
        Json::Bool(flag) => Value::Flag(*flag),
        Json::Number(number) => number.as_f64().into(),
        Json::String(text) => Value::Text(text.clone()),
        Json::Array(items) => Value::List(items.iter().map(value).collect()),
    }
}

/// What a list of numbers becomes.
fn reduced(items: &[Json], how: &str) -> Option<Value> {
    let numbers = items.iter().filter_map(Json::as_f64);
    let total = numbers.clone().fold(0.0, |sum, number| sum + number);
    let some = |value: f64| {
        if items.is_empty() {
            Value::None
        } else {
            Value::Number(value)
        }
    };
    Some(match how {
        "count" => Value::Number(items.len() as f64),
        "total" => Value::Number(total),
        "mean" => some(total / items.len() as f64),
        "min" => some(numbers.fold(f64::INFINITY, f64::min)),
        "max" => some(numbers.fold(f64::NEG_INFINITY, f64::max)),
        _ => return None,
    })
}

/// Adds a value of another run: numbers are added, lists element by element.
pub(super) fn add(sum: Value, value: Value) -> Value {
    match (sum, value) {
        (Value::Number(sum), Value::Number(value)) => Value::Number(sum + value),
        (Value::List(mut sum), Value::List(values)) => {
            for (place, value) in values.into_iter().enumerate() {
                match sum.get_mut(place) {
                    Some(present) => *present = add(std::mem::take(present), value),
                    None => sum.push(value),
                }
            }
            Value::List(sum)
        }
        (Value::None, value) => value,
        (sum, _) => sum,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_column_is_found_by_its_path() {
        let summary = json!({
            "duration_s": 60.0, "warmup_s": 10.0, "jain": 0.9,
            "link": { "utilisation": 0.5 },
            "queues": [
                { "name": "l4s", "hop": "link", "direction": "forward", "delay_ms": { "p99": 1.5 }, "marks": { "step": 2 } },
                { "name": "l4s", "hop": "link", "direction": "reverse", "packets": 3 },
                { "name": "l4s", "hop": "wifi", "direction": "forward", "packets": 4, "delay_ms": null },
            ],
            "groups": [{ "name": "l4s-5", "goodput_bps": [1.0, 3.0], "alive_s": [] }],
            "phases": [{ "start_s": 1.0, "end_s": 4.0, "jain": 0.5, "groups": [], "queues": [], "link": { "utilisation": 0.25 } }],
        });
        let whole = Part {
            of: &summary,
            within: None,
            whole: &summary,
        };
        let number = |path: &str| read(whole, path).unwrap().number();
        assert_eq!(number("seconds"), Some(50.0));
        assert_eq!(number("run.jain"), Some(0.9));
        assert_eq!(number("queue.l4s.delay_ms.p99"), Some(1.5));
        assert_eq!(number("queue.l4s.marks.step"), Some(2.0));
        assert_eq!(number("queue.l4s.marks.ramp"), Some(0.0));
        assert_eq!(number("reverse.queue.l4s.packets"), Some(3.0));
        assert_eq!(number("wifi.queue.l4s.packets"), Some(4.0));
        assert_eq!(number("wifi.queue.l4s.delay_ms.p99"), None);
        assert_eq!(number("group.l4s-5.goodput_bps.mean"), Some(2.0));
        assert_eq!(number("group.l4s-5.alive_s.mean"), None);
        assert_eq!(number("group.l4s-5.alive_s.count"), Some(0.0));
        assert_eq!(number("groups.1.goodput_bps.2"), Some(3.0));
        assert_eq!(number("phase.1.link.utilisation"), Some(0.25));
        for (path, why) in [
            (
                "queue.l4s.delay_ms.p98",
                "no run has p98 beside p99; did you mean p99?",
            ),
            (
                "queue.l5s.packets",
                "no run has l5s beside l4s; did you mean l4s?",
            ),
            ("group.classic.jain", "no run has classic beside l4s-5"),
            (
                "link.utilization",
                "no run has utilization beside utilisation; did you mean utilisation?",
            ),
            ("phase.2.jain", "no run has phase 2"),
            ("groups.2.name", "no run has 2 beside l4s-5"),
        ] {
            assert_eq!(read(whole, path).unwrap_err().why(), why, "{path}");
        }
        let phase = phases(&summary)[0];
        let part = Part {
            of: phase,
            within: None,
            whole: &summary,
        };
        assert_eq!(read(part, "run.jain").unwrap().number(), Some(0.5));
        assert_eq!(read(part, "seconds").unwrap().number(), Some(3.0));
        assert_eq!(read(part, "whole.jain").unwrap().number(), Some(0.9));
        let part = Part {
            of: &summary,
            within: Some(&summary["groups"][0]),
            whole: &summary,
        };
        assert_eq!(
            read(part, "class.goodput_bps.max").unwrap().number(),
            Some(3.0)
        );
    }
}
