//! `docs/reference/applications.md`: every application with its presets, parameters, figures and events.

use std::fmt::Write as _;

use quell_app::{Entry, KINDS};

use crate::docs::{Known, compare, parameters};

const HEAD: &str = "\
# Applications

Generated from the table of `quell-app`: every application, with its presets and parameters and their defaults. `quell apps NAME` prints an example,
the allowed values, what a preset sets, and every figure and event too. The [guide](../guides/applications.md) explains what each is for.
[files.csv](files.csv) lists the figures (in `groups[].app` of `summary.json`) and the events (in `events.parquet`). A key beside a preset overrides it.
";

fn rendered() -> String {
    let mut out = String::from(HEAD);
    let mut known = Known::new();
    for entry in KINDS {
        section(&mut out, entry, &mut known);
    }
    out
}

fn section(out: &mut String, entry: &'static Entry, known: &mut Known) {
    let _ = write!(
        out,
        "\n## {}\n\n{}.\n",
        entry.name,
        capital(entry.summary.trim_end_matches('.'))
    );
    if !entry.presets.is_empty() || !entry.parameters.is_empty() {
        out.push('\n');
    }
    for preset in entry.presets {
        let _ = writeln!(out, "* preset `{}`: {}", preset.name, preset.summary);
    }
    parameters(out, entry.name, entry.parameters, known);
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
