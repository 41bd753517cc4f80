//! The JSON Schemas of experiments and suites: shipped files are valid, and what the readers refuse for its form is not.

use std::fs;
use std::path::{Path, PathBuf};

use quell_experiment::{Experiment, schema, suite_schema};
use serde_json::Value;

fn is_valid(schema: &Value, text: &str) -> bool {
    let instance: Value = toml::from_str(text).unwrap();
    let validator = jsonschema::draft202012::new(schema).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&instance)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    println!("{}", errors.join("\n"));
    errors.is_empty()
}

/// Every TOML file of a folder and below.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let below = paths.flat_map(|path| match path.is_dir() {
        true => files(&path),
        false => vec![path],
    });
    let is_toml = |path: &PathBuf| path.extension().is_some_and(|end| end == "toml");
    below.filter(is_toml).collect()
}

#[test]
fn every_shipped_experiment_and_suite_is_valid() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (folder, schema, least) in [("experiments", schema(), 60), ("suites", suite_schema(), 3)] {
        assert!(jsonschema::draft202012::meta::is_valid(&schema));
        let files = files(&root.join(folder)).into_iter();
        // The book is none of them.
        let files: Vec<PathBuf> = files.filter(|path| !path.ends_with("book.toml")).collect();
        assert!(files.len() >= least, "{files:?}");
        for path in files {
            let text = fs::read_to_string(&path).unwrap();
            assert!(is_valid(&schema, &text), "{}", path.display());
        }
    }
}

const PAPER: &str = r#"
schema = 1
title = "t"
source = "s"
scenario = "red/curvy.toml"
seeds = 2
[axis.flows]
values = [2, 5]
[axis.kind]
values = [{ label = "A", k = 1, limits = [1, 2] }, { label = "B", set = { "link.queue.kind" = "pie" } }]
[let]
twice = "2 * mean"
[figure]
mean = "queue.queue.delay_ms.mean"
law = { of = "mean * k", where = "k", label = "law", over = "point" }
[statement.one]
published = "p"
checked = "c"
check = { figure = "mean", above = 1 }
[table.main]
columns = [["flows", "{flows}"]]
[[picture]]
title = "t"
axis = "ms"
pairs = { label = "{flows}", ours = "mean" }
[page]
text = "{table.main}"
"#;

/// Whether it is good, and what becomes what in the paper.
#[rustfmt::skip]
const CASES: &[(bool, &str, &str)] = &[
    (true, "seeds = 2", "seeds = [1, 3]\nquick = \"20s\"\nmeasure = \"summary\""),
    (true, "seeds = 2", "seeds = { from = 3, count = 2 }"),
    (true, "values = [2, 5]", "values = { from = 1, to = 9, steps = 3 }"),
    (true, "check = { figure", "check = [{ holds = \"mean > 1\" }, { figure"),
    (true, "checked = \"c\"\ncheck = { figure = \"mean\", above = 1 }", "cannot = \"lost\""),
    (true, "mean = \"queue", "three = 3\nmean = \"queue"),
    (true, "seeds = 2", "[[when]]\nwhere = \"flows == 2\"\nseeds = 3"),
    (false, "schema = 1", "schema = 2"),
    (false, "schema = 1\n", ""),
    (false, "title = \"t\"\nsource", "source"),
    (false, "source = \"s\"", "source = 3"),
    (false, "source = \"s\"", "source = \"s\"\nsources = \"s\""),
    (false, "seeds = 2", "seeds = 0"),
    (false, "seeds = 2", "seeds = [1, 1]"),
    (false, "seeds = 2", "seeds = { from = 1 }"),
    (false, "seeds = 2", "measure = \"all\""),
    (false, "seeds = 2", "set = { \"run.seeds\" = 3 }"),
    (false, "seeds = 2", "strength = 2"),
    (false, "seeds = 2", "[[when]]\nseeds = 2"),
    (false, "[2, 5]", "[]"),
    (false, "values = [2, 5]", "valeus = [2, 5]"),
    (false, "values = [2, 5]", "values = [2]\nfile = \"a.csv\""),
    (false, "values = [2, 5]", "values = { from = 1, to = 2, steps = 1 }"),
    (false, "values = [2, 5]", "parts = \"days\""),
    (false, "values = [2, 5]", "parts = \"phases\"\nlabel = \"x\""),
    (false, "axis.flows", "axis.\"link.rate\""),
    (false, "label = \"law\"", "lable = \"law\""),
    (false, "over = \"point\"", "over = \"max\""),
    (false, "of = \"mean * k\", ", ""),
    (false, "published = \"p\"\n", ""),
    (false, "checked = \"c\"\n", ""),
    (false, "check = { figure = \"mean\", above = 1 }", ""),
    (false, "checked = \"c\"", "checked = \"c\"\ncannot = \"lost\""),
    (false, "statement.one", "statement.One"),
    (false, "figure = \"mean\", above = 1", "figure = \"mean\""),
    (false, "figure = \"mean\", above = 1", "above = 1"),
    (false, "above = 1", "abov = 1"),
    (false, "above = 1", "above = 1, each = \"flows\""),
    (false, "[[\"flows\", \"{flows}\"]]", "[[\"flows\"]]"),
    (false, "columns = [[\"flows\", \"{flows}\"]]", ""),
    (false, "title = \"t\"\naxis = \"ms\"", "title = \"t\""),
    (false, "pairs = { label = \"{flows}\", ours = \"mean\" }", ""),
    (false, "ours = \"mean\"", "label2 = \"mean\""),
    (false, "[page]\ntext", "[page]\ntitle"),
];

/// What the reader takes and refuses, the schema takes and refuses.
#[test]
fn schema_and_reader_of_experiments_agree() {
    let schema = schema();
    let is_read = |text: &str| Experiment::read("paper", text, &|_| None).is_ok();
    for &(is_good, old, new) in CASES {
        assert!(PAPER.contains(old), "{old}");
        let mut text = PAPER.replacen(old, new, 1);
        if new.contains("[{ holds") {
            text = text.replace("above = 1 }", "above = 1 }]");
        }
        // A table of the file ends the keys of its head.
        if let Some(when) = new.find("[[when]]").map(|at| &new[at..]) {
            text = text.replacen(when, "", 1) + when + "\n";
        }
        assert_eq!(is_read(&text), is_good, "{new}");
        assert_eq!(is_valid(&schema, &text), is_good, "{new}");
    }
}
