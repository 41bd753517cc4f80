//! `quell check`, `quell schema`, and the reading of scenario files.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use quell_lab::results::summary_schema;
use quell_lab::scenario::{Loaded, Override, Scenario};
use quell_lab::{World, schema};

use crate::Failure;
use crate::arguments::{Changes, Check, SchemaOf};
use crate::page::Page;
use crate::worlds;

/// No scenario is that long; a wrong file may be.
const LONGEST_FILE: u64 = 4 << 20;

/// Says whether a scenario could run.
pub(crate) fn check(arguments: &Check, page: &mut Page) -> Result<(), Failure> {
    let load = |world| load(&arguments.file, &arguments.changes, world);
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
    load_with(file, changes, Vec::new(), world)
}

/// The same with `first` applied before what the command line changes.
pub(crate) fn load_with(
    file: &Path,
    changes: &Changes,
    first: Vec<Override>,
    world: Option<World>,
) -> Result<Loaded, Failure> {
    let name = file.display().to_string();
    let text =
        read(file).map_err(|error| Failure::input(format!("cannot read {name}: {error}")))?;
    let mut overrides = first;
    for set in &changes.sets {
        overrides.push(Override::set(set).map_err(Failure::input)?);
    }
    overrides.extend(changes.duration.as_deref().map(Override::duration));
    overrides.extend(changes.seed.map(Override::seed));
    Scenario::load(&name, &text, &overrides, world).map_err(|problems| {
        let count = problems.0.len();
        let what = if count == 1 {
            "1 error".to_owned()
        } else {
            format!("{count} errors")
        };
        Failure::input(format!("the scenario has {what}\n{problems}"))
    })
}

fn read(file: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    let length = fs::File::open(file)?
        .take(LONGEST_FILE + 1)
        .read_to_string(&mut text)?;
    if length as u64 > LONGEST_FILE {
        return Err(std::io::Error::other("the file is too long for a scenario"));
    }
    Ok(text)
}
