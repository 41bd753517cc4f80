//! Rows of the series, kept as columns of numbers until they are taken.

use quell_scenario::columns::{self, Cell, ColumnInfo, EVENT_COLUMNS, FLOW_COLUMNS, QUEUE_COLUMNS};
use quell_scenario::contract::{Listener, Row, Unwritten};
use quell_units::Time;

/// One of the series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Series {
    /// As `queues.parquet`.
    Queues,
    /// As `flows.parquet`.
    Flows,
    /// As `events.parquet`.
    Events,
}

impl Series {
    /// Each of them.
    pub const ALL: [Self; 3] = [Self::Queues, Self::Flows, Self::Events];

    /// The name of its file, without the ending.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queues => "queues",
            Self::Flows => "flows",
            Self::Events => "events",
        }
    }

    /// Its columns, in order.
    pub const fn columns(self) -> &'static [ColumnInfo] {
        match self {
            Self::Queues => QUEUE_COLUMNS,
            Self::Flows => FLOW_COLUMNS,
            Self::Events => EVENT_COLUMNS,
        }
    }
}

/// The rows that were not taken yet. Every value is a number: a missing one is NaN, a word its place among [`Rows::words`], a group or
/// link its place in the scenario. A whole number above 2^53, which nothing measured reaches, is rounded.
#[derive(Debug, Default)]
pub struct Rows {
    words: Vec<&'static str>,
    /// Row by row, of each series.
    values: [Vec<f64>; Series::ALL.len()],
}

impl Rows {
    /// The words that stand for their places; there are only ever more of them.
    pub fn words(&self) -> &[&'static str] {
        &self.words
    }

    /// Rows that wait.
    pub fn waiting(&self, series: Series) -> usize {
        self.values[series as usize].len() / series.columns().len()
    }

    /// Takes the rows of `series`, column by column.
    pub fn take(&mut self, series: Series) -> Vec<f64> {
        let (width, count) = (series.columns().len(), self.waiting(series));
        let rows = std::mem::take(&mut self.values[series as usize]);
        let mut columns = Vec::with_capacity(rows.len());
        for column in 0..width {
            columns.extend((0..count).map(|row| rows[row * width + column]));
        }
        columns
    }

    fn push<const N: usize>(&mut self, series: Series, cells: [Cell; N]) {
        for cell in cells {
            let value = self.value(cell);
            self.values[series as usize].push(value);
        }
    }

    fn value(&mut self, cell: Cell) -> f64 {
        match cell {
            Cell::Integer(number) => number as f64,
            Cell::Optional(number) => number.map_or(f64::NAN, |number| number as f64),
            Cell::Real(number) => number,
            Cell::Word(word) => self.word(word) as f64,
            Cell::Group(group) => group.index() as f64,
            Cell::Link(hop) => hop.index() as f64,
        }
    }

    fn word(&mut self, word: &'static str) -> usize {
        let known = self.words.iter().position(|known| *known == word);
        known.unwrap_or_else(|| {
            self.words.push(word);
            self.words.len() - 1
        })
    }
}

impl Listener for Rows {
    fn progress(&mut self, _now: Time) {}
    fn row(&mut self, row: Row) -> Result<(), Unwritten> {
        match row {
            Row::Queue(row) => self.push(Series::Queues, columns::queue(&row)),
            Row::Flow(row) => self.push(Series::Flows, columns::flow(&row)),
            Row::Event(row) => self.push(Series::Events, columns::event(&row)),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quell_measure::{FlowId, FlowRow, GroupId};
    use quell_units::Bytes;

    fn row(number: u64, rtt: Option<Time>) -> Row {
        Row::Flow(FlowRow {
            time: Time::from_nanos(number),
            length: Time::from_nanos(8),
            group: GroupId(1),
            flow: FlowId(3),
            delivered: Bytes::new(2),
            rtt,
            congestion_window: None,
            retransmitted: Some(4),
        })
    }

    #[test]
    fn rows_come_out_once_as_columns_in_their_order() {
        let mut rows = Rows::default();
        rows.row(row(10, None)).unwrap_or_default();
        rows.row(row(20, Some(Time::from_nanos(7))))
            .unwrap_or_default();
        assert_eq!(rows.waiting(Series::Flows), 2);
        let columns = rows.take(Series::Flows);
        assert_eq!(columns.len(), 2 * FLOW_COLUMNS.len());
        let column = |name: &str| {
            let place = FLOW_COLUMNS.iter().position(|column| column.name == name);
            let first = 2 * place.unwrap_or(usize::MAX);
            [columns[first], columns[first + 1]]
        };
        assert_eq!(column("time_ns"), [10.0, 20.0]);
        assert_eq!(column("group"), [1.0, 1.0]);
        assert_eq!(column("goodput_bps"), [2e9, 2e9]);
        let [none, some] = column("rtt_ns");
        assert!(none.is_nan());
        assert_eq!(some, 7.0);
        assert!(rows.take(Series::Flows).is_empty());
    }

    #[test]
    fn a_word_keeps_its_place() {
        let mut rows = Rows::default();
        let places = ["l4s", "classic", "l4s"].map(|word| rows.value(Cell::Word(word)));
        assert_eq!(places, [0.0, 1.0, 0.0]);
        assert_eq!(rows.words(), ["l4s", "classic"]);
    }
}
