//! Times and rates in two columns; or times alone, which are chances to send.
//!
//! ```text
//! time_s,rate_mbps          time,rate           time_ms
//! 0,12                      0s,12mbit           1
//! 0.1,8.5                   100ms,8.5mbit       2
//! 0.2,                      200ms,              4
//! ```
//!
//! Each rate holds from its time to that of the next line. A last line without a rate is the end of the trace; without one the last rate
//! holds as long as the one before it, or for a second if it is the only one. Times count from the first one. Columns are separated by
//! commas, semicolons, tabs or blanks; empty lines and what follows a `#` do not count.
//!
//! The format `pensieve` has no header: its two columns are seconds and Mbit/s, and each rate holds *until* its time from the one before, as
//! Pensieve's simulator (Mao et al., SIGCOMM 2017) plays its traces: `sim/env.py`. Most programs that write such columns mean the opposite,
//! so nothing but its name selects it.

use quell_aqm::link_trace::{ChanceTrace, RateTrace, Trace};
use quell_units::{Rate, Time, notation};

use super::number::scaled;
use super::{MOST_ENTRIES, TextError};

/// The highest rate, that of scenarios: 1 Tbit/s.
const HIGHEST: Rate = Rate::from_mbps(1_000_000);
/// Length of a trace of one line.
const ALONE: Time = Time::from_secs(1);
/// The latest time: 2⁶³ ns are 292 years.
const LATEST: u64 = i64::MAX as u64;

/// The units of the columns in ns or bit/s; `None` where cells have their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Header {
    time: Option<u64>,
    /// Without a second column each time is a chance.
    rate: Option<Option<u64>>,
    /// Rates hold until their time.
    until: bool,
}

const PENSIEVE: Header = Header {
    time: Some(1_000_000_000),
    rate: Some(Some(1_000_000)),
    until: true,
};

/// For two columns of numbers without a header.
pub(super) const NO_HEADER_ALLOWED: &str = "must be the header, such as time_s,rate_mbps, which says the units, and that each rate holds \
     from its time on; or name the format: format = \"pensieve\" is seconds and Mbit/s, each rate until its time";

pub(super) fn parse(text: &str) -> Result<Trace, TextError> {
    with_header(text, None)
}

pub(super) fn parse_pensieve(text: &str) -> Result<Trace, TextError> {
    with_header(text, Some(PENSIEVE))
}

fn with_header(text: &str, header: Option<Header>) -> Result<Trace, TextError> {
    let mut rows = Rows {
        header,
        times: Vec::new(),
        steps: Vec::new(),
        end: None,
    };
    for (index, line) in text.lines().enumerate() {
        let content = match line.split_once('#') {
            Some((content, _)) => content,
            None => line,
        };
        let content = content.trim();
        if !content.is_empty() {
            rows.add(index + 1, content)?;
        }
    }
    rows.finish()
}

struct Rows {
    header: Option<Header>,
    times: Vec<Time>,
    /// The times as written; the first need not be zero.
    steps: Vec<(Time, Rate)>,
    /// The end of the trace: the time of the line without a rate.
    end: Option<Time>,
}

impl Rows {
    fn add(&mut self, number: usize, line: &str) -> Result<(), TextError> {
        let wrong = |found: &str, allowed: &str| Err(TextError::new(number, found, allowed));
        let (first, second) = columns(line);
        let Some(header) = self.header else {
            let header = header(first, second);
            let header = header.map_err(|error| TextError::new(number, line, error.to_string()))?;
            self.header = Some(header);
            return Ok(());
        };
        if self.end.is_some() {
            return wrong(
                line,
                "stands behind the end of the trace, the line without a rate",
            );
        }
        let Some(at) = time(first, header.time) else {
            return wrong(
                first,
                "must be a time from 0 on, with its unit here or in the header: time_s",
            );
        };
        match (header.rate, second) {
            (None, None) => {
                let before = self.times.last();
                if before.is_some_and(|before| at < *before) {
                    return wrong(
                        first,
                        "is before the line in front of it; times must not fall",
                    );
                }
                self.times.push(at);
            }
            (Some(unit), Some(cell)) => {
                let before = self.steps.last();
                if before.is_some_and(|(before, _)| at <= *before) {
                    return wrong(
                        first,
                        "is not after the line in front of it; times must rise",
                    );
                }
                if cell.is_empty() {
                    self.end = Some(at);
                    return Ok(());
                }
                let Some(rate) = rate(cell, unit) else {
                    return wrong(
                        cell,
                        "must be a rate from 0 to 1tbit, with its unit here or in the header: rate_mbps",
                    );
                };
                self.steps.push((at, rate));
            }
            (None, Some(_)) => return wrong(line, "must be one column, as in the header"),
            (Some(_), None) => return wrong(line, "must be two columns, a time and a rate"),
        }
        if self.times.len().max(self.steps.len()) > MOST_ENTRIES {
            return Err(TextError::too_many(number));
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Trace, TextError> {
        if self.header.is_some_and(|header| header.rate.is_none()) {
            let chances = ChanceTrace::new(self.times);
            return chances.map(Trace::Chances).map_err(TextError::whole);
        }
        let start = self.steps.first().map_or(Time::ZERO, |(at, _)| *at);
        if self.header.is_some_and(|header| header.until) {
            return self.until(start);
        }
        let count = self.steps.len();
        let end = self.end.or_else(|| {
            let last = self.steps.last()?.0;
            let before = count.checked_sub(2).map(|index| self.steps[index].0);
            Some(last + before.map_or(ALONE, |before| last - before))
        });
        for (at, _) in &mut self.steps {
            *at = *at - start;
        }
        let length = end.unwrap_or(Time::ZERO) - start;
        let rates = RateTrace::new(self.steps, length);
        rates.map(Trace::Rates).map_err(TextError::whole)
    }

    /// Each rate from the time of the line before.
    fn until(self, start: Time) -> Result<Trace, TextError> {
        let length = self.steps.last().map_or(Time::ZERO, |(at, _)| *at) - start;
        let starts = self.steps.iter().map(|(at, _)| *at - start);
        let rates = self.steps.iter().skip(1).map(|(_, rate)| *rate);
        let mut steps: Vec<(Time, Rate)> = starts.zip(rates).collect();
        if let ([only], true) = (self.steps.as_slice(), length.is_zero()) {
            steps = vec![(Time::ZERO, only.1)];
            let rates = RateTrace::new(steps, ALONE);
            return rates.map(Trace::Rates).map_err(TextError::whole);
        }
        let rates = RateTrace::new(steps, length);
        rates.map(Trace::Rates).map_err(TextError::whole)
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
        "must be the header, such as time_s,rate_mbps; for one rate in each line name the format: format = \"rates\""
    )]
    Form,
    #[error("{0:?} is no unit of a {1}")]
    Unit(String, &'static str),
}

/// Reads the first line.
fn header(first: &str, second: Option<&str>) -> Result<Header, HeaderError> {
    let is_number = |cell: &str| scaled(cell, 1).is_some();
    if is_number(first) && second.is_some_and(is_number) {
        return Err(HeaderError::Numbers);
    }
    let unit = |cell: &str, name: &'static str, unit_of: fn(&str) -> Option<u64>| {
        let cell = cell.trim_matches('"').to_ascii_lowercase();
        match cell.split_once('_') {
            None if cell == name => Ok(None),
            Some((column, unit)) if column == name => {
                let known = unit_of(unit).map(Some);
                known.ok_or_else(|| HeaderError::Unit(unit.to_owned(), name))
            }
            _ => Err(HeaderError::Form),
        }
    };
    let time = unit(first, "time", unit_of_time)?;
    let rate = match second {
        Some(cell) => Some(unit(cell, "rate", unit_of_rate)?),
        None => None,
    };
    Ok(Header {
        time,
        rate,
        until: false,
    })
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
