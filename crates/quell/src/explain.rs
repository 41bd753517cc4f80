//! `quell explain`: what an expectation can name.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use quell_exec::{LinkOptions, Plan};
use quell_experiment::expectation::Names;
use quell_lab::results::plot;
use serde_json::Value;

use crate::arguments::Changes;
use crate::exec::figures::figures;
use crate::failure::Failure;
use crate::output::files::fail;
use crate::output::page::Page;
use crate::scenario_file::load;

/// `quell explain`.
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// List every figure that expectations can name, with its unit and, of a result, its value: a scenario, or the folder of a
    /// result of quell run or exec
    #[arg(long, value_name = "FILE", required = true)]
    figures: PathBuf,
}

/// Lists the figures of a scenario or a result.
pub(crate) fn explain(arguments: &Explain, page: &mut Page) -> Result<(), Failure> {
    let path = &arguments.figures;
    let (names, results) = match path.is_dir() {
        true => of_result(path)?,
        false => (of_scenario(path)?, Vec::new()),
    };
    let listed = names.list(&results);
    let width = listed
        .iter()
        .map(|[name, _]| name.len())
        .max()
        .unwrap_or_default();
    for [name, value] in &listed {
        page.line(format!("{name:width$}  {value}"));
    }
    Ok(())
}

fn of_scenario(file: &Path) -> Result<Names, Failure> {
    let loaded = load(file, &Changes::default(), Vec::new(), None)?;
    Ok(Names::of(&loaded.scenario))
}

/// The figures of a folder, and the results in it.
fn of_result(folder: &Path) -> Result<(Names, Vec<Value>), Failure> {
    let refused = |why: String| Failure::input(format!("{}: {why}", folder.display()));
    let sources = plot::read(&[folder.to_owned()]).map_err(fail)?;
    let [source] = &sources[..] else {
        return Err(refused("has several results; name one".to_owned()));
    };
    let read = |file: PathBuf| fs::read_to_string(file).map_err(|error| refused(error.to_string()));
    let json = |text: &str| serde_json::from_str(text).map_err(|error| refused(error.to_string()));
    let (mut names, mut results) = (Names::default(), Vec::new());
    for run in source.folders() {
        let summary = json(&read(run.join("summary.json"))?)?;
        let (file, exec) = (run.join("scenario.toml"), run.join("exec.json"));
        if !exec.is_file() {
            names = of_scenario(&file)?;
            results.push(summary);
            continue;
        }
        // The link of a program, whose scenario has no groups.
        let options = LinkOptions {
            scenario: Some((file.display().to_string(), read(file)?)),
            ..LinkOptions::default()
        };
        let plan = Plan::new(&options).map_err(Failure::input)?;
        names = Names::of_program(plan.scenario());
        results.push(figures(summary, &json(&read(exec)?)?));
    }
    Ok((names, results))
}
