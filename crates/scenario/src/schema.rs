//! The JSON Schema of scenario files (draft 2020-12), from the tables that the checks use.
//!
//! Editors complete and check files by it. It knows structure, words, notation of quantities and ranges of plain numbers; what
//! depends on several keys, and ranges of quantities with units, only `quell check` can judge.

use quell_app::Entry as Application;
use quell_aqm::disciplines;
use quell_aqm::kind::Entry;
use quell_aqm::marker::MARKERS;
use quell_aqm::value::{Curve, FUNCTIONS};
use quell_tcp::cc;
use quell_units::parameter::{Domain as D, Parameter, Preset, condition};
use quell_units::{Rates, Steps};
use serde_json::{Map, Value, json};

use crate::Domain;
use crate::control::names;
use crate::hops::MOST_LINKS;
use crate::keys::{DEFAULT_CONTROL, Key, KeyDefault, Section};
use crate::rules::{CODES, KINDS, MOST_RULES};
use crate::{MOST_FUNCTIONS, PIECEWISE, UNMARKED};

const NUMBER: &str = r"\s*([0-9][0-9_]*\.?[0-9_]*|\.[0-9_]*[0-9][0-9_]*)";
const TIME: &str = r"\s*(ns|us|µs|ms|s|min|h)\s*";
const BYTES: &str = r"\s*([kMG]?B|[KMG]iB)\s*";
const PACKETS: &str = r"\s*(p|pkt|packets?)\s*";
const RATE: &str = r"\s*[kKmMgGtT]?[bB][iI][tT]\s*";

/// The schema.
pub fn schema() -> Value {
    let mut root = section(Section::Root);
    put(&mut root, "link", links());
    put(&mut root, "run", section(Section::Run));
    put(
        &mut root,
        "group",
        json!({ "type": "array", "minItems": 1, "items": section(Section::Group) }),
    );
    put(
        &mut root,
        "at",
        json!({ "type": "array", "items": section(Section::At) }),
    );
    put(
        &mut root,
        "expect",
        json!({ "type": "array", "items": section(Section::Expect) }),
    );
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = json!("quell scenario");
    root["$defs"] = json!({ "queue": queue(), "control": control(), "function": function(), "value": marked() });
    root
}

/// One link, or several in a row, of which each may be unlimited.
fn links() -> Value {
    let one = section(Section::Link);
    if let Some(key) = Section::Link.keys().find(|key| key.name == "rate") {
        let mut rate = domain(&key.domain.of_links(2));
        rate["description"] = one["properties"]["rate"]["description"].clone();
        let mut each = one.clone();
        each["properties"]["rate"] = rate;
        let list = json!({ "type": "array", "minItems": 1, "maxItems": MOST_LINKS, "items": each });
        return json!({ "anyOf": [one, list] });
    }
    one
}

/// Replaces the property `name` of a table by `schema`, under the same description.
fn put(table: &mut Value, name: &str, mut schema: Value) {
    let description = table["properties"][name]["description"].take();
    schema["description"] = description;
    table["properties"][name] = schema;
}

fn section(section: Section) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for key in section.keys() {
        let rows = section.keys().filter(|row| row.name == key.name);
        // Where kinds differ in what a key means, only the kind says what it may be.
        let property = match rows.count() {
            1 => property(key),
            _ => json!({}),
        };
        properties.insert(key.name.to_owned(), property);
        if matches!(key.default, KeyDefault::Required) && key.only.is_none() {
            required.push(key.name);
        }
    }
    let mut table =
        json!({ "type": "object", "additionalProperties": false, "properties": properties });
    if !required.is_empty() {
        table["required"] = json!(required);
    }
    if section == Section::App {
        table["allOf"] = json!(applications());
    }
    table
}

/// For each kind of application: the keys that it must have, and those that it cannot have.
fn applications() -> Vec<Value> {
    let rule = |entry: &Application| {
        let kind = entry.name;
        let mut required = Vec::new();
        let mut properties = Map::new();
        for key in Section::App.keys().filter(|key| key.only.is_some()) {
            let name = key.name.to_owned();
            if key.only != Some(kind) {
                properties.entry(name).or_insert(json!(false));
                continue;
            }
            properties.insert(name, property(key));
            if matches!(key.default, KeyDefault::Required) {
                required.push(key.name);
            }
        }
        let mut then = json!({ "required": required, "properties": properties });
        let together = entry.together;
        if !together.is_empty() {
            let others = |name: &&str| -> Vec<&str> {
                let all = together.iter().copied();
                all.filter(|other| other != name).collect()
            };
            let needs: Map<String, Value> = together
                .iter()
                .map(|name| ((*name).to_owned(), json!(others(name))))
                .collect();
            then["dependentRequired"] = json!(needs);
        }
        json!({
            "if": { "properties": { "kind": { "const": kind } }, "required": ["kind"] },
            "then": then,
        })
    };
    quell_app::KINDS.iter().map(rule).collect()
}

/// The kinds of applications of which nothing else must be said.
fn complete_applications() -> Vec<&'static str> {
    let needs_nothing = |kind: &&Application| {
        let mut rows = kind.parameters.iter();
        rows.all(|row| !matches!(row.default, Preset::Required))
    };
    let kinds = quell_app::KINDS.iter().filter(needs_nothing);
    kinds.map(|kind| kind.name).collect()
}

fn property(key: &Key) -> Value {
    let mut property = match (key.section, key.name) {
        (Section::Link, "reverse") => section(Section::Reverse),
        (Section::Link | Section::Reverse, "rate") => {
            json!({ "anyOf": [domain(&key.domain), section(Section::Trace)] })
        }
        (Section::Link | Section::Reverse, "access") => section(Section::Medium),
        (Section::Link | Section::Reverse, "impair") => section(Section::Impair),
        (Section::Impair, "shape") => json!({ "type": ["string", "array"] }),
        (Section::Impair, "rules") => json!({
            "type": "array", "minItems": 1, "maxItems": MOST_RULES, "items": section(Section::Rule),
        }),
        (Section::Rule, "from" | "match") => {
            let words = if key.name == "from" { CODES } else { KINDS };
            json!({ "type": "array", "minItems": 1, "items": { "enum": words } })
        }
        (Section::Link, "remark") => json!({
            "type": "array", "minItems": 1, "maxItems": MOST_FUNCTIONS, "items": section(Section::Remark),
        }),
        (Section::Remark, "groups") => {
            json!({ "type": "array", "minItems": 1, "items": domain(&Domain::Word) })
        }
        (_, "queue") => {
            json!({ "anyOf": [{ "enum": kinds_of_queues() }, { "$ref": "#/$defs/queue" }] })
        }
        (Section::Group | Section::Receiver, "congestion-control") => {
            json!({ "anyOf": [domain(&Domain::Word), { "$ref": "#/$defs/control" }] })
        }
        (Section::Root, "value") => json!({
            "type": "object", "maxProperties": MOST_FUNCTIONS,
            "propertyNames": { "allOf": [domain(&Domain::Word), { "not": { "enum": taken() } }] },
            "additionalProperties": { "$ref": "#/$defs/function" },
        }),
        (Section::Group, "receiver") => section(Section::Receiver),
        (Section::Group, "value") => {
            json!({ "anyOf": [domain(&Domain::Word), { "$ref": "#/$defs/value" }] })
        }
        (Section::Value, "function") => {
            let name =
                json!({ "allOf": [domain(&Domain::Word), { "not": { "const": UNMARKED } }] });
            json!({ "anyOf": [name, { "type": "array", "minItems": 1, "maxItems": MOST_FUNCTIONS, "items": name }] })
        }
        (Section::Value, "marker") => json!({ "enum": names_of(MARKERS) }),
        (Section::Group, "app") => {
            json!({ "anyOf": [{ "enum": complete_applications() }, section(Section::App)] })
        }
        (Section::Group, "path") => json!({
            "type": "array", "minItems": 1, "maxItems": MOST_LINKS, "items": domain(&Domain::Word),
        }),
        (Section::At, "set") => json!({ "type": "object", "minProperties": 1 }),
        _ => domain(&key.domain),
    };
    property["description"] = json!(key.help);
    match key.default {
        KeyDefault::Is(text) => property["default"] = in_json(&key.domain, text),
        KeyDefault::Derived(how) => {
            property["description"] = json!(format!("{} Default: {how}.", key.help))
        }
        KeyDefault::Required => {}
    }
    property
}

/// A table, or its mean alone.
fn with_mean(table: Section) -> Value {
    let mean = table.keys().find(|key| key.name == "mean");
    json!({ "anyOf": [mean.map(|key| domain(&key.domain)), section(table)] })
}

fn in_json(domain: &Domain, text: &str) -> Value {
    match domain {
        Domain::Value(domain) => parameter_in_json(domain, text),
        Domain::Signed(..) => text
            .parse::<i64>()
            .map_or(json!(text), |number| json!(number)),
        Domain::Seeds => json!([1]),
        _ => json!(text),
    }
}

fn parameter_in_json(domain: &D, text: &str) -> Value {
    match domain {
        D::Integer(..) => text
            .parse::<u64>()
            .map_or(json!(text), |number| json!(number)),
        D::Fraction(..) => text
            .parse::<f64>()
            .map_or(json!(text), |number| json!(number)),
        D::Flag => json!(text == "true"),
        // A table on one line is JSON once it is read.
        _ if text.starts_with('{') => {
            let table = toml::from_str::<Map<String, Value>>(&format!("value = {text}"));
            table.map_or(json!(text), |table| table["value"].clone())
        }
        _ => json!(text),
    }
}

fn domain(domain: &Domain) -> Value {
    match domain {
        Domain::Value(domain) => value(domain),
        Domain::Rate(.., besides) => {
            let unlimited = if besides.is_some_and(|rate| rate.is_unlimited()) {
                r"|\s*unlimited\s*"
            } else {
                ""
            };
            text(&format!("{NUMBER}{RATE}{unlimited}"))
        }
        Domain::Signed(low, high) => json!({ "type": "integer", "minimum": low, "maximum": high }),
        Domain::Name => text("[A-Za-z0-9][A-Za-z0-9_-]{0,63}"),
        Domain::Word => text("[A-Za-z][A-Za-z0-9_-]{0,63}"),
        Domain::Text => json!({ "type": "string" }),
        Domain::Seeds => json!({
            "type": "array", "minItems": 1, "maxItems": 1_000, "uniqueItems": true,
            "items": { "type": "integer", "minimum": 0, "maximum": i64::MAX },
        }),
        Domain::Table(_) => json!({}),
    }
}

fn value(domain: &D) -> Value {
    let integer = |low: u64, high: u64| json!({ "type": "integer", "minimum": low, "maximum": high.min(i64::MAX as u64) });
    match *domain {
        D::Time(..) => text(&format!("{NUMBER}{TIME}")),
        D::Bytes(..) => text(&format!("{NUMBER}{BYTES}")),
        D::Packets(low, high) => {
            json!({ "anyOf": [integer(low, high), text(&format!(r"{NUMBER}{PACKETS}|\s*[0-9_]*[0-9][0-9_]*\s*"))] })
        }
        D::Integer(low, high) => integer(low, high),
        // A decimal is rounded to the nearest part before the range is checked.
        D::Fraction(low, high, of) => json!({
            "type": "number",
            "minimum": (low as f64 - 0.5).max(0.0) / of as f64,
            "maximum": if high == of { 1.0 } else { (high as f64 + 0.499) / of as f64 },
        }),
        D::Frequency(..) => {
            json!({ "anyOf": [{ "type": "number", "minimum": 0 }, text(&format!(r"{NUMBER}\s*(Hz)?\s*"))] })
        }
        D::Rate(..) => text(&format!("{NUMBER}{RATE}")),
        D::Flag => json!({ "type": "boolean" }),
        D::Word(words) => json!({ "enum": words }),
        D::Period(..) => with_mean(Section::Period),
        D::Interval(..) => with_mean(Section::Interval),
        D::Sizes(..) => sizes(),
        D::Rates(named) => {
            let names: Vec<&str> = named.iter().map(|(name, _)| *name).collect();
            let rate = format!("{NUMBER}{RATE}");
            let list = json!({ "type": "array", "items": text(&rate), "minItems": 1, "maxItems": Rates::MOST });
            let file = json!({
                "type": "object", "properties": { "file": { "type": "string" } },
                "required": ["file"], "additionalProperties": false,
            });
            json!({ "anyOf": [{ "enum": names }, list, text(&format!("{rate}(,{rate})*")), file] })
        }
        D::CommandLine => json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 }),
        D::TimeOrPackets(_, (low, high)) => {
            let pattern = format!(r"{NUMBER}({TIME}|{PACKETS})|\s*[0-9_]*[0-9][0-9_]*\s*");
            json!({ "anyOf": [integer(low, high), text(&pattern)] })
        }
        D::Limit { plain_is_packets } => {
            let units = format!("{NUMBER}({TIME}|{BYTES}|{PACKETS})");
            if plain_is_packets {
                json!({ "anyOf": [integer(1, u64::MAX), text(&format!(r"{units}|\s*[0-9_]*[0-9][0-9_]*\s*"))] })
            } else {
                text(&units)
            }
        }
    }
}

/// A size, or a law of sizes. What sizes a law may have only `quell check` can judge.
fn sizes() -> Value {
    let size = || text(&format!("{NUMBER}{BYTES}"));
    let law = |own: &[(&str, Value)], required: &[&str]| {
        let own = own
            .iter()
            .map(|(key, value)| ((*key).to_owned(), value.clone()));
        let properties: Map<String, Value> = own.collect();
        json!({ "type": "object", "additionalProperties": false, "properties": properties, "required": required })
    };
    let number = |low: f64, high: f64| json!({ "type": "number", "minimum": low, "maximum": high });
    let point = json!({
        "type": "array", "prefixItems": [size(), number(0.0, 1.0)], "minItems": 2, "maxItems": 2,
    });
    let points = json!({ "type": "array", "minItems": 1, "maxItems": Steps::MOST, "items": point });
    let (min, max) = (("min", size()), ("max", size()));
    json!({ "anyOf": [
        size(),
        law(&[("pareto", number(0.01, 10.0)), min.clone(), max.clone()], &["pareto", "min", "max"]),
        law(&[("p5", size()), ("p95", size()), min.clone(), max.clone()], &["p5", "p95"]),
        law(&[("median", size()), ("sigma", number(0.000_001, 4.0)), min, max], &["median", "sigma"]),
        law(&[("empirical", points)], &["empirical"]),
    ] })
}

fn text(pattern: &str) -> Value {
    json!({ "type": "string", "pattern": format!("^({pattern})$") })
}

fn kinds_of_queues() -> Vec<&'static str> {
    disciplines::kinds().map(|entry| entry.name).collect()
}

/// Each kind with its own parameters.
fn queue() -> Value {
    let rules: Vec<Value> = disciplines::kinds()
        .map(|entry| {
            let mut properties = parameters(entry.parameters);
            properties.insert(
                "kind".to_owned(),
                json!({ "const": entry.name, "description": entry.summary }),
            );
            json!({
                "if": { "properties": { "kind": { "const": entry.name } }, "required": ["kind"] },
                "then": { "properties": properties, "additionalProperties": false },
            })
        })
        .collect();
    json!({
        "type": "object",
        "description": "A queue discipline with its parameters.",
        "properties": { "kind": { "enum": kinds_of_queues(), "description": "The discipline." } },
        "required": ["kind"],
        "allOf": rules,
    })
}

fn names_of(entries: &[Entry]) -> Vec<&'static str> {
    entries.iter().map(|entry| entry.name).collect()
}

/// Names that no function of a scenario can have.
fn taken() -> Vec<&'static str> {
    names_of(FUNCTIONS).into_iter().chain([UNMARKED]).collect()
}

/// Each kind of throughput-value function with its own parameters.
fn function() -> Value {
    let rule = |entry: &Entry| {
        let mut properties = parameters(entry.parameters);
        let help = json!({ "const": entry.name, "description": entry.summary });
        properties.insert("kind".to_owned(), help);
        let mut required = vec!["kind"];
        if entry.name == PIECEWISE {
            properties.insert("points".to_owned(), points());
            required.push("points");
        }
        json!({
            "if": { "properties": { "kind": { "const": entry.name } }, "required": ["kind"] },
            "then": { "properties": properties, "required": required, "additionalProperties": false },
        })
    };
    let rules: Vec<Value> = FUNCTIONS.iter().map(rule).collect();
    json!({
        "type": "object",
        "description": "A throughput-value function: what the marginal bit of a flow is worth at its rate.",
        "properties": { "kind": { "enum": names_of(FUNCTIONS), "description": "The shape." } },
        "required": ["kind"],
        "allOf": rules,
    })
}

/// The points of a piecewise function. Only `quell check` can judge whether their values fall.
fn points() -> Value {
    let value = json!({ "type": "integer", "minimum": 1, "maximum": Curve::DEAREST });
    json!({
        "type": "array", "minItems": 2, "maxItems": Curve::MOST_POINTS,
        "description": "Rates that do not fall, each with its value, which falls.",
        "items": {
            "type": "array", "prefixItems": [text(&format!("{NUMBER}{RATE}")), value],
            "minItems": 2, "maxItems": 2,
        },
    })
}

/// A function with a marker, which has its own parameters.
fn marked() -> Value {
    let own: Map<String, Value> = Section::Value
        .keys()
        .map(|key| (key.name.to_owned(), property(key)))
        .collect();
    let rule = |(index, entry): (usize, &Entry)| {
        let mut properties = parameters(entry.parameters);
        properties.extend(own.clone());
        let help = json!({ "const": entry.name, "description": entry.summary });
        properties.insert("marker".to_owned(), help);
        // Without a name it is the default one.
        let required: &[&str] = if index == 0 { &[] } else { &["marker"] };
        json!({
            "if": { "properties": { "marker": { "const": entry.name } }, "required": required },
            "then": { "properties": properties, "additionalProperties": false },
        })
    };
    let rules: Vec<Value> = MARKERS.iter().enumerate().map(rule).collect();
    json!({
        "type": "object",
        "description": "A throughput-value function with the marker that gives packets their values by it.",
        "properties": own,
        "allOf": rules,
    })
}

/// A congestion control with its own options; one that only a kernel has has none.
fn control() -> Value {
    let name = Section::CongestionControl
        .keys()
        .find(|key| key.name == "name")
        .map(property);
    let mut rules: Vec<Value> = cc::kinds()
        .map(|kind| {
            let mut properties = parameters(kind.parameters);
            properties.insert(
                "name".to_owned(),
                json!({ "const": kind.name, "description": kind.summary }),
            );
            // Without a name it is the default one.
            let required: &[&str] = if kind.name == DEFAULT_CONTROL {
                &[]
            } else {
                &["name"]
            };
            json!({
                "if": { "properties": { "name": { "const": kind.name } }, "required": required },
                "then": { "properties": properties, "additionalProperties": false },
            })
        })
        .collect();
    let other =
        json!({ "properties": { "name": { "not": { "enum": names() } } }, "required": ["name"] });
    rules.push(json!({ "if": other, "then": { "maxProperties": 1 } }));
    json!({
        "type": "object",
        "description": "A congestion control with its options.",
        "properties": { "name": name },
        "allOf": rules,
    })
}

fn parameters(rows: &[Parameter]) -> Map<String, Value> {
    let mut properties = Map::new();
    for row in rows {
        properties.insert(row.name.to_owned(), parameter(row));
        if let Some(opposite) = row.opposite {
            let help = format!("The opposite of {}.", row.name);
            properties.insert(
                opposite.to_owned(),
                json!({ "type": "boolean", "description": help }),
            );
        }
    }
    properties
}

fn parameter(row: &Parameter) -> Value {
    let mut property = value(&row.domain);
    let mut help = format!(
        "{} Must be {}. Source: {}.",
        row.help, row.domain, row.source
    );
    if let Some(only) = row.only {
        help.push_str(&format!(" Only with {}.", condition(only)));
    }
    match row.default {
        Preset::Is(text) => property["default"] = parameter_in_json(&row.domain, text),
        Preset::By(other, choices) => {
            let choices: Vec<String> = choices
                .iter()
                .map(|(word, value)| format!("{value} with {other} = \"{word}\""))
                .collect();
            help.push_str(&format!(" Default: {}.", choices.join(", ")));
        }
        Preset::Derived(how) => help.push_str(&format!(" Default: {how}.")),
        Preset::Required => {}
    }
    property["description"] = json!(help);
    property
}
