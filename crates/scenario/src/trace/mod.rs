//! Traces of links: the texts that people have, read into what a link plays.
//!
//! A scenario names a file, `rate = { trace = "lte.csv" }`, or holds the text itself, `rate = { data = '''…''' }`; the resolved scenario
//! always holds the text, so a run repeats without the file. Formats:
//!
//! * `csv`: a time and a rate in each line from then on, with units in the header or in the cells ([`csv`]);
//! * `pensieve`: two columns of numbers without a header, seconds and Mbit/s until then ([`csv`]);
//! * `rates`: one rate in each line, all of them equally long ([`rates`]);
//! * `mahimahi`: one whole number of milliseconds in each line, a chance to send 1 500 bytes ([`mahimahi`]);
//! * `iperf3`: the report of `iperf3 --json` ([`iperf3`]);
//! * `netem-trace`: patterns in JSON ([`netem`]);
//! * `delays`: one delay in each line, all of them equally long ([`delays`]).
//!
//! What `csv`, `netem-trace` and `delays` say of delays and losses is for `impair = { trace = "lte.csv" }`.
//!
//! Where the format is not named, it is guessed from the content, and what could well mean something else is refused ([`mod@guess`]).
//!
//! Any text gives a trace or an error with its line, never a panic.

mod convert;
mod csv;
mod delays;
mod guess;
mod iperf3;
mod mahimahi;
mod netem;
mod number;
mod path;
mod rates;
mod read;
mod summary;
mod write;

use quell_aqm::link_trace::{Trace, TraceError};
use quell_units::Time;

pub use convert::{chances_of, rates_of};
pub use guess::guess;
pub(crate) use read::{LONG_OUTAGE, read, read_path};
pub use write::text;
pub(crate) use write::{canonical, table};

/// The most entries: 16 bytes each are 512 MiB.
pub const MOST_ENTRIES: usize = 1 << 25;

/// The format of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Times and rates, with a header.
    Csv,
    /// Times and rates without a header, each until its time.
    Pensieve,
    /// Rates alone.
    Rates(Spacing),
    /// Chances to send.
    Mahimahi,
    /// The report of iperf3 in JSON.
    Iperf3,
    /// Patterns in JSON.
    NetemTrace,
    /// Delays alone, in milliseconds, each as long as this.
    Delays(Time),
}

/// Unit and interval of a column of rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spacing {
    /// The unit in bit/s; without it each line has its own.
    pub unit: Option<u64>,
    /// Length of each rate.
    pub interval: Time,
}

impl Format {
    /// Every format, with the words of scenarios.
    pub const ALL: [Self; 7] = [
        Self::Csv,
        Self::Pensieve,
        Self::Rates(Spacing {
            unit: Some(1_000),
            interval: Time::from_secs(1),
        }),
        Self::Mahimahi,
        Self::Iperf3,
        Self::NetemTrace,
        Self::Delays(Time::from_millis(10)),
    ];

    /// The word in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Pensieve => "pensieve",
            Self::Rates(_) => "rates",
            Self::Iperf3 => "iperf3",
            Self::Mahimahi => "mahimahi",
            Self::NetemTrace => "netem-trace",
            Self::Delays(_) => "delays",
        }
    }
}

/// An error in the text of a trace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {found:?}: {allowed}")]
pub struct TextError {
    /// The line, from 1.
    pub line: usize,
    /// The text at the error; empty if the whole is meant.
    pub found: String,
    /// The error, or what would be right.
    pub allowed: String,
}

impl TextError {
    fn new(line: usize, found: &str, allowed: impl Into<String>) -> Self {
        let found = found.trim();
        // A line may be a whole file.
        let end = found
            .char_indices()
            .nth(60)
            .map_or(found.len(), |(at, _)| at);
        Self {
            line,
            found: found[..end].to_owned(),
            allowed: allowed.into(),
        }
    }
    fn whole(error: TraceError) -> Self {
        Self::new(1, "", error.to_string())
    }
    fn too_many(line: usize) -> Self {
        let allowed = format!("at most {MOST_ENTRIES} entries are allowed");
        Self::new(line, "", allowed)
    }
}

/// Reads the text of a trace.
///
/// # Errors
///
/// The first thing in the text that is wrong.
pub fn parse(text: &str, format: Format) -> Result<Trace, TextError> {
    let text = without_mark(text);
    match format {
        Format::Csv => csv::parse(text),
        Format::Pensieve => csv::parse_pensieve(text),
        Format::Rates(spacing) => rates::parse(text, spacing).map(Trace::Rates),
        Format::Iperf3 => iperf3::parse(text).map(Trace::Rates),
        Format::Mahimahi => mahimahi::parse(text).map(Trace::Chances),
        Format::NetemTrace => netem::parse(text).map(Trace::Rates),
        Format::Delays(_) => {
            let allowed = "has no rates; delays are for impair = { trace = … }";
            Err(TextError::new(1, "", allowed))
        }
    }
}

/// Whether a text has rates, and whether it has delays or losses: by the header of csv, or the models of netem-trace.
pub fn content(text: &str) -> (bool, bool) {
    let first = number::lines(without_mark(text)).next();
    let first = first.map_or("", |(_, line)| line);
    let has_path = match first.starts_with(['{', '[']) {
        true => ["DelayConfig", "DelayPattern", "LossConfig", "LossPattern"]
            .iter()
            .any(|model| text.contains(model)),
        false => csv::keys(first).any(|key| key != "rate"),
    };
    let has_rates = !has_path || csv::keys(first).any(|key| key == "rate");
    (has_rates, has_path)
}

/// Reads what the text of a trace says of delays and losses.
fn parse_path(text: &str, format: Format) -> Result<path::PathRows, TextError> {
    let text = without_mark(text);
    match format {
        Format::Csv => csv::parse_path(text),
        Format::Delays(interval) => delays::parse(text, interval),
        Format::NetemTrace => netem::parse_path(text),
        _ => {
            let allowed = format!("format {} has no delays and no losses", format.name());
            Err(TextError::new(1, "", allowed))
        }
    }
}

/// Without the mark that some editors put in front.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

#[cfg(test)]
mod tests;
