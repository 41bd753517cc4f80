//! The JSON Schema of sweep files (draft 2020-12).
//!
//! Editors complete and check files by it. It knows the keys, the forms of an axis and which keys go together; whether a key of the
//! scenario exists and what it may be, `quell sweep --dry-run` judges, with the scenario.

use quell_scenario::World;
use serde_json::{Map, Value, json};

use super::{MOST_CELLS, MOST_VALUES};

/// The schema.
pub fn schema() -> Value {
    let worlds: Vec<&str> = World::ALL.iter().map(|world| world.name()).collect();
    let mut root = object(vec![
        ("schema", "The version of the format", json!({ "const": 1 })),
        ("name", "What the sweep is called", text()),
        ("description", "What it shows", text()),
        (
            "scenario",
            "Path of the scenario, from the folder of this file",
            text(),
        ),
        (
            "world",
            "Where the cells run",
            json!({ "enum": worlds, "default": World::default().name() }),
        ),
        (
            "seeds",
            "Seeds of each point; those of the scenario if not given",
            to("seeds"),
        ),
        (
            "set",
            "What every cell has: keys of the scenario",
            to("set"),
        ),
        (
            "method",
            "How points are chosen",
            json!({ "enum": ["grid", "random", "lhs"], "default": "grid" }),
        ),
        (
            "cells",
            "Points that random and lhs draw",
            number(MOST_CELLS),
        ),
        (
            "seed",
            "Seed with which random and lhs draw",
            json!({ "type": "integer", "minimum": 1, "default": 1 }),
        ),
        (
            "axis",
            "Keys of the scenario, each with its values",
            to("axes"),
        ),
        (
            "constraint",
            "Points that are left out",
            json!({ "type": "array", "items": constraint() }),
        ),
        (
            "experiment",
            "Points with a name, beside the grid",
            json!({ "type": "array", "minItems": 1, "items": experiment() }),
        ),
        (
            "objective",
            "Which cells are better than others",
            objective(),
        ),
    ]);
    root["required"] = json!(["schema"]);
    root["anyOf"] = json!([{ "required": ["axis", "scenario"] }, { "required": ["experiment"] }]);
    root["dependentRequired"] = json!({ "axis": ["scenario"] });
    root["if"] = json!({ "properties": { "method": { "enum": ["random", "lhs"] } }, "required": ["method"] });
    root["then"] = json!({ "required": ["cells"] });
    root["else"] = json!({ "properties": { "cells": false, "seed": false } });
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = json!("quell sweep");
    root["$defs"] = json!({ "seeds": seeds(), "set": set(), "axes": axes(), "range": range() });
    root
}

fn text() -> Value {
    json!({ "type": "string", "minLength": 1 })
}

fn number(most: u64) -> Value {
    json!({ "type": "integer", "minimum": 1, "maximum": most })
}

fn to(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

fn object(properties: Vec<(&str, &str, Value)>) -> Value {
    let described = properties.into_iter().map(|(name, description, mut of)| {
        of["description"] = json!(description);
        (name.to_owned(), of)
    });
    let properties: Map<String, Value> = described.collect();
    json!({ "type": "object", "additionalProperties": false, "properties": properties })
}

fn seeds() -> Value {
    let mut range = object(vec![
        (
            "from",
            "The first",
            json!({ "type": "integer", "minimum": 0, "default": 1 }),
        ),
        ("count", "How many", number(MOST_VALUES as u64)),
    ]);
    range["required"] = json!(["count"]);
    let list = json!({
        "type": "array", "items": { "type": "integer", "minimum": 0 }, "uniqueItems": true, "minItems": 1, "maxItems": MOST_VALUES,
    });
    json!({ "anyOf": [list, range] })
}

/// Values by key, whole (`"link.rate"`) or in tables; a value may be a table itself.
fn set() -> Value {
    json!({ "type": "object", "propertyNames": { "not": { "const": "run.seeds" } } })
}

fn axes() -> Value {
    let list =
        json!({ "type": "array", "uniqueItems": true, "minItems": 1, "maxItems": MOST_VALUES });
    json!({
        "type": "object",
        "minProperties": 1,
        "propertyNames": { "not": { "const": "run.seeds" } },
        "additionalProperties": { "anyOf": [list, to("range"), to("axes")] },
        // Where one of these is there, the table is a range and no part of a key.
        "not": { "anyOf": [
            { "required": ["from"] }, { "required": ["to"] }, { "required": ["log"] }, { "required": ["steps"] },
        ] },
    })
}

fn range() -> Value {
    let end = json!({ "type": ["string", "number"] });
    let ends = json!({ "type": "array", "items": end, "minItems": 2, "maxItems": 2 });
    let steps = json!({ "type": "integer", "minimum": 2, "maximum": MOST_VALUES });
    let mut range = object(vec![
        ("from", "One end of equal steps", end.clone()),
        ("to", "The other end", end),
        ("log", "Both ends of equal ratios", ends),
        ("steps", "Number of values, ends included", steps),
    ]);
    range["oneOf"] = json!([
        { "required": ["from", "to"], "properties": { "log": false } },
        { "required": ["log"], "properties": { "from": false, "to": false } },
    ]);
    range
}

fn constraint() -> Value {
    let skip = json!({ "type": "object", "minProperties": 1 });
    let mut table = object(vec![(
        "skip",
        "Values of axes; a point that has all of them is left out",
        skip,
    )]);
    table["required"] = json!(["skip"]);
    table
}

fn experiment() -> Value {
    let mut table = object(vec![
        ("name", "What it is called in the table", text()),
        ("scenario", "Its scenario, instead of the sweep's", text()),
        ("set", "Keys of the scenario with their values", to("set")),
        ("seeds", "Its seeds, instead of the sweep's", to("seeds")),
    ]);
    table["required"] = json!(["name"]);
    table
}

fn objective() -> Value {
    let columns = json!({ "type": "array", "items": text() });
    let mut table = object(vec![
        ("minimise", "Columns that should be small", columns.clone()),
        ("maximise", "Columns that should be large", columns.clone()),
        (
            "within",
            "Axes whose values two cells must share to be compared",
            columns,
        ),
    ]);
    let some =
        |name: &str| json!({ "required": [name], "properties": { name: { "minItems": 1 } } });
    table["anyOf"] = json!([some("minimise"), some("maximise")]);
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "schema = 1\nscenario = \"a.toml\"\n";
    const AXIS: &str = "[axis]\nx = [1]\n";

    fn is_valid(text: &str) -> bool {
        let instance: Value = toml::from_str(text).unwrap();
        let validator = jsonschema::draft202012::new(&schema()).unwrap();
        validator.is_valid(&instance)
    }

    #[test]
    fn the_schema_is_one_of_its_draft() {
        assert!(jsonschema::draft202012::meta::is_valid(&schema()));
    }

    #[test]
    fn shipped_sweeps_are_valid() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/sweeps");
        for entry in std::fs::read_dir(folder).unwrap() {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            assert!(is_valid(&text), "{text}");
        }
    }

    /// Both take the same forms and refuse the same ones.
    #[test]
    fn schema_and_reader_agree() {
        let mut refused = 0;
        let axes = [
            "x = [1]",
            "x = []",
            "x = 5",
            "x = [1, 1]",
            "x = [\"pie\", { kind = \"pie\", target = \"9ms\" }]",
            "link.rate = [\"4mbit\"]",
            "\"group.a.rtt\" = { log = [\"5ms\", \"100ms\"], steps = 5 }",
            "x = { from = 1, to = 9, steps = 3 }",
            "x = { from = 1, to = 9, steps = 1 }",
            "x = { from = 1, steps = 3 }",
            "x = { from = 1, to = 9, log = [1, 9], steps = 3 }",
            "x = { log = [1], steps = 2 }",
            "x = { from = 1, to = 9, steps = 3, stepps = 1 }",
            "x = { from = true, to = 9, steps = 3 }",
            "\"run.seeds\" = [[1], [2]]",
            "",
        ];
        let rests = [
            "",
            "axes = 1",
            "name = \"n\"\ndescription = \"d\"",
            "name = \"\"",
            "name = 5",
            "world = \"virtual\"",
            "world = \"moon\"",
            "seeds = [1, 2]",
            "seeds = []",
            "seeds = [1, 1]",
            "seeds = [-1]",
            "seeds = { from = 0, count = 3 }",
            "seeds = { count = 3 }",
            "seeds = { from = 3 }",
            "seeds = { from = 1, count = 0 }",
            "seeds = 3",
            "set = { \"run.duration\" = \"1s\" }",
            "set = { \"run.seeds\" = [1] }",
            "set = 1",
            "method = \"lhs\"\ncells = 5\nseed = 2",
            "method = \"random\"\ncells = 5",
            "method = \"lhs\"",
            "method = \"lhs\"\ncells = 0",
            "method = \"lhs\"\ncells = 1000001",
            "method = \"grid\"\ncells = 5",
            "method = \"sobol\"",
            "seed = 5",
            "constraint = [{ skip = { x = 1 } }]",
            "constraint = [{ skip = {} }]",
            "constraint = [{ leave = { x = 1 } }]",
            "constraint = { skip = { x = 1 } }",
            "objective = { minimise = [\"a\"], within = [\"x\"] }",
            "objective = { maximise = [] }",
            "objective = { minimise = \"a\" }",
            "objective = { within = [\"x\"] }",
            "experiment = [{ name = \"e\", set = { x = 2 }, seeds = [4] }]",
            "experiment = [{ name = \"e\", scenario = \"b.toml\" }]",
            "experiment = [{ set = { x = 2 } }]",
            "experiment = [{ name = \"e\", sett = {} }]",
            "experiment = []",
        ];
        let with_axes = axes.map(|axis| format!("{HEAD}[axis]\n{axis}\n"));
        let with_rests = rests.map(|rest| format!("{HEAD}{rest}\n{AXIS}"));
        let others = [
            format!("{HEAD}[[experiment]]\nname = \"e\"\n"),
            "schema = 1\n[[experiment]]\nname = \"e\"\nscenario = \"b.toml\"\n".to_owned(),
            HEAD.to_owned(),
            format!("schema = 1\n{AXIS}"),
            format!("scenario = \"a.toml\"\n{AXIS}"),
            format!("schema = 2\nscenario = \"a.toml\"\n{AXIS}"),
        ];
        for text in with_axes.iter().chain(&with_rests).chain(&others) {
            let is_read = crate::sweep::file::read("s.toml", text).is_ok();
            assert_eq!(is_valid(text), is_read, "{text}");
            refused += usize::from(!is_read);
        }
        assert!(refused > 30);
    }
}
