//! `quell check` and `quell schema`.

pub(crate) mod arguments;
pub(crate) mod worlds;

use quell_exec::{LinkOptions, Plan};
use quell_lab::results::summary_schema;
use quell_lab::scenario::Loaded;
use quell_lab::{World, schema, sweep};

use crate::arguments::strict;
use crate::check::arguments::{Check, SchemaOf};
use crate::expectations::Expected;
use crate::failure::Failure;
use crate::output::page::Page;
use crate::scenario_file::Text;

/// Reports whether a scenario could run.
pub(crate) fn check(arguments: &Check, page: &mut Page) -> Result<(), Failure> {
    let Some(file) = &arguments.file else {
        return trace(arguments.trace.as_deref().unwrap_or_default(), page);
    };
    let text = Text::read(file)?;
    let queue = arguments.queue.overrides()?;
    let load = |world| text.load_with(&arguments.changes, queue.clone(), world);
    let world = arguments.world.map(World::from);
    let judge = |loaded: &Loaded| {
        let expected = Expected::default();
        expected.fit(file, &loaded.scenario, "", &[])
    };
    let load = |world| load(world).and_then(|loaded| judge(&loaded).map(|_| loaded));
    let warnings = worlds::judge(&load, &file.display().to_string(), world, page)?;
    strict::check(arguments.strict, warnings, "")
}

/// Says what is understood of a trace, as a link that follows it would.
fn trace(trace: &str, page: &mut Page) -> Result<(), Failure> {
    let options = LinkOptions {
        down_trace: Some(trace.to_owned()),
        ..LinkOptions::default()
    };
    let wrong = |error: String| Failure::input(error.replace("--down-trace", "--trace"));
    let plan = Plan::new(&options).map_err(|error| wrong(error.to_string()))?;
    for line in plan.traces() {
        // Without the key of the link.
        page.line(
            line.split_once(": ")
                .map_or(line.as_str(), |(_, line)| line),
        );
    }
    Ok(())
}

/// Prints the JSON Schema of a kind of file.
pub(crate) fn schema(of: SchemaOf, page: &mut Page) -> Result<(), Failure> {
    let schema = match of {
        SchemaOf::Scenario => schema::schema(),
        SchemaOf::Sweep => sweep::schema(),
        SchemaOf::Experiment => quell_experiment::schema(),
        SchemaOf::Suite => quell_experiment::suite_schema(),
        SchemaOf::Summary => summary_schema(),
        SchemaOf::Card => quell_experiment::characterize::schema(),
    };
    page.line(serde_json::to_string_pretty(&schema).map_err(Failure::failed)?);
    Ok(())
}
