//! Completion times of finite transfers, for people: a row per group that transfers.

use quell_measure::GroupSummary;

use crate::page::Page;
use crate::side_by_side::mean;
use crate::table::short;

/// The figures of a row, as the summary holds them.
const FIGURES: [(&str, &str); 6] = [
    ("completed", "/completed"),
    ("unfinished", "/unfinished"),
    ("mean ms", "/completion_ms/mean"),
    ("P50 ms", "/completion_ms/p50"),
    ("P90 ms", "/completion_ms/p90"),
    ("P99 ms", "/completion_ms/p99"),
];

/// Prints a row for each group that transfers, under a heading; nothing if there is none. `label` fills the first 20 columns
/// of a group's row. Of several runs each figure is the mean.
pub(crate) fn print(rows: &[(String, Vec<&GroupSummary>)], page: &mut Page) {
    let transfers = |group: &&GroupSummary| group.app["kind"] == "transfer";
    let mut rows = rows
        .iter()
        .filter(|(_, runs)| runs.iter().any(transfers))
        .peekable();
    if rows.peek().is_none() {
        return;
    }
    page.line("");
    line("transfers", FIGURES.map(|(name, _)| name.to_owned()), page);
    for (label, runs) in rows {
        let figure = |(name, pointer): (&str, &str)| {
            let values = runs
                .iter()
                .filter_map(|group| group.app.pointer(pointer)?.as_f64());
            mean(values).map_or_else(|| "-".to_owned(), |mean| number(name, mean))
        };
        line(label, FIGURES.map(figure), page);
    }
}

fn line(label: &str, [completed, unfinished, mean, p50, p90, p99]: [String; 6], page: &mut Page) {
    page.line(format_args!(
        "{:<20} {completed:>9} {unfinished:>10} {mean:>8} {p50:>8} {p90:>8} {p99:>8}",
        short(label, 20)
    ));
}

fn number(name: &str, value: f64) -> String {
    if name.ends_with("ms") {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}
