//! `quell compare`: one scenario over several queues, in several worlds, with several kernels: one table.

pub(crate) mod arguments;
pub(crate) mod side_by_side;

use std::time::Instant;

use quell_lab::World;
use quell_lab::scenario::Override;

use crate::arguments::ArgumentError;
use crate::arguments::queue_lists::queues;
use crate::compare::arguments::Compare;
use crate::compare::side_by_side::{Case, Place};
use crate::expectations::{self, Lines, Suite};
use crate::failure::Failure;
use crate::output::page::Page;
use crate::scenario_file::{Text, with_consent, with_errors};

/// Runs the scenario once per queue and place, and prints the effect of each on each group.
pub(crate) fn compare(arguments: &Compare, page: &mut Page) -> Result<(), Failure> {
    arguments.reported.check()?;
    let places = places(arguments).map_err(Failure::input)?;
    let queues = match &arguments.queues[..] {
        [] => vec![None],
        lists => {
            let queues = queues("--queue", lists).map_err(Failure::input)?;
            queues.into_iter().map(Some).collect()
        }
    };
    let text = Text::read(&arguments.file)?;
    // Every scenario is checked before the first one runs.
    let mut cases = Vec::new();
    for queue in &queues {
        let change = match queue {
            Some(queue) => Override::queue(queue).map_err(Failure::input)?,
            None => Vec::new(),
        };
        for place in &places {
            let mut first = change.clone();
            first.extend(default_seeds(place.world));
            let loaded = text.load_with(&arguments.changes, first, Some(place.world));
            let loaded =
                loaded.and_then(|loaded| with_consent(loaded, place.world, &arguments.consent));
            let loaded = with_errors(loaded, arguments.json, page)?;
            arguments.several.check(&loaded).map_err(Failure::input)?;
            let own = || loaded.scenario.links[0].forward.queue.kind.to_owned();
            let queue = queue.clone().unwrap_or_else(own);
            let label = match places.len() {
                1 => queue,
                _ => format!("{queue} {}", name(place, arguments)),
            };
            cases.push(Case {
                label,
                loaded,
                place: place.clone(),
            });
        }
    }
    let labels: Vec<&str> = cases.iter().map(|case| case.label.as_str()).collect();
    let fit = |case: &Case| {
        arguments
            .expected
            .fit(&arguments.file, &case.loaded.scenario, &case.label, &labels)
    };
    let expected: Vec<_> = cases.iter().map(fit).collect::<Result<_, _>>()?;
    let places: Vec<_> = cases
        .iter()
        .map(|case| (&*case.label, &case.loaded.scenario))
        .collect();
    arguments.expected.check_places(&places)?;
    let started = Instant::now();
    let ran = side_by_side::run(&cases, &arguments.jobs, arguments.out.as_ref())?;
    if arguments.json {
        side_by_side::json(&ran.columns, arguments.several.confidence, page)?;
    } else {
        side_by_side::text(&ran.columns, &arguments.several.spread(), page);
    }
    let mut suites = Vec::new();
    for (case, expected) in cases.iter().zip(&expected) {
        let column = ran.columns.iter().find(|(label, ..)| *label == case.label);
        if let Some((label, scenario, outcome)) = column.filter(|_| !ran.is_interrupted()) {
            suites.push(Suite {
                seconds: started.elapsed().as_secs_f64() / cases.len() as f64,
                ..Suite::of_runs(scenario, label, outcome, expected)?
            });
        }
    }
    let to = match arguments.json {
        true => Lines::Besides,
        false => Lines::Page(page),
    };
    let met = expectations::report(&suites, arguments.expected.junit.as_deref(), to);
    arguments
        .reported
        .make(ran.outcomes(), (!arguments.json).then_some(&mut *page))?;
    ran.check(&arguments.strict)?;
    met
}

/// How many seeds a comparison runs where neither the file nor the command line says.
const SEEDS: u64 = 3;

/// Several seeds, so that chance and effect can be told apart; one in real time, which would take so many times as long.
fn default_seeds(world: World) -> Option<Override> {
    (world != World::Live).then(|| Override::default_seeds(SEEDS))
}

/// The world, and the kernel where there are several; in one world the kernel alone, by its name in the list, so that two of one
/// version stay distinct.
fn name(place: &Place, arguments: &Compare) -> String {
    match (arguments.kernels.len(), &place.guest.kernel) {
        (0 | 1, _) | (_, None) => place.world.name().to_owned(),
        (_, Some(kernel)) if arguments.worlds.len() == 1 => kernel.clone(),
        _ => place.name(),
    }
}

/// Each world; the virtual one with each kernel.
fn places(arguments: &Compare) -> Result<Vec<Place>, ArgumentError> {
    let mut places: Vec<Place> = Vec::new();
    for world in arguments.worlds.iter().map(|&place| World::from(place)) {
        let kernels: Vec<Option<String>> = match (world, &arguments.kernels[..]) {
            (World::Virtual, [_, ..]) => arguments.kernels.iter().cloned().map(Some).collect(),
            _ => vec![None],
        };
        for kernel in kernels {
            let place = Place {
                world,
                guest: arguments.place.set(arguments.patience.options(kernel)?),
                realtime: arguments.realtime.priority.filter(|_| world == World::Live),
            };
            if places.contains(&place) {
                return Err(ArgumentError::PlaceTwice(place.name()));
            }
            places.push(place);
        }
    }
    if !arguments.kernels.is_empty() && places.iter().all(|place| place.world != World::Virtual) {
        return Err(ArgumentError::OnlyIn("--kernel has", World::Virtual));
    }
    if arguments.place.is_given() && places.iter().all(|place| place.world != World::Virtual) {
        return Err(ArgumentError::OnlyIn(
            "--guest-day and --guest-user have",
            World::Virtual,
        ));
    }
    if arguments.realtime.priority.is_some() && places.iter().all(|place| place.realtime.is_none())
    {
        return Err(ArgumentError::OnlyIn("--realtime has", World::Live));
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::command_line::{Arguments, Command};

    #[test]
    fn a_priority_is_for_the_live_world_alone() {
        let words = "quell compare x.toml --world sim,live --realtime 9";
        let given = Arguments::try_parse_from(words.split(' ')).unwrap();
        let Command::Compare(given) = given.command else {
            panic!("compare");
        };
        let found = places(&given).unwrap();
        let found: Vec<_> = found.iter().map(|place| place.realtime).collect();
        assert_eq!(found, [None, Some(9)]);
    }
}
