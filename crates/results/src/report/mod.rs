//! A report of results: one HTML file that asks for nothing from elsewhere.
//!
//! First the answer: a few sentences by rule, the table of people, a picture. Folded below: what was asked, all tables and pictures, what
//! limits trust, and how to repeat it.

mod conclusion;

use std::path::PathBuf;

use quell_measure::Summary;
use serde_json::{Value, json};

use crate::plot::{self, Error, KINDS, Source, queue_text};
use crate::present::{self, Block, Document, Role, Table};
use crate::summary::{self, Case, PEOPLE, People, Spread};
use conclusion::capital;

/// Pictures that a report has where the results have something of them.
const PICTURES: [&str; 8] = [
    "ccdf",
    "delay",
    "rates",
    "signals",
    "reasons",
    "backlog",
    "completion",
    "levels",
];

/// More results than these are rows of the table of people.
const MANY: usize = 6;
/// A picture of more panels is folded.
const PANELS: usize = 6;

/// The page about these results: the answer, and everything else folded.
///
/// # Errors
///
/// A file of a result cannot be read.
pub fn html(sources: &[Source]) -> Result<String, Error> {
    with_cases(sources, |cases| page(sources, cases))
}

/// The answer of the page, and what people feel, for programs.
///
/// # Errors
///
/// A file of a result cannot be read.
pub fn json(sources: &[Source]) -> Result<Value, Error> {
    with_cases(sources, |cases| {
        let people = People::of(cases, &Spread::new(None, false));
        let (words, rows) = people.map_or_else(Default::default, |one| (one.words, one.rows));
        let conclusion = conclusion::sentences(cases, &remarks(sources));
        Ok(json!({ "conclusion": conclusion, "words": words, "rows": rows }))
    })
}

fn with_cases<T>(
    sources: &[Source],
    act: impl FnOnce(&[Case<'_>]) -> Result<T, Error>,
) -> Result<T, Error> {
    let read = |source: &Source| source.runs.iter().map(|run| run.summary()).collect();
    let runs: Result<Vec<Vec<Summary>>, Error> = sources.iter().map(read).collect();
    let runs = runs?;
    let cases = sources.iter().zip(&runs).map(|(source, runs)| Case {
        label: &source.label,
        scenario: source.runs.first().and_then(|run| run.scenario.as_ref()),
        runs: runs.iter().collect(),
        idle: summary::idle(source.folders().zip(runs)),
    });
    act(&cases.collect::<Vec<_>>())
}

fn page(sources: &[Source], cases: &[Case<'_>]) -> Result<String, Error> {
    let spread = Spread::new(None, false);
    let remarks = remarks(sources);
    let said = conclusion::sentences(cases, &remarks);
    let mut blocks = vec![Block::Remarks(said)];
    if let Some(people) = People::of(cases, &spread) {
        blocks.push(Block::Table(match cases.len() {
            0..=MANY => people.table,
            _ => people.table.turned(2, "result"),
        }));
        blocks.extend(people.note.map(Block::Text));
    }
    let mut pictures = pictures(sources)?;
    let is_small =
        |block: &Block| matches!(block, Block::Picture(figure, _) if figure.panels.len() <= PANELS);
    let first = pictures.iter().position(is_small);
    blocks.extend(first.map(|first| pictures.remove(first)));
    let mut tables = summary::blocks(cases, &spread);
    let people = |block: &Block| matches!(block, Block::Table(table) if table.caption == PEOPLE);
    tables.retain(|block| !people(block));
    tables.extend(spread.footnote().map(|note| Block::Text(note.to_owned())));
    let numbers = vec![Block::Table(numbers(sources, &spread))];
    for (title, folded) in [
        ("What was asked", asked(sources)),
        ("All tables", tables),
        ("More pictures", pictures),
        ("Every number of the applications", numbers),
        ("What limits trust", trust(sources, &remarks)),
        ("How to repeat it", repeat(sources)),
    ] {
        blocks.push(Block::Details(title.to_owned(), folded));
    }
    Ok(present::page(&Document {
        title: plot::title(sources),
        blocks,
    }))
}

/// Results of several runs each, which lie in folders of their own, under these names.
///
/// # Errors
///
/// A folder holds no result, or it cannot be read.
pub fn grouped(groups: Vec<(String, Vec<PathBuf>)>) -> Result<Vec<Source>, Error> {
    let first = groups
        .iter()
        .filter_map(|(_, folders)| folders.first().cloned());
    let mut sources = plot::read(&first.collect::<Vec<_>>())?;
    for (source, (label, folders)) in sources.iter_mut().zip(groups) {
        let more = plot::read(folders.get(1..).unwrap_or_default())?;
        source
            .runs
            .extend(more.into_iter().flat_map(|one| one.runs));
        source.label = label;
    }
    Ok(sources)
}

/// Description, link and queue of each result, and the groups, where they are alike once.
fn asked(sources: &[Source]) -> Vec<Block> {
    let mut descriptions: Vec<&str> = Vec::new();
    let mut links = Table::new([
        ("result", Role::Label),
        ("link", Role::Label),
        ("rate", Role::Word),
        ("queue", Role::Word),
        ("reverse rate", Role::Word),
        ("reverse queue", Role::Word),
        ("duration", Role::Word),
        ("warm-up", Role::Word),
    ])
    .captioned("Link");
    let mut groups = Table::new([
        ("group", Role::Label),
        ("flows", Role::Figure),
        ("control", Role::Word),
        ("ECN", Role::Word),
        ("base RTT", Role::Word),
        ("application", Role::Word),
        ("direction", Role::Word),
    ])
    .captioned("Groups of flows");
    let mut known: Vec<[String; 7]> = Vec::new();
    for source in sources {
        let Some(scenario) = source.runs.first().and_then(|run| run.scenario.as_ref()) else {
            continue;
        };
        let description = scenario.description.as_str();
        if !description.is_empty() && !descriptions.contains(&description) {
            descriptions.push(description);
        }
        for link in scenario.links() {
            let (forward, reverse) = (&link.forward, &link.reverse);
            let name = match scenario.links() {
                [_] => String::new(),
                _ => link.name().to_owned(),
            };
            links.row([
                source.label.clone(),
                name,
                forward.rate.to_string(),
                queue_text(&forward.queue),
                reverse.rate.to_string(),
                queue_text(&reverse.queue),
                scenario.run.duration.to_string(),
                scenario.run.warmup.to_string(),
            ]);
        }
        for group in &scenario.groups {
            let control = group.congestion_control.as_ref();
            let row = [
                group.name.clone(),
                group.count.to_string(),
                control.map_or("–", |control| control.name()).to_owned(),
                group.ecn.name().to_owned(),
                group.rtt.to_string(),
                group.app.config().kind().to_owned(),
                group.direction.name().to_owned(),
            ];
            if !known.contains(&row) {
                groups.row(row.clone());
                known.push(row);
            }
        }
    }
    let texts = descriptions
        .into_iter()
        .map(|text| Block::Text(text.to_owned()));
    texts.chain([links, groups].map(Block::Table)).collect()
}

/// Those of [`PICTURES`] that the results have something of.
fn pictures(sources: &[Source]) -> Result<Vec<Block>, Error> {
    let mut blocks = Vec::new();
    for name in PICTURES {
        let mut figure = match plot::figure(name, sources) {
            Ok(figure) => figure,
            Err(Error::Nothing(_)) => continue,
            Err(error) => return Err(error),
        };
        let kind = KINDS.iter().find(|kind| kind.name == name);
        figure.title = kind.map_or_else(String::new, |kind| capital(kind.help));
        // The first one is to fit on a screen.
        if !blocks.is_empty() {
            figure.columns = (figure.columns - 1).max(1);
        }
        blocks.push(Block::Picture(figure, format!("plot-{name}")));
    }
    Ok(blocks)
}

/// Every number that an application reports, under its keys in `summary.json`.
fn numbers(sources: &[Source], spread: &Spread) -> Table {
    let mut table = Table::new([
        ("result", Role::Label),
        ("group", Role::Label),
        ("application", Role::Word),
        ("figure", Role::Word),
        ("value", Role::Figure),
    ]);
    for source in sources {
        let groups = source.runs.first().map(|run| &run.summary["groups"]);
        let groups = groups.and_then(Value::as_array).into_iter().flatten();
        for (index, group) in groups.enumerate() {
            let kind = group["app"]["kind"].as_str().unwrap_or_default();
            let mut keys = Vec::new();
            if !matches!(kind, "" | "bulk") {
                leaves(&group["app"], String::new(), &mut keys);
            }
            for key in keys {
                let pointer = format!("/groups/{index}/app{key}");
                let values = source.runs.iter();
                let values: Vec<f64> = values
                    .filter_map(|run| run.summary.pointer(&pointer)?.as_f64())
                    .collect();
                let form = summary::Form::Plain(3);
                table.row([
                    source.label.as_str(),
                    group["name"].as_str().unwrap_or_default(),
                    kind,
                    &key[1..].replace('/', "."),
                    &spread.cell(form, source.runs.len(), &values),
                ]);
            }
        }
    }
    table
}

/// The JSON pointers of all numbers in a value; lists are left out.
fn leaves(value: &Value, pointer: String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, inner) in fields {
                leaves(inner, format!("{pointer}/{key}"), found);
            }
        }
        Value::Number(_) => found.push(pointer),
        _ => {}
    }
}

/// Reasons to doubt the figures, each with its result.
fn remarks(sources: &[Source]) -> Vec<(&str, &str)> {
    let runs = sources
        .iter()
        .flat_map(|source| source.runs.iter().map(move |run| (source, run)));
    let of_runs = runs.flat_map(|(source, run)| {
        let warnings = run.summary["warnings"].as_array().into_iter().flatten();
        let warnings = warnings.filter_map(Value::as_str);
        let early = "the run ended early; its figures are of a part";
        let early = (run.summary["partial"] == true).then_some(early);
        warnings
            .chain(early)
            .map(move |text| (&*source.label, text))
    });
    of_runs.collect()
}

/// Warnings, and on what it ran.
fn trust(sources: &[Source], remarks: &[(&str, &str)]) -> Vec<Block> {
    let mut runs = Table::new([
        ("result", Role::Label),
        ("world", Role::Word),
        ("seed", Role::Figure),
        ("kernel", Role::Word),
        ("quell", Role::Word),
        ("machine", Role::Word),
        ("started", Role::Word),
        ("took s", Role::Figure),
    ])
    .captioned("Runs");
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let mut is_modelled = false;
    for source in sources {
        for run in &source.runs {
            let facts = run.facts();
            let is_sim = run.summary["world"] == "sim";
            is_modelled |= is_sim;
            let kernel = if is_sim {
                &Value::Null
            } else {
                &facts["kernel"]
            };
            let build = text(&facts["build"]);
            let build = if build.is_empty() {
                build
            } else {
                format!(" ({build})")
            };
            let took = facts["wall_s"].as_f64();
            runs.row([
                source.label.clone(),
                text(&run.summary["world"]),
                text(&run.summary["seed"]),
                text(kernel),
                text(&facts["version"]) + &build,
                text(&facts["machine"]),
                text(&facts["started"]),
                took.map_or_else(|| "–".to_owned(), |took| format!("{took:.3}")),
            ]);
        }
    }
    let mut blocks = vec![match remarks.is_empty() {
        true => Block::Text("No warnings.".to_owned()),
        false => summary::warnings(remarks.iter().copied()),
    }];
    if is_modelled {
        blocks.push(Block::Text(
            "In the sim world the hosts are models of TCP; in the virtual and live worlds they are a Linux kernel's.".to_owned(),
        ));
    }
    blocks.push(Block::Table(runs));
    blocks
}

/// The command, and the scenario with every default.
fn repeat(sources: &[Source]) -> Vec<Block> {
    let mut commands: Vec<String> = Vec::new();
    let mut scenarios = Vec::new();
    for (index, source) in sources.iter().enumerate() {
        let facts = source.runs.first().map(|run| run.facts());
        let words = facts.as_ref().and_then(|facts| facts["command"].as_array());
        let words = words.into_iter().flatten().filter_map(Value::as_str);
        let words: Vec<String> = words.map(quoted).collect();
        if !words.is_empty() && !commands.contains(&words.join(" ")) {
            commands.push(words.join(" "));
        }
        if let Some(text) = source.runs.first().and_then(plot::scenario_text) {
            let label = plot::join(source, "scenario.toml, with every default");
            let code = Block::Code(format!("scenario-{index}"), text);
            scenarios.push(Block::Details(label, vec![code]));
        }
    }
    let mut blocks = Vec::new();
    if !commands.is_empty() {
        blocks.push(Block::Text("The command:".to_owned()));
        blocks.push(Block::Code("command".to_owned(), commands.join("\n")));
    }
    blocks.push(Block::Text(
        "To watch it in a browser, in the simulator: save the scenario, then quell serve FILE."
            .to_owned(),
    ));
    blocks.extend(scenarios);
    blocks
}

/// A word of a shell's command line.
fn quoted(word: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_./=:,+@%".contains(char);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests;
