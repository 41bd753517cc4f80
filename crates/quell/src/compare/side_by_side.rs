//! One scenario over several queues, or in several worlds: one table, and the delays as a picture.
//!
//! `quell compare` and `quell demo` share this module.

use std::path::PathBuf;

use quell_lab::LiveOptions;
use quell_lab::scenario::Loaded;
use quell_lab::{GuestOptions, Options, Outcome, Task, World};
use quell_measure::{Figures, GroupSummary, NamedLink, Summary};
use serde_json::{Value, json};

use crate::arguments::Jobs;
use crate::arguments::strict::Strict;
use crate::failure::Failure;
use crate::interrupt::{Fate, Interrupt};
use crate::output::applications;
use crate::output::delay_picture;
use crate::output::grid::{Grid, Role};
use crate::output::group_figures::{Groups, drop_ratio, mark_ratio, per_flow};
use crate::output::headline;
use crate::output::outcomes::{Column, results, with_intervals, write_as_owner};
use crate::output::page::Page;
use crate::output::phases;
use crate::output::progress::Shown;
use crate::output::spread::{Form, Spread};
use crate::output::summary_table;

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
        self.columns.iter().map(|(_, outcome)| outcome)
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
            columns[*index] = Some((&case.label, outcome));
        }
    }
    let fates = cases.iter().zip(&columns).flat_map(|(case, column)| {
        let outcome = column.as_ref().map(|(_, outcome)| outcome);
        Fate::of_all(Some(&case.label), &case.loaded.scenario, outcome)
    });
    let fates = fates.collect();
    // A case that had not begun when the signal came has nothing to show.
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

/// The result of a case: of several seeds, the folder around them.
fn folder_of(outcome: &Outcome) -> Option<&PathBuf> {
    let all = outcome.aggregate.as_ref().map(|(folder, _)| folder);
    all.or(outcome.runs.first().map(|run| &run.folder))
}

/// Prints the table, the picture, the warnings and the folders of the results.
pub(crate) fn text(outcomes: &[Column<'_>], spread: &Spread, page: &mut Page) {
    let cases = outcomes.iter();
    let cases: Vec<headline::Case<'_>> = cases
        .map(|(queue, outcome)| (*queue, measured(outcome)))
        .collect();
    headline::print(&cases, page);
    let most = outcomes.iter().map(|(_, outcome)| outcome.runs.len()).max();
    if let Some(heading) = spread.heading(most.unwrap_or(0)) {
        page.paragraph(0, &heading);
        page.line("");
    }
    groups(outcomes, spread, page);
    queues(outcomes, spread, page);
    applications::print(&application_rows(outcomes), spread, page);
    phases::print(outcomes, spread, page);
    let mut delays = Vec::new();
    for (queue, outcome) in outcomes {
        let groups = measured(outcome).first().map(|figures| &figures.groups);
        for group in groups.into_iter().flatten() {
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
    page.line("");
    delay_picture::delays(&delays, page);
    if let Some(run) = outcomes.iter().find(|(_, outcome)| outcome.runs.len() > 1) {
        let seed = run.1.runs[0].seed;
        page.paragraph(0, &format!("The picture shows seed {seed} only."));
    }
    if let Some(note) = spread.footnote() {
        page.paragraph(0, note);
    }
    let warnings = runs(outcomes).flat_map(|(queue, summary)| {
        let warnings = summary.warnings.iter();
        warnings.map(move |text| (queue, text.as_str()))
    });
    summary_table::warnings(warnings, page);
    page.line("");
    for (queue, outcome) in outcomes {
        if let Some(folder) = folder_of(outcome) {
            page.line(format_args!("{queue}: results in {}", folder.display()));
        }
    }
}

/// The figures of the runs that measured something.
fn measured(outcome: &Outcome) -> Vec<&Figures> {
    let summaries = outcome.runs.iter().map(|run| &run.summary);
    let measured = summaries.filter(|summary| summary.has_measured());
    measured.map(|summary| &summary.figures).collect()
}

/// Each run with the name of its case.
fn runs<'a>(outcomes: &'a [Column<'a>]) -> impl Iterator<Item = (&'a str, &'a Summary)> {
    outcomes.iter().flat_map(|(queue, outcome)| {
        let runs = outcome.runs.iter();
        runs.map(move |run| (*queue, &run.summary))
    })
}

const COLUMNS: [(&str, Role); 15] = [
    ("queue", Role::Label),
    ("group", Role::Label),
    ("n", Role::Figure),
    ("flows", Role::Extra(6)),
    ("per flow", Role::Figure),
    ("Jain", Role::Extra(3)),
    ("mean ms", Role::Figure),
    ("P50 ms", Role::Extra(1)),
    ("P90 ms", Role::Extra(4)),
    ("P99 ms", Role::Figure),
    ("P99.9 ms", Role::Extra(7)),
    ("max ms", Role::Extra(5)),
    ("marked %", Role::Figure),
    ("dropped %", Role::Figure),
    ("RTT ms", Role::Extra(2)),
];

/// Prints the effect of each queue on each group, and the use of the link.
fn groups(outcomes: &[Column<'_>], spread: &Spread, page: &mut Page) {
    const MS: Form = Form::Plain(2);
    let several = outcomes.iter().any(|(_, outcome)| outcome.runs.len() > 1);
    // The number of runs, if it may be above one.
    let left_out = if several { COLUMNS.len() } else { 2 };
    let columns = COLUMNS.iter().enumerate();
    let columns = columns.filter(|(index, _)| *index != left_out);
    let columns: Vec<_> = columns.map(|(_, column)| *column).collect();
    let mut grid = Grid::new(&columns);
    for (queue, outcome) in outcomes {
        let all = measured(outcome);
        let Some(first) = all.first() else {
            grid.note(format!("{queue}: nothing was measured"));
            continue;
        };
        for (index, group) in first.groups.iter().enumerate() {
            let found: Vec<&GroupSummary> =
                all.iter().filter_map(|f| f.groups.get(index)).collect();
            let of = Groups(&found);
            let figures = [
                (Form::Plain(0), of.each(|group| Some(group.count as f64))),
                (Form::Rate, of.each(per_flow)),
                (Form::Plain(3), of.each(|group| group.jain)),
                (MS, of.delay(|dist| dist.mean)),
                (MS, of.delay(|dist| dist.p50)),
                (MS, of.delay(|dist| dist.p90)),
                (MS, of.delay(|dist| dist.p99)),
                (MS, of.delay(|dist| dist.p999)),
                (MS, of.delay(|dist| dist.max)),
                (Form::Percent(3), of.each(|group| Some(mark_ratio(group)))),
                (Form::Percent(3), of.each(|group| Some(drop_ratio(group)))),
                (MS, of.each(|group| group.rtt_ms.map(|dist| dist.mean))),
            ];
            let queue = if index == 0 { *queue } else { "" };
            let mut labels = vec![queue.to_owned(), group.name.clone()];
            labels.extend(several.then(|| found.len().to_string()));
            summary_table::rows(labels, &figures, found.len(), spread, &mut grid);
        }
        grid.note(used(&all, &summary_table::idle(&outcome.runs), spread));
    }
    grid.print(page);
}

/// `link 29.3 % utilised, reverse link 99.8 %: …`
fn used(all: &[&Figures], why: &str, spread: &Spread) -> String {
    let used = |values: Vec<f64>| spread.cell(Form::Percent(1), all.len(), &values);
    let forward = all.iter().map(|figures| figures.link.utilisation);
    let named: &[NamedLink] = all.first().map_or(&[], |figures| &figures.links);
    if !named.is_empty() {
        let each = named.iter().enumerate().map(|(index, link)| {
            let all = all.iter().filter_map(|figures| figures.links.get(index));
            let values = all.map(|link| link.utilisation).collect();
            format!("link {} {} % utilised", link.name, used(values))
        });
        let each: Vec<String> = each.collect();
        return each.join(", ");
    }
    let mut text = format!("link {} % utilised", used(forward.collect()));
    let reverse = all.iter().filter_map(|figures| figures.link.reverse);
    let reverse: Vec<f64> = reverse.map(|link| link.utilisation).collect();
    if !reverse.is_empty() {
        text += &format!(", reverse link {} %", used(reverse));
    }
    if !why.is_empty() {
        text += &format!(": {why}");
    }
    text
}

/// The queues of both directions, where the reverse one is limited, and those of several links: a group waits in each.
fn queues(outcomes: &[Column<'_>], spread: &Spread, page: &mut Page) {
    let mut grid = Grid::new(&summary_table::QUEUES_OF);
    for (queue, outcome) in outcomes {
        let all = measured(outcome);
        let is_shown =
            |figures: &&Figures| figures.link.reverse.is_some() || !figures.links.is_empty();
        if all.iter().any(is_shown) {
            summary_table::queues(&all, Some(queue), spread, &mut grid);
        }
    }
    if !grid.is_empty() {
        page.line("");
        grid.print(page);
    }
}

/// Each group under each queue, with all its runs.
fn application_rows<'a>(outcomes: &'a [Column<'_>]) -> Vec<applications::Row<'a>> {
    let mut rows = Vec::new();
    for (queue, outcome) in outcomes {
        let all = measured(outcome);
        let first = all.first().map(|figures| &figures.groups);
        for (index, group) in first.into_iter().flatten().enumerate() {
            let runs = all.iter().filter_map(|figures| figures.groups.get(index));
            rows.push(applications::Row {
                queue: Some((*queue).to_owned()),
                group: group.name.clone(),
                runs: runs.collect(),
            });
        }
    }
    rows
}

/// The summaries of each queue, in the order asked for; of several seeds with their mean.
pub(crate) fn json(
    outcomes: &[Column<'_>],
    confidence: Option<f64>,
    page: &mut Page,
) -> Result<(), Failure> {
    let mut all: Vec<Value> = Vec::new();
    for (queue, outcome) in outcomes {
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
