//! Prints what applications report: a table for each form of report that has one.
//!
//! Columns come from the figures that the kinds of applications declare.

use quell_app::{Column as Shown, FigureInfo, FormInfo, KINDS, Notation, Part};
use quell_measure::{AppSummary, AppTimes, GroupSummary};

use crate::output::grid::{Column, Grid, Role};
use crate::output::page::Page;
use crate::output::spread::{Form, Spread};

/// A group under a name, or under those of a queue and the group, in each run.
pub(crate) struct Row<'a> {
    pub(crate) queue: Option<String>,
    pub(crate) group: String,
    pub(crate) runs: Vec<&'a GroupSummary>,
}

/// Prints a table of the groups of each form; nothing where there are none.
pub(crate) fn print(rows: &[Row<'_>], spread: &Spread, page: &mut Page) {
    for (title, form) in tables() {
        table(title, &form, rows, spread, page);
    }
    for row in rows {
        for line in causes(row) {
            page.paragraph(0, &line);
        }
    }
}

/// The words of the counts of causes in a summary.
const CAUSES: [(&str, &str); 5] = [
    ("handshake", "a lost SYN or SYN-ACK"),
    ("timeout", "a retransmission time-out"),
    ("probe", "a tail loss probe"),
    ("recovery", "fast recovery"),
    ("unrepaired", "no repair"),
];

/// `items: 37 took 0.2 s or longer, 12 with a lost SYN or SYN-ACK, 25 with a tail loss probe`, of all runs of a group; nothing where
/// nothing was slow, or the application does not say.
fn causes(row: &Row<'_>) -> Vec<String> {
    let line = |(key, from): (&str, &str)| {
        let count = |cause: &str| -> u64 {
            let apps = row.runs.iter().filter_map(|group| group.app.as_ref());
            let counts = apps.filter_map(|app| app.count(&format!("{key}_{cause}")));
            counts.sum()
        };
        let all = CAUSES.map(|(cause, words)| (count(cause), words));
        let total: u64 = all.iter().map(|(count, _)| count).sum();
        let parts = all.iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts
            .map(|(count, words)| format!("{count} with {words}"))
            .collect();
        let name = match &row.queue {
            Some(queue) => format!("{queue} {}", row.group),
            None => row.group.clone(),
        };
        (total > 0).then(|| {
            format!(
                "{name}: {total} took {from} or longer, {}",
                parts.join(", ")
            )
        })
    };
    let keys = [("slow_200ms", "0.2 s"), ("slow_1s", "1 s")];
    keys.into_iter().filter_map(line).collect()
}

/// The forms of reports that have a table, with its heading, each once.
fn tables() -> Vec<(&'static str, FormInfo)> {
    let mut tables: Vec<(&str, FormInfo)> = Vec::new();
    for form in KINDS.iter().flat_map(|kind| (kind.forms)()) {
        if let Some(title) = form.table
            && tables.iter().all(|(known, _)| *known != title)
        {
            tables.push((title, form));
        }
    }
    tables
}

/// Whether `app` reports in this form. Where it has reported nothing its kind decides, if that has one form only.
fn belongs(app: &AppSummary, form: &FormInfo) -> bool {
    if app.figures.is_empty() {
        let forms = quell_app::find(&app.kind).map(|kind| (kind.forms)());
        return forms.is_some_and(|forms| forms == [form.clone()]);
    }
    // Results of earlier versions lack figures that no table shows.
    let mut shown = form
        .figures
        .iter()
        .filter(|figure| !figure.columns.is_empty());
    shown.all(|figure| app.figures.contains_key(figure.name))
}

fn table(title: &'static str, form: &FormInfo, rows: &[Row<'_>], spread: &Spread, page: &mut Page) {
    let mine = |row: &&Row<'_>| {
        let mut apps = row.runs.iter().filter_map(|group| group.app.as_ref());
        apps.any(|app| belongs(app, form))
    };
    let rows: Vec<&Row<'_>> = rows.iter().filter(mine).collect();
    let Some(first) = rows.first() else { return };
    let shown: Vec<(&FigureInfo, &Shown)> = form
        .figures
        .iter()
        .flat_map(|figure| figure.columns.iter().map(move |column| (figure, column)))
        .collect();
    let labels: &[Column] = match first.queue {
        Some(_) => &[("queue", Role::Label), (title, Role::Label)],
        None => &[(title, Role::Label)],
    };
    let columns = shown.iter().map(|(_, column)| {
        let kind = column.rank.map_or(Role::Figure, Role::Extra);
        (column.heading, kind)
    });
    let columns: Vec<Column> = labels.iter().copied().chain(columns).collect();
    let mut grid = Grid::new(&columns);
    let mut above: Option<&String> = None;
    for row in rows {
        let queue = row.queue.as_ref().map(|queue| match above.replace(queue) {
            Some(above) if above == queue => String::new(),
            _ => queue.clone(),
        });
        let values = |figure: &FigureInfo, column: &Shown| -> Vec<f64> {
            let apps = row.runs.iter().filter_map(|group| group.app.as_ref());
            apps.filter_map(|app| value(app, figure, column)).collect()
        };
        let line = |label: String, cell: &dyn Fn(&FigureInfo, &Shown) -> String| {
            let labels = queue.iter().cloned().chain([label]);
            let cells = shown.iter().map(|(figure, column)| cell(figure, column));
            labels.chain(cells).collect()
        };
        grid.row(line(row.group.clone(), &|figure, column| {
            let values = values(figure, column);
            spread.cell(notation(column), row.runs.len(), &values)
        }));
        if spread.has_range() {
            let mut cells: Vec<String> = line("".to_owned(), &|figure, column| {
                Spread::range(notation(column), &values(figure, column))
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

fn value(app: &AppSummary, figure: &FigureInfo, column: &Shown) -> Option<f64> {
    match column.part {
        Some(part) => app.times(figure.name).and_then(|times| of(times, part)),
        None => app.number(figure.name),
    }
}

fn of(times: &AppTimes, part: Part) -> Option<f64> {
    Some(match part {
        Part::Mean => times.mean,
        Part::Min => times.min,
        Part::P50 => times.p50,
        Part::P90 => times.p90,
        Part::P99 => times.p99?,
        Part::P999 => times.p999?,
        Part::Max => times.max,
    })
}

fn notation(column: &Shown) -> Form {
    match column.notation {
        Notation::Plain(digits) => Form::Plain(digits.into()),
        Notation::Percent(digits) => Form::Percent(digits.into()),
        Notation::Rate => Form::Rate,
    }
}
