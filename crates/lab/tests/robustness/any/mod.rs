//! Any scenario: bytes become choices, choices become a scenario file.
//!
//! The tests draw the bytes at random, and shrink them; the fuzz target `run` of `fuzz/` takes them from libFuzzer. A choice of zero, and
//! every choice after the last byte, gives the simplest case: few bytes are a small scenario. Sizes are spread evenly over the orders of
//! magnitude. Queues, congestion controls and their parameters come from their tables, so a new one is part of the space at once.
//!
//! Two programs of quell and the fuzz target take this folder by its path. It is not in `quell-testing`: it needs every crate that has a table,
//! and an edit of a queue would then build all of them again before its own tests.
//!
//! The length of a run follows from a budget of events, not from a clock: see [`Load`].

mod choices;
mod load;
mod parts;

use quell_lab::World;
use quell_lab::scenario::{Origin, Problem, Problems, Scenario};

use choices::Choices;
use load::{Load, Space};
use parts::{changes, function, group, link, marked, run};

/// A scenario file from `bytes` that takes about `budget` events, or as few as such a scenario can.
pub(crate) fn scenario(bytes: &[u8], budget: u64, world: World) -> String {
    let mut choices = Choices(bytes);
    let mut text = String::from("schema = 1\nname = \"any\"\n");
    let mut load = Load {
        space: Space::of(world),
        ..Load::default()
    };
    link(&mut choices, &mut text, &mut load);
    let own = function(&mut choices, &mut text, &mut load);
    let groups = 1 + choices.below(4);
    for index in 0..groups {
        group(&mut choices, &mut text, &mut load, index);
        marked(&mut choices, &mut text, &mut load, own);
    }
    let changes = changes(&mut choices, &mut load, groups);
    run(&mut choices, &mut text, &load, budget, &changes);
    text
}

/// The scenario for `world`, without the optional lines that do not fit the others.
pub(crate) fn accepted(
    bytes: &[u8],
    budget: u64,
    world: World,
) -> (String, Result<Scenario, Problems>) {
    let mut text = scenario(bytes, budget, world);
    for _ in 0..16 {
        let problems = match Scenario::load("any", &text, &[], Some(world)) {
            Ok(loaded) => return (text, Ok(loaded.scenario)),
            Err(problems) => problems,
        };
        let wrong = |number: usize| {
            let here = |origin: &Origin| matches!(origin, Origin::Line(line) if *line == number);
            problems.all().iter().any(|problem| here(&problem.origin))
        };
        let kept = |(index, line): &(usize, &str)| !wrong(index + 1) || !optional(line);
        let left: Vec<&str> = text
            .lines()
            .enumerate()
            .filter(kept)
            .map(|(_, line)| line)
            .collect();
        let left = left.join("\n") + "\n";
        if left == text {
            let plainer = plainer(&text, &problems);
            if plainer == text {
                return (text, Err(problems));
            }
            text = plainer;
        } else {
            text = left;
        }
    }
    let again = Scenario::load("any", &text, &[], Some(world));
    (text, again.map(|loaded| loaded.scenario))
}

/// The text without the parameters of tables that are wrong as a whole, and without changes that change nothing.
fn plainer(text: &str, problems: &Problems) -> String {
    // Tables, each with the number of its first line.
    let mut tables: Vec<(usize, Vec<&str>)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        match tables.last_mut() {
            Some((_, lines)) if !line.starts_with('[') => lines.push(line),
            _ => tables.push((index + 1, vec![line])),
        }
    }
    let mut left: Vec<&str> = Vec::new();
    for (first, lines) in &tables {
        let here = |problem: &Problem| problem.origin == Origin::Line(*first);
        let wrong = problems.all().iter().any(here);
        match (wrong, lines[0]) {
            // The time and its table are the two lines before.
            (true, "[at.set]") => left.truncate(left.len() - 2),
            (true, _) => left.extend(lines.iter().filter(|line| !optional(line))),
            (false, _) => left.extend(lines),
        }
    }
    left.join("\n") + "\n"
}

/// Whether a line may be left out: those of parameters and changes.
fn optional(line: &str) -> bool {
    let needed = [
        "[",
        "rate =",
        "count =",
        "overhead =",
        "kind =",
        "points =",
        "function =",
        "marker =",
        "name =",
        "rtt =",
        "app =",
        "direction =",
        "time =",
        "duration =",
    ];
    !needed.iter().any(|start| line.starts_with(start))
}
