//! What applications report, for people: completion times of transfers; loss, jitter and one-way delay of datagrams.

use quell_measure::GroupSummary;

use crate::grid::{Column, Grid, Kind};
use crate::page::Page;
use crate::spread::{Form, Spread};

/// A group under a name, or under those of a queue and the group, in each run.
pub(crate) struct Row<'a> {
    pub(crate) queue: Option<String>,
    pub(crate) group: String,
    pub(crate) runs: Vec<&'a GroupSummary>,
}

/// A column of figures: heading, whether it is always shown, where the summary holds it, and how it is written.
type Figure = (&'static str, Kind, &'static str, Form);

const COUNT: Form = Form::Plain(0);
const MS: Form = Form::Plain(2);

const TRANSFERS: [Figure; 9] = [
    ("completed", Kind::Figure, "/completed", COUNT),
    ("unfinished", Kind::Figure, "/unfinished", COUNT),
    (
        "mean ms",
        Kind::Figure,
        "/completion_ms/mean",
        Form::Plain(1),
    ),
    (
        "min ms",
        Kind::Extra(1),
        "/completion_ms/min",
        Form::Plain(1),
    ),
    ("P50 ms", Kind::Figure, "/completion_ms/p50", Form::Plain(1)),
    ("P90 ms", Kind::Figure, "/completion_ms/p90", Form::Plain(1)),
    ("P99 ms", Kind::Figure, "/completion_ms/p99", Form::Plain(1)),
    (
        "max ms",
        Kind::Extra(0),
        "/completion_ms/max",
        Form::Plain(1),
    ),
    ("goodput", Kind::Extra(2), "/goodput_bps", Form::Rate),
];

const DATAGRAMS: [Figure; 11] = [
    ("sent", Kind::Figure, "/sent", COUNT),
    ("lost %", Kind::Figure, "/loss_ratio", Form::Percent(3)),
    ("reordered", Kind::Extra(3), "/reordered", COUNT),
    ("jitter ms", Kind::Figure, "/jitter_ms", MS),
    ("mean ms", Kind::Figure, "/one_way_delay_ms/mean", MS),
    ("min ms", Kind::Extra(2), "/one_way_delay_ms/min", MS),
    ("P50 ms", Kind::Figure, "/one_way_delay_ms/p50", MS),
    ("P90 ms", Kind::Extra(0), "/one_way_delay_ms/p90", MS),
    ("P99 ms", Kind::Figure, "/one_way_delay_ms/p99", MS),
    ("P99.9 ms", Kind::Extra(1), "/one_way_delay_ms/p999", MS),
    ("max ms", Kind::Figure, "/one_way_delay_ms/max", MS),
];

/// Prints a table of the groups that transfer and one of those that send datagrams; nothing where there are none.
pub(crate) fn print(rows: &[Row<'_>], spread: &Spread, page: &mut Page) {
    let transfers = |app: &serde_json::Value| app["kind"] == "transfer";
    let datagrams = |app: &serde_json::Value| app["sent"].is_number();
    table("transfers", &TRANSFERS, transfers, rows, spread, page);
    table("datagrams", &DATAGRAMS, datagrams, rows, spread, page);
}

fn table(
    name: &'static str,
    figures: &[Figure],
    belongs: fn(&serde_json::Value) -> bool,
    rows: &[Row<'_>],
    spread: &Spread,
    page: &mut Page,
) {
    let mine = |row: &&Row<'_>| row.runs.iter().any(|group| belongs(&group.app));
    let rows: Vec<&Row<'_>> = rows.iter().filter(mine).collect();
    let Some(first) = rows.first() else { return };
    let labels: &[Column] = match first.queue {
        Some(_) => &[("queue", Kind::Label), (name, Kind::Label)],
        None => &[(name, Kind::Label)],
    };
    let columns = figures.iter().map(|&(head, kind, ..)| (head, kind));
    let columns: Vec<Column> = labels.iter().copied().chain(columns).collect();
    let mut grid = Grid::new(&columns);
    let mut above: Option<&String> = None;
    for row in rows {
        let queue = row.queue.as_ref().map(|queue| match above.replace(queue) {
            Some(above) if above == queue => String::new(),
            _ => queue.clone(),
        });
        let values = |pointer: &str| -> Vec<f64> {
            let runs = row.runs.iter();
            runs.filter_map(|group| group.app.pointer(pointer)?.as_f64())
                .collect()
        };
        let line = |label: String, cell: &dyn Fn(&Figure) -> String| {
            let labels = queue.iter().cloned().chain([label]);
            labels.chain(figures.iter().map(cell)).collect()
        };
        grid.row(line(row.group.clone(), &|(_, _, pointer, form)| {
            spread.cell(*form, row.runs.len(), &values(pointer))
        }));
        if spread.has_range() {
            let mut cells: Vec<String> = line("".to_owned(), &|(_, _, pointer, form)| {
                Spread::range(*form, &values(pointer))
            });
            if queue.is_some() {
                cells[0].clear();
            }
            grid.row(cells);
        }
    }
    page.line("");
    grid.print(page);
}
