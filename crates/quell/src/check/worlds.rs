//! The worlds in which a scenario can run: the answer of `quell check`.
//!
//! A world may refuse the scenario for what the file asks, and this host for what it lacks. A run gives the same reasons.

use quell_lab::readiness::missing_requirements;
use quell_lab::scenario::Loaded;
use quell_lab::{GuestOptions, World};

use crate::failure::Failure;
use crate::output::page::Page;

/// Judges the scenario that `load` reads from `file`: for `world`, or for the default world with a line about each of the others. Returns
/// the number of warnings.
pub(crate) fn judge(
    load: &dyn Fn(Option<World>) -> Result<Loaded, Failure>,
    file: &str,
    world: Option<World>,
    page: &mut Page,
) -> Result<usize, Failure> {
    // Errors that every world shares come first.
    let loaded = load(None)?;
    for warning in &loaded.warnings {
        page.line(format_args!("warning: {warning}"));
    }
    for trace in &loaded.traces {
        page.line(trace);
    }
    let chosen = world.unwrap_or_default();
    let (name, place) = (&loaded.scenario.name, chosen.name());
    let refused = refusal(load, chosen);
    match &refused {
        Ok(()) => page.line(format_args!("{file}: {name} is OK in the {place} world")),
        Err(_) => page.line(format_args!(
            "{file}: {name} cannot run in the {place} world"
        )),
    }
    if world.is_none() {
        for other in World::ALL.iter().filter(|other| **other != chosen) {
            let answer = match refusal(load, *other) {
                Ok(()) => "runs here too".to_owned(),
                Err(failure) => no(&failure.message),
            };
            page.line(format_args!("  {:8} {answer}", other.name()));
        }
    }
    refused.map(|()| loaded.warnings.len())
}

/// Why a world, or this host, refuses the scenario.
fn refusal(
    load: &dyn Fn(Option<World>) -> Result<Loaded, Failure>,
    world: World,
) -> Result<(), Failure> {
    let loaded = load(Some(world))?;
    has_all(&loaded, world, &GuestOptions::default())
}

/// Fails with what this host lacks to run the scenario.
pub(crate) fn has_all(loaded: &Loaded, world: World, guest: &GuestOptions) -> Result<(), Failure> {
    let missing = missing_requirements(&loaded.scenario, world, guest);
    if missing.is_empty() {
        return Ok(());
    }
    let missing: Vec<String> = missing.iter().map(ToString::to_string).collect();
    Err(Failure::input(format!(
        "this host lacks something for the {} world\n{}",
        world.name(),
        missing.join("\n")
    )))
}

/// The first reason of a message of several lines, whose first is a heading.
fn no(message: &str) -> String {
    let mut reasons = message.lines().skip(1);
    let first = reasons.next().unwrap_or(message);
    match reasons.count() {
        0 => format!("no: {first}"),
        more => format!("no: {first} (and {more} more; see quell check --world)"),
    }
}
