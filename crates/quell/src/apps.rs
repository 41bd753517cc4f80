//! `quell apps`: the applications, from their table and nowhere else.

use quell_app::{Entry, KINDS, NAMES, find};
use quell_lab::scenario::closest;

use crate::failure::Failure;
use crate::output::page::Page;
use crate::queues::explain_parameters;

/// Words stand beside a name only where a line has room for so many columns of them.
const LEAST_BESIDE: usize = 40;

/// Lists every application, or explains the one called `name`.
pub(crate) fn apps(name: Option<&str>, page: &mut Page) -> Result<(), Failure> {
    let Some(name) = name else {
        list(page);
        return Ok(());
    };
    let entry = find(name).ok_or_else(|| {
        let meant = closest(name, NAMES.iter().copied());
        let meant = meant.map_or(String::new(), |name| format!("; did you mean {name}?"));
        Failure::input(format!(
            "there is no application {name}: must be one of {}{meant}",
            NAMES.join(", ")
        ))
    })?;
    explain(entry, page);
    Ok(())
}

fn list(page: &mut Page) {
    let names = KINDS.iter().map(|entry| (entry.name, entry.summary));
    named(names.collect(), 0, page);
    page.line("");
    page.line("Presets, used as app = { kind = \"web\", preset = \"l4s-demo\" }:");
    for entry in KINDS.iter().filter(|entry| !entry.presets.is_empty()) {
        page.line("");
        page.line(entry.name);
        presets(entry, page);
    }
    page.line("");
    page.line("quell apps NAME explains an application: its parameters, and what it reports.");
}

fn presets(entry: &Entry, page: &mut Page) {
    let presets = entry.presets.iter();
    named(
        presets
            .map(|preset| (preset.name, preset.summary))
            .collect(),
        2,
        page,
    );
}

/// Names, and beside each what it is; below it where the terminal is narrow.
fn named(rows: Vec<(&str, &str)>, indent: usize, page: &mut Page) {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let beside = indent + width + 2;
    for (name, what) in rows {
        if beside + LEAST_BESIDE <= page.columns() {
            page.hanging(&format!("{:indent$}{name:width$}  ", ""), what);
        } else {
            page.line(format_args!("{:indent$}{name}", ""));
            page.paragraph(indent + 4, what);
        }
    }
}

fn explain(entry: &Entry, page: &mut Page) {
    page.paragraph(0, &format!("{}: {}", entry.name, entry.summary));
    if !entry.presets.is_empty() {
        page.line("");
        page.line("Presets; a key beside a preset overrides it:");
        presets(entry, page);
    }
    if !entry.parameters.is_empty() {
        page.line("");
        page.line("Parameters:");
        explain_parameters(entry.parameters, page);
    }
    for form in (entry.forms)() {
        page.line("");
        page.line("Reports:");
        let figures = form.figures.iter();
        named(
            figures
                .map(|figure| (figure.name, figure.meaning))
                .collect(),
            2,
            page,
        );
    }
    if !entry.events.is_empty() {
        page.line("");
        page.line("Events, in events.parquet:");
        let events = entry.events.iter();
        named(
            events.map(|event| (event.kind, event.meaning)).collect(),
            2,
            page,
        );
    }
    page.line("");
    page.line("In a scenario:");
    page.line(format_args!("    {}", entry.example));
}
