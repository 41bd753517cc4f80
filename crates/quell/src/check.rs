//! `quell check`, `quell schema`, and the reading of scenario files.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use quell_lab::results::summary_schema;
use quell_lab::scenario::{Loaded, Origin, Override, Problem, Scenario};
use quell_lab::{World, schema};
use serde_json::{Value, json};

use crate::Failure;
use crate::arguments::{Changes, Check, SchemaOf};
use crate::page::Page;
use crate::worlds;

/// Longest scenario file; a longer one is the wrong file.
const LONGEST_FILE: u64 = 4 << 20;

/// Reports whether a scenario could run.
pub(crate) fn check(arguments: &Check, page: &mut Page) -> Result<(), Failure> {
    let text = Text::read(&arguments.file)?;
    let load = |world| text.load_with(&arguments.changes, Vec::new(), world);
    let world = arguments.world.map(World::from);
    worlds::judge(&load, &arguments.file.display().to_string(), world, page)
}

/// Prints the JSON Schema of a kind of file.
pub(crate) fn schema(of: SchemaOf, page: &mut Page) -> Result<(), Failure> {
    let schema = match of {
        SchemaOf::Scenario => schema::schema(),
        SchemaOf::Summary => summary_schema(),
    };
    page.line(serde_json::to_string_pretty(&schema).map_err(Failure::failed)?);
    Ok(())
}

/// Reads and checks a scenario file.
pub(crate) fn load(
    file: &Path,
    changes: &Changes,
    world: Option<World>,
) -> Result<Loaded, Failure> {
    Text::read(file)?.load_with(changes, Vec::new(), world)
}

/// A scenario file as it was written. It is read once: standard input has it only once.
pub(crate) struct Text {
    name: String,
    text: String,
}

impl Text {
    /// Reads `file`; `-` is standard input.
    pub(crate) fn read(file: &Path) -> Result<Self, Failure> {
        let (name, text) = if file == Path::new("-") {
            (
                "standard input".to_owned(),
                within_bounds(io::stdin().lock()),
            )
        } else {
            let text = File::open(file).and_then(within_bounds);
            (file.display().to_string(), text)
        };
        let text = text.map_err(|error| Failure::input(format!("cannot read {name}: {error}")))?;
        Ok(Self { name, text })
    }

    /// Checks it, with `first` applied before what the command line changes.
    pub(crate) fn load_with(
        &self,
        changes: &Changes,
        first: Vec<Override>,
        world: Option<World>,
    ) -> Result<Loaded, Failure> {
        let mut overrides = first;
        for set in &changes.sets {
            overrides.push(Override::set(set).map_err(Failure::input)?);
        }
        overrides.extend(changes.duration.as_deref().map(Override::duration));
        overrides.extend(changes.seed.map(Override::seed));
        Scenario::load(&self.name, &self.text, &overrides, world).map_err(|problems| {
            let count = problems.all().len();
            let what = if count == 1 {
                "1 error".to_owned()
            } else {
                format!("{count} errors")
            };
            Failure {
                problems: Some(problems.clone()),
                ..Failure::input(format!("the scenario has {what}\n{problems}"))
            }
        })
    }
}

/// With `--json`, puts the errors of a scenario on the page, beside the message of `result`.
pub(crate) fn with_errors<T>(
    result: Result<T, Failure>,
    json: bool,
    page: &mut Page,
) -> Result<T, Failure> {
    let problems = result.as_ref().err().and_then(|it| it.problems.as_ref());
    if let Some(problems) = problems.filter(|_| json) {
        let errors: Vec<Value> = problems.all().iter().map(as_json).collect();
        let errors = json!({ "errors": errors });
        page.line(serde_json::to_string_pretty(&errors).map_err(Failure::failed)?);
    }
    result
}

fn as_json(problem: &Problem) -> Value {
    let (line, argument) = match &problem.origin {
        Origin::Line(line) => (Some(line), None),
        Origin::Argument(argument) => (None, Some(argument)),
    };
    json!({
        "file": problem.file,
        "line": line,
        "argument": argument,
        "key": problem.key,
        "found": problem.found,
        "allowed": problem.allowed,
    })
}

fn within_bounds(from: impl io::Read) -> io::Result<String> {
    let mut text = String::new();
    let length = from.take(LONGEST_FILE + 1).read_to_string(&mut text)?;
    if length as u64 > LONGEST_FILE {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(text)
}
