//! `quell queues`: the queue disciplines, from the registry and nowhere else.

use quell_aqm::kind::Entry;
use quell_aqm::{disciplines, own};
use quell_lab::scenario::closest;
use quell_units::parameter::{Parameter, Preset, condition};

use crate::failure::Failure;
use crate::output::page::Page;

/// Lists every discipline, or explains the one called `name`.
pub(crate) fn queues(name: Option<&str>, page: &mut Page) -> Result<(), Failure> {
    let Some(name) = name else {
        list(disciplines::kinds(), page);
        page.line("");
        page.line("quell queues NAME lists the parameters of a discipline.");
        return Ok(());
    };
    let entry = disciplines::find(name).map_err(|error| {
        let meant = closest(name, disciplines::kinds().map(|entry| entry.name));
        let meant = meant.map_or(String::new(), |name| format!("; did you mean {name}?"));
        Failure::input(format!(
            "there is no queue {name}: {}{meant}",
            error.allowed
        ))
    })?;
    explain(entry, page);
    if let Some(own) = own::find(name) {
        page.line("");
        page.paragraph(0, &format!("It comes from {}.", own.origin));
    }
    Ok(())
}

/// One line per entry: name and summary.
pub(crate) fn list<'a>(entries: impl Iterator<Item = &'a Entry> + Clone, page: &mut Page) {
    let width = entries.clone().map(|entry| entry.name.len()).max();
    let width = width.unwrap_or(0);
    for entry in entries {
        let line = format!("{:width$}  {}", entry.name, entry.summary);
        if page.columns() >= 80 || line.chars().count() <= page.columns() {
            page.line(line);
        } else {
            page.line(entry.name);
            page.paragraph(4, entry.summary);
        }
    }
}

/// Summary, source and parameters of an entry.
pub(crate) fn explain(entry: &Entry, page: &mut Page) {
    page.paragraph(0, &format!("{}: {}", entry.name, entry.summary));
    page.paragraph(
        0,
        &format!("Source: {}.", entry.source.trim_end_matches('.')),
    );
    explain_parameters(entry.parameters, page);
}

/// Each parameter with its meaning, default, range and source.
pub(crate) fn explain_parameters(parameters: &[Parameter], page: &mut Page) {
    for parameter in parameters {
        page.line("");
        let live = if parameter.live {
            "  (can change during a run)"
        } else {
            ""
        };
        page.line(format_args!("  {}{live}", parameter.name));
        for text in details(parameter) {
            page.paragraph(6, &text);
        }
    }
}

/// The default, or what it follows from.
pub(crate) fn default(parameter: &Parameter) -> String {
    match parameter.default {
        Preset::Is(text) => text.to_owned(),
        Preset::By(other, choices) => {
            let choices: Vec<String> = choices
                .iter()
                .map(|(word, value)| format!("{value} ({other} = {word})"))
                .collect();
            choices.join(", ")
        }
        Preset::Derived(how) => how.to_owned(),
        Preset::Required => "must be given".to_owned(),
    }
}

fn details(parameter: &Parameter) -> Vec<String> {
    let mut all = vec![parameter.help.to_owned()];
    all.push(format!(
        "Default: {}. Allowed: {}.",
        default(parameter),
        parameter.domain
    ));
    if let Some(only) = parameter.only {
        all.push(format!("Only with {}.", condition(only)));
    }
    if let Some(opposite) = parameter.opposite {
        all.push(format!("Opposite: {opposite}."));
    }
    if !parameter.source.is_empty() {
        all.push(format!(
            "Source: {}.",
            parameter.source.trim_end_matches('.')
        ));
    }
    all
}
