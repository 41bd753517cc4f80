//! `quell values`: throughput-value functions and markers, from their tables and nowhere else.

use quell_aqm::kind::Entry;
use quell_aqm::marker::MARKERS;
use quell_aqm::value::FUNCTIONS;
use quell_lab::scenario::closest;

use crate::failure::Failure;
use crate::output::page::Page;
use crate::queues::{explain, list};

fn all() -> impl Iterator<Item = &'static Entry> {
    FUNCTIONS.iter().chain(MARKERS)
}

/// The names of all.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    all().map(|entry| entry.name)
}

/// Lists functions and markers, or explains the one called `name`.
pub(crate) fn values(name: Option<&str>, page: &mut Page) -> Result<(), Failure> {
    let Some(name) = name else {
        page.paragraph(
            0,
            "Throughput-value functions, used as value = \"gold\", or with parameters in [value.NAME]:",
        );
        page.line("");
        list(FUNCTIONS.iter(), page);
        page.line("");
        page.line("Markers, used as value = { function = \"gold\", marker = \"random\" }:");
        page.line("");
        list(MARKERS.iter(), page);
        page.line("");
        page.line("quell values NAME lists the parameters of a function or marker.");
        return Ok(());
    };
    let found: Option<&Entry> = all().find(|entry| entry.name == name);
    let entry = found.ok_or_else(|| {
        let names: Vec<&str> = names().collect();
        let meant = closest(name, names.iter().copied());
        let meant = meant.map_or(String::new(), |name| format!("; did you mean {name}?"));
        let names = names.join(", ");
        Failure::input(format!(
            "there is no function or marker {name}: must be one of {names}{meant}"
        ))
    })?;
    explain(entry, page);
    Ok(())
}
