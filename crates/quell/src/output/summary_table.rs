//! Prints the summary of a run, or the mean of several, as tables: queues, groups, applications, warnings.

use quell_lab::Finished;
use quell_lab::bottleneck::{self, Sending};
use quell_measure::{Direction, Dist, Figures, GroupSummary, NamedLink, QueueSummary, Summary};

use crate::output::applications;
use crate::output::grid::{Grid, Role};
use crate::output::group_figures::{Groups, drop_ratio, mark_ratio, per_flow};
use crate::output::headline;
use crate::output::merge_warnings::{self, Alike, Remark};
use crate::output::page::Page;
use crate::output::spread::{Form, Spread};

/// Prints the summaries of the seeds of one scenario, and [`idle`], why its link was idle.
pub(crate) fn summary(summaries: &[&Summary], why: &str, spread: &Spread, page: &mut Page) {
    let Some(first) = summaries.first() else {
        return;
    };
    page.paragraph(0, &title(summaries));
    if let Some(heading) = spread.heading(summaries.len()) {
        page.paragraph(0, &heading);
    }
    // Zeros would look like figures; a warning says why there are none.
    let measured = summaries.iter().filter(|summary| summary.has_measured());
    let whole: Vec<&Figures> = measured.map(|summary| &summary.figures).collect();
    headline::print(&[(first.scenario.as_str(), whole.clone())], page);
    figures(&whole, why, spread, page);
    for (index, phase) in first.phases.iter().enumerate() {
        page.line("");
        page.paragraph(
            0,
            &format!("from {:.1} s to {:.1} s", phase.start_s, phase.end_s),
        );
        let phases = summaries
            .iter()
            .filter_map(|summary| summary.phases.get(index));
        let phases: Vec<&Figures> = phases.map(|phase| &phase.figures).collect();
        figures(&phases, "", spread, page);
    }
    if let Some(note) = spread.footnote() {
        page.line("");
        page.paragraph(0, note);
    }
    let all = summaries.iter().flat_map(|summary| &summary.warnings);
    warnings(all.map(|text| ("", text.as_str())), page);
}

/// `coexistence: sim world, seeds 1, 2, 3, 60.0 s with 10.0 s of warm-up`
fn title(summaries: &[&Summary]) -> String {
    let first = summaries[0];
    let seeds: Vec<String> = summaries.iter().map(|run| run.seed.to_string()).collect();
    let seeds = match seeds.len() {
        1 => format!("seed {}", seeds[0]),
        many @ 9.. => format!("{many} seeds from {} to {}", seeds[0], seeds[many - 1]),
        _ => format!("seeds {}", seeds.join(", ")),
    };
    let early = summaries.iter().filter(|summary| summary.partial).count();
    let partial = match (early, summaries.len()) {
        (0, _) => String::new(),
        (1, 1) => ", ended early".to_owned(),
        (early, runs) => format!(", {early} of {runs} ended early"),
    };
    let longest = summaries.iter().map(|summary| summary.duration_s);
    format!(
        "{}: {} world, {seeds}, {:.1} s with {:.1} s of warm-up{partial}",
        first.scenario,
        first.world,
        longest.fold(0.0, f64::max),
        first.warmup_s
    )
}

/// Prints warnings, each with its result; those that differ only in their numbers become one.
pub(crate) fn warnings<'a>(warnings: impl Iterator<Item = (&'a str, &'a str)>, page: &mut Page) {
    let remarks = warnings.map(|(of, text)| Remark {
        of: of.to_owned(),
        text: text.to_owned(),
    });
    let all = merge_warnings::merged(remarks);
    if !all.is_empty() {
        page.line("");
    }
    for alike in all {
        page.paragraph(0, &format!("warning: {}", alike.line()));
    }
}

/// Why the link was idle in the runs of one case; empty where it was not.
pub(crate) fn idle(runs: &[Finished]) -> String {
    let remarks = runs.iter().filter_map(|run| {
        let summary = &run.summary;
        // Without its series a run is judged as a whole.
        let sending = bottleneck::may_be_idle(&summary.figures)
            .then(|| Sending::read(&run.folder, summary).ok().flatten());
        let text = bottleneck::why_idle(summary, sending.flatten().as_ref())?;
        let of = String::new();
        Some(Remark { of, text })
    });
    let reasons: Vec<String> = merge_warnings::merged(remarks)
        .iter()
        .map(Alike::words)
        .collect();
    reasons.join("; ")
}

fn figures(all: &[&Figures], why: &str, spread: &Spread, page: &mut Page) {
    let Some(first) = all.first() else { return };
    for line in links(all, spread) {
        page.paragraph(0, &line);
    }
    if !why.is_empty() {
        page.paragraph(0, &format!("link not full: {why}"));
    }
    page.line("");
    let mut rows = Grid::new(&QUEUES);
    queues(all, None, spread, &mut rows);
    rows.print(page);
    page.line("");
    groups(all, spread, page);
    let row = |(index, group): (usize, &GroupSummary)| applications::Row {
        queue: None,
        group: group.name.clone(),
        runs: all.iter().filter_map(|f| f.groups.get(index)).collect(),
    };
    let rows: Vec<_> = first.groups.iter().enumerate().map(row).collect();
    applications::print(&rows, spread, page);
}

/// A line for each direction that has a rate, with the packets lost outside its queue.
fn links(all: &[&Figures], spread: &Spread) -> Vec<String> {
    let first = all[0];
    let values = |of: &dyn Fn(&Figures) -> Option<f64>| -> Vec<f64> {
        all.iter().filter_map(|figures| of(figures)).collect()
    };
    let used = |values: &[f64]| spread.cell(Form::Percent(1), all.len(), values);
    let rate = |rate: Option<u64>| {
        rate.map_or("unlimited".to_owned(), |rate| Form::Rate.text(rate as f64))
    };
    if !first.links.is_empty() {
        return several_links(all, spread);
    }
    let mut lines = vec![format!(
        "link {}, {} % utilised, {} packets lost outside its queue",
        rate(first.link.rate_bps),
        used(&values(&|f| Some(f.link.utilisation))),
        spread.cell(
            Form::Plain(0),
            all.len(),
            &values(&|f| Some(f.link.lost_outside as f64))
        ),
    )];
    if let Some(reverse) = first.link.reverse {
        lines.push(format!(
            "reverse link {}, {} % utilised",
            rate(reverse.rate_bps),
            used(&values(&|f| f.link.reverse.map(|link| link.utilisation))),
        ));
    }
    lines
}

/// The same of several links in a row, with the share of time in which packets waited for each.
fn several_links(all: &[&Figures], spread: &Spread) -> Vec<String> {
    let rate = |rate: Option<u64>| {
        rate.map_or("unlimited".to_owned(), |rate| Form::Rate.text(rate as f64))
    };
    let mut lines = Vec::new();
    for (index, link) in all[0].links.iter().enumerate() {
        let values = |form: Form, of: &dyn Fn(&NamedLink) -> Option<f64>| {
            let links = all.iter().filter_map(|figures| figures.links.get(index));
            let values: Vec<f64> = links.filter_map(of).collect();
            spread.cell(form, all.len(), &values)
        };
        lines.push(format!(
            "link {} {}, {} % utilised, packets waited for it {} % of the time, {} packets lost outside its queue",
            link.name,
            rate(link.rate_bps),
            values(Form::Percent(1), &|link| Some(link.utilisation)),
            values(Form::Percent(1), &|link| Some(link.bottleneck_share)),
            values(Form::Plain(0), &|link| Some(link.lost_outside as f64)),
        ));
        if let Some(reverse) = link.reverse {
            lines.push(format!(
                "reverse direction of link {} {}, {} % utilised, packets waited for it {} % of the time",
                link.name,
                rate(reverse.rate_bps),
                values(Form::Percent(1), &|link| link.reverse.map(|back| back.utilisation)),
                values(Form::Percent(1), &|link| link
                    .reverse
                    .map(|back| back.bottleneck_share)),
            ));
        }
    }
    lines
}

const QUEUES: [(&str, Role); 11] = [
    ("queue", Role::Label),
    ("packets", Role::Figure),
    ("marked %", Role::Figure),
    ("dropped %", Role::Figure),
    ("mean ms", Role::Figure),
    ("P50 ms", Role::Extra(0)),
    ("P90 ms", Role::Extra(2)),
    ("P99 ms", Role::Figure),
    ("P99.9 ms", Role::Extra(3)),
    ("max ms", Role::Extra(1)),
    ("backlog kB", Role::Extra(4)),
];

/// The same behind several queues side by side.
pub(crate) const QUEUES_OF: [(&str, Role); 12] = {
    let mut columns = [("queue", Role::Label); 12];
    let mut at = 0;
    while at < QUEUES.len() {
        columns[at + 1] = QUEUES[at];
        at += 1;
    }
    columns[1] = ("inside", Role::Label);
    columns
};

const MS: Form = Form::Plain(2);

/// What a queue is called beside these others: with its direction where that is the reverse one, with its link where there are
/// several.
fn queue_name(queue: &QueueSummary, all: &[QueueSummary]) -> String {
    let mut name = queue.name.clone();
    if all.iter().any(|other| other.hop != queue.hop) {
        name = format!("{} {name}", queue.hop);
    }
    match queue.direction {
        Direction::Reverse => name + " (reverse)",
        Direction::Forward => name,
    }
}

/// Adds a row for each queue of both directions; with `of` in front of the first.
pub(crate) fn queues(all: &[&Figures], of: Option<&str>, spread: &Spread, grid: &mut Grid) {
    let Some(first) = all.first() else { return };
    for (index, queue) in first.queues.iter().enumerate() {
        let name = queue_name(queue, &first.queues);
        let found: Vec<&QueueSummary> = all.iter().filter_map(|f| f.queues.get(index)).collect();
        let delay = |which: fn(Dist) -> f64| -> Vec<f64> {
            let found = found.iter().filter_map(|queue| queue.delay_ms);
            found.map(which).collect()
        };
        let each = |figure: fn(&QueueSummary) -> f64| -> Vec<f64> {
            found.iter().map(|queue| figure(queue)).collect()
        };
        let backlog = found.iter().filter_map(|queue| queue.backlog_bytes);
        let figures = [
            (Form::Plain(0), each(|queue| queue.packets as f64)),
            (Form::Percent(3), each(|queue| queue.mark_ratio)),
            (Form::Percent(3), each(|queue| queue.drop_ratio)),
            (MS, delay(|dist| dist.mean)),
            (MS, delay(|dist| dist.p50)),
            (MS, delay(|dist| dist.p90)),
            (MS, delay(|dist| dist.p99)),
            (MS, delay(|dist| dist.p999)),
            (MS, delay(|dist| dist.max)),
            (
                Form::Plain(1),
                backlog.map(|dist| dist.mean / 1e3).collect(),
            ),
        ];
        let of = of.map(|of| if index == 0 { of } else { "" });
        let labels = |name: &str| {
            of.iter()
                .map(ToString::to_string)
                .chain([name.to_owned()])
                .collect()
        };
        rows(labels(&name), &figures, all.len(), spread, grid);
    }
}

/// Adds a row of figures behind `labels`, and one with their ranges with `--range`.
pub(crate) fn rows(
    labels: Vec<String>,
    figures: &[(Form, Vec<f64>)],
    runs: usize,
    spread: &Spread,
    grid: &mut Grid,
) {
    let blank: Vec<String> = labels.iter().map(|_| String::new()).collect();
    let cells = figures
        .iter()
        .map(|(form, values)| spread.cell(*form, runs, values));
    grid.row(labels.into_iter().chain(cells).collect());
    if spread.has_range() {
        let ranges = figures
            .iter()
            .map(|(form, values)| Spread::range(*form, values));
        grid.row(blank.into_iter().chain(ranges).collect());
    }
}

const GROUPS: [(&str, Role); 14] = [
    ("group", Role::Label),
    ("control", Role::Word),
    ("flows", Role::Figure),
    ("per flow", Role::Figure),
    ("Jain", Role::Figure),
    ("mean ms", Role::Figure),
    ("P50 ms", Role::Extra(0)),
    ("P99 ms", Role::Figure),
    ("P99.9 ms", Role::Extra(5)),
    ("max ms", Role::Extra(1)),
    ("RTT ms", Role::Figure),
    ("marked %", Role::Extra(2)),
    ("dropped %", Role::Extra(3)),
    ("resent", Role::Extra(4)),
];

fn groups(all: &[&Figures], spread: &Spread, page: &mut Page) {
    let mut grid = Grid::new(&GROUPS);
    for (index, group) in all[0].groups.iter().enumerate() {
        let found: Vec<&GroupSummary> = all.iter().filter_map(|f| f.groups.get(index)).collect();
        let of = Groups(&found);
        let control = group.congestion_control.as_deref().unwrap_or("-");
        let figures = [
            (Form::Plain(0), of.each(|group| Some(group.count as f64))),
            (Form::Rate, of.each(per_flow)),
            (Form::Plain(3), of.each(|group| group.jain)),
            (MS, of.delay(|dist| dist.mean)),
            (MS, of.delay(|dist| dist.p50)),
            (MS, of.delay(|dist| dist.p99)),
            (MS, of.delay(|dist| dist.p999)),
            (MS, of.delay(|dist| dist.max)),
            (MS, of.each(|group| group.rtt_ms.map(|dist| dist.mean))),
            (Form::Percent(3), of.each(|group| Some(mark_ratio(group)))),
            (Form::Percent(3), of.each(|group| Some(drop_ratio(group)))),
            (
                Form::Plain(0),
                of.each(|group| group.retransmitted.map(|segments| segments as f64)),
            ),
        ];
        let labels = vec![group.name.clone(), control.to_owned()];
        rows(labels, &figures, all.len(), spread, &mut grid);
    }
    grid.print(page);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(seed: u64) -> serde_json::Value {
        let dist = serde_json::json!({ "mean": 12345.678, "p1": 0.0, "p25": 0.0, "p50": 0.0, "p75": 0.0, "p90": 0.0,
            "p99": 98765.4, "p999": 0.0, "max": 0.0 });
        let mut completion = dist.clone();
        completion["min"] = 0.0.into();
        let name = "a-name-that-is-as-long-as-no-table-can-hold";
        serde_json::json!({
            "schema": 1, "scenario": name, "world": "live", "seed": seed, "duration_s": 86400.0, "warmup_s": 10.0,
            "partial": true, "warnings": ["words ".repeat(40)],
            "link": { "rate_bps": 1_000_000_000_000_u64, "utilisation": 0.999, "lost_outside": 12345678 },
            "queues": [{ "name": "classic", "direction": "reverse", "packets": 12345678901_u64, "bytes": 0, "marked": 0,
                "dropped": 0, "mark_ratio": 1.0, "drop_ratio": 0.5, "marks": {}, "drops": {}, "delay_ms": dist,
                "backlog_bytes": null }],
            "groups": [{ "name": name, "count": 10000, "congestion_control": "westwood-plus", "goodput_bps": [999.9e6],
                "jain": 1.0, "packets": 0, "marked": 0, "dropped": 0, "retransmitted": 0,
                "delay_ms": null, "rtt_ms": dist, "app": { "kind": "transfer", "completed": 123456789_u64,
                "bytes": 0, "unfinished": 10000, "completion_ms": completion, "goodput_bps": null } }],
            "jain": null, "phases": [],
        })
    }

    #[test]
    fn a_queue_is_named_by_its_link_where_there_are_several() {
        let mut of_two = value(1);
        let mut second = of_two["queues"][0].clone();
        second["direction"] = "forward".into();
        let names = |value: &serde_json::Value| -> Vec<String> {
            let read: Summary = serde_json::from_value(value.clone()).unwrap();
            let queues = &read.figures.queues;
            queues
                .iter()
                .map(|queue| queue_name(queue, queues))
                .collect()
        };
        of_two["queues"].as_array_mut().unwrap().push(second);
        assert_eq!(names(&of_two), ["classic (reverse)", "classic"]);
        of_two["queues"][0]["hop"] = "wifi".into();
        of_two["queues"][1]["hop"] = "access".into();
        assert_eq!(names(&of_two), ["wifi classic (reverse)", "access classic"]);
    }

    #[test]
    fn fits_every_page_even_with_long_names_and_large_numbers() {
        let one: Summary = serde_json::from_value(value(u64::MAX)).unwrap();
        let two: Summary = serde_json::from_value(value(1)).unwrap();
        for columns in [40, 60, 80, 120, 200] {
            for summaries in [&[&one][..], &[&one, &two]] {
                let mut page = Page::new(columns);
                summary(summaries, "", &Spread::new(None, true), &mut page);
                let text = page.text();
                let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
                for line in text.lines() {
                    let fits = line.chars().count() <= columns;
                    assert!(fits || !line.contains(' '), "{columns}: {line}\n{text}");
                }
                for part in [
                    "verse)",
                    "100.000",
                    "999.90",
                    "ended early",
                    "123456789",
                    "12345.7",
                    "warning: words",
                ] {
                    assert!(flat.contains(part), "{part} in {text}");
                }
            }
        }
    }
}
