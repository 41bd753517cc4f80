//! A summary as named figures, for the columns of a table.
//!
//! Names are the keys of `summary.json` joined by dots: `link.utilisation`, `queue.NAME.delay_ms.p99`,
//! `group.NAME.goodput_bps.total`, `phase.1.link.utilisation`. Queues of the reverse direction are `reverse.queue.NAME…`, and those of a link
//! with a name of its own `LINK.queue.NAME…`. A list of numbers, one for each flow, becomes its mean, smallest, largest and total. What
//! says only what ran (scenario, world, seed) is left out, and of the warnings the number is given.

use serde_json::{Map, Value as Json};

use super::Value;

/// Keys of a summary that say what ran.
const IDENTITY: [&str; 6] = ["schema", "scenario", "world", "seed", "partial", "warmup_s"];
/// Keys that are part of the name.
const NAMES: [&str; 3] = ["name", "hop", "direction"];

/// Calls `take` with every figure of a summary, in the order of the file.
pub(super) fn visit(summary: &Json, take: &mut dyn FnMut(&str, Value)) {
    let Json::Object(fields) = summary else {
        return;
    };
    let mut name = String::new();
    for (key, value) in in_order(fields) {
        match (key, value) {
            (key, _) if IDENTITY.contains(&key) => {}
            ("warnings", Json::Array(all)) => {
                take("warnings", Value::Integer(all.len() as i64));
            }
            ("phases", Json::Array(phases)) => {
                for (number, phase) in phases.iter().enumerate() {
                    name.push_str(&format!("phase.{}.", number + 1));
                    if let Json::Object(fields) = phase {
                        for (key, value) in in_order(fields) {
                            figure(&mut name, key, value, take);
                        }
                    }
                    name.clear();
                }
            }
            _ => figure(&mut name, key, value, take),
        }
    }
}

/// The figures first that concern the whole. JSON objects come sorted, or as written, as the reader was built.
fn in_order(fields: &Map<String, Json>) -> Vec<(&str, &Json)> {
    const FIRST: [&str; 9] = [
        "start_s",
        "end_s",
        "duration_s",
        "warnings",
        "link",
        "queues",
        "groups",
        "jain",
        "fairness",
    ];
    let rank = |key: &str| FIRST.iter().position(|one| *one == key);
    let mut fields: Vec<(&str, &Json)> = fields
        .iter()
        .map(|(key, value)| (key.as_str(), value))
        .collect();
    fields.sort_by_key(|(key, _)| (rank(key).unwrap_or(FIRST.len()), key.to_owned()));
    fields
}

fn figure(name: &mut String, key: &str, value: &Json, take: &mut dyn FnMut(&str, Value)) {
    let before = name.len();
    match (key, value) {
        ("queues" | "fairness", Json::Array(parts)) => {
            for part in parts {
                let of = |key: &str| part.get(key).and_then(Json::as_str).unwrap_or_default();
                if !matches!(of("hop"), "" | "link") {
                    name.push_str(of("hop"));
                    name.push('.');
                }
                if of("direction") == "reverse" {
                    name.push_str("reverse.");
                }
                if key == "queues" {
                    name.push_str("queue.");
                    named(name, part, take);
                } else {
                    name.push_str(key);
                    walk(name, part, take);
                }
                name.truncate(before);
            }
        }
        ("groups", Json::Array(groups)) => {
            for group in groups {
                name.push_str("group.");
                named(name, group, take);
                name.truncate(before);
            }
        }
        _ => {
            name.push_str(key);
            walk(name, value, take);
        }
    }
    name.truncate(before);
}

/// An object with a name, below that name.
fn named(name: &mut String, value: &Json, take: &mut dyn FnMut(&str, Value)) {
    let own = value.get("name").and_then(Json::as_str).unwrap_or("?");
    name.push_str(own);
    walk(name, value, take);
}

fn walk(name: &mut String, value: &Json, take: &mut dyn FnMut(&str, Value)) {
    let before = name.len();
    match value {
        // A column of nothing says nothing.
        Json::Null => {}
        Json::Bool(flag) => take(name, Value::Flag(*flag)),
        Json::Number(number) => take(
            name,
            match number.as_i64() {
                Some(whole) => Value::Integer(whole),
                None => number.as_f64().map_or(Value::Null, Value::Real),
            },
        ),
        Json::String(text) => take(name, Value::Text(text.as_str().into())),
        Json::Object(fields) => {
            for (key, value) in fields
                .iter()
                .filter(|(key, _)| !NAMES.contains(&key.as_str()))
            {
                name.push('.');
                name.push_str(key);
                walk(name, value, take);
                name.truncate(before);
            }
        }
        Json::Array(items) if items.is_empty() => {}
        Json::Array(items) if items.iter().all(Json::is_number) => {
            let numbers: Vec<f64> = items.iter().filter_map(Json::as_f64).collect();
            for (part, value) in parts(&numbers) {
                name.push('.');
                name.push_str(part);
                take(name, Value::Real(value));
                name.truncate(before);
            }
        }
        Json::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                name.push('.');
                match item.get("name") {
                    Some(Json::String(own)) => name.push_str(own),
                    _ => name.push_str(&(number + 1).to_string()),
                }
                walk(name, item, take);
                name.truncate(before);
            }
        }
    }
}

/// What is left of a list.
fn parts(numbers: &[f64]) -> [(&'static str, f64); 4] {
    let total: f64 = numbers.iter().sum();
    [
        ("mean", total / numbers.len() as f64),
        ("min", numbers.iter().copied().fold(f64::INFINITY, f64::min)),
        (
            "max",
            numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        ),
        ("total", total),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn figures_are_named_by_their_keys() {
        let summary = json!({
            "schema": 1, "seed": 7, "partial": false, "warnings": ["a", "b"], "jain": null,
            "link": { "utilisation": 0.5, "looks_ahead": true },
            "queues": [
                { "name": "l4s", "hop": "link", "direction": "forward", "delay_ms": { "p99": 1.5 }, "drops": { "aqm": 2 } },
                { "name": "queue", "hop": "link", "direction": "reverse", "packets": 3 },
                { "name": "queue", "hop": "wifi", "direction": "forward", "packets": 4 },
            ],
            "groups": [{ "name": "a", "goodput_bps": [1.0, 3.0], "alive_s": [], "congestion_control": "cubic" }],
            "phases": [{ "start_s": 1.0, "link": { "utilisation": 0.25 } }],
        });
        let mut found = Vec::new();
        visit(&summary, &mut |name, value| {
            found.push(format!("{name}={}", value.text()));
        });
        found.sort();
        let mut expected = vec![
            "warnings=2",
            "link.utilisation=0.5",
            "link.looks_ahead=true",
            "queue.l4s.delay_ms.p99=1.5",
            "queue.l4s.drops.aqm=2",
            "reverse.queue.queue.packets=3",
            "wifi.queue.queue.packets=4",
            "group.a.goodput_bps.mean=2",
            "group.a.goodput_bps.min=1",
            "group.a.goodput_bps.max=3",
            "group.a.goodput_bps.total=4",
            "group.a.congestion_control=cubic",
            "phase.1.start_s=1",
            "phase.1.link.utilisation=0.25",
        ];
        expected.sort_unstable();
        assert_eq!(found, expected);
    }
}
