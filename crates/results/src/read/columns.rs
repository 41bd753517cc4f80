//! Columns of a series that lies on disk.

use std::fs::File;
use std::path::Path;

use parquet::column::reader::ColumnReader;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader as _, RowGroupReader, SerializedFileReader};

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
    let there = reader.metadata().file_metadata().schema_descr();
    let mut places = [0; N];
    for (place, name) in places.iter_mut().zip(columns) {
        let mut all = there.columns().iter();
        let Some(found) = all.position(|one| one.name() == name) else {
            return Err(ParquetError::General(format!("it has no column {name}")));
        };
        *place = found;
    }
    let mut rows: Vec<[Cell; N]> = Vec::new();
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group)?;
        let before = rows.len();
        for (column, place) in places.into_iter().enumerate() {
            let text = &mut |text: &str| Cell::Text(text.to_owned());
            let cells = values(&*group, place, Cell::Null, Cell::Number, text)?;
            rows.resize_with(before + cells.len(), || [const { Cell::Null }; N]);
            for (row, cell) in rows[before..].iter_mut().zip(cells) {
                row[column] = cell;
            }
        }
    }
    Ok(rows)
}

/// The column at `place` of a group of rows: its numbers, flags as 0 and 1, or its texts, as `number` or `text` makes them a value; `none`
/// where there is nothing.
///
/// # Errors
///
/// The column cannot be read, has another type, or not as many rows as the group.
pub fn values<T: Clone>(
    group: &dyn RowGroupReader,
    place: usize,
    none: T,
    number: fn(f64) -> T,
    text: &mut dyn FnMut(&str) -> T,
) -> Result<Vec<T>, ParquetError> {
    let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
    let column = group.metadata().column(place).column_descr();
    let (mut levels, whole) = (Vec::new(), column.max_def_level());
    macro_rules! read {
        ($reader:expr, $of:expr) => {{
            let (mut reader, mut values) = ($reader, Vec::new());
            reader.read_records(rows, Some(&mut levels), None, &mut values)?;
            values.iter().map($of).collect::<Vec<T>>()
        }};
    }
    let mut all = match group.get_column_reader(place)? {
        ColumnReader::Int64ColumnReader(reader) => read!(reader, |value| number(*value as f64)),
        ColumnReader::Int32ColumnReader(reader) => read!(reader, |value| number((*value).into())),
        ColumnReader::DoubleColumnReader(reader) => read!(reader, |value| number(*value)),
        ColumnReader::FloatColumnReader(reader) => read!(reader, |value| number((*value).into())),
        ColumnReader::BoolColumnReader(reader) => {
            read!(reader, |value| { number(u8::from(*value).into()) })
        }
        ColumnReader::ByteArrayColumnReader(reader) => {
            read!(reader, |value| value
                .as_utf8()
                .map_or_else(|_| none.clone(), &mut *text))
        }
        _ => return Err(ParquetError::General("a column has an odd type".to_owned())),
    };
    if whole > 0 {
        let mut present = all.into_iter();
        let level = |level: &i16| (*level == whole).then(|| present.next()).flatten();
        let every = levels.iter().map(level);
        all = every.map(|value| value.unwrap_or(none.clone())).collect();
    }
    if all.len() != rows {
        let (name, length) = (column.name(), all.len());
        let why = format!("column {name} has {length} rows of {rows}");
        return Err(ParquetError::General(why));
    }
    Ok(all)
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
