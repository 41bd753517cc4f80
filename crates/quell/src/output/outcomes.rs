//! Outcomes of runs, as `quell run`, `quell compare` and `quell demo` share them: where they go, under which name they are shown,
//! and their JSON.

use std::path::Path;

use quell_lab::live::privilege_separation;
use quell_lab::results::summary::{self, Case, Spread};
use quell_lab::scenario::Scenario;
use quell_lab::{Outcome, World, confidence};
use quell_measure::{Aggregate, Estimate};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output::page::Page;

/// The outcome of a case, with the name of the case and what ran.
pub(crate) type Column<'a> = (&'a str, &'a Scenario, Outcome);

/// The runs of an outcome under a name, which is empty where they stand alone.
pub(crate) fn case<'a>(label: &'a str, scenario: &'a Scenario, outcome: &'a Outcome) -> Case<'a> {
    let runs = || outcome.runs.iter();
    Case {
        label,
        scenario: Some(scenario),
        runs: runs().map(|run| &run.summary).collect(),
        idle: summary::idle(runs().map(|run| (run.folder.as_path(), &run.summary))),
    }
}

/// Prints below the tables of cases what limits trust in them.
pub(crate) fn remarks(cases: &[Case<'_>], spread: &Spread, page: &mut Page) {
    if let Some(note) = spread.footnote() {
        page.gap();
        page.paragraph(0, note);
    }
    let runs = cases.iter().flat_map(|case| {
        let warnings = case.runs.iter().flat_map(|summary| &summary.warnings);
        warnings.map(|text| (case.label, text.as_str()))
    });
    page.blocks(&[summary::warnings(runs)]);
}

/// A path in the folder of the results.
pub(crate) fn results(out: Option<&Path>) -> &Path {
    out.unwrap_or(Path::new("results/run"))
}

/// Gives up what root has and the owner of the folder around `path` lacks, because results of `world` go there. While there is one thread
/// only.
pub(crate) fn write_as_owner(path: &Path, world: World) -> Result<(), Failure> {
    match world {
        World::Live => privilege_separation::separate(path).map_err(Failure::input),
        World::Sim | World::Virtual => {
            quell_lab::writer::write_as_owner(path, world).map_err(Failure::run)
        }
    }
}

/// The mean of several runs, each figure with its confidence interval if that is wanted.
pub(crate) fn with_intervals(
    aggregate: &Aggregate,
    confidence: Option<f64>,
) -> Result<Value, Failure> {
    let mut value = serde_json::to_value(aggregate).map_err(Failure::failed)?;
    if let Some(level) = confidence {
        add_intervals(&mut value, level);
        value["confidence"] = json!(level);
    }
    Ok(value)
}

fn add_intervals(value: &mut Value, level: f64) {
    match value {
        Value::Array(values) => {
            for value in values {
                add_intervals(value, level);
            }
        }
        Value::Object(fields) => {
            let estimate = || Estimate {
                mean: fields["mean"].as_f64().unwrap_or_default(),
                standard_error: fields["standard_error"].as_f64(),
                n: fields["n"].as_u64().unwrap_or_default() as usize,
            };
            if fields.contains_key("standard_error") {
                let estimate = estimate();
                let half = confidence::half_width(&estimate, level);
                let interval = half.map(|half| [estimate.mean - half, estimate.mean + half]);
                fields.insert("confidence_interval".to_owned(), json!(interval));
            } else {
                for value in fields.values_mut() {
                    add_intervals(value, level);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
