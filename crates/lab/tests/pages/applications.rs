//! `docs/reference/applications.md`: every application with its presets, parameters, figures and events.

use std::fmt::Write as _;

use quell_app::{Entry, KINDS};

use crate::docs::{cell, compare, rows};

const HEAD: &str = "\
# Applications

Every application, with its presets, parameters, figures and events. `quell apps NAME` prints the same on the terminal. The
[guide](../guides/applications.md) explains what each is for. The figures stand in `groups[].app` of `summary.json`, the events in
`events.parquet` ([results](results.md)). Generated from the table of `quell-app`.

| kind | what it is |
| --- | --- |
";

fn rendered() -> String {
    let mut out = String::from(HEAD);
    for entry in KINDS {
        let _ = writeln!(
            out,
            "| [`{0}`](#{0}) | {1} |",
            entry.name,
            cell(entry.summary)
        );
    }
    for entry in KINDS {
        section(&mut out, entry);
    }
    out
}

fn section(out: &mut String, entry: &Entry) {
    let _ = write!(
        out,
        "\n## {}\n\n{}.\n\n```toml\n{}\n```\n",
        entry.name,
        capital(entry.summary.trim_end_matches('.')),
        entry.example
    );
    if !entry.presets.is_empty() {
        out.push_str(
            "\nA key beside a preset overrides it:\n\n| preset | what it is | sets |\n| --- | --- | --- |\n",
        );
        for preset in entry.presets {
            let settings = preset.settings.iter();
            let settings: Vec<String> = settings
                .map(|(key, value)| format!("`{key}` = `{value}`"))
                .collect();
            let _ = writeln!(
                out,
                "| `{}` | {} | {} |",
                preset.name,
                cell(preset.summary),
                cell(&settings.join(", "))
            );
        }
    }
    if !entry.parameters.is_empty() {
        out.push('\n');
        rows(out, entry.parameters, true);
    }
    for form in (entry.forms)() {
        out.push_str("\n| figure | holds |\n| --- | --- |\n");
        for figure in form.figures {
            let _ = writeln!(out, "| `{}` | {} |", figure.name, cell(figure.meaning));
        }
    }
    if !entry.events.is_empty() {
        out.push_str("\n| event | what it is | `value` |\n| --- | --- | --- |\n");
        for event in entry.events {
            let _ = writeln!(
                out,
                "| `{}` | {} | {} |",
                event.kind,
                cell(event.meaning),
                cell(event.value)
            );
        }
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

#[test]
fn the_page_of_applications_is_that_of_their_table() {
    compare("applications.md", &rendered());
}
