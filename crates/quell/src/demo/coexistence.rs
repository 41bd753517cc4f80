//! `quell demo coexistence`: the effect of a queue, in one command.
//!
//! The coexistence experiment of the DualQ demonstration of 2015, over the drop-tail queue of
//! today's access links and over its remedies.

use quell_experiment::shipped;
use quell_lab::World;
use quell_lab::scenario::{Override, Scenario};

use crate::compare::side_by_side::{self, Case, Place};
use crate::demo::arguments::Demo;
use crate::demo::worlds::{SEEDS, place, seeds, tcp};
use crate::failure::Failure;
use crate::output::page::Page;
use quell_lab::results::summary::Spread;

/// The experiment, which the binary carries.
const SCENARIO: (&str, &str) = (
    "scenarios/dualq2015/coexistence.toml",
    shipped::text("dualq2015/coexistence.toml"),
);
/// Today's access link, with a tenth of a second of buffer, and its remedies.
const QUEUES: &[&str] = &["fifo:limit=100ms", "pie:ecn=true", "fq_codel", "dualpi2"];
/// In real time each takes a minute.
const LIVE: &[&str] = &["fifo:limit=100ms", "dualpi2"];

/// Runs the headline experiment.
pub(crate) fn coexistence(arguments: &Demo, page: &mut Page) -> Result<(), Failure> {
    let world = World::from(arguments.world);
    let mut cases = Vec::new();
    for &queue in queues(world) {
        let mut overrides = Override::queue(queue).map_err(Failure::failed)?;
        overrides.extend(arguments.duration.as_deref().map(Override::duration));
        overrides.push(seeds(arguments.seed, SEEDS, world));
        let mut scenario = Scenario::load(SCENARIO.0, SCENARIO.1, &overrides, Some(world))
            .map_err(Failure::input)?;
        // That drop-tail never marks for DCTCP is the point of the demonstration.
        scenario.warnings.clear();
        cases.push(Case {
            label: queue.to_owned(),
            loaded: scenario,
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
    side_by_side::text(&ran.columns, &Spread::new(None, false), page);
    page.line("");
    page.paragraph(0, CONCLUSION);
    page.line(format_args!("  quell run {}{}", SCENARIO.0, place(world)));
    page.paragraph(0, IN_A_BROWSER);
    page.line("  quell serve");
    arguments.reported.make(ran.outcomes(), Some(page))?;
    ran.check(&arguments.strict)
}

fn queues(world: World) -> &'static [&'static str] {
    match world {
        World::Sim | World::Virtual => QUEUES,
        World::Live => LIVE,
    }
}

fn introduction(world: World) -> String {
    let tcp = tcp(world);
    let remedies = match world {
        World::Live => "over DualPI2",
        World::Sim | World::Virtual => {
            "over PIE and FQ-CoDel, which treat both kinds alike, and over DualPI2, which has a \
             queue for each kind"
        }
    };
    format!(
        "Six downloads share a 40 Mbit/s access link, base RTT 7 ms, {tcp}: four with a scalable \
         congestion control (DCTCP with ECN, group l4s), two with the one that most of the Internet uses \
         (CUBIC, group classic). First over drop-tail with 100 ms of buffer, then {remedies}."
    )
}

const CONCLUSION: &str = "Delay is the time that a packet waits in the queue of the link. The flows \
    and the link are the same each time; only the queue differs. One queue alone, with every figure:";
const IN_A_BROWSER: &str = "The same in a browser, where you move the sliders while it runs:";
