//! What people feel: a row for each figure of each person, a column for each case; and what they would say.

use quell_measure::{Figures, GroupSummary, differ};
use quell_scenario::Scenario;
use quell_scenario::felt::{BULK, Better, Felt, felt, sentence};

use serde_json::{Value, json};

use super::group_figures::each;
use super::spread::{Form, Spread};
use super::{Case, Part};
use crate::present::{Block, Cell, Role, Table};

/// Behind a figure that does not differ from that of the first case.
const ALIKE: &str = " ~";

/// Caption of their table.
pub(crate) const PEOPLE: &str = "What people feel";

/// What people feel in cases.
#[derive(Debug)]
pub struct People {
    /// Every figure.
    pub table: Table,
    /// What the marks in the table mean, if there are any.
    pub note: Option<String>,
    /// A sentence for each case, behind its label.
    pub words: Vec<String>,
    /// The rows of the table for programs: those of `quell_watch::felt`.
    pub rows: Vec<Value>,
}

/// What [`felt`] has; where nobody feels anything, also how long the packets of each group wait.
pub(crate) fn felt_or_waits(runs: &[&Figures], scenario: &Scenario) -> Vec<Felt> {
    let mut rows = felt(runs, scenario);
    if rows.iter().all(|row| row.application == BULK) {
        let waits = scenario
            .groups
            .iter()
            .enumerate()
            .filter_map(|(index, group)| {
                let of_runs = runs.iter().filter_map(|run| run.groups.get(index));
                let of_runs: Vec<&GroupSummary> = of_runs.filter(|one| one.count > 0).collect();
                Some(Felt {
                    who: group.name.clone(),
                    application: "wait",
                    what: "a packet waits".to_owned(),
                    unit: "ms",
                    digits: 2,
                    better: Better::Lower,
                    n: of_runs.iter().map(|one| one.count).max()?,
                    values: each(&of_runs, |one| one.delay_ms.map(|dist| dist.mean)),
                })
            });
        rows.splice(..0, waits.collect::<Vec<_>>());
    }
    rows
}

impl People {
    /// Of whole runs, with the rates of bulk data; how long packets wait where nobody feels anything. `None` where nothing sends.
    pub fn of(cases: &[Case<'_>], spread: &Spread) -> Option<Self> {
        let parts: Vec<Part<'_>> = cases.iter().map(Part::whole).collect();
        Self::new(&parts, true, spread)
    }

    /// With the rates of bulk data, or without them beside a table that has them.
    pub(super) fn new(parts: &[Part<'_>], with_rates: bool, spread: &Spread) -> Option<Self> {
        let rows_of = if with_rates { felt_or_waits } else { felt };
        let rows = |part: &Part<'_>| -> Vec<Felt> {
            let rows = part.scenario.map(|scenario| rows_of(&part.all, scenario));
            rows.unwrap_or_default()
        };
        let all: Vec<Vec<Felt>> = parts.iter().map(rows).collect();
        let words = parts.iter().zip(&all).filter_map(|(part, rows)| {
            let words = sentence(rows, &part.all);
            let colon = if part.label.is_empty() { "" } else { ": " };
            (!words.is_empty()).then(|| format!("{}{colon}{words}.", part.label))
        });
        let words: Vec<String> = words.collect();
        if words.is_empty() && (!with_rates || all.iter().all(Vec::is_empty)) {
            return None;
        }
        let labels = parts.iter().map(|part| match part.label {
            "" => ("value", Role::Figure),
            label => (label, Role::Figure),
        });
        let heads = [("who", Role::Label), ("feels", Role::Word)];
        let mut table = Table::new(heads.into_iter().chain(labels)).captioned(PEOPLE);
        let (mut is_marked, mut rows) = (false, Vec::new());
        for (index, row) in all.iter().flatten().enumerate() {
            let same = |other: &&Felt| (&other.who, &other.what) == (&row.who, &row.what);
            let is_known = all.iter().flatten().take(index).any(|other| same(&other));
            if is_known || row.application == BULK && !with_rates {
                continue;
            }
            let form = Form::Plain(row.digits);
            let values = |rows: &Vec<Felt>| rows.iter().find(same).map(|row| row.values.clone());
            let values: Vec<Vec<f64>> = all
                .iter()
                .map(|rows| values(rows).unwrap_or_default())
                .collect();
            let what = format!("{}, {}", row.what, row.unit);
            let clear: Vec<_> = values
                .iter()
                .map(|of_case| differ(&values[0], of_case))
                .collect();
            let each = parts.iter().zip(&values).zip(&clear).enumerate();
            let cells = each.map(|(index, ((part, of_case), clear))| {
                let mut cell = spread.cell(form, part.all.len(), of_case);
                if index > 0 && *clear == Some(false) {
                    cell += ALIKE;
                    is_marked = true;
                }
                Cell::from(cell)
            });
            let labels = [row.who.as_str(), what.as_str()].map(Cell::from);
            table.row(labels.into_iter().chain(cells));
            rows.push(json!({
                "who": row.who, "what": row.what, "unit": row.unit, "digits": row.digits, "application": row.application,
                "more_is_better": row.better == Better::Higher, "values": values, "clear": clear,
            }));
            if spread.has_range() {
                let ranges = values
                    .iter()
                    .map(|values| Spread::range(form, values).into());
                table.below([Cell::default(), Cell::default()].into_iter().chain(ranges));
            }
        }
        let first = parts.first().map_or("", |part| part.label);
        let note = format!(
            "~: no clear difference from {first}; it is less than two standard errors, so other seeds may turn it around."
        );
        Some(Self {
            table,
            note: is_marked.then_some(note),
            words,
            rows,
        })
    }

    /// Table, note and words.
    pub(super) fn blocks(self) -> Vec<Block> {
        let note = self.note.map(Block::Text);
        let words = self.words.into_iter().map(Block::Text).collect();
        let said = Block::Section("In words".to_owned(), words);
        [Block::Table(self.table)]
            .into_iter()
            .chain(note)
            .chain([said])
            .collect()
    }
}
