//! One scenario over several queues, phase by phase: the effect of each queue on each group between two changes.

use quell_measure::{GroupSummary, Phase, Summary};

use crate::output::grid::{Grid, Role};
use crate::output::group_figures::{Groups, drop_ratio, mark_ratio, per_flow};
use crate::output::outcomes::Column;
use crate::output::page::Page;
use crate::output::spread::{Form, Spread};
use crate::output::summary_table;

/// One table per phase, with the means over the seeds; nothing if nothing changes during the run.
pub(crate) fn print(outcomes: &[Column<'_>], spread: &Spread, page: &mut Page) {
    let columns: Vec<(&str, Vec<&Summary>)> = outcomes
        .iter()
        .map(|(queue, outcome)| {
            let summaries = outcome.runs.iter().map(|run| &run.summary).collect();
            (*queue, summaries)
        })
        .collect();
    let phases = columns.iter().flat_map(|(_, summaries)| summaries);
    let phases = phases.map(|summary| summary.phases.len()).max();
    for phase in 0..phases.unwrap_or(0) {
        one(phase, &columns, spread, page);
    }
}

const COLUMNS: [(&str, Role); 13] = [
    ("queue", Role::Label),
    ("group", Role::Label),
    ("util %", Role::Figure),
    ("all Jain", Role::Extra(0)),
    ("per flow", Role::Figure),
    ("Jain", Role::Figure),
    ("mean ms", Role::Figure),
    ("P50 ms", Role::Extra(1)),
    ("P99 ms", Role::Figure),
    ("max ms", Role::Extra(4)),
    ("marked %", Role::Extra(2)),
    ("dropped %", Role::Extra(3)),
    ("RTT ms", Role::Extra(5)),
];

fn one(phase: usize, columns: &[(&str, Vec<&Summary>)], spread: &Spread, page: &mut Page) {
    const MS: Form = Form::Plain(2);
    let mut grid = Grid::new(&COLUMNS);
    let mut title = None;
    for (queue, summaries) in columns {
        let found = summaries.iter().filter_map(|s| s.phases.get(phase));
        let found: Vec<&Phase> = found.collect();
        let Some(first) = found.first() else {
            continue;
        };
        title.get_or_insert_with(|| heading(first));
        let mut above = true;
        for (at, group) in first.figures.groups.iter().enumerate() {
            if group.count == 0 {
                continue;
            }
            let groups = found
                .iter()
                .filter_map(|phase| phase.figures.groups.get(at));
            let groups: Vec<&GroupSummary> = groups.collect();
            let of = Groups(&groups);
            // Those of the link stand once.
            let link = |figure: fn(&Phase) -> Option<f64>| -> Vec<f64> {
                let shown = found.iter().filter(|_| above);
                shown.filter_map(|phase| figure(phase)).collect()
            };
            let figures = [
                (
                    Form::Percent(2),
                    link(|phase| Some(phase.figures.link.utilisation)),
                ),
                (Form::Plain(3), link(|phase| phase.figures.jain)),
                (Form::Rate, of.each(per_flow)),
                (Form::Plain(3), of.each(|group| group.jain)),
                (MS, of.delay(|dist| dist.mean)),
                (MS, of.delay(|dist| dist.p50)),
                (MS, of.delay(|dist| dist.p99)),
                (MS, of.delay(|dist| dist.max)),
                (Form::Percent(3), of.each(|group| Some(mark_ratio(group)))),
                (Form::Percent(3), of.each(|group| Some(drop_ratio(group)))),
                (MS, of.each(|group| group.rtt_ms.map(|dist| dist.mean))),
            ];
            let labels = vec![
                if above {
                    (*queue).to_owned()
                } else {
                    String::new()
                },
                group.name.clone(),
            ];
            summary_table::rows(labels, &figures, found.len(), spread, &mut grid);
            above = false;
        }
    }
    if let Some(title) = title {
        page.line("");
        page.paragraph(0, &title);
        grid.print(page);
    }
}

/// `from 20 s to 40 s: l4s 1, classic 1`
fn heading(phase: &Phase) -> String {
    let groups = phase.figures.groups.iter();
    let counts: Vec<String> = groups
        .map(|group| format!("{} {}", group.name, group.count))
        .collect();
    format!(
        "from {:.1} s to {:.1} s: {}",
        phase.start_s,
        phase.end_s,
        counts.join(", ")
    )
}
