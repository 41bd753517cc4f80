//! The tables of the book: those of more than ten rows are files of `docs/evidence/data`, the smaller ones lines of one file there.

use std::fs;

use quell_experiment::{Experiment, Findings, Section, shipped};

use crate::data::{self, Lines, OUTDATED};
use quell_lab::results::present::Table;

const SMALL: Lines = Lines {
    name: "published-tables.csv",
    head: "experiment,cells of a row; a table begins with its heads",
};

/// The rows of the tables in an experiment's text.
fn rows(text: &str) -> Vec<Vec<String>> {
    let is_rule = |line: &&str| line.chars().all(|c| "|-: ".contains(c));
    let lines = text.lines().filter(|line| line.starts_with('|'));
    let cells = |line: &str| {
        let cells = line.trim().trim_start_matches('|').trim_end_matches('|');
        cells
            .split('|')
            .map(|cell| cell.trim().to_owned())
            .collect()
    };
    lines.filter(|line| !is_rule(line)).map(cells).collect()
}

/// Prints the text of what ran of a section, and checks its tables and files; with `QUELL_BLESS=1` it writes them.
pub(crate) fn check(section: &Section, findings: &[Findings<'_>], files: &[(&str, Table)]) {
    let (title, body) = (&section.title, body(findings));
    println!("\n## {title}\n\n{body}");
    let ids = section.experiments.iter().map(|one| one.id.as_str());
    let texts = ids.filter_map(|id| shipped::experiment(&format!("{id}.toml")));
    let texts: String = texts.collect();
    for (name, table) in files {
        let link = format!("](data/{name})");
        assert!(texts.contains(&link), "{title} has no link to {name}");
        let path = data::docs().join("evidence/data").join(name);
        let csv = table.to_csv();
        if data::blesses() {
            fs::write(path, csv).unwrap();
        } else {
            let found = fs::read_to_string(path).unwrap_or_default();
            assert!(found == csv, "docs/evidence/data/{name} {OUTDATED}");
        }
    }
    for one in findings {
        SMALL.check(&one.experiment().id, &rows(&one.text));
    }
}

/// The text of a section.
pub(crate) fn body(findings: &[Findings<'_>]) -> String {
    let texts = findings.iter().map(|one| one.text.as_str());
    let texts = texts.filter(|text| !text.is_empty());
    // A table ends its line itself.
    let body = texts.collect::<Vec<_>>().join("\n\n");
    body.replace("\n\n\n", "\n\n")
}

/// What the files of data have of an experiment.
pub(crate) fn written(experiment: &Experiment) -> Vec<String> {
    let mut texts = vec![SMALL.written(&experiment.id).join("\n")];
    for name in experiment.tables() {
        let path = data::docs().join("evidence/data").join(name);
        texts.push(fs::read_to_string(path).unwrap_or_default());
    }
    texts
}

#[test]
fn the_tables_of_a_text_are_rows_of_cells() {
    let text = "Words.\n\n| a | b  |\n| - | -: |\n| 1 | −2 |\n\nMore | words.\n";
    assert_eq!(rows(text), [["a", "b"], ["1", "−2"]]);
}
