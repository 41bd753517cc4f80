//! A table as CSV and as Parquet.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use quell_results::parquet_table::{Values, write_parquet};
use quell_results::{Error, replace, write_with};

use super::{Column, Table, Value};
use crate::RunError;

/// Writes a file by its name's end.
pub(super) fn write(table: &Table, path: &Path) -> Result<(), RunError> {
    let end = path.extension().and_then(|end| end.to_str());
    let is_parquet = match end {
        Some("csv") => false,
        Some("parquet") => true,
        _ => {
            let path = path.display();
            let why = format!("{path}: the name of a table must end with .csv or .parquet");
            return Err(RunError::refused(why));
        }
    };
    replace(path, |new| {
        if !is_parquet {
            return write_csv(table, new);
        }
        let columns = table.columns.iter();
        let columns: Vec<(String, Values)> = columns
            .map(|column| (column.name.clone(), values(column, table.rows)))
            .collect();
        write_parquet(new, &columns)
    })?;
    Ok(())
}

/// Lines of values.
pub(super) fn csv(table: &Table) -> String {
    let mut text = heading(table);
    for row in 0..table.rows {
        add_line(table, row, &mut text);
    }
    text
}

/// The same into a file, a line at a time: the text of a large table takes as much memory as the table.
fn write_csv(table: &Table, path: &Path) -> Result<(), Error> {
    write_with(path, |out| {
        let mut text = heading(table);
        for row in 0..table.rows {
            out.write_all(text.as_bytes())?;
            text.clear();
            add_line(table, row, &mut text);
        }
        out.write_all(text.as_bytes())
    })
}

fn heading(table: &Table) -> String {
    let names: Vec<String> = table.names().map(quoted).collect();
    names.join(",") + "\n"
}

fn add_line(table: &Table, row: usize, text: &mut String) {
    for (index, column) in table.columns.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        // Writing to a String cannot fail.
        let _ = match column.get(row) {
            Value::Null => Ok(()),
            Value::Integer(number) => write!(text, "{number}"),
            Value::Real(number) => write!(text, "{number}"),
            Value::Flag(flag) => write!(text, "{flag}"),
            Value::Text(word) => write!(text, "{}", quoted(&word)),
        };
    }
    text.push('\n');
}

fn quoted(text: &str) -> String {
    let special = |character| matches!(character, ',' | '"' | '\n' | '\r');
    if text.contains(special) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// The values of a column in the narrowest type that has them all.
fn values(column: &Column, rows: usize) -> Values {
    let all = || (0..rows).map(|row| column.get(row));
    let is = |kind: fn(&Value) -> bool| all().all(|value| value == Value::Null || kind(&value));
    if is(|value| matches!(value, Value::Integer(_))) {
        let number = |value| match value {
            Value::Integer(number) => Some(number),
            _ => None,
        };
        Values::Integers(all().map(number).collect())
    } else if is(|value| matches!(value, Value::Integer(_) | Value::Real(_))) {
        Values::Reals(all().map(|value| value.number()).collect())
    } else if is(|value| matches!(value, Value::Flag(_))) {
        let flag = |value| match value {
            Value::Flag(flag) => Some(flag),
            _ => None,
        };
        Values::Flags(all().map(flag).collect())
    } else {
        let text = |value: Value| (value != Value::Null).then(|| value.text());
        Values::Texts(all().map(text).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, values: Vec<Value>) -> Column {
        Column::of(name.to_owned(), values.into_iter())
    }

    #[test]
    fn a_column_has_the_narrowest_type() {
        let (one, half) = (Value::Integer(1), Value::Real(0.5));
        let text = || Value::Text("a".into());
        for (given, expected) in [
            (vec![one.clone()], Values::Integers(vec![Some(1), None])),
            (
                vec![one.clone(), half],
                Values::Reals(vec![Some(1.0), Some(0.5)]),
            ),
            (
                vec![Value::Null, Value::Flag(true)],
                Values::Flags(vec![None, Some(true)]),
            ),
            (
                vec![one, text()],
                Values::Texts(vec![Some("1".to_owned()), Some("a".to_owned())]),
            ),
        ] {
            assert_eq!(values(&column("x", given), 2), expected);
        }
    }

    #[test]
    fn csv_quotes_what_would_divide() {
        let table = Table {
            columns: vec![
                column("a,b", vec![Value::Text("x\"y".into())]),
                column("c", vec![Value::Null, Value::Real(0.1)]),
            ],
            rows: 2,
            ..Table::default()
        };
        assert_eq!(csv(&table), "\"a,b\",c\n\"x\"\"y\",\n,0.1\n");
    }
}
