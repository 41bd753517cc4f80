//! `queues.parquet` and `flows.parquet`: what happened in each interval; `events.parquet`: each event of an application.
//!
//! Columns are plain and in base units (ns, bytes, bit/s); a missing value is null. Rows are written in groups while the run
//! goes on, so memory does not grow with its length. Compressed with zstd. Each file says of each column in its key-value metadata
//! what it holds, and in which unit.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, Encoding, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type};
use quell_measure::{FlowRow, QueueRow};
use quell_scenario::columns::{self, Cell, ColumnType};
use quell_scenario::contract::EventRow;

use super::Error;
pub use quell_scenario::columns::{ColumnInfo, EVENT_COLUMNS, FLOW_COLUMNS, QUEUE_COLUMNS};

/// Rows that are kept before they are written.
const ROWS_PER_GROUP: usize = 1 << 16;

/// The files of one run.
#[derive(Debug)]
pub struct Series {
    queues: Table,
    flows: Table,
    /// Where an application records events.
    events: Option<Table>,
    names: Names,
}

/// The words that stand in rows, each made once.
#[derive(Debug)]
struct Names {
    links: Vec<ByteArray>,
    groups: Vec<ByteArray>,
    words: Vec<(&'static str, ByteArray)>,
}

impl Names {
    fn value(&mut self, cell: Cell) -> Value {
        match cell {
            Cell::Integer(number) => Value::Integer(clamp(number)),
            Cell::Optional(number) => Value::Optional(number.map(clamp)),
            Cell::Real(number) => Value::Real(number),
            Cell::Word(word) => Value::Text(self.word(word)),
            Cell::Group(group) => {
                Value::Text(self.groups.get(group.index()).cloned().unwrap_or_default())
            }
            Cell::Link(hop) => {
                Value::Text(self.links.get(hop.index()).cloned().unwrap_or_default())
            }
        }
    }

    fn word(&mut self, word: &'static str) -> ByteArray {
        let known = self.words.iter().find(|(known, _)| *known == word);
        let array = known.map(|(_, array)| array.clone());
        array.unwrap_or_else(|| {
            let array = ByteArray::from(word);
            self.words.push((word, array.clone()));
            array
        })
    }
}

impl Series {
    /// New files in `folder`, for a scenario with these links and groups, and with `has_events` where one of their applications
    /// records any.
    pub fn create<'a>(
        folder: &Path,
        hops: impl IntoIterator<Item = &'a str>,
        groups: impl IntoIterator<Item = &'a str>,
        has_events: bool,
    ) -> Result<Self, Error> {
        let events =
            has_events.then(|| Table::create(folder.join("events.parquet"), EVENT_COLUMNS));
        Ok(Self {
            queues: Table::create(folder.join("queues.parquet"), QUEUE_COLUMNS)?,
            flows: Table::create(folder.join("flows.parquet"), FLOW_COLUMNS)?,
            events: events.transpose()?,
            names: Names {
                links: hops.into_iter().map(ByteArray::from).collect(),
                groups: groups.into_iter().map(ByteArray::from).collect(),
                words: Vec::new(),
            },
        })
    }

    /// Adds rows of queues.
    pub fn queues(&mut self, rows: impl IntoIterator<Item = QueueRow>) -> Result<(), Error> {
        for row in rows {
            let cells = columns::queue(&row).map(|cell| self.names.value(cell));
            self.queues.row(cells)?;
        }
        Ok(())
    }

    /// Adds rows of flows.
    pub fn flows(&mut self, rows: impl IntoIterator<Item = FlowRow>) -> Result<(), Error> {
        for row in rows {
            let cells = columns::flow(&row).map(|cell| self.names.value(cell));
            self.flows.row(cells)?;
        }
        Ok(())
    }

    /// Adds an event; without effect where none was announced.
    pub fn event(&mut self, row: &EventRow) -> Result<(), Error> {
        let Some(events) = &mut self.events else {
            return Ok(());
        };
        events.row(columns::event(row).map(|cell| self.names.value(cell)))
    }

    /// Completes the files.
    pub fn finish(self) -> Result<(), Error> {
        self.queues.finish()?;
        self.flows.finish()?;
        self.events.map_or(Ok(()), Table::finish)
    }
}

/// One value as Parquet has it.
enum Value {
    Integer(i64),
    Optional(Option<i64>),
    Real(f64),
    Text(ByteArray),
}

fn clamp(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The values of a column that wait to be written.
#[derive(Debug)]
enum Column {
    Integer(Vec<i64>),
    /// Those present, and for each row whether one is (1) or not (0).
    Optional(Vec<i64>, Vec<i16>),
    Real(Vec<f64>),
    Text(Vec<ByteArray>),
}

impl Column {
    fn new(column_type: ColumnType) -> Self {
        match column_type {
            ColumnType::Integer => Self::Integer(Vec::new()),
            ColumnType::OptionalInteger => Self::Optional(Vec::new(), Vec::new()),
            ColumnType::Real => Self::Real(Vec::new()),
            ColumnType::Text => Self::Text(Vec::new()),
        }
    }

    fn push(&mut self, value: Value) {
        match (self, value) {
            (Self::Integer(values), Value::Integer(value)) => values.push(value),
            (Self::Optional(values, present), Value::Optional(value)) => {
                present.push(i16::from(value.is_some()));
                values.extend(value);
            }
            (Self::Real(values), Value::Real(value)) => values.push(value),
            (Self::Text(values), Value::Text(value)) => values.push(value),
            _ => unreachable!("rows are built in the order of their columns"),
        }
    }

    /// Writes the column as the next one of `group`, and empties it.
    fn write(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, File>,
    ) -> Result<(), ParquetError> {
        let Some(mut column) = group.next_column()? else {
            return Err(ParquetError::General(
                "more columns than the schema has".to_owned(),
            ));
        };
        match self {
            Self::Integer(values) => {
                column
                    .typed::<Int64Type>()
                    .write_batch(values, None, None)?;
                values.clear();
            }
            Self::Optional(values, present) => {
                column
                    .typed::<Int64Type>()
                    .write_batch(values, Some(present), None)?;
                values.clear();
                present.clear();
            }
            Self::Real(values) => {
                column
                    .typed::<DoubleType>()
                    .write_batch(values, None, None)?;
                values.clear();
            }
            Self::Text(values) => {
                column
                    .typed::<ByteArrayType>()
                    .write_batch(values, None, None)?;
                values.clear();
            }
        }
        column.close()
    }
}

/// One file.
struct Table {
    path: PathBuf,
    writer: SerializedFileWriter<File>,
    columns: Vec<Column>,
    rows: usize,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table")
            .field("path", &self.path)
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}

impl Table {
    fn create(path: PathBuf, columns: &[ColumnInfo]) -> Result<Self, Error> {
        let file = File::create_new(&path).map_err(Error::writing(&path))?;
        Self::of(file, path, columns)
    }

    fn of(file: File, path: PathBuf, columns: &[ColumnInfo]) -> Result<Self, Error> {
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(Default::default()))
            .set_key_value_metadata(Some(columns.iter().map(note).collect()));
        for column in columns {
            // Of numbers differences are small, and looking each up in a dictionary costs more.
            let path = ColumnPath::from(column.name);
            properties = match column.column_type {
                ColumnType::Integer | ColumnType::OptionalInteger => properties
                    .set_column_dictionary_enabled(path.clone(), false)
                    .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
                ColumnType::Real => properties.set_column_dictionary_enabled(path, false),
                ColumnType::Text => properties,
            };
        }
        let properties = properties.build();
        let writer = schema(columns)
            .and_then(|schema| SerializedFileWriter::new(file, schema, Arc::new(properties)));
        Ok(Self {
            writer: writer.map_err(|error| unwritten(&path, error))?,
            path,
            columns: columns
                .iter()
                .map(|it| Column::new(it.column_type))
                .collect(),
            rows: 0,
        })
    }

    fn row<const N: usize>(&mut self, values: [Value; N]) -> Result<(), Error> {
        for (column, value) in self.columns.iter_mut().zip(values) {
            column.push(value);
        }
        self.rows += 1;
        if self.rows < ROWS_PER_GROUP {
            return Ok(());
        }
        let written = self.write_group();
        written.map_err(|error| unwritten(&self.path, error))
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        for column in &mut self.columns {
            column.write(&mut group)?;
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }

    fn finish(mut self) -> Result<(), Error> {
        // Not `into_inner`, whose error has the words of the system in words of its own.
        let whole = self.write_group().and_then(|()| self.writer.finish());
        whole.map_err(|error| unwritten(&self.path, error))?;
        let file = self.writer.inner();
        file.sync_all().map_err(Error::writing(&self.path))
    }
}

/// Why `path` was not written: what the system said, without the name that Parquet has for errors of others.
fn unwritten(path: &Path, error: ParquetError) -> Error {
    match error {
        ParquetError::External(error) => Error::writing(path)(error),
        error => Error::writing(path)(error),
    }
}

/// What the file itself says of a column: `column.time_ns` = `ns; end of the interval …`.
fn note(column: &ColumnInfo) -> KeyValue {
    let ColumnInfo { unit, meaning, .. } = column;
    let separator = if unit.is_empty() { "" } else { "; " };
    let value = format!("{unit}{separator}{meaning}");
    KeyValue::new(format!("column.{}", column.name), value)
}

fn schema(columns: &[ColumnInfo]) -> Result<Arc<Type>, ParquetError> {
    let field = |column: &ColumnInfo| {
        let (physical, repetition, converted) = match column.column_type {
            ColumnType::Integer => (Physical::INT64, Repetition::REQUIRED, ConvertedType::NONE),
            ColumnType::OptionalInteger => {
                (Physical::INT64, Repetition::OPTIONAL, ConvertedType::NONE)
            }
            ColumnType::Real => (Physical::DOUBLE, Repetition::REQUIRED, ConvertedType::NONE),
            ColumnType::Text => (
                Physical::BYTE_ARRAY,
                Repetition::REQUIRED,
                ConvertedType::UTF8,
            ),
        };
        let builder = Type::primitive_type_builder(column.name, physical);
        builder
            .with_repetition(repetition)
            .with_converted_type(converted)
            .build()
            .map(Arc::new)
    };
    let fields = columns.iter().map(field).collect::<Result<_, _>>()?;
    Type::group_type_builder("schema")
        .with_fields(fields)
        .build()
        .map(Arc::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use quell_app::{Carrier, EndRepairs, Event, Outcome, Repairs};
    use quell_measure::{Direction, FlowId, GroupId, Hop};
    use quell_units::{Bytes, Time};

    fn queue_row(number: u64) -> QueueRow {
        QueueRow {
            time: Time::from_millis(100 * (number + 1)),
            length: Time::from_millis(100),
            hop: Hop(1),
            queue: if number.is_multiple_of(2) {
                "l4s"
            } else {
                "classic"
            },
            direction: Direction::Forward,
            packets: number,
            bytes: Bytes::new(1_500 * number),
            marked: 1,
            dropped: 2,
            delay_mean: (!number.is_multiple_of(3)).then_some(Time::from_micros(number)),
            delay_max: None,
            backlog: Bytes::new(7),
        }
    }

    /// Every row as text, in order.
    #[allow(clippy::unwrap_used)]
    fn read(path: &Path) -> (usize, Vec<String>) {
        let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
        let rows = reader
            .get_row_iter(None)
            .unwrap()
            .map(|row| row.unwrap().to_string())
            .collect();
        (reader.num_row_groups(), rows)
    }

    #[test]
    fn a_full_disk_is_reported_in_the_words_of_the_system() {
        // Every write to this device fails with ENOSPC (full(4)).
        let path = Path::new("/dev/full");
        let file = File::options().write(true).open(path).unwrap();
        let table = Table::of(file, path.to_owned(), QUEUE_COLUMNS).unwrap();
        let error = table.finish().unwrap_err().to_string();
        assert_eq!(
            error,
            "cannot write /dev/full: No space left on device (os error 28)"
        );
    }

    /// An event with all that can be missing, there or missing.
    fn event_row() -> EventRow {
        let event = Event {
            kind: "item",
            number: 3,
            started: Time::from_millis(5),
            first: Some(Time::from_millis(7)),
            last: None,
            ended: None,
            size: 1_000,
            outcome: Outcome::Unfinished,
            value: 0,
            wait: Some(Time::from_millis(1)),
            carrier: Carrier::Flow,
            note: None,
        };
        let repairs = Repairs {
            sender: EndRepairs {
                handshake: Some(1),
                timeouts: Some(2),
                recoveries: None,
                probes: Some(3),
                retransmitted: Some(4),
            },
            receiver: EndRepairs {
                handshake: Some(5),
                timeouts: None,
                recoveries: Some(6),
                probes: Some(7),
                retransmitted: Some(8),
            },
        };
        EventRow {
            group: GroupId(0),
            flow: FlowId(2),
            event,
            repairs,
        }
    }

    #[test]
    fn reads_back_what_was_written_over_several_row_groups() {
        let folder = tempfile::tempdir().unwrap();
        let mut series =
            Series::create(folder.path(), ["wifi", "access"], ["l4s", "voice"], true).unwrap();
        let count = ROWS_PER_GROUP as u64 + 3;
        series.queues((0..count).map(queue_row)).unwrap();
        let flow = FlowRow {
            time: Time::from_millis(100),
            length: Time::from_millis(100),
            group: GroupId(1),
            flow: FlowId(5),
            delivered: Bytes::new(125_000),
            rtt: Some(Time::from_millis(7)),
            congestion_window: None,
            retransmitted: Some(3),
        };
        series.flows([flow]).unwrap();
        series.event(&event_row()).unwrap();
        series.finish().unwrap();

        let (groups, rows) = read(&folder.path().join("queues.parquet"));
        assert_eq!((groups, rows.len() as u64), (2, count));
        assert_eq!(
            rows[1],
            "{time_ns: 200000000, length_ns: 100000000, direction: \"forward\", queue: \"classic\", packets: 1, bytes: 1500, \
             marked: 1, dropped: 2, delay_mean_ns: 1000, delay_max_ns: null, backlog_bytes: 7, hop: \"access\"}"
        );
        assert!(rows[3].contains("delay_mean_ns: null"), "{}", rows[3]);
        assert!(rows[count as usize - 1].contains(&format!("packets: {}, ", count - 1)));
        let (_, rows) = read(&folder.path().join("flows.parquet"));
        assert_eq!(
            rows,
            [
                "{time_ns: 100000000, length_ns: 100000000, group: \"voice\", flow: 5, delivered_bytes: 125000, \
              goodput_bps: 10000000.0, rtt_ns: 7000000, congestion_window_bytes: null, retransmitted: 3}"
            ]
        );
        let (_, rows) = read(&folder.path().join("events.parquet"));
        assert_eq!(
            rows,
            [
                "{group: \"l4s\", flow: 2, kind: \"item\", number: 3, started_ns: 5000000, first_byte_ns: 7000000, \
              last_byte_ns: null, ended_ns: null, size_bytes: 1000, outcome: \"unfinished\", value: 0, wait_ns: 1000000, syn_retries: 5, \
              syn_ack_retries: 1, timeouts: 2, probes: 3, recoveries: null, retransmitted: 4, timeouts_up: null, probes_up: 7, \
              recoveries_up: 6, retransmitted_up: 8}"
            ]
        );
    }

    #[test]
    fn files_without_rows_are_whole_too() {
        let folder = tempfile::tempdir().unwrap();
        Series::create(folder.path(), [], [], false)
            .unwrap()
            .finish()
            .unwrap();
        assert_eq!(read(&folder.path().join("flows.parquet")), (0, Vec::new()));
        assert!(!folder.path().join("events.parquet").exists());
    }

    #[test]
    fn an_error_names_the_file() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("flows.parquet"), "").unwrap();
        let error = Series::create(folder.path(), [], [], false).unwrap_err();
        assert!(error.to_string().contains("flows.parquet"), "{error}");
    }
}
