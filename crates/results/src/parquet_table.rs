//! A table whose columns are known only when it is there: Parquet with one row group, every column nullable.
//!
//! Compressed with zstd. The bytes depend on the content alone.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use crate::Error;

/// The values of a column, one for each row; `None` is null.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Whole numbers.
    Integers(Vec<Option<i64>>),
    /// Numbers.
    Reals(Vec<Option<f64>>),
    /// Yes or no.
    Flags(Vec<Option<bool>>),
    /// Words.
    Texts(Vec<Option<String>>),
}

/// Writes columns with their names to `path`, which is new. All have the same number of rows.
///
/// # Errors
///
/// The file cannot be written.
pub fn write_parquet(path: &Path, columns: &[(String, Values)]) -> Result<(), Error> {
    let file = File::create_new(path).map_err(Error::writing(path))?;
    let file = write(file, columns).map_err(|error| match error {
        ParquetError::External(error) => Error::writing(path)(error),
        error => Error::writing(path)(error),
    })?;
    file.sync_all().map_err(Error::writing(path))
}

fn write(file: File, columns: &[(String, Values)]) -> Result<File, ParquetError> {
    let properties =
        WriterProperties::builder().set_compression(Compression::ZSTD(Default::default()));
    let mut writer =
        SerializedFileWriter::new(file, schema(columns)?, Arc::new(properties.build()))?;
    let mut group = writer.next_row_group()?;
    for (_, values) in columns {
        let Some(mut column) = group.next_column()? else {
            return Err(ParquetError::General(
                "more columns than the schema has".to_owned(),
            ));
        };
        match values {
            Values::Integers(values) => {
                let (values, present) = split(values, |value| *value);
                column
                    .typed::<Int64Type>()
                    .write_batch(&values, Some(&present), None)?;
            }
            Values::Reals(values) => {
                let (values, present) = split(values, |value| *value);
                column
                    .typed::<DoubleType>()
                    .write_batch(&values, Some(&present), None)?;
            }
            Values::Flags(values) => {
                let (values, present) = split(values, |value| *value);
                column
                    .typed::<BoolType>()
                    .write_batch(&values, Some(&present), None)?;
            }
            Values::Texts(values) => {
                let (values, present) = split(values, |text| ByteArray::from(text.as_str()));
                column
                    .typed::<ByteArrayType>()
                    .write_batch(&values, Some(&present), None)?;
            }
        }
        column.close()?;
    }
    group.close()?;
    writer.into_inner()
}

/// The values that are there, and for each row whether one is (1) or not (0).
fn split<T, U>(values: &[Option<T>], of: impl Fn(&T) -> U) -> (Vec<U>, Vec<i16>) {
    let present = values.iter().map(|value| i16::from(value.is_some()));
    (values.iter().flatten().map(of).collect(), present.collect())
}

fn schema(columns: &[(String, Values)]) -> Result<Arc<Type>, ParquetError> {
    let field = |(name, values): &(String, Values)| {
        let (physical, converted) = match values {
            Values::Integers(_) => (Physical::INT64, ConvertedType::NONE),
            Values::Reals(_) => (Physical::DOUBLE, ConvertedType::NONE),
            Values::Flags(_) => (Physical::BOOLEAN, ConvertedType::NONE),
            Values::Texts(_) => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
        };
        Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_converted_type(converted)
            .build()
            .map(Arc::new)
    };
    let fields = columns.iter().map(field).collect::<Result<_, _>>()?;
    let schema = Type::group_type_builder("schema").with_fields(fields);
    schema.build().map(Arc::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader as _, SerializedFileReader};

    #[test]
    fn every_kind_of_column_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        let columns = [
            (
                "n".to_owned(),
                Values::Integers(vec![Some(-1), None, Some(7)]),
            ),
            (
                "link.x".to_owned(),
                Values::Reals(vec![None, Some(0.5), Some(2.0)]),
            ),
            (
                "f".to_owned(),
                Values::Flags(vec![Some(true), None, Some(false)]),
            ),
            (
                "t".to_owned(),
                Values::Texts(vec![Some("ä".to_owned()), None, Some(String::new())]),
            ),
        ];
        write_parquet(&path, &columns).unwrap();
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        let rows = reader.get_row_iter(None).unwrap();
        let rows: Vec<String> = rows.map(|row| row.unwrap().to_string()).collect();
        let expected = [
            "{n: -1, link.x: null, f: true, t: \"ä\"}",
            "{n: null, link.x: 0.5, f: null, t: null}",
            "{n: 7, link.x: 2.0, f: false, t: \"\"}",
        ];
        assert_eq!(rows, expected);
        assert!(write_parquet(&path, &columns).is_err());
    }
}
