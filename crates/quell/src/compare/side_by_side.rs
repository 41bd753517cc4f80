//! One scenario over several queues, or in several worlds: one table, and the delays as a picture.
//!
//! `quell compare` and `quell demo` share this module.

use std::path::PathBuf;

use quell_lab::LiveOptions;
use quell_lab::results::summary::{self, Spread};
use quell_lab::scenario::Loaded;
use quell_lab::{GuestOptions, Options, Outcome, Task, World};
use quell_measure::Summary;
use serde_json::{Value, json};

use crate::arguments::Jobs;
use crate::arguments::strict::Strict;
use crate::failure::Failure;
use crate::interrupt::{Fate, Interrupt};
use crate::output::delay_picture;
use crate::output::files::folder;
use crate::output::outcomes::{Column, case, remarks, results, with_intervals, write_as_owner};
use crate::output::page::Page;
use crate::output::progress::Shown;

/// Where to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) world: World,
    pub(crate) guest: GuestOptions,
    /// Priority of the live world's threads.
    pub(crate) realtime: Option<u8>,
}

impl Place {
    /// In `world`, with its defaults.
    pub(crate) fn new(world: World) -> Self {
        Self {
            world,
            guest: GuestOptions::default(),
            realtime: None,
        }
    }

    /// The world, and the kernel if one was asked for.
    pub(crate) fn name(&self) -> String {
        let world = self.world.name();
        match &self.guest.kernel {
            Some(kernel) => format!("{world}:{kernel}"),
            None => world.to_owned(),
        }
    }
}

/// A scenario to run somewhere, under a name.
pub(crate) struct Case {
    pub(crate) label: String,
    pub(crate) loaded: Loaded,
    pub(crate) place: Place,
}

/// The outcomes of all cases.
pub(crate) struct Ran<'a> {
    pub(crate) columns: Vec<Column<'a>>,
    /// The fate of every planned run.
    fates: Vec<Fate>,
    interrupt: Interrupt,
}

impl Ran<'_> {
    /// The outcome of each case.
    pub(crate) fn outcomes(&self) -> impl Iterator<Item = &Outcome> {
        self.columns.iter().map(|(.., outcome)| outcome)
    }

    /// Whether a signal has ended the runs.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupt.has_come()
    }

    /// Fails after a signal, or if `--strict` makes a warning an error. Call it after everything has been printed.
    pub(crate) fn check(&self, strict: &Strict) -> Result<(), Failure> {
        self.interrupt.check(&self.fates)?;
        strict.check(self.outcomes())
    }
}

/// Runs each case, one place after the other, until all are done or a signal ends the runs.
pub(crate) fn run<'a>(
    cases: &'a [Case],
    jobs: &Jobs,
    out: Option<&PathBuf>,
) -> Result<Ran<'a>, Failure> {
    // The world that needs the most decides.
    let worlds = || cases.iter().map(|case| case.place.world);
    let mut decides = [World::Live, World::Virtual].into_iter();
    let decides = decides.find(|world| worlds().any(|one| one == *world));
    let place = results(out.map(PathBuf::as_path)).join("case");
    write_as_owner(&place, decides.unwrap_or(World::Sim))?;
    let interrupt = Interrupt::listen()?;
    let mut columns: Vec<Option<Column<'a>>> = cases.iter().map(|_| None).collect();
    for (first, Case { place, .. }) in cases.iter().enumerate() {
        let here = |(_, case): &(usize, &Case)| case.place == *place;
        if cases[..first].iter().any(|case| case.place == *place) || interrupt.has_come() {
            continue;
        }
        let members: Vec<(usize, &'a Case)> = cases.iter().enumerate().filter(here).collect();
        let task = |(_, case): &(usize, &'a Case)| Task {
            scenario: &case.loaded.scenario,
            options: Options {
                world: place.world,
                out: out.map(|out| out.join(folder(&case.label))),
                stop: interrupt.stop(),
                warnings: case
                    .loaded
                    .warnings
                    .iter()
                    .map(ToString::to_string)
                    .collect(),
                packets: false,
                live: LiveOptions {
                    realtime: place.realtime,
                    // Refused before where the caller has not allowed it.
                    allow_programs: true,
                    ..LiveOptions::default()
                },
                guest: place.guest.clone(),
            },
        };
        let tasks: Vec<Task<'_>> = members.iter().map(task).collect();
        let jobs = jobs.number(place.world).map_err(Failure::input)?;
        let mut shown = Shown::new();
        let outcomes = quell_lab::run_all(&tasks, jobs, &mut |progress| shown.tell(&progress));
        shown.end();
        for ((index, case), outcome) in members.iter().zip(outcomes.map_err(Failure::run)?) {
            columns[*index] = Some((&case.label, &case.loaded.scenario, outcome));
        }
    }
    let fates = cases.iter().zip(&columns).flat_map(|(case, column)| {
        let outcome = column.as_ref().map(|(.., outcome)| outcome);
        Fate::of_all(Some(&case.label), &case.loaded.scenario, outcome)
    });
    let fates = fates.collect();
    // A case that had not begun when the signal came has nothing to show.
    let begun = |(.., outcome): &Column<'a>| !outcome.runs.is_empty();
    Ok(Ran {
        columns: columns.into_iter().flatten().filter(begun).collect(),
        fates,
        interrupt,
    })
}

/// The result of a case: of several seeds, the folder around them.
fn folder_of(outcome: &Outcome) -> Option<&PathBuf> {
    let all = outcome.aggregate.as_ref().map(|(folder, _)| folder);
    all.or(outcome.runs.first().map(|run| &run.folder))
}

/// The cases as tables show them.
pub(crate) fn shown<'a>(outcomes: &'a [Column<'_>]) -> Vec<summary::Case<'a>> {
    let cases = outcomes.iter();
    cases
        .map(|(queue, scenario, outcome)| case(queue, scenario, outcome))
        .collect()
}

/// Prints the tables, the picture, the warnings and the folders of the results.
pub(crate) fn text(outcomes: &[Column<'_>], spread: &Spread, page: &mut Page) {
    let cases = shown(outcomes);
    page.blocks(&summary::blocks(&cases, spread));
    let mut delays = Vec::new();
    for (queue, _, outcome) in outcomes {
        let measured = outcome.runs.iter().find(|run| run.summary.has_measured());
        for group in measured.map_or(&[][..], |run| &run.summary.figures.groups) {
            if let Some(delay) = group.delay_ms {
                let (queue, group) = ((*queue).to_owned(), group.name.clone());
                delays.push(delay_picture::Row {
                    queue,
                    group,
                    delay,
                });
            }
        }
    }
    page.gap();
    delay_picture::delays(&delays, page);
    if let Some(run) = outcomes.iter().find(|(.., outcome)| outcome.runs.len() > 1) {
        let seed = run.2.runs[0].seed;
        page.paragraph(0, &format!("The picture shows seed {seed} only."));
    }
    remarks(&cases, spread, page);
    page.gap();
    for (queue, _, outcome) in outcomes {
        if let Some(folder) = folder_of(outcome) {
            page.line(format_args!("{queue}: results in {}", folder.display()));
        }
    }
}

/// The summaries of each queue, in the order asked for; of several seeds with their mean.
pub(crate) fn json(
    outcomes: &[Column<'_>],
    confidence: Option<f64>,
    page: &mut Page,
) -> Result<(), Failure> {
    let mut all: Vec<Value> = Vec::new();
    for (queue, _, outcome) in outcomes {
        let summaries: Vec<&Summary> = outcome.runs.iter().map(|run| &run.summary).collect();
        let folder = folder_of(outcome).map(|folder| folder.display().to_string());
        let mut value = json!({ "queue": queue, "folder": folder, "summaries": summaries });
        if let Some((_, aggregate)) = &outcome.aggregate {
            value["aggregate"] = with_intervals(aggregate, confidence)?;
        }
        all.push(value);
    }
    page.line(serde_json::to_string_pretty(&all).map_err(Failure::failed)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_safe_whatever_the_queue() {
        assert_eq!(
            folder("dualpi2:target=5ms,any_ect=true"),
            "dualpi2-target=5ms-any_ect=true"
        );
        assert_eq!(folder("../x"), "..-x");
    }
}
