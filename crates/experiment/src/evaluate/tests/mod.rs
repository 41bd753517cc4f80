//! Experiment files over results that are made up: two rates, two queues, two seeds.

mod checks;
mod hostile;
mod pages;
mod values;

use crate::findings::Findings;
use quell_lab::sweep::Stored;

use crate::Experiment;

/// The first lines of every file here. `law` is what the source printed of a queue.
const BEGIN: &str = r#"
schema = 1
title = "t"
source = "s"
scenario = "s.toml"
measure = "bursts"
seeds = 2
"#;

/// Two axes: a number, and a text with fields.
const AXES: &str = r#"
[axis.rate]
values = [10, 20]
[axis.queue]
values = [{ label = "A", k = 1, law = 111 }, { label = "B", k = 3 }]
"#;

/// A statement that asks for nothing.
const END: &str = r#"
[statement.one]
published = "p"
checked = "c"
check = { holds = "true", what = "w" }
"#;

/// Reads a file beside which lie an empty scenario and another experiment.
fn read(text: &str) -> Result<Experiment, Vec<String>> {
    let files = |name: &str| match name {
        "s.toml" => Some(String::new()),
        "other.toml" => Some(format!("{BEGIN}{AXES}[figure]\na = \"run.a\"\n")),
        _ => None,
    };
    let read = Experiment::read("e", text, &files);
    read.map_err(|problems| problems.all().iter().map(ToString::to_string).collect())
}

/// What was measured at a rate's place, a queue's place and a seed: `a` is 100, 10 and 1 times these.
fn measured(rate: usize, queue: usize, seed: usize) -> String {
    let a = 100 * rate + 10 * queue + seed;
    format!(
        r#"{{"a":{a},"marks":{{}},"drops":{{}},"other":{{"x":null}},"list":[{rate},{queue},{seed}],"word":"w{queue}","each":"s{seed}","flag":true,"none":null,"seed":{}}}"#,
        if seed == 1 {
            "1".to_owned()
        } else {
            "null".to_owned()
        }
    )
}

/// The results of [`AXES`] with two seeds.
fn results() -> Vec<String> {
    let mut all = Vec::new();
    for (rate, queue) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
        all.extend([1, 2].map(|seed| measured(rate, queue, seed)));
    }
    all
}

fn stored(results: &[String]) -> Vec<Stored> {
    results.iter().cloned().map(Stored::Figures).collect()
}

/// The page that a file makes of results, and what could not be evaluated.
fn page_of(text: &str, results: &[String]) -> (String, Vec<String>) {
    let experiment = read(text).unwrap_or_else(|problems| panic!("{problems:#?}\n{text}"));
    assert_eq!(experiment.cells().len(), results.len(), "{text}");
    let findings = Findings::of(&experiment, &stored(results));
    (findings.text.clone(), findings.problems())
}

/// The text of a template with some figures over [`AXES`].
fn shown(figures: &str, template: &str) -> String {
    let text = format!("{BEGIN}{AXES}[figure]\n{figures}\n{END}[page]\ntext = '''{template}'''\n");
    match page_of(&text, &results()) {
        (page, problems) if problems.is_empty() => page,
        (_, problems) => problems.join("\n"),
    }
}
