//! One scenario over several queues, phase by phase: what each queue did to each group between two changes.

use quell_measure::{Dist, GroupSummary, Phase, Summary};

use crate::page::Page;
use crate::side_by_side::{Column, mean};
use crate::table;

/// One table per phase, with the means over the seeds; nothing if nothing changes during the run.
pub(crate) fn print(outcomes: &[Column<'_>], page: &mut Page) {
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
        one(phase, &columns, page);
    }
}

fn one(phase: usize, columns: &[(&str, Vec<&Summary>)], page: &mut Page) {
    let mut title = false;
    for (queue, summaries) in columns {
        let found: Vec<&Phase> = summaries
            .iter()
            .filter_map(|s| s.phases.get(phase))
            .collect();
        let Some(first) = found.first() else {
            continue;
        };
        if !title {
            title = true;
            page.line("");
            page.paragraph(0, &heading(first));
            page.line(format_args!(
                "{:<18} {:>6} {:>5} {:<10} {:>13} {:>5} {:>7} {:>7}",
                "queue", "util %", "Jain", "group", "per flow", "Jain", "mean ms", "P99 ms"
            ));
        }
        let link = [
            mean(found.iter().map(|phase| phase.figures.link.utilisation))
                .map_or_else(dash, |ratio| format!("{:.2}", ratio * 100.0)),
            mean(found.iter().filter_map(|phase| phase.figures.jain)).map_or_else(dash, index),
        ];
        let mut lead = [*queue, &link[0], &link[1]];
        for (at, group) in first.figures.groups.iter().enumerate() {
            if group.count == 0 {
                continue;
            }
            let of = |figure: &dyn Fn(&GroupSummary) -> Option<f64>| {
                mean(
                    found
                        .iter()
                        .filter_map(|phase| figure(&phase.figures.groups[at])),
                )
            };
            let delay = |which: fn(Dist) -> f64| {
                of(&|group| group.delay_ms.map(which)).map_or_else(dash, |ms| format!("{ms:.2}"))
            };
            page.line(format_args!(
                "{:<18} {:>6} {:>5} {:<10} {:>13} {:>5} {:>7} {:>7}",
                table::short(lead[0], 18),
                lead[1],
                lead[2],
                table::short(&group.name, 10),
                of(&|group| mean(group.goodput_bps.iter().copied())).map_or_else(dash, table::bits),
                of(&|group| group.jain).map_or_else(dash, index),
                delay(|dist| dist.mean),
                delay(|dist| dist.p99),
            ));
            lead = [""; 3];
        }
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

fn index(jain: f64) -> String {
    format!("{jain:.3}")
}

fn dash() -> String {
    "-".to_owned()
}
