//! `quell demo home`: what each person of a household feels behind three queues.

use quell_experiment::shipped;
use quell_lab::World;
use quell_lab::results::present::Block;
use quell_lab::results::summary::{People, Spread};
use quell_lab::scenario::{Override, Scenario};

use crate::compare::side_by_side::{self, Case, Place};
use crate::demo::arguments::Demo;
use crate::demo::worlds::{place, seeds, tcp};
use crate::failure::Failure;
use crate::output::outcomes::Column;
use crate::output::page::Page;

/// The household, which the binary carries.
const SCENARIO: (&str, &str) = (
    "scenarios/home/evening.toml",
    shipped::text("home/evening.toml"),
);
/// Today's line with a fifth of a second of buffer, and its remedies; in both directions.
const QUEUES: &[(&str, &str)] = &[
    ("drop-tail", "fifo:limit=200ms"),
    ("fq_codel", "fq_codel"),
    ("dualpi2", "dualpi2"),
];
/// How long one run takes in real time, unless another duration is asked for: the buffer of a film, and some pages.
const LIVE_DURATION: &str = "70s";
/// Seeds in the simulator: what one evening brings over drop-tail is mostly chance.
const EVENINGS: u64 = 5;

/// Runs the household behind each queue.
pub(crate) fn home(arguments: &Demo, page: &mut Page) -> Result<(), Failure> {
    let world = World::from(arguments.world);
    let mut cases = Vec::new();
    for &(label, queue) in QUEUES {
        let mut overrides = Override::queue(queue).map_err(Failure::failed)?;
        overrides.extend(Override::reverse_queue(queue).map_err(Failure::failed)?);
        let of_world = (world == World::Live).then_some(LIVE_DURATION);
        let duration = arguments.duration.as_deref().or(of_world);
        overrides.extend(duration.map(Override::duration));
        overrides.push(seeds(arguments.seed, EVENINGS, world));
        let mut loaded = Scenario::load(SCENARIO.0, SCENARIO.1, &overrides, Some(world))
            .map_err(Failure::input)?;
        // That a queue without L4S has no use for the mark of the call and the game is the point.
        loaded.warnings.clear();
        cases.push(Case {
            label: label.to_owned(),
            loaded,
            place: Place::new(world),
        });
    }
    arguments.reported.check()?;
    let ran = side_by_side::run(&cases, &arguments.jobs, arguments.out.as_ref())?;
    if arguments.json {
        side_by_side::json(&ran.columns, None, page)?;
        arguments.reported.make(ran.outcomes(), None)?;
        return ran.check(&arguments.strict);
    }
    page.paragraph(0, &introduction(world));
    page.line("");
    people(&ran.columns, page);
    page.line("");
    page.paragraph(0, CONCLUSION);
    page.line(format_args!("  quell run {}{}", SCENARIO.0, place(world)));
    arguments.reported.make(ran.outcomes(), Some(page))?;
    ran.check(&arguments.strict)
}

fn introduction(world: World) -> String {
    format!(
        "An evening at home: a line of 100 Mbit/s down and 20 Mbit/s up, base RTT 20 ms, {}. Two downloads and a backup \
         run all the time. Beside them somebody reads the web, somebody watches a film, somebody calls and somebody plays. \
         First over drop-tail with 200 ms of buffer, as many lines have it, then over FQ-CoDel, which gives each flow a queue of its \
         own, and over DualPI2, which has a queue for those who send evenly.",
        tcp(world)
    )
}

/// What everybody feels behind each queue, what the numbers and marks are, and what a family would say.
fn people(columns: &[Column<'_>], page: &mut Page) {
    let spread = Spread::new(None, false);
    let cases = side_by_side::shown(columns);
    let Some(people) = People::of(&cases, &spread) else {
        return;
    };
    page.blocks(&[Block::Table(people.table)]);
    page.line("");
    let most = cases.iter().map(|case| case.runs.len()).max();
    let heading = spread.heading(most.unwrap_or(0));
    let below = heading.into_iter().chain(people.note);
    let below = below.chain(spread.footnote().map(str::to_owned));
    below.for_each(|text| page.paragraph(0, &text));
    page.gap();
    people.words.iter().for_each(|text| page.paragraph(0, text));
}

const CONCLUSION: &str = "The flows and the line are the same each time; only the queue differs, in both directions. A page is one \
    of 71 objects (the median of 2024). MOS is the opinion of callers by ITU-T G.107, and its words are those of its annex B. Each run \
    is an evening, and evenings differ most over drop-tail (--seed 1 shows one). Every figure behind one queue:";
