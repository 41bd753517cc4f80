//! One scenario over several queues, or in several worlds: one table, and the delays as a picture.
//!
//! `quell compare` and `quell demo` share this.

use std::path::PathBuf;

use quell_lab::live::{LiveOptions, apart};
use quell_lab::scenario::Loaded;
use quell_lab::{GuestOptions, Options, Outcome, Task, World};
use quell_measure::{GroupSummary, Summary};

use crate::Failure;
use crate::arguments::Jobs;
use crate::interrupt::{Fate, Interrupt};
use crate::page::Page;
use crate::phases;
use crate::picture;
use crate::progress::Shown;
use crate::run::results;
use crate::strict::Strict;
use crate::table;
use crate::transfers;

/// Where to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) world: World,
    pub(crate) guest: GuestOptions,
}

impl Place {
    /// In `world`, with its defaults.
    pub(crate) fn new(world: World) -> Self {
        let guest = GuestOptions::default();
        Self { world, guest }
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

/// What a case gave, under its name.
pub(crate) type Column<'a> = (&'a str, Outcome);

/// Everything that ran.
pub(crate) struct Ran<'a> {
    pub(crate) columns: Vec<Column<'a>>,
    /// Of every run that there should have been.
    fates: Vec<Fate>,
    interrupt: Interrupt,
}

impl Ran<'_> {
    /// Fails if a signal has come, or if there are warnings that are errors. After everything has been printed.
    pub(crate) fn check(&self, strict: &Strict) -> Result<(), Failure> {
        self.interrupt.check(&self.fates)?;
        strict.check(self.columns.iter().map(|(_, outcome)| outcome))
    }
}

/// Runs each case, one place after the other, until all are done or the user has seen enough.
pub(crate) fn run<'a>(
    cases: &'a [Case],
    jobs: &Jobs,
    out: Option<&PathBuf>,
) -> Result<Ran<'a>, Failure> {
    if cases.iter().any(|case| case.place.world == World::Live) {
        // While there is one thread only.
        apart::set_apart(&results(out.map(PathBuf::as_path)).join("case"))
            .map_err(Failure::input)?;
    }
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
                live: LiveOptions::default(),
                guest: place.guest.clone(),
            },
        };
        let tasks: Vec<Task<'_>> = members.iter().map(task).collect();
        let jobs = jobs.number(place.world).map_err(Failure::input)?;
        let mut shown = Shown::new();
        let outcomes = quell_lab::run_all(&tasks, jobs, &mut |progress| shown.tell(&progress));
        shown.end();
        for ((index, case), outcome) in members.iter().zip(outcomes.map_err(Failure::run)?) {
            columns[*index] = Some((&case.label, outcome));
        }
    }
    let fates = cases.iter().zip(&columns).flat_map(|(case, column)| {
        let outcome = column.as_ref().map(|(_, outcome)| outcome);
        Fate::of_all(Some(&case.label), &case.loaded.scenario, outcome)
    });
    let fates = fates.collect();
    // What had not begun when the user had seen enough says nothing.
    let begun = |(_, outcome): &Column<'a>| !outcome.runs.is_empty();
    Ok(Ran {
        columns: columns.into_iter().flatten().filter(begun).collect(),
        fates,
        interrupt,
    })
}

/// A queue's name as part of a path.
fn folder(queue: &str) -> String {
    let safe = |c: char| {
        if c.is_ascii_alphanumeric() || "._-=".contains(c) {
            c
        } else {
            '-'
        }
    };
    queue.chars().map(safe).collect()
}

/// The table, the picture, the warnings and where the results are.
pub(crate) fn text(outcomes: &[Column<'_>], page: &mut Page) {
    page.line(format_args!(
        "{:<20} {:<10} {:>13} {:>7} {:>7} {:>8} {:>9}",
        "queue", "group", "per flow", "mean ms", "P99 ms", "marked %", "dropped %"
    ));
    let mut delays = Vec::new();
    for (queue, outcome) in outcomes {
        let summaries = outcome.runs.iter().map(|run| &run.summary);
        let summaries: Vec<&Summary> = summaries.filter(|one| one.has_measured()).collect();
        let Some(first) = summaries.first() else {
            page.line(format_args!(
                "{:<20} nothing was measured",
                table::short(queue, 20)
            ));
            continue;
        };
        for (index, group) in first.figures.groups.iter().enumerate() {
            let of = |figure: &dyn Fn(&GroupSummary) -> Option<f64>| {
                mean(
                    summaries
                        .iter()
                        .filter_map(|summary| figure(&summary.figures.groups[index])),
                )
            };
            let delivered =
                |count: u64, group: &GroupSummary| count as f64 / group.packets.max(1) as f64;
            let name = if index == 0 { *queue } else { "" };
            page.line(format_args!(
                "{:<20} {:<10} {:>13} {:>7} {:>7} {:>8} {:>9}",
                table::short(name, 20),
                table::short(&group.name, 10),
                of(&|g| mean(g.goodput_bps.iter().copied())).map_or_else(dash, table::bits),
                of(&|g| g.delay_ms.map(|dist| dist.mean))
                    .map_or_else(dash, |ms| format!("{ms:.2}")),
                of(&|g| g.delay_ms.map(|dist| dist.p99)).map_or_else(dash, |ms| format!("{ms:.2}")),
                of(&|g| Some(delivered(g.marked, g))).map_or_else(dash, table::percent),
                of(&|g| Some(g.dropped as f64 / (g.packets + g.dropped).max(1) as f64))
                    .map_or_else(dash, table::percent),
            ));
            if let Some(dist) = group.delay_ms {
                let label = format!(
                    "{} {}",
                    table::short(queue, 16),
                    table::short(&group.name, 8)
                );
                delays.push((label, dist));
            }
        }
        let utilisation = mean(
            summaries
                .iter()
                .map(|summary| summary.figures.link.utilisation),
        );
        page.line(format_args!(
            "{:<20} link {:.1} % utilised",
            "",
            utilisation.unwrap_or(0.0) * 100.0
        ));
    }
    transfers::print(&transfer_rows(outcomes), page);
    phases::print(outcomes, page);
    page.line("");
    picture::delays(&delays, page);
    for (queue, outcome) in outcomes {
        for run in &outcome.runs {
            for warning in &run.summary.warnings {
                page.paragraph(0, &format!("warning: {queue}: {warning}"));
            }
        }
    }
    page.line("");
    for (queue, outcome) in outcomes {
        let all = outcome.aggregate.as_ref().map(|(folder, _)| folder);
        if let Some(folder) = all.or(outcome.runs.first().map(|run| &run.folder)) {
            page.line(format_args!("{queue}: results in {}", folder.display()));
        }
    }
}

/// Each group under each queue, with all its runs.
fn transfer_rows<'a>(outcomes: &'a [Column<'_>]) -> Vec<(String, Vec<&'a GroupSummary>)> {
    let mut rows = Vec::new();
    for (queue, outcome) in outcomes {
        let groups = outcome
            .runs
            .first()
            .map_or(&[][..], |run| &run.summary.figures.groups);
        for (index, group) in groups.iter().enumerate() {
            let runs = outcome.runs.iter();
            let runs = runs.filter_map(|run| run.summary.figures.groups.get(index));
            let label = format!("{} {}", table::short(queue, 10), group.name);
            rows.push((label, runs.collect()));
        }
    }
    rows
}

/// The summaries of each queue, in the order asked for.
pub(crate) fn json(outcomes: &[Column<'_>], page: &mut Page) -> Result<(), Failure> {
    let value: Vec<serde_json::Value> = outcomes
        .iter()
        .map(|(queue, outcome)| {
            let summaries: Vec<&Summary> = outcome.runs.iter().map(|run| &run.summary).collect();
            serde_json::json!({ "queue": queue, "summaries": summaries })
        })
        .collect();
    page.line(serde_json::to_string_pretty(&value).map_err(Failure::failed)?);
    Ok(())
}

/// `None` of nothing.
pub(crate) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

fn dash() -> String {
    "-".to_owned()
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
