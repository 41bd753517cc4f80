//! Traces of links: the texts that people have, read into what a link plays.
//!
//! A scenario names a file, `rate = { trace = "lte.csv" }`, or holds the text itself, `rate = { data = '''…''' }`; the resolved scenario
//! always holds the text, so a run repeats without the file. Three formats, told apart by their content:
//!
//! * `csv`: a time and a rate in each line, with units in the header or in the cells ([`csv`]); two columns of numbers without a header
//!   are seconds and Mbit/s as the traces of Pensieve have them;
//! * `mahimahi`: one whole number of milliseconds in each line, a chance to send 1 500 bytes ([`mahimahi`]);
//! * `netem-trace`: patterns of bandwidth in JSON ([`netem`]).
//!
//! Any text gives a trace or an error with its line, never a panic.

mod convert;
mod csv;
mod mahimahi;
mod netem;
mod number;
mod read;
mod write;

use quell_aqm::course::{Trace, TraceError};

pub use convert::{chances_of, rates_of};
pub(crate) use read::{LONG_OUTAGE, read};
pub use write::text;
pub(crate) use write::{canonical, table};

/// The most entries: 16 bytes each are 512 MiB.
pub const MOST_ENTRIES: usize = 1 << 25;

/// How a text holds a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Times and rates.
    Csv,
    /// Chances to send.
    Mahimahi,
    /// Patterns in JSON.
    NetemTrace,
}

impl Format {
    /// Every format, with the words of scenarios.
    pub const ALL: [Self; 3] = [Self::Csv, Self::Mahimahi, Self::NetemTrace];

    /// The word in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Mahimahi => "mahimahi",
            Self::NetemTrace => "netem-trace",
        }
    }

    /// The format that `text` probably has, by its first line that says something.
    pub fn of(text: &str) -> Self {
        let lines = without_mark(text).lines().map(str::trim);
        let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let first = lines.next().unwrap_or_default();
        if first.starts_with(['{', '[']) {
            Self::NetemTrace
        } else if first.bytes().all(|byte| byte.is_ascii_digit()) {
            Self::Mahimahi
        } else {
            Self::Csv
        }
    }
}

/// What is wrong with the text of a trace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {found:?}: {allowed}")]
pub struct TextError {
    /// The line, from 1.
    pub line: usize,
    /// What stands there; empty if the whole is meant.
    pub found: String,
    /// What is wrong with it, or would be right.
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
        Format::Mahimahi => mahimahi::parse(text).map(Trace::Chances),
        Format::NetemTrace => netem::parse(text).map(Trace::Rates),
    }
}

/// Without the mark that some editors put in front.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

#[cfg(test)]
mod tests;
