//! `quell run`.

pub(crate) mod arguments;

use std::path::PathBuf;
use std::time::Instant;

use quell_lab::LiveOptions;
use quell_lab::results::summary::{self, Spread};
use quell_lab::scenario::{Loaded, Scenario};
use quell_lab::{Options, Outcome, Task, World};
use quell_measure::Summary;

use crate::expectations::{self, Lines, Suite};
use crate::failure::Failure;
use crate::interrupt::{Fate, Interrupt};
use crate::output::outcomes::{case, remarks, results, with_intervals, write_as_owner};
use crate::output::page::{self, Page};
use crate::output::progress::Shown;
use crate::run::arguments::Run;
use crate::scenario_file::{load, with_consent, with_errors};

/// Runs a scenario file.
pub(crate) fn run(arguments: &Run, page: &mut Page) -> Result<(), Failure> {
    let world = World::from(arguments.world);
    let queue = arguments.queue.overrides()?;
    let loaded = load(&arguments.file, &arguments.changes, queue, Some(world));
    let loaded = loaded.and_then(|loaded| with_consent(loaded, world, &arguments.consent));
    let loaded = with_errors(loaded, arguments.how.json, page)?;
    start(&loaded, world, arguments, page)
}

fn start(loaded: &Loaded, world: World, arguments: &Run, page: &mut Page) -> Result<(), Failure> {
    let how = &arguments.how;
    arguments.reported.check()?;
    let expected = arguments
        .expected
        .fit(&arguments.file, &loaded.scenario, "", &[])?;
    arguments.expected.check_places(&[("", &loaded.scenario)])?;
    arguments.several.check(loaded).map_err(Failure::input)?;
    let jobs = arguments.jobs.number(world).map_err(Failure::input)?;
    let of_live = [
        ("--load-modules", how.load_modules),
        ("--allow-programs", arguments.consent.allow_programs),
        ("--realtime", how.realtime.priority.is_some()),
    ];
    let given = of_live.iter().find(|(_, is_given)| *is_given);
    if let Some((option, _)) = given.filter(|_| world != World::Live) {
        return Err(Failure::input(format!(
            "{option} has an effect only with --world live"
        )));
    }
    if world != World::Virtual && arguments.guest.is_given() {
        return Err(Failure::input(
            "--kernel and the options that begin with --guest have an effect only with --world virtual",
        ));
    }
    loaded.traces.iter().for_each(|trace| page::say(trace));
    write_as_owner(results(how.out.as_deref()), world)?;
    let interrupt = Interrupt::listen()?;
    let options = Options {
        world,
        out: how.out.clone(),
        stop: interrupt.stop(),
        warnings: loaded.warnings.iter().map(ToString::to_string).collect(),
        packets: arguments.packets,
        live: LiveOptions {
            realtime: how.realtime.priority,
            kernel_queue: arguments.kernel_queue.clone(),
            watch: arguments.watch,
            commands: arguments.guest.commands().map_err(Failure::input)?,
            load_modules: how.load_modules,
            directory: None,
            allow_programs: arguments.consent.allow_programs,
            programs: None,
        },
        guest: arguments.guest.options().map_err(Failure::input)?,
    };
    let mut shown = Shown::new();
    let started = Instant::now();
    let task = Task {
        scenario: &loaded.scenario,
        options,
    };
    let outcomes = quell_lab::run_all(&[task], jobs, &mut |progress| shown.tell(&progress));
    shown.end();
    let outcomes = outcomes.map_err(Failure::run)?;
    for outcome in &outcomes {
        if how.json {
            json(outcome, arguments.several.confidence, page)?;
        } else {
            text(outcome, &loaded.scenario, &arguments.several.spread(), page);
        }
    }
    let mut suites = Vec::new();
    for outcome in outcomes.iter().filter(|_| !interrupt.has_come()) {
        suites.push(Suite {
            seconds: started.elapsed().as_secs_f64(),
            ..Suite::of_runs(&loaded.scenario, "", outcome, &expected)?
        });
    }
    let to = match how.json {
        true => Lines::Besides,
        false => Lines::Page(page),
    };
    let met = expectations::report(&suites, arguments.expected.junit.as_deref(), to);
    arguments
        .reported
        .make(&outcomes, (!how.json).then_some(&mut *page))?;
    interrupt.check(&Fate::of_all(None, &loaded.scenario, outcomes.first()))?;
    arguments.strict.check(&outcomes)?;
    met
}

/// The summary; of several seeds, the aggregate.
fn json(outcome: &Outcome, confidence: Option<f64>, page: &mut Page) -> Result<(), Failure> {
    let text = match (&outcome.aggregate, outcome.runs.first()) {
        (Some((_, aggregate)), _) => {
            serde_json::to_string_pretty(&with_intervals(aggregate, confidence)?)
        }
        (None, Some(run)) => serde_json::to_string_pretty(&run.summary),
        (None, None) => return Ok(()),
    };
    page.line(text.map_err(Failure::failed)?);
    Ok(())
}

/// One table; with several seeds, the table of their means.
fn text(outcome: &Outcome, scenario: &Scenario, spread: &Spread, page: &mut Page) {
    let runs: Vec<&Summary> = outcome.runs.iter().map(|run| &run.summary).collect();
    page.paragraph(0, &summary::title(&runs));
    let cases = [case("", scenario, outcome)];
    page.blocks(&summary::blocks(&cases, spread));
    remarks(&cases, spread, page);
    if let [only] = &outcome.runs[..]
        && let Some(doubts) = summary::doubts(&only.folder, &only.summary, scenario)
    {
        page.gap();
        page.paragraph(0, &doubts);
    }
    let folder: Option<&PathBuf> = match &outcome.aggregate {
        Some((folder, _)) => Some(folder),
        None => outcome.runs.first().map(|run| &run.folder),
    };
    if let Some(folder) = folder {
        page.line("");
        page.line(format_args!("results in {}", folder.display()));
    }
}
