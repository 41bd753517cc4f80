//! `quell keys`: the keys of a scenario file, from the table of keys and nowhere else.

use quell_lab::World;
use quell_lab::scenario::find::{find, inside, meant};
use quell_lab::scenario::keys::{Key, Section};

use crate::failure::Failure;
use crate::output::page::Page;

/// Lists every key, or explains those called `name`.
pub(crate) fn keys(name: Option<&str>, page: &mut Page) -> Result<(), Failure> {
    let Some(name) = name else {
        for section in Section::ALL {
            list(*section, page);
        }
        page.line("quell keys NAME explains a key, such as link.reverse or rtt.");
        page.line(
            "quell queues, quell cc, quell apps and quell values list the parameters of queues, controls, applications and markers.",
        );
        return Ok(());
    };
    let found = find(name);
    if found.is_empty() {
        let meant = meant(name).map_or(String::new(), |meant| format!("; did you mean {meant}?"));
        return Err(Failure::input(format!(
            "there is no key {name}{meant}{} (quell keys lists all keys)",
            elsewhere(name)
        )));
    }
    for (index, key) in found.iter().enumerate() {
        if index > 0 {
            page.line("");
        }
        explain(key, page);
    }
    Ok(())
}

/// Parameters have tables of their own.
fn elsewhere(name: &str) -> &'static str {
    if name.contains("queue.") {
        "; quell queues KIND lists the parameters of a queue"
    } else if name.contains("congestion-control.") {
        "; quell cc lists the options of controls"
    } else if name.contains("value.") {
        "; quell values NAME lists the parameters of functions and markers"
    } else {
        ""
    }
}

fn list(section: Section, page: &mut Page) {
    page.line(format_args!("{}:", heading(section)));
    let width = section.keys().map(|key| key.name.len()).max().unwrap_or(0);
    let mut last = "";
    for key in section
        .keys()
        .filter(|key| key.name != std::mem::replace(&mut last, key.name))
    {
        page.line(format_args!(
            "  {:width$}  {}",
            key.name,
            first_sentence(key)
        ));
    }
    page.line("");
}

/// A section's heading, and what the keys below it belong to where that is not the same.
fn heading(section: Section) -> String {
    match (section.heading(), section) {
        ("", _) => "top level".to_owned(),
        (
            heading,
            Section::Link
            | Section::Reverse
            | Section::Group
            | Section::At
            | Section::Expect
            | Section::Run,
        ) => heading.to_owned(),
        (heading, Section::Period) => format!("{heading} app = {{ on, off, repeat = {{ … }} }}"),
        (heading, Section::Interval) => format!("{heading} app = {{ interval = {{ … }} }}"),
        (heading, section) => format!("{heading} {} = {{ … }}", section.title()),
    }
}

fn first_sentence(key: &Key) -> &'static str {
    let end = key.help.find(['.', ':', ';']).unwrap_or(key.help.len());
    &key.help[..end]
}

fn explain(key: &Key, page: &mut Page) {
    let live = if key.live {
        "  (can change during a run)"
    } else {
        ""
    };
    page.line(format_args!("{}{live}", key.path()));
    page.paragraph(4, key.help);
    let default = match key.default.words() {
        Some(words) => format!("Default: {words}."),
        None => "Required.".to_owned(),
    };
    page.paragraph(4, &format!("{default} Allowed: {}.", key.domain));
    if let Some(only) = key.only {
        page.paragraph(4, &format!("Only with kind = \"{only}\"."));
    }
    let worlds: Vec<&str> = key.worlds.iter().map(|world| world.name()).collect();
    if key.worlds.len() < World::ALL.len() {
        page.paragraph(4, &format!("Only in the {} world.", worlds.join(" and ")));
    } else {
        page.paragraph(4, "In every world.");
    }
    if !matches!(key.source, "" | "ours") {
        page.paragraph(4, &format!("Source: {}.", key.source));
    }
    page.line("");
    for line in [key.heading(), key.example] {
        if !line.is_empty() {
            page.line(format_args!("    {line}"));
        }
    }
    let mut names: Vec<&str> = Vec::new();
    for key in inside(key) {
        if !names.contains(&key.name) {
            names.push(key.name);
        }
    }
    if !names.is_empty() {
        page.line("");
        page.paragraph(4, &format!("Keys inside: {}.", names.join(", ")));
    }
}
