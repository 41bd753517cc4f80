//! The table of a store: a row per cell, or per point over its seeds, with its parameters and figures as columns.
//!
//! Rows are in the order of the plan, and columns in the order in which the rows have them, so that the table of a store is the same
//! to the byte whoever filled it, and when. Times and hosts are no part of it.

mod column;
mod figures;
mod objective;
mod output;
mod pooled;
mod seeds;

use std::collections::HashMap;
use std::path::Path;

use quell_scenario::Origin;
use quell_scenario::tree::{Node, TomlType, Tree};
use serde_json::Value as Json;

use super::cell_folder::State;
use super::identity::Key;
use super::quantity::{Quantity, Unit};
use super::record::Record;
use super::store::Store;
use crate::RunError;
use crate::at_once::{each, processors};

pub(crate) use column::Column;
pub use seeds::over_seeds;

/// A value of a table.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Value {
    /// The cell has no such figure.
    #[default]
    Null,
    /// A whole number.
    Integer(i64),
    /// A number.
    Real(f64),
    /// Yes or no.
    Flag(bool),
    /// A word.
    Text(Box<str>),
}

/// Named columns of the same length.
#[derive(Debug, Clone, Default)]
pub struct Table {
    pub(crate) columns: Vec<Column>,
    rows: usize,
    /// The number of columns that say which cell it is.
    pub(crate) parameters: usize,
    /// Cells of the plan that the store does not have.
    pub missing: usize,
    /// Cells of the plan that failed.
    pub failed: usize,
}

impl Value {
    /// As text; nothing for null.
    pub fn text(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Integer(number) => number.to_string(),
            Self::Real(number) => number.to_string(),
            Self::Flag(flag) => flag.to_string(),
            Self::Text(text) => text.to_string(),
        }
    }

    /// As a number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Integer(number) => Some(*number as f64),
            Self::Real(number) => Some(*number),
            Self::Null | Self::Flag(_) | Self::Text(_) => None,
        }
    }
}

impl Table {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Names of the columns.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }

    /// Names of the columns that say which cell it is.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.names().take(self.parameters)
    }

    /// The value in a row of a column, by number.
    pub fn value(&self, row: usize, column: usize) -> Value {
        self.columns[column].get(row)
    }

    /// Keeps the columns that `patterns` name, in that order; `*` stands for anything.
    ///
    /// # Errors
    ///
    /// One of them names no column.
    pub fn select(&mut self, patterns: &[String]) -> Result<(), NoColumn> {
        let mut chosen: Vec<usize> = Vec::new();
        for pattern in patterns {
            let is_meant = |index: &usize| self::fits(pattern, &self.columns[*index].name);
            let all: Vec<usize> = (0..self.columns.len()).filter(is_meant).collect();
            if all.is_empty() {
                let names: Vec<&str> = self.names().collect();
                let meant = quell_scenario::closest(pattern, names.iter().copied());
                return Err(NoColumn {
                    pattern: pattern.clone(),
                    meant: meant.map_or(String::new(), |meant| format!(" (did you mean {meant}?)")),
                });
            }
            for index in all {
                if !chosen.contains(&index) {
                    chosen.push(index);
                }
            }
        }
        self.parameters = chosen
            .iter()
            .take_while(|&&index| index < self.parameters)
            .count();
        // Each is chosen once.
        let mut columns: Vec<Option<Column>> = self.columns.drain(..).map(Some).collect();
        let chosen = chosen.into_iter();
        self.columns = chosen.filter_map(|index| columns[index].take()).collect();
        Ok(())
    }
}

/// A pattern names no column.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no column {pattern}{meant}")]
pub struct NoColumn {
    pattern: String,
    /// The nearest name, as a question.
    meant: String,
}

/// Whether `name` is what `pattern` says, in which `*` stands for anything.
pub fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(rest) = name.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    let mut rest = rest;
    for part in middle {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.len() >= last.len() && rest.ends_with(last)
}

/// A row of the plan that the store has.
struct Row<'a> {
    point: usize,
    seed: u64,
    key: &'a str,
}

/// Reads a store into a table with a row per cell.
///
/// # Errors
///
/// There is no plan, or a summary cannot be read.
pub fn read(store: &Store) -> Result<Table, RunError> {
    let record = Record::read(store.root())?;
    let (rows, mut table) = rows(store, &record);
    let mut builder = Builder::new(&mut table);
    let parameters = Parameters::of(&record);
    for (number, row) in rows.iter().enumerate() {
        builder.set(number, "cell", Value::Text(row.key.into()));
        parameters.add(&mut builder, number, &record, row.point);
        builder.set(
            number,
            "seed",
            Value::Integer(i64::try_from(row.seed).unwrap_or(i64::MAX)),
        );
    }
    let parameters = table.columns.len();
    table.parameters = parameters;
    add_figures(store, &rows, &mut table)?;
    objective::mark(&mut table, record.objective.as_ref(), &["seed"]);
    Ok(table)
}

fn rows<'a>(store: &Store, record: &'a Record) -> (Vec<Row<'a>>, Table) {
    let (mut rows, mut table) = (Vec::new(), Table::default());
    let points = record.points.iter().enumerate();
    let cells = points.flat_map(|(point, written)| {
        let cells = written.cells.iter();
        cells.filter_map(move |(seed, key)| Some((point, *seed, key, Key::parse(key)?)))
    });
    let cells: Vec<_> = cells.collect();
    let keys: Vec<Key> = cells.iter().map(|&(.., key)| key).collect();
    for ((point, seed, key, _), state) in cells.into_iter().zip(store.states(&keys)) {
        match state {
            State::Done { .. } => rows.push(Row { point, seed, key }),
            // Its figures are not those of a summary.
            State::Measured => {}
            State::Failed => table.failed += 1,
            State::Missing | State::Broken => table.missing += 1,
        }
    }
    table.rows = rows.len();
    (rows, table)
}

/// Figures of a cell, in order.
type Figures = Vec<(Box<str>, Value)>;

/// Reads the summaries of all rows, on several threads; columns come in the order of rows all the same.
fn add_figures(store: &Store, rows: &[Row<'_>], table: &mut Table) -> Result<(), RunError> {
    /// Rows that are in memory as figures at a time.
    const AT_ONCE: usize = 256;
    let threads = processors();
    let mut builder = Builder::new(table);
    for (chunk, some) in rows.chunks(AT_ONCE * threads).enumerate() {
        let first = chunk * AT_ONCE * threads;
        let figures = each(some, threads, |row| figures_of(store, row.key));
        for (number, figures) in (first..).zip(figures) {
            for (name, value) in figures? {
                builder.set(number, &name, value);
            }
        }
    }
    Ok(())
}

fn figures_of(store: &Store, key: &str) -> Result<Figures, RunError> {
    let summary: Json = store.json(parsed(key)?, "summary.json")?;
    let mut figures = Vec::new();
    figures::visit(&summary, &mut |name, value| {
        figures.push((name.into(), value))
    });
    Ok(figures)
}

fn parsed(key: &str) -> Result<Key, RunError> {
    Key::parse(key).ok_or_else(|| RunError::Failed(format!("{key} is no cell")))
}

/// Adds values by the names of columns.
struct Builder<'a> {
    table: &'a mut Table,
    places: HashMap<String, usize>,
}

impl<'a> Builder<'a> {
    fn new(table: &'a mut Table) -> Self {
        let places = table.columns.iter().enumerate();
        let places = places.map(|(index, column)| (column.name.clone(), index));
        Self {
            places: places.collect(),
            table,
        }
    }

    fn set(&mut self, row: usize, name: &str, value: Value) {
        let index = match self.places.get(name) {
            Some(&index) => index,
            None => {
                self.places
                    .insert(name.to_owned(), self.table.columns.len());
                let column = Column::new(name.to_owned(), self.table.rows);
                self.table.columns.push(column);
                self.table.columns.len() - 1
            }
        };
        self.table.columns[index].set(row, value);
    }
}

/// The columns of the parameters: as written, and where all values are quantities of one unit, as numbers.
struct Parameters {
    experiments: bool,
    units: Vec<Option<Unit>>,
}

impl Parameters {
    fn of(record: &Record) -> Self {
        let unit = |index: usize| {
            let values = record.points.iter().map(|point| &point.values[index]);
            let mut units = values
                .filter(|value| !value.is_null())
                .map(|value| quantity(value).map(|one| one.unit));
            let first = units.next()??;
            units.all(|unit| unit == Some(first)).then_some(first)
        };
        Self {
            experiments: record.points.iter().any(|point| point.experiment.is_some()),
            units: (0..record.parameters.len()).map(unit).collect(),
        }
    }

    fn add(&self, builder: &mut Builder<'_>, row: usize, record: &Record, point: usize) {
        let point = &record.points[point];
        if self.experiments {
            let name = point.experiment.as_deref();
            let name = name.map_or(Value::Null, |name| Value::Text(name.into()));
            builder.set(row, "experiment", name);
        }
        for ((name, value), unit) in record.parameters.iter().zip(&point.values).zip(&self.units) {
            builder.set(row, name, plain(value));
            if let Some(unit) = unit.filter(|unit| !unit.suffix().is_empty()) {
                let number = quantity(value).map_or(Value::Null, |one| Value::Real(one.number()));
                builder.set(row, &format!("{name}{}", unit.suffix()), number);
            }
        }
    }
}

/// A value of the plan as it was written.
fn plain(value: &Json) -> Value {
    match value {
        Json::Null => Value::Null,
        Json::Bool(flag) => Value::Flag(*flag),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Value::Integer(whole),
            None => number.as_f64().map_or(Value::Null, Value::Real),
        },
        Json::String(text) => Value::Text(text.as_str().into()),
        other => Value::Text(other.to_string().into()),
    }
}

fn quantity(value: &Json) -> Option<Quantity> {
    let (kind, text) = match value {
        Json::Number(number) if number.is_u64() => (TomlType::Integer, number.to_string()),
        Json::Number(number) => (TomlType::Float, number.to_string()),
        Json::String(text) => (TomlType::String, text.clone()),
        _ => return None,
    };
    Quantity::of(&Node {
        origin: Origin::Line(0),
        value: Tree::Scalar(kind, text),
    })
}

/// Writes the table to a file whose name ends with `.csv` or `.parquet`; one of that name is replaced when the new one is whole.
///
/// # Errors
///
/// The name ends otherwise, or the file cannot be written.
pub fn write(table: &Table, path: &Path) -> Result<(), RunError> {
    output::write(table, path)
}

/// The table as CSV (RFC 4180, lines end with a line feed).
pub fn csv(table: &Table) -> String {
    output::csv(table)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, name, expected) in [
            ("a.b", "a.b", true),
            ("a.b", "a.bc", false),
            ("a.*.c", "a.b.c", true),
            ("a.*.c", "a.c", false),
            ("queue.*.delay_ms.p99", "queue.l4s.delay_ms.p99", true),
            (
                "queue.*.delay_ms.p99",
                "reverse.queue.l4s.delay_ms.p99",
                false,
            ),
            ("*.p99", "x.y.p99", true),
            ("*", "", true),
            ("a*a", "a", false),
            ("a*b*b", "a.b", false),
        ] {
            assert_eq!(super::fits(pattern, name), expected, "{pattern} {name}");
        }
    }
}
