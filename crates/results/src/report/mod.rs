//! A report of results: one HTML file that asks for nothing from elsewhere.
//!
//! What was asked, what came out (tables, and pictures with the values under the pointer), what limits trust, and how to repeat it.

use quell_measure::Summary;
use serde_json::Value;

use crate::plot::{self, Error, KINDS, Source, queue_text};
use crate::present::{self, Block, Document, Role, Table};
use crate::summary::{self, Case, Spread};

/// Pictures that a report has where the results have something of them.
const PICTURES: [&str; 8] = [
    "delay",
    "ccdf",
    "rates",
    "signals",
    "reasons",
    "backlog",
    "completion",
    "levels",
];

/// The page about these results.
///
/// # Errors
///
/// A file of a result cannot be read.
pub fn html(sources: &[Source]) -> Result<String, Error> {
    let section = |heading: &str, blocks| Block::Section(heading.to_owned(), blocks);
    Ok(present::page(&Document {
        title: plot::title(sources),
        blocks: vec![
            section("What was asked", asked(sources)),
            section("What came out", came_out(sources)?),
            section("What limits trust", trust(sources)),
            section("How to repeat it", repeat(sources)),
        ],
    }))
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

/// The tables that a terminal shows of these results, every number that an application reports, and pictures.
fn came_out(sources: &[Source]) -> Result<Vec<Block>, Error> {
    let read = |source: &Source| source.runs.iter().map(|run| run.summary()).collect();
    let runs: Result<Vec<Vec<Summary>>, Error> = sources.iter().map(read).collect();
    let runs = runs?;
    let cases = sources.iter().zip(&runs).map(|(source, runs)| Case {
        label: &source.label,
        scenario: source.runs.first().and_then(|run| run.scenario.as_ref()),
        runs: runs.iter().collect(),
        idle: summary::idle(source.folders().zip(runs)),
    });
    let spread = Spread::new(None, false);
    let mut blocks = summary::blocks(&cases.collect::<Vec<_>>(), &spread);
    blocks.extend(spread.footnote().map(|note| Block::Text(note.to_owned())));
    let numbers = Block::Table(numbers(sources, &spread));
    blocks.push(Block::Details(
        "Every number of the applications".to_owned(),
        vec![numbers],
    ));
    for kind in KINDS.iter().filter(|kind| PICTURES.contains(&kind.name)) {
        let mut figure = match plot::figure(kind.name, sources) {
            Ok(figure) => figure,
            Err(Error::Nothing(_)) => continue,
            Err(error) => return Err(error),
        };
        figure.title = capital(kind.help);
        figure.columns = (figure.columns - 1).max(1);
        blocks.push(Block::Picture(figure, format!("plot-{}", kind.name)));
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

/// Warnings, and on what it ran.
fn trust(sources: &[Source]) -> Vec<Block> {
    let mut remarks: Vec<(&str, &str)> = Vec::new();
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
            let warnings = run.summary["warnings"].as_array().into_iter().flatten();
            remarks.extend(warnings.filter_map(|text| Some((&*source.label, text.as_str()?))));
            if run.summary["partial"] == true {
                remarks.push((
                    &source.label,
                    "the run ended early; its figures are of a part",
                ));
            }
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
        false => summary::warnings(remarks.into_iter()),
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

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars
        .next()
        .map(|first| first.to_uppercase().collect::<String>());
    first.unwrap_or_default() + chars.as_str()
}

#[cfg(test)]
mod tests;
