//! The series of a result, read from its Parquet files as far as they are played: a group of rows at a time.

use std::fs::File;
use std::io;
use std::path::Path;

use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use quell_lab::results::read::columns;
use quell_scenario::Scenario;
use quell_units::Time;
use quell_watch::Series;

use crate::error::ResultError;

/// The words of a run: numbers stand for them by their places.
#[derive(Debug, Clone)]
pub(crate) struct Words {
    links: Vec<String>,
    groups: Vec<String>,
    pub(crate) others: Vec<String>,
}

impl Words {
    pub(crate) fn of(scenario: &Scenario) -> Self {
        let links = scenario.links().iter();
        let groups = scenario.groups.iter();
        Self {
            links: links.map(|link| link.name().to_owned()).collect(),
            groups: groups.map(|group| group.name.clone()).collect(),
            others: Vec::new(),
        }
    }

    /// The number that stands for a text in a column; NaN for a link or group that the scenario does not have.
    fn number(&mut self, column: &str, text: &str) -> f64 {
        let place = |all: &[String]| all.iter().position(|one| one == text);
        let place = match column {
            "hop" => place(&self.links),
            "group" => place(&self.groups),
            _ => place(&self.others).or_else(|| {
                self.others.push(text.to_owned());
                Some(self.others.len() - 1)
            }),
        };
        place.map_or(f64::NAN, |place| place as f64)
    }
}

/// A series that is played.
pub(crate) struct Playing {
    series: Series,
    /// `None` where the result has no such file.
    reader: Option<SerializedFileReader<File>>,
    /// The next group of rows.
    group: usize,
    /// The group that was read, column by column, and its next row.
    columns: Vec<Vec<f64>>,
    at: usize,
}

impl std::fmt::Debug for Playing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Playing")
            .field("series", &self.series)
            .finish_non_exhaustive()
    }
}

impl Playing {
    /// From the beginning.
    pub(crate) fn open(folder: &Path, series: Series) -> Result<Self, ResultError> {
        let path = folder.join(format!("{}.parquet", series.name()));
        let reader = match File::open(&path) {
            Ok(file) => {
                let reader = SerializedFileReader::new(file);
                Some(reader.map_err(|source| ResultError::Series { path, source })?)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(source) => return Err(ResultError::Text { path, source }),
        };
        Ok(Self {
            series,
            reader,
            group: 0,
            columns: Vec::new(),
            at: 0,
        })
    }

    fn rows(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }

    /// Adds what happened until `now` to `out`, of each column its own vector, but no more than `most` rows. `end` is when the run
    /// ended. Returns how many rows were added.
    pub(crate) fn play(
        &mut self,
        now: Time,
        end: Time,
        most: usize,
        words: &mut Words,
        out: &mut [Vec<f64>],
    ) -> Result<usize, ResultError> {
        let mut added = 0;
        while added < most {
            if self.at == self.rows() {
                let series = self.series.name();
                let more = self.read_group(words);
                if !more.map_err(|source| ResultError::Rows { series, source })? {
                    break;
                }
                continue;
            }
            if self.time(end) > now.as_nanos() as f64 {
                break;
            }
            for (column, out) in self.columns.iter().zip(out.iter_mut()) {
                out.push(column[self.at]);
            }
            self.at += 1;
            added += 1;
        }
        Ok(added)
    }

    /// When the next row happened.
    fn time(&self, end: Time) -> f64 {
        let name = match self.series {
            Series::Queues | Series::Flows => "time_ns",
            Series::Events => "ended_ns",
        };
        let columns = self.series.columns();
        let place = columns.iter().position(|column| column.name == name);
        let time = place.map_or(0.0, |place| self.columns[place][self.at]);
        // What has no end happened to have none when the run ended.
        if time.is_nan() {
            end.as_nanos() as f64
        } else {
            time
        }
    }

    /// Reads the next group of rows; returns whether there was one.
    fn read_group(&mut self, words: &mut Words) -> Result<bool, ParquetError> {
        let Some(reader) = &self.reader else {
            return Ok(false);
        };
        if self.group >= reader.num_row_groups() {
            return Ok(false);
        }
        let group = reader.get_row_group(self.group)?;
        let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        let there = reader.metadata().file_metadata().schema_descr();
        let mut columns = Vec::new();
        for column in self.series.columns() {
            let mut all = there.columns().iter();
            // A column that an older result does not have yet is missing in every row.
            columns.push(match all.position(|one| one.name() == column.name) {
                Some(place) => {
                    let number = &mut |text: &str| words.number(column.name, text);
                    columns::values(&*group, place, f64::NAN, |value| value, number)?
                }
                None => vec![f64::NAN; rows],
            });
        }
        (self.columns, self.at) = (columns, 0);
        self.group += 1;
        Ok(true)
    }
}
