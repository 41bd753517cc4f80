//! The JSON Schema of `summary.json` (draft 2020-12): every key with its meaning and unit.
//!
//! Strict, so that a test of any world finds a key that is not described. Descriptions are also those of `docs/reference/files.md`. The file
//! `summary.schema.json` has all but the reports of applications, which their own tables describe.

use quell_app::{FormInfo, KINDS, Quantity};
use serde_json::{Map, Value, json};

const SCHEMA: &str = include_str!("summary.schema.json");

/// The schema.
pub fn summary_schema() -> Value {
    // That the file can be read is a test.
    let mut root: Value = serde_json::from_str(SCHEMA).unwrap_or_default();
    let apps = apps(&root["$defs"]["dist"]["properties"]);
    root["$defs"]["app"]["anyOf"] = apps.into();
    root
}

/// A key of an object.
type Key = (&'static str, Value);

fn key(name: &'static str, description: &str, mut schema: Value) -> Key {
    schema["description"] = description.into();
    (name, schema)
}

fn object(keys: impl IntoIterator<Item = Key>) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for (name, schema) in keys {
        required.push(name);
        properties.insert(name.to_owned(), schema);
    }
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// One for each form of report; several kinds of applications may share one, and a kind may have several.
fn apps(percentiles: &Value) -> Vec<Value> {
    let kind = |kinds: &[&str]| {
        let kinds = json!({ "enum": kinds });
        key("kind", "kind of the application", kinds)
    };
    let mut forms: Vec<(FormInfo, Vec<&str>)> = Vec::new();
    for entry in KINDS {
        for form in (entry.forms)() {
            match forms.iter_mut().find(|(known, _)| *known == form) {
                Some((_, kinds)) => kinds.push(entry.name),
                None => forms.push((form, vec![entry.name])),
            }
        }
    }
    let with_figures = forms.iter().map(|(form, kinds)| {
        let figures = form.figures.iter();
        let figures = figures.map(|figure| {
            let schema = quantity(figure.quantity, percentiles);
            key(figure.name, figure.meaning, schema)
        });
        object([kind(kinds)].into_iter().chain(figures))
    });
    // Where no flow of a group has reported.
    let all: Vec<&str> = KINDS.iter().map(|entry| entry.name).collect();
    let silent = [object([kind(&all)]), json!({ "type": "null" })];
    with_figures.chain(silent).collect()
}

fn quantity(quantity: Quantity, percentiles: &Value) -> Value {
    match quantity {
        Quantity::Count => json!({ "type": "integer", "minimum": 0 }),
        Quantity::Ratio => json!({ "type": "number", "minimum": 0 }),
        Quantity::Number => json!({ "type": "number" }),
        Quantity::MaybeNumber => json!({ "type": ["number", "null"] }),
        Quantity::Times | Quantity::Ratios => {
            let least = key("min", "minimum", json!({ "type": "number" }));
            let all = PERCENTILES.map(|name| {
                let mut schema = percentiles[name].clone();
                // Where few values are behind them.
                if name.starts_with("p99") {
                    schema["type"] = json!(["number", "null"]);
                }
                (name, schema)
            });
            let mut schema = object([least].into_iter().chain(all));
            schema["type"] = json!(["object", "null"]);
            schema
        }
    }
}

/// The figures of a distribution, those that may be missing last.
const PERCENTILES: [&str; 9] = [
    "mean", "p1", "p25", "p50", "p75", "p90", "max", "p99", "p999",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_read_and_of_the_format_that_is_written() {
        let schema = summary_schema();
        let version = &schema["properties"]["schema"]["const"];
        assert_eq!(*version, quell_measure::summary::SCHEMA);
        assert!(schema["$defs"]["app"]["anyOf"].as_array().unwrap().len() > 5);
    }
}
