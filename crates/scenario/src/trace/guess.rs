//! The format of a text whose format is not named.
//!
//! A wrong guess gives another link than the one meant, without an error: a column of kbit/s read as mahimahi's milliseconds has a chance
//! in many seconds. So a text that could well mean something else is refused, with what to write for each meaning.

use quell_aqm::link_trace::{ChanceTrace, Trace};
use quell_units::Rate;

use super::number::{lines, scaled};
use super::summary::{in_words, mean_of, summary};
use super::{Format, TextError, csv, mahimahi, without_mark};

/// No packet-delivery trace of a network that people record has less: chances that are on average further apart than 240 ms.
const SLOWEST: Rate = Rate::from_bps(50_000);

/// The format that `text` has, by what stands in it.
///
/// # Errors
///
/// It could well be another one. The error says what to write.
pub fn guess(text: &str) -> Result<Format, TextError> {
    let text = without_mark(text);
    let Some((number, first)) = lines(text).next() else {
        return Ok(Format::Csv);
    };
    if first.starts_with(['{', '[']) {
        let is_report = text.contains("\"intervals\"") || first.starts_with("{\"event\"");
        return Ok(match is_report {
            true => Format::Iperf3,
            false => Format::NetemTrace,
        });
    }
    let is_number = |cell: &str| scaled(cell, 1).is_some();
    match csv::columns(first) {
        (first, Some(second)) if is_number(first) && is_number(second) => {
            Err(TextError::new(number, first, csv::NO_HEADER_ALLOWED))
        }
        (only, None) if is_number(only) => column(text, (number, only)),
        (only, None) if csv::rate(only, None).is_some() => {
            let allowed = "is a rate, but how long each lasts is not said: interval = \"1s\"";
            Err(TextError::new(number, only, allowed))
        }
        _ => Ok(Format::Csv),
    }
}

/// A column of numbers without a heading: milliseconds of chances, or rates.
fn column(text: &str, (number, first): (usize, &str)) -> Result<Format, TextError> {
    let all_numbers = lines(text).all(|(_, line)| scaled(line, 1).is_some());
    let because = match mahimahi::parse(text) {
        Ok(chances) => match doubt(&chances) {
            None => return Ok(Format::Mahimahi),
            Some(because) => because,
        },
        // The error of a trace with something else in it is mahimahi's to report.
        Err(_) if !all_numbers => return Ok(Format::Mahimahi),
        Err(error) => format!("as mahimahi its line {} {}", error.line, error.allowed),
    };
    let allowed = format!(
        "could be times, rates or delays ({because}); name the format: format = \"rates\" with unit = \"kbit\" and interval = \"1s\", or whatever \
         they are, format = \"mahimahi\" for milliseconds of chances to send, or format = \"delays\" with interval = \"10ms\""
    );
    Err(TextError::new(number, first, allowed))
}

/// The reason to doubt that the numbers are chances, if there is one.
fn doubt(chances: &ChanceTrace) -> Option<String> {
    let times = chances.times();
    if times.len() > 1 && times.first() == times.last() {
        let (count, at) = (times.len(), chances.length());
        return Some(format!(
            "as mahimahi they are {count} chances at once, every {at}"
        ));
    }
    let mean = mean_of(chances);
    (mean < SLOWEST).then(|| {
        let summary = summary(Format::Mahimahi, &Trace::Chances(chances.clone()));
        format!("{summary}: less than {}", in_words(SLOWEST))
    })
}
