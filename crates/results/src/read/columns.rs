//! Columns of a series that lies on disk.

use std::fs::File;
use std::path::Path;

use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field;
use parquet::schema::types::Type;

use super::ReadError;

/// A value of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// None.
    Null,
    /// A number, also a whole one.
    Number(f64),
    /// A text.
    Text(String),
}

impl Cell {
    /// The number; NaN where there is none, which breaks a line.
    pub fn number(&self) -> f64 {
        match self {
            Self::Number(number) => *number,
            Self::Null | Self::Text(_) => f64::NAN,
        }
    }

    /// The text; empty where there is none.
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Null | Self::Number(_) => "",
        }
    }
}

/// The rows of the Parquet file at `path`, each with these columns in this order; none where there is no such file.
///
/// # Errors
///
/// The file cannot be read, or lacks a column.
pub fn read<const N: usize>(path: &Path, columns: [&str; N]) -> Result<Vec<[Cell; N]>, ReadError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(ReadError::of(path)(error)),
    };
    rows(file, columns).map_err(ReadError::of(path))
}

fn rows<const N: usize>(file: File, columns: [&str; N]) -> Result<Vec<[Cell; N]>, ParquetError> {
    let reader = SerializedFileReader::new(file)?;
    let schema = reader.metadata().file_metadata().schema();
    let mut fields = Vec::new();
    for name in columns {
        let there = schema
            .get_fields()
            .iter()
            .find(|field| field.name() == name);
        let Some(field) = there else {
            return Err(ParquetError::General(format!("it has no column {name}")));
        };
        // A column may be asked for twice.
        if !fields.contains(field) {
            fields.push(field.clone());
        }
    }
    let wanted = Type::group_type_builder(schema.name())
        .with_fields(fields)
        .build()?;
    let mut all = Vec::new();
    for row in reader.get_row_iter(Some(wanted))? {
        let row = row?;
        let mut cells: [Cell; N] = std::array::from_fn(|_| Cell::Null);
        for (name, field) in row.get_column_iter() {
            let places = columns.iter().enumerate();
            for (place, _) in places.filter(|(_, column)| *column == name) {
                cells[place] = cell(field);
            }
        }
        all.push(cells);
    }
    Ok(all)
}

fn cell(field: &Field) -> Cell {
    match field {
        Field::Long(value) => Cell::Number(*value as f64),
        Field::Int(value) => Cell::Number(f64::from(*value)),
        Field::Double(value) => Cell::Number(*value),
        Field::Float(value) => Cell::Number(f64::from(*value)),
        Field::Bool(value) => Cell::Number(f64::from(u8::from(*value))),
        Field::Str(text) => Cell::Text(text.clone()),
        _ => Cell::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parquet_table::{Values, write_parquet};

    #[test]
    fn columns_come_in_the_order_in_which_they_were_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        let columns = [
            ("a".to_owned(), Values::Integers(vec![Some(1), None])),
            (
                "b".to_owned(),
                Values::Texts(vec![Some("x".to_owned()), Some("y".to_owned())]),
            ),
            ("c".to_owned(), Values::Reals(vec![Some(0.5), Some(1.5)])),
        ];
        write_parquet(&path, &columns).unwrap();
        let twice = read(&path, ["b", "a", "b"]).unwrap();
        assert_eq!((twice[0][0].text(), twice[0][2].text()), ("x", "x"));
        let rows = read(&path, ["c", "a", "b"]).unwrap();
        assert_eq!(
            rows[0],
            [
                Cell::Number(0.5),
                Cell::Number(1.0),
                Cell::Text("x".to_owned())
            ]
        );
        assert!(rows[1][1].number().is_nan());
        let missing = read(&path, ["d"]).unwrap_err().to_string();
        assert!(
            missing.contains("t.parquet: ") && missing.contains("no column d"),
            "{missing}"
        );
        assert!(
            read(&folder.path().join("other"), ["a"])
                .unwrap()
                .is_empty()
        );
        std::fs::write(&path, "no Parquet").unwrap();
        assert!(read(&path, ["a"]).is_err());
    }
}
