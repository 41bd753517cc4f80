//! The tables of a report.

use serde_json::Value;

use super::html_text::add;
use crate::plot::{Source, escaped, number, queue_text};

/// A cell, and whether it is a number.
type Cell = (String, bool);

fn word(text: impl Into<String>) -> Cell {
    (text.into(), false)
}

/// A number with so many digits; a dash where there is none.
fn digits(value: Option<f64>, digits: usize) -> Cell {
    let text = value.map_or_else(|| "–".to_owned(), |value| number(value, digits));
    (text, true)
}

fn table(body: &mut String, caption: &str, head: &[&str], rows: &[Vec<Cell>]) {
    if rows.is_empty() {
        return;
    }
    // A column without anything in it says nothing.
    let is_there = |column: usize| rows.iter().any(|row| !row[column].0.is_empty());
    add(
        body,
        format_args!(
            "<div class=\"scroll\"><table>\n<caption>{}</caption>\n<thead><tr>",
            escaped(caption)
        ),
    );
    for (column, name) in head
        .iter()
        .enumerate()
        .filter(|(column, _)| is_there(*column))
    {
        let class = if rows[0][column].1 {
            " class=\"number\""
        } else {
            ""
        };
        add(
            body,
            format_args!("<th scope=\"col\"{class}>{}</th>", escaped(name)),
        );
    }
    body.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        body.push_str("<tr>");
        for (_, (text, is_number)) in row
            .iter()
            .enumerate()
            .filter(|(column, _)| is_there(*column))
        {
            let class = if *is_number { " class=\"number\"" } else { "" };
            add(body, format_args!("<td{class}>{}</td>", escaped(text)));
        }
        body.push_str("</tr>\n");
    }
    body.push_str("</tbody>\n</table></div>\n");
}

/// Link and queue of each result, and the groups, where they are alike once.
pub(super) fn asked(body: &mut String, sources: &[Source]) {
    let mut links = Vec::new();
    let mut groups: Vec<Vec<Cell>> = Vec::new();
    for source in sources {
        let Some(scenario) = source.runs.first().and_then(|run| run.scenario.as_ref()) else {
            continue;
        };
        for link in scenario.links() {
            let (forward, reverse) = (&link.forward, &link.reverse);
            let label = match scenario.links() {
                [_] => source.label.clone(),
                _ => format!("{}, link {}", source.label, link.name()),
            };
            links.push(vec![
                word(label),
                word(forward.rate.to_string()),
                word(queue_text(&forward.queue)),
                word(reverse.rate.to_string()),
                word(queue_text(&reverse.queue)),
                word(scenario.run.duration.to_string()),
                word(scenario.run.warmup.to_string()),
            ]);
        }
        for group in &scenario.groups {
            let control = group.congestion_control.as_ref();
            let row = vec![
                word(&group.name),
                (group.count.to_string(), true),
                word(control.map_or("–", |control| control.name())),
                word(group.ecn.name()),
                word(group.rtt.to_string()),
                word(group.app.config().kind()),
                word(group.direction.name()),
            ];
            if !groups.contains(&row) {
                groups.push(row);
            }
        }
    }
    let head = [
        "result",
        "rate",
        "queue",
        "reverse rate",
        "reverse queue",
        "duration",
        "warm-up",
    ];
    table(body, "Link", &head, &links);
    let head = [
        "group",
        "flows",
        "control",
        "ECN",
        "base RTT",
        "application",
        "direction",
    ];
    table(body, "Groups of flows", &head, &groups);
}

/// A figure of a part of each run, as the mean over the runs that have it.
fn mean(parts: &[&Value], path: &[&str]) -> Option<f64> {
    let values = parts.iter().filter_map(|part| {
        let value = path.iter().fold(*part, |value, key| &value[*key]);
        match value {
            // Of a list with a number for each flow, their mean.
            Value::Array(flows) => {
                let flows: Vec<f64> = flows.iter().filter_map(Value::as_f64).collect();
                let many = flows.len() as f64;
                (many > 0.0).then(|| flows.iter().sum::<f64>() / many)
            }
            value => value.as_f64(),
        }
    });
    let values: Vec<f64> = values.collect();
    let many = values.len() as f64;
    (many > 0.0).then(|| values.iter().sum::<f64>() / many)
}

/// The same part of each run of a source, by its name.
fn parts<'a>(source: &'a Source, of: &str) -> Vec<(String, Vec<&'a Value>)> {
    let mut all: Vec<(String, Vec<&Value>)> = Vec::new();
    for run in &source.runs {
        for part in run.summary[of].as_array().into_iter().flatten() {
            let name = part["name"].as_str().unwrap_or_default();
            let name = match part["hop"].as_str() {
                Some(hop) => run.queue_name(hop, name),
                None => name.to_owned(),
            };
            let name = match part["direction"].as_str() {
                Some("reverse") => format!("{name} (reverse)"),
                _ => name,
            };
            match all.iter_mut().find(|(other, _)| *other == name) {
                Some((_, parts)) => parts.push(part),
                None => all.push((name, vec![part])),
            }
        }
    }
    all
}

/// Each direction of each link that has a rate: its name, its utilisation, and how evenly greedy flows shared it.
fn directions(source: &Source, summaries: &[&Value]) -> Vec<(String, Option<f64>, Option<f64>)> {
    let several = parts(source, "links");
    let links = match several.is_empty() {
        true => vec![(
            String::new(),
            summaries.iter().map(|summary| &summary["link"]).collect(),
        )],
        false => several,
    };
    let mut all = Vec::new();
    for (name, parts) in links {
        let hop = if name.is_empty() { "link" } else { &name };
        let shared = |direction: &str| mean(&fairness(summaries, hop, direction), &["jain"]);
        all.push((
            name.clone(),
            mean(&parts, &["utilisation"]),
            shared("forward"),
        ));
        let back = mean(&parts, &["reverse", "utilisation"]);
        if back.is_some() {
            let name = format!("{name} (reverse)").trim_start().to_owned();
            all.push((name, back, shared("reverse")));
        }
    }
    all
}

/// What has the index of one direction of a link in each run: the summary itself where all greedy flows cross the only link forward.
fn fairness<'a>(summaries: &[&'a Value], hop: &str, direction: &str) -> Vec<&'a Value> {
    let of_run = |summary: &&'a Value| match summary["fairness"].as_array() {
        Some(all) => all
            .iter()
            .find(|one| one["hop"] == *hop && one["direction"] == *direction),
        None => (direction == "forward").then_some(*summary),
    };
    summaries.iter().filter_map(of_run).collect()
}

/// Links, queues, groups and what applications report.
pub(super) fn figures(body: &mut String, sources: &[Source]) {
    let seeds = sources.iter().map(|source| source.runs.len()).max();
    let of = match seeds {
        Some(many) if many > 1 => format!(", means over {many} seeds"),
        _ => String::new(),
    };
    let (mut links, mut queues, mut groups) = (Vec::new(), Vec::new(), Vec::new());
    for source in sources {
        let summaries: Vec<&Value> = source.runs.iter().map(|run| &run.summary).collect();
        let percent = |value: Option<f64>| digits(value.map(|value| value * 100.0), 4);
        for (name, used, shared) in directions(source, &summaries) {
            links.push(vec![
                word(format!("{} {name}", source.label).trim()),
                percent(used),
                digits(shared, 3),
            ]);
        }
        for (name, parts) in parts(source, "queues") {
            let of = |path: &[&str]| mean(&parts, path);
            queues.push(vec![
                word(&source.label),
                word(name),
                digits(of(&["packets"]), 7),
                percent(of(&["mark_ratio"])),
                percent(of(&["drop_ratio"])),
                digits(of(&["delay_ms", "mean"]), 4),
                digits(of(&["delay_ms", "p50"]), 4),
                digits(of(&["delay_ms", "p99"]), 4),
                digits(of(&["delay_ms", "max"]), 4),
            ]);
        }
        for (name, parts) in parts(source, "groups") {
            let of = |path: &[&str]| mean(&parts, path);
            groups.push(vec![
                word(&source.label),
                word(name),
                word(parts[0]["congestion_control"].as_str().unwrap_or("–")),
                digits(of(&["goodput_bps"]).map(|rate| rate / 1e6), 4),
                digits(of(&["jain"]), 3),
                digits(of(&["delay_ms", "mean"]), 4),
                digits(of(&["delay_ms", "p99"]), 4),
                digits(of(&["rtt_ms", "mean"]), 4),
            ]);
        }
    }
    table(
        body,
        &format!("Link{of}"),
        &["result", "utilised, %", "Jain"],
        &links,
    );
    let head = [
        "result",
        "queue",
        "packets",
        "marked, %",
        "dropped, %",
        "mean, ms",
        "P50, ms",
        "P99, ms",
        "max, ms",
    ];
    table(body, &format!("Delay in the queues{of}"), &head, &queues);
    let head = [
        "result",
        "group",
        "control",
        "per flow, Mbit/s",
        "Jain",
        "mean, ms",
        "P99, ms",
        "RTT, ms",
    ];
    table(body, &format!("Groups{of}"), &head, &groups);
    applications(body, sources, &of);
}

/// Every number that an application reports, under the keys of `summary.json`.
fn applications(body: &mut String, sources: &[Source], of: &str) {
    let mut rows = Vec::new();
    for source in sources {
        for (name, parts) in parts(source, "groups") {
            let kind = parts[0]["app"]["kind"].as_str().unwrap_or_default();
            if matches!(kind, "" | "bulk") {
                continue;
            }
            let mut keys = Vec::new();
            leaves(&parts[0]["app"], &mut Vec::new(), &mut keys);
            for key in keys {
                let path: Vec<&str> = ["app"]
                    .into_iter()
                    .chain(key.iter().map(String::as_str))
                    .collect();
                if let Some(value) = mean(&parts, &path) {
                    rows.push(vec![
                        word(&source.label),
                        word(&name),
                        word(kind),
                        word(key.join(".")),
                        digits(Some(value), 5),
                    ]);
                }
            }
        }
    }
    if rows.is_empty() {
        return;
    }
    body.push_str("<details>\n<summary>What the applications measured</summary>\n");
    let head = ["result", "group", "application", "figure", "value"];
    table(body, &format!("Applications{of}"), &head, &rows);
    body.push_str("</details>\n");
}

/// The paths of all numbers in a value; lists are left out.
fn leaves(value: &Value, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    match value {
        Value::Object(fields) => {
            for (key, inner) in fields {
                path.push(key.clone());
                leaves(inner, path, found);
                path.pop();
            }
        }
        Value::Number(_) => found.push(path.clone()),
        _ => {}
    }
}

/// World, seed, version, machine and times.
pub(super) fn circumstances(body: &mut String, sources: &[Source]) {
    let mut rows = Vec::new();
    for source in sources {
        for run in &source.runs {
            let facts = run.facts();
            let text = |value: &Value| match value {
                Value::String(text) => text.clone(),
                Value::Null => String::new(),
                other => other.to_string(),
            };
            let kernel = match run.summary["world"].as_str() {
                Some("sim") => String::new(),
                _ => text(&facts["kernel"]),
            };
            let version = match (text(&facts["version"]), text(&facts["build"])) {
                (version, build) if build.is_empty() => version,
                (version, build) => format!("{version} ({build})"),
            };
            rows.push(vec![
                word(&source.label),
                word(text(&run.summary["world"])),
                (text(&run.summary["seed"]), true),
                word(kernel),
                word(version),
                word(text(&facts["machine"])),
                word(text(&facts["started"])),
                digits(facts["wall_s"].as_f64(), 3),
            ]);
        }
    }
    let head = [
        "result", "world", "seed", "kernel", "quell", "machine", "started", "took, s",
    ];
    table(body, "Runs", &head, &rows);
}
