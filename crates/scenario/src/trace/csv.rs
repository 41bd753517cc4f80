//! Times and values in columns; or times alone, which are chances to send.
//!
//! ```text
//! time_s,rate_mbps          time,rate           time_ms
//! 0,12                      0s,12mbit           1
//! 0.1,8.5                   100ms,8.5mbit       2
//! 0.2,                      200ms,              4
//! ```
//!
//! Further columns say what the path does: `delay_ms` one way, `rtt_ms` (half of it each way), `jitter_ms`, `loss`, `loss_percent`, and
//! `enter` and `leave` of bursts, as the keys of `impair`.
//!
//! Each value holds from its time to that of the next line, and on where a cell is empty. A last line without values is the end of the
//! trace; without one the last holds as long as the one before it, or for a second if it is the only one. Times count from the first one. Columns are separated by
//! commas, semicolons, tabs or blanks; empty lines and what follows a `#` do not count.
//!
//! The format `pensieve` has no header: its two columns are seconds and Mbit/s, and each rate holds *until* its time from the one before, as
//! Pensieve's simulator (Mao et al., SIGCOMM 2017) plays its traces: `sim/env.py`. Most programs that write such columns mean the opposite,
//! so nothing but its name selects it.

use quell_aqm::link_trace::{ChanceTrace, RateTrace, Trace};
use quell_units::{Rate, Time, notation};

use super::number::{lines, scaled};
use super::path::PathRows;
use super::{MOST_ENTRIES, TextError};
use crate::path_course::PARTS;

/// The highest rate, that of scenarios: 1 Tbit/s.
const HIGHEST: Rate = Rate::from_mbps(1_000_000);
/// Length of a trace of one line.
const ALONE: Time = Time::from_secs(1);
/// The latest time: 2⁶³ ns are 292 years.
const LATEST: u64 = i64::MAX as u64;

/// The unit of times in ns, and the columns behind them; where there is none, each time is a chance.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Header {
    time: Option<u64>,
    columns: Vec<Column>,
    /// Rates hold until their time.
    until: bool,
}

/// A column of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Column {
    /// `rate`, or the key of `impair` that it is of.
    key: &'static str,
    /// Its unit in bit/s, ns or parts; `None` where cells have their own.
    unit: Option<u64>,
    /// Both directions share the values.
    halved: bool,
}

/// The columns by the names of the header.
const COLUMNS: [(&str, &str); 7] = [
    ("rate", "rate"),
    ("delay", "delay"),
    ("rtt", "delay"),
    ("jitter", "jitter"),
    ("loss", "loss"),
    ("enter", "enter"),
    ("leave", "leave"),
];

/// The longest delay, that of scenarios.
const LONGEST_DELAY: Time = Time::from_secs(10);

/// For two columns of numbers without a header.
pub(super) const NO_HEADER_ALLOWED: &str = "must be the header, such as time_s,rate_mbps, which says the units, and that each rate holds \
     from its time on; or name the format: format = \"pensieve\" is seconds and Mbit/s, each rate until its time";

pub(super) fn parse(text: &str) -> Result<Trace, TextError> {
    Rows::read(text, None)?.rates()
}

pub(super) fn parse_pensieve(text: &str) -> Result<Trace, TextError> {
    let header = Header {
        time: Some(1_000_000_000),
        columns: vec![Column {
            key: "rate",
            unit: Some(1_000_000),
            halved: false,
        }],
        until: true,
    };
    Rows::read(text, Some(header))?.rates()
}

pub(super) fn parse_path(text: &str) -> Result<PathRows, TextError> {
    Rows::read(text, None)?.path()
}

struct Rows {
    header: Option<Header>,
    /// The times as written; the first need not be zero.
    times: Vec<Time>,
    /// The values of all columns, line by line.
    values: Vec<u64>,
    /// The end of the trace: the time of the line without values.
    end: Option<Time>,
}

impl Rows {
    fn read(text: &str, header: Option<Header>) -> Result<Self, TextError> {
        let mut rows = Self {
            header,
            times: Vec::new(),
            values: Vec::new(),
            end: None,
        };
        for (number, line) in lines(text) {
            rows.add(number, line)?;
        }
        Ok(rows)
    }

    fn add(&mut self, number: usize, line: &str) -> Result<(), TextError> {
        let wrong = |found: &str, allowed: &str| Err(TextError::new(number, found, allowed));
        let Some(header) = &self.header else {
            let header = header(line);
            let header = header.map_err(|error| TextError::new(number, line, error.to_string()))?;
            self.header = Some(header);
            return Ok(());
        };
        if self.end.is_some() {
            return wrong(
                line,
                "stands behind the end of the trace, the line without values",
            );
        }
        let count = header.columns.len();
        let cells = cells(line, count.max(1) + 1);
        let Some(at) = time(cells[0], header.time) else {
            return wrong(
                cells[0],
                "must be a time from 0 on, with its unit here or in the header: time_s",
            );
        };
        if cells.len() != count + 1 {
            let allowed = format!("must have as many columns as the header: {}", count + 1);
            return wrong(line, &allowed);
        }
        let falls = |before: &Time| at < *before || count > 0 && at == *before;
        if self.times.last().is_some_and(falls) {
            let allowed = match count {
                0 => "is before the line in front of it; times must not fall",
                _ => "is not after the line in front of it; times must rise",
            };
            return wrong(cells[0], allowed);
        }
        if count > 0 && cells[1..].iter().all(|cell| cell.is_empty()) {
            self.end = Some(at);
            return Ok(());
        }
        let before = self.values.len().checked_sub(count);
        for (index, (column, cell)) in header.columns.iter().zip(&cells[1..]).enumerate() {
            // An empty cell is like the one above it.
            let kept = before.filter(|_| cell.is_empty());
            let value = match kept {
                Some(row) => Some(self.values[row + index]),
                None => column.value(cell),
            };
            let Some(value) = value else {
                return wrong(cell, column.allowed());
            };
            self.values.push(value);
        }
        self.times.push(at);
        if self.times.len() > MOST_ENTRIES {
            return Err(TextError::too_many(number));
        }
        Ok(())
    }

    fn columns(&self) -> &[Column] {
        self.header.as_ref().map_or(&[], |header| &header.columns)
    }

    /// The times from zero on.
    fn starts(&self) -> impl Iterator<Item = Time> + '_ {
        let first = self.times.first().copied().unwrap_or(Time::ZERO);
        self.times.iter().map(move |at| *at - first)
    }

    fn length(&self) -> Time {
        let start = self.times.first().copied().unwrap_or(Time::ZERO);
        let end = self.end.or_else(|| match self.times[..] {
            [.., before, last] => Some(last + (last - before)),
            [only] => Some(only + ALONE),
            [] => None,
        });
        end.unwrap_or(Time::ZERO) - start
    }

    fn rates(self) -> Result<Trace, TextError> {
        let columns = self.columns();
        if self.header.is_some() && columns.is_empty() {
            let chances = ChanceTrace::new(self.times);
            return chances.map(Trace::Chances).map_err(TextError::whole);
        }
        let place = columns.iter().position(|column| column.key == "rate");
        let Some(place) = place.or((self.header.is_none()).then_some(0)) else {
            let allowed = "has no rates; its delays and losses are for impair = { trace = … }";
            return Err(TextError::new(1, "", allowed));
        };
        let rates = self.values.iter().skip(place).step_by(columns.len().max(1));
        let rates = rates.map(|bps| Rate::from_bps(*bps));
        let is_until = self.header.as_ref().is_some_and(|header| header.until);
        let rates = match (is_until, self.times.len()) {
            // Each rate from the time of the line before.
            (true, 2..) => {
                let steps = self.starts().zip(rates.skip(1)).collect();
                let end = self.starts().last().unwrap_or(Time::ZERO);
                RateTrace::new(steps, end)
            }
            _ => RateTrace::new(self.starts().zip(rates).collect(), self.length()),
        };
        rates.map(Trace::Rates).map_err(TextError::whole)
    }

    fn path(self) -> Result<PathRows, TextError> {
        let columns = self.columns();
        let is_of_path = |column: &&Column| column.key != "rate";
        let keys: Vec<_> = columns
            .iter()
            .filter(is_of_path)
            .map(|one| one.key)
            .collect();
        if keys.is_empty() {
            let allowed =
                "has no column delay, rtt, jitter or loss; its rates are for rate = { trace = … }";
            return Err(TextError::new(1, "", allowed));
        }
        let all = columns.iter().cycle().zip(&self.values);
        let values = all.filter(|(column, _)| is_of_path(column));
        Ok(PathRows {
            values: values.map(|(_, value)| *value).collect(),
            times: self.starts().collect(),
            length: self.length(),
            keys,
        })
    }
}

impl Column {
    fn value(&self, cell: &str) -> Option<u64> {
        match (self.key, self.unit) {
            ("rate", unit) => rate(cell, unit).map(Rate::as_bps),
            ("delay" | "jitter", unit) => {
                let time = time(cell, unit).filter(|time| *time <= LONGEST_DELAY)?;
                Some(time.as_nanos() >> u32::from(self.halved))
            }
            (_, unit) => scaled(cell, unit?).filter(|parts| *parts <= PARTS),
        }
    }

    fn allowed(&self) -> &'static str {
        match self.key {
            "rate" => {
                "must be a rate from 0 to 1tbit, with its unit here or in the header: rate_mbps"
            }
            "delay" | "jitter" => {
                "must be a time up to 10s, with its unit here or in the header: delay_ms"
            }
            _ => "must be a share from 0 to 1; a column loss_percent is in percent",
        }
    }
}

/// The keys of the columns that a header names.
pub(super) fn keys(header: &str) -> impl Iterator<Item = &'static str> {
    let cells = cells(header, COLUMNS.len() + 2).into_iter();
    cells.filter_map(|cell| {
        let cell = cell.trim_matches('"').to_ascii_lowercase();
        let name = cell.split('_').next()?;
        let known = COLUMNS.iter().find(|(known, _)| *known == name);
        known.map(|(_, key)| *key)
    })
}

/// At most `most` cells of a line; a separator at the end leaves an empty one.
fn cells(line: &str, most: usize) -> Vec<&str> {
    let is_separator = |c: char| matches!(c, ',' | ';' | '\t');
    match line.contains(is_separator) {
        true => line.splitn(most, is_separator).map(str::trim).collect(),
        // Columns are often filled up with blanks.
        false => line.split_whitespace().take(most).collect(),
    }
}

/// The first column and the rest; a separator at the end leaves an empty second one.
pub(super) fn columns(line: &str) -> (&str, Option<&str>) {
    let is_separator = |c: char| matches!(c, ',' | ';' | '\t');
    if let Some((first, second)) = line.split_once(is_separator) {
        return (first.trim(), Some(second.trim()));
    }
    match line.split_once(' ') {
        Some((first, second)) => (first, Some(second.trim())),
        None => (line, None),
    }
}

/// An error in the first line.
#[derive(Debug, thiserror::Error)]
enum HeaderError {
    #[error("{NO_HEADER_ALLOWED}")]
    Numbers,
    #[error(
        "must be the header, such as time_s,rate_mbps,delay_ms,loss_percent (also rtt, jitter, loss, enter, leave); for one rate in each line name the format: format = \"rates\""
    )]
    Form,
    #[error("{0:?} is no unit of a {1}")]
    Unit(String, String),
    #[error("{0} is given twice; rtt is both delays")]
    Twice(String),
}

/// Reads the first line.
fn header(line: &str) -> Result<Header, HeaderError> {
    let cells = cells(line, COLUMNS.len() + 2);
    let is_number = |cell: &&str| scaled(cell, 1).is_some();
    if cells.len() > 1 && cells.iter().all(is_number) {
        return Err(HeaderError::Numbers);
    }
    let mut names = cells.iter().map(|cell| {
        let cell = cell.trim_matches('"').to_ascii_lowercase();
        match cell.split_once('_') {
            Some((name, unit)) => (name.to_owned(), Some(unit.to_owned())),
            None => (cell, None),
        }
    });
    let Some((name, unit)) = names.next().filter(|(name, _)| name == "time") else {
        return Err(HeaderError::Form);
    };
    let of_time = unit;
    let unit = |name: &str, unit: Option<String>, unit_of: fn(&str) -> Option<u64>| match unit {
        None => Ok(None),
        Some(unit) => match unit_of(&unit) {
            Some(unit) => Ok(Some(unit)),
            None => Err(HeaderError::Unit(unit, name.to_owned())),
        },
    };
    let time = unit(&name, of_time, unit_of_time)?;
    let mut columns: Vec<Column> = Vec::new();
    for (name, of_unit) in names {
        let known = COLUMNS.iter().find(|(known, _)| *known == name);
        let &(_, key) = known.ok_or(HeaderError::Form)?;
        if columns.iter().any(|column| column.key == key) {
            return Err(HeaderError::Twice(name));
        }
        let unit = match key {
            "rate" => unit(&name, of_unit, unit_of_rate)?,
            "delay" | "jitter" => unit(&name, of_unit, unit_of_time)?,
            _ => unit(&name, of_unit, unit_of_share)?.or(Some(PARTS)),
        };
        let halved = name == "rtt";
        columns.push(Column { key, unit, halved });
    }
    Ok(Header {
        time,
        columns,
        until: false,
    })
}

fn unit_of_share(name: &str) -> Option<u64> {
    (name == "percent").then_some(PARTS / 100)
}

fn unit_of_time(name: &str) -> Option<u64> {
    Some(match name {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return None,
    })
}

/// The unit of a rate. `bps` in a header is bits a second: no trace has bytes.
pub(super) fn unit_of_rate(name: &str) -> Option<u64> {
    Some(match name {
        "bps" | "bit" => 1,
        "kbps" | "kbit" => 1_000,
        "mbps" | "mbit" => 1_000_000,
        "gbps" | "gbit" => 1_000_000_000,
        _ => return None,
    })
}

fn time(cell: &str, unit: Option<u64>) -> Option<Time> {
    let nanos = match unit {
        Some(unit) => scaled(cell, unit)?,
        None => notation::time(cell).ok()?.as_nanos(),
    };
    (nanos <= LATEST).then(|| Time::from_nanos(nanos))
}

pub(super) fn rate(cell: &str, unit: Option<u64>) -> Option<Rate> {
    let rate = match unit {
        Some(unit) => Rate::from_bps(scaled(cell, unit)?),
        None => notation::rate(cell).ok()?,
    };
    (rate <= HIGHEST).then_some(rate)
}
