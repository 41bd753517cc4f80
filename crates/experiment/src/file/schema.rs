//! The JSON Schemas (draft 2020-12) of experiment files and of suites, from the keys that the reader knows.
//!
//! Editors complete and check files by them. They know the keys, what each may hold and which go together; whether an expression is one, and
//! whether a name in it means something, only `quell reproduce` and `quell characterize` say.

use serde_json::{Map, Value, json};

use super::definition::{MOST_SEEDS, MOST_VALUES};
use super::keys::{
    AXIS, BOUND, CHECK, COLUMN, CURVE, FIGURE, FILE, Form, ITEM, Key, LABEL, PAIR, RUN, SEED_RANGE,
    STATEMENT, STEPS, SUITE, TABLE,
};
use super::statements::BOUNDS;

/// A name that a file gives.
const NAME: &str = "^[A-Za-z][A-Za-z0-9_]*$";
/// An ID of a statement or an item.
const ID: &str = "^[a-z0-9-]+$";

/// The schema of experiment files.
pub fn schema() -> Value {
    let mut root = object(&FILE);
    root["title"] = json!("quell experiment");
    root["required"] = json!(["schema", "title", "source", "statement"]);
    root["dependentRequired"] = json!({ "strength": ["method"] });
    root["properties"]["statement"]["propertyNames"] = json!({ "pattern": ID });
    for named in ["axis", "let", "figure"] {
        root["properties"][named]["propertyNames"] = json!({ "pattern": NAME });
    }
    let only = |key: &str| json!({ "required": [key] });
    root["properties"]["when"]["items"]["required"] = json!(["where"]);
    root["properties"]["reference"]["required"] = json!(["file", "world", "point", "row"]);
    let picture = &mut root["properties"]["picture"]["items"];
    picture["required"] = json!(["title"]);
    picture["oneOf"] =
        json!([{ "required": ["pairs", "axis"] }, { "required": ["curves", "axes"] }]);
    let cell = form(Form::Template);
    let mut column = object(&COLUMN);
    column["required"] = json!(["each", "head", "cell"]);
    let pair = json!({ "type": "array", "items": cell, "minItems": 2, "maxItems": 2 });
    let list = json!({
        "type": "array", "minItems": 1, "maxItems": MOST_VALUES,
        "items": { "anyOf": [to("formula"), with_fields(&[&RUN, &[LABEL]])] },
    });
    let mut steps = object(&STEPS);
    steps["required"] = json!(["from", "to", "steps"]);
    steps["properties"]["steps"]["minimum"] = json!(2);
    let axis = all_of(
        with_fields(&[&RUN, &AXIS, &[LABEL]]),
        json!({ "oneOf": [only("values"), only("file"), { "required": ["parts"], "maxProperties": 1 }] }),
    );
    defined(
        root,
        json!({
            "seeds": seeds(),
            "set": { "type": "object", "propertyNames": { "not": { "const": "run.seeds" } } },
            "axis": { "anyOf": [list, axis] },
            "values": { "anyOf": [list, steps] },
            "figure": { "anyOf": [to("formula"), all_of(object(&FIGURE), only("of"))] },
            "statement": statement(),
            "check": check(),
            "table": all_of(
                object(&TABLE),
                json!({ "anyOf": [only("table"), only("kind"), only("columns"), { "required": ["heads"] }] }),
            ),
            "columns": { "type": "array", "items": { "anyOf": [pair, column] } },
            "pair": all_of(object(&PAIR), only("ours")),
            "curve": all_of(object(&CURVE), json!({ "anyOf": [only("ours"), only("published")] })),
        }),
    )
}

/// The schema of suites.
pub fn suite_schema() -> Value {
    let mut root = object(&SUITE);
    root["title"] = json!("quell suite");
    root["required"] = json!(["schema", "item"]);
    for named in ["item", "statement"] {
        root["properties"][named]["propertyNames"] = json!({ "pattern": ID });
    }
    root["properties"]["item"]["minProperties"] = json!(1);
    let group = json!({ "type": "object", "required": ["name"], "properties": { "name": form(Form::Text) } });
    let mut bound = object(&BOUND);
    bound["required"] = json!(["what", "source", "check"]);
    bound["properties"]["check"]["required"] = json!(["figure"]);
    bound["properties"]["check"]["oneOf"] =
        json!([{ "required": ["at-least"] }, { "required": ["at-most"] }]);
    let queue = json!({ "type": "object", "required": ["kind"], "properties": { "limit": false } });
    defined(
        root,
        json!({
            "keys": { "type": "object" },
            "queue": queue,
            "groups": { "type": "array", "items": group },
            "item": object(&ITEM),
            "bound": bound,
        }),
    )
}

/// The schema with its definitions, and those of both kinds of files.
fn defined(mut root: Value, definitions: Value) -> Value {
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["$defs"] = definitions;
    root["$defs"]["text"] = form(Form::Text);
    root["$defs"]["formula"] = json!({ "anyOf": [
        { "type": ["string", "number", "boolean"] }, { "type": "array", "items": to("formula") },
    ] });
    root
}

fn to(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

/// A schema with what else has to hold.
fn all_of(mut schema: Value, more: Value) -> Value {
    if let (Value::Object(schema), Value::Object(more)) = (&mut schema, more) {
        schema.extend(more);
    }
    schema
}

/// A table with these keys and no others.
fn object(keys: &[Key]) -> Value {
    let described = keys.iter().map(|Key(name, of, meaning)| {
        let mut of = form(*of);
        of["description"] = json!(meaning);
        ((*name).to_owned(), of)
    });
    let properties: Map<String, Value> = described.collect();
    json!({ "type": "object", "additionalProperties": false, "properties": properties })
}

/// A table with these keys and fields.
fn with_fields(keys: &[&[Key]]) -> Value {
    let mut table = object(&[]);
    for keys in keys {
        let more = object(keys)["properties"].take();
        table["properties"] = all_of(table["properties"].take(), more);
    }
    table["additionalProperties"] = to("formula");
    table["propertyNames"] = json!({ "anyOf": [{ "pattern": NAME }, { "const": "over-linux" }] });
    table
}

fn form(form: Form) -> Value {
    let list = |items: Value| json!({ "type": "array", "items": items });
    match form {
        Form::Version => json!({ "const": 1 }),
        Form::Text => json!({ "type": "string", "minLength": 1 }),
        Form::Texts => list(self::form(Form::Text)),
        Form::SomeTexts => json!({ "anyOf": [self::form(Form::Text), self::form(Form::Texts)] }),
        Form::Flag => json!({ "type": "boolean" }),
        Form::Number => json!({ "type": "number" }),
        Form::Whole(most) => json!({ "type": "integer", "minimum": 1, "maximum": most }),
        Form::Word(words) => json!({ "enum": words() }),
        Form::Template => json!({ "type": ["string", "number", "boolean"] }),
        Form::Templates => list(self::form(Form::Template)),
        Form::Lines => list(self::form(Form::Templates)),
        Form::Formula => to("formula"),
        Form::Formulas => list(to("formula")),
        Form::Table(keys) => object(keys),
        Form::Tables(keys) => list(object(keys)),
        Form::Several(name) => json!({ "anyOf": [
            to(name), { "type": "array", "items": to(name), "minItems": 1 },
        ] }),
        Form::Named(name) => json!({ "type": "object", "additionalProperties": to(name) }),
        Form::To(name) => to(name),
    }
}

fn seeds() -> Value {
    let whole = json!({ "type": "integer", "minimum": 0 });
    let list = json!({
        "type": "array", "items": whole, "uniqueItems": true, "minItems": 1, "maxItems": MOST_SEEDS,
    });
    let mut range = all_of(object(&SEED_RANGE), json!({ "required": ["count"] }));
    range["properties"]["from"] = whole;
    json!({ "anyOf": [form(Form::Whole(MOST_SEEDS)), list, range] })
}

/// It has a check with the words for it, or a reason why there is none.
fn statement() -> Value {
    let judged = json!({ "required": ["check", "checked"], "properties": { "cannot": false } });
    let open =
        json!({ "required": ["cannot"], "properties": { "check": false, "differs": false } });
    all_of(
        object(&STATEMENT),
        json!({ "required": ["published"], "oneOf": [judged, open] }),
    )
}

/// It has a condition, or a value with a bound.
fn check() -> Value {
    let mut bounds = vec!["within"];
    bounds.extend(BOUNDS.iter().map(|(name, _)| *name));
    let bounds = bounds.into_iter().map(|name| json!({ "required": [name] }));
    let mut bounds: Vec<Value> = bounds.collect();
    bounds.push(json!({ "required": ["beside", "figure", "or-within"] }));
    let of = |key: &str| json!({ "required": [key], "anyOf": bounds });
    all_of(
        object(&CHECK),
        json!({ "anyOf": [{ "required": ["holds"] }, of("figure"), of("value")] }),
    )
}
