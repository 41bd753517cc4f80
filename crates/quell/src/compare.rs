//! `quell compare`: one scenario over several queues, in several worlds, with several kernels: one table.

use quell_lab::World;
use quell_lab::scenario::Override;

use crate::Failure;
use crate::arguments::Compare;
use crate::check::{Text, with_errors};
use crate::page::Page;
use crate::side_by_side::{self, Case, Place};

/// Runs the scenario once per queue and place, and prints the effect of each on each group.
pub(crate) fn compare(arguments: &Compare, page: &mut Page) -> Result<(), Failure> {
    let places = places(arguments).map_err(Failure::input)?;
    let queues = match &arguments.queues[..] {
        [] => vec![None],
        lists => {
            let queues = queues(lists).map_err(Failure::input)?;
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
            let loaded = text.load_with(&arguments.changes, change.clone(), Some(place.world));
            let loaded = with_errors(loaded, arguments.json, page)?;
            arguments.several.check(&loaded).map_err(Failure::input)?;
            let own = || loaded.scenario.link.forward.queue.kind.to_owned();
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
    let ran = side_by_side::run(&cases, &arguments.jobs, arguments.out.as_ref())?;
    if arguments.json {
        side_by_side::json(&ran.columns, arguments.several.confidence, page)?;
    } else {
        side_by_side::text(&ran.columns, &arguments.several.spread(), page);
    }
    ran.check(&arguments.strict)
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
fn places(arguments: &Compare) -> Result<Vec<Place>, String> {
    let mut places: Vec<Place> = Vec::new();
    for world in arguments.worlds.iter().map(|&place| World::from(place)) {
        let kernels: Vec<Option<String>> = match (world, &arguments.kernels[..]) {
            (World::Virtual, [_, ..]) => arguments.kernels.iter().cloned().map(Some).collect(),
            _ => vec![None],
        };
        for kernel in kernels {
            let place = Place {
                world,
                guest: arguments.patience.options(kernel)?,
                realtime: arguments.realtime.priority.filter(|_| world == World::Live),
            };
            if places.contains(&place) {
                return Err(format!("{} is there twice", place.name()));
            }
            places.push(place);
        }
    }
    if !arguments.kernels.is_empty() && places.iter().all(|place| place.world != World::Virtual) {
        return Err("--kernel has an effect only with --world virtual".to_owned());
    }
    if arguments.realtime.priority.is_some() && places.iter().all(|place| place.realtime.is_none())
    {
        return Err("--realtime has an effect only with --world live".to_owned());
    }
    Ok(places)
}

/// The queues of every list that was given.
fn queues(lists: &[String]) -> Result<Vec<String>, String> {
    let mut queues = Vec::new();
    for list in lists {
        queues.extend(of_list(list)?);
    }
    for (index, queue) in queues.iter().enumerate() {
        if queues[..index].contains(queue) {
            return Err(format!(
                "--queue {}: {queue} is there twice",
                lists.join(",")
            ));
        }
    }
    Ok(queues)
}

/// Splits `fifo,fq_codel:target=5ms,limit=100p,dualpi2`: what has a value belongs to the queue before
/// it.
fn of_list(list: &str) -> Result<Vec<String>, String> {
    let mut queues: Vec<String> = Vec::new();
    if list.trim().is_empty() {
        return Err("--queue: give at least one queue, such as fifo,dualpi2".to_owned());
    }
    for part in list.split(',').map(str::trim) {
        if part.is_empty() {
            return Err(format!(
                "--queue {list}: there is a comma with no queue beside it"
            ));
        }
        let parameter = part.contains('=') && !part.contains(':');
        match queues.last_mut() {
            Some(queue) if parameter && queue.contains(':') => {
                queue.push(',');
                queue.push_str(part);
            }
            _ if parameter => {
                return Err(format!(
                    "--queue {list}: {part} has no queue before it, such as fifo:{part}"
                ));
            }
            _ => queues.push(part.to_owned()),
        }
    }
    Ok(queues)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::arguments::{Arguments, Command};

    fn of(lists: &[&str]) -> Result<Vec<String>, String> {
        let lists: Vec<String> = lists.iter().map(ToString::to_string).collect();
        queues(&lists)
    }

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

    #[test]
    fn a_second_list_adds_to_the_first() {
        assert_eq!(
            of(&["fifo", "pie,dualpi2:target=5ms"]).unwrap(),
            ["fifo", "pie", "dualpi2:target=5ms"]
        );
        assert!(of(&["fifo", "fifo"]).is_err());
        assert!(of(&["fifo:limit=9p", "target=5ms"]).is_err());
    }

    #[test]
    fn parameters_belong_to_the_queue_before_them() {
        assert_eq!(
            of(&["fifo, dualpi2:target=5ms,any_ect=true,fifo:limit=20ms"]).unwrap(),
            ["fifo", "dualpi2:target=5ms,any_ect=true", "fifo:limit=20ms"]
        );
        for wrong in [
            "",
            ",",
            ",pie",
            "pie,,red",
            "pie,",
            "target=5ms",
            "fifo,target=5ms",
            "fifo,fifo",
        ] {
            assert!(of(&[wrong]).is_err(), "{wrong}");
        }
    }
}
