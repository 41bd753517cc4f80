//! What applications report: a table for each form of report that has one.
//!
//! Columns come from the figures that the kinds of applications declare.

use quell_app::{Column as Shown, FigureInfo, FormInfo, KINDS, Notation};
use quell_measure::{AppSummary, GroupSummary};
use quell_scenario::felt::{is_felt, reported};

use super::row;
use super::spread::{Form, Spread};
use crate::present::{Block, Role, Table};

/// A group of a case in each of its runs.
pub(super) struct Group<'a> {
    pub(super) case: &'a str,
    pub(super) name: &'a str,
    pub(super) runs: Vec<&'a GroupSummary>,
}

/// A table of the groups of each form, and the causes of what was slow; nothing where there are none. What people feel is left out where
/// a table of its own has it.
pub(super) fn blocks(groups: &[Group<'_>], has_felt: bool, spread: &Spread) -> Vec<Block> {
    let tables = forms().into_iter().map(|(title, form)| {
        let caption = format!("What the applications measured: {title}");
        Block::Table(table(title, &form, groups, has_felt, spread).captioned(caption))
    });
    let causes = groups.iter().flat_map(causes).map(Block::Text);
    tables.chain(causes).collect()
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
fn causes(group: &Group<'_>) -> Vec<String> {
    let line = |(key, from): (&str, &str)| {
        let count = |cause: &str| -> u64 {
            let apps = group.runs.iter().filter_map(|group| group.app.as_ref());
            let counts = apps.filter_map(|app| app.count(&format!("{key}_{cause}")));
            counts.sum()
        };
        let all = CAUSES.map(|(cause, words)| (count(cause), words));
        let total: u64 = all.iter().map(|(count, _)| count).sum();
        let parts = all.iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts
            .map(|(count, words)| format!("{count} with {words}"))
            .collect();
        let name = format!("{} {}", group.case, group.name);
        (total > 0).then(|| {
            format!(
                "{}: {total} took {from} or longer, {}",
                name.trim_start(),
                parts.join(", ")
            )
        })
    };
    let keys = [("slow_200ms", "0.2 s"), ("slow_1s", "1 s")];
    keys.into_iter().filter_map(line).collect()
}

/// The forms of reports that have a table, with its heading, each once.
fn forms() -> Vec<(&'static str, FormInfo)> {
    let mut forms: Vec<(&str, FormInfo)> = Vec::new();
    for form in KINDS.iter().flat_map(|kind| (kind.forms)()) {
        if let Some(title) = form.table
            && forms.iter().all(|(known, _)| *known != title)
        {
            forms.push((title, form));
        }
    }
    forms
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

fn table(
    title: &str,
    form: &FormInfo,
    groups: &[Group<'_>],
    has_felt: bool,
    spread: &Spread,
) -> Table {
    let is_mine = |group: &&Group<'_>| {
        let mut apps = group.runs.iter().filter_map(|group| group.app.as_ref());
        apps.any(|app| belongs(app, form))
    };
    let apps = groups.iter().filter(is_mine).flat_map(|group| &group.runs);
    let kind = apps
        .filter_map(|group| group.app.as_ref())
        .map(|app| &app.kind)
        .next();
    let elsewhere = |figure: &FigureInfo, column: &Shown| {
        has_felt && kind.is_some_and(|kind| is_felt(kind, figure.name, column.part))
    };
    let figures = form.figures.iter();
    let shown: Vec<(&FigureInfo, &Shown)> = figures
        .flat_map(|figure| figure.columns.iter().map(move |column| (figure, column)))
        .filter(|(figure, column)| !elsewhere(figure, column))
        .collect();
    let columns = shown.iter().map(|(_, column)| {
        let role = column.rank.map_or(Role::Figure, Role::Extra);
        (column.heading, role)
    });
    let labels = [("queue", Role::Label), (title, Role::Label)];
    let mut table = Table::new(labels.into_iter().chain(columns));
    for group in groups.iter().filter(is_mine) {
        let figures = shown.iter().map(|(figure, column)| {
            let apps = group.runs.iter().filter_map(|group| group.app.as_ref());
            let values = apps.filter_map(|app| reported(app, figure.name, column.part));
            (notation(column), values.collect())
        });
        let figures: Vec<(Form, Vec<f64>)> = figures.collect();
        row(
            &mut table,
            &[group.case, group.name],
            &figures,
            group.runs.len(),
            spread,
        );
    }
    table
}

fn notation(column: &Shown) -> Form {
    match column.notation {
        Notation::Plain(digits) => Form::Plain(digits.into()),
        Notation::Percent(digits) => Form::Percent(digits.into()),
        Notation::Rate => Form::Rate,
    }
}
