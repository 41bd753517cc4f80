//! One rate in each line, each as long as the others: what most tools print that sample a rate at an interval.
//!
//! Empty lines and what follows a `#` do not count, nor does a first line that begins with a letter: the heading of the column.

use quell_aqm::link_trace::RateTrace;
use quell_units::Time;

use super::csv::rate;
use super::number::lines;
use super::{MOST_ENTRIES, Spacing, TextError};

pub(super) fn parse(text: &str, spacing: Spacing) -> Result<RateTrace, TextError> {
    let mut steps = Vec::new();
    let mut end = Time::ZERO;
    for (number, line) in lines(text) {
        if steps.is_empty() && line.starts_with(|first: char| first.is_alphabetic() || first == '"')
        {
            continue;
        }
        let Some(rate) = rate(line, spacing.unit) else {
            let allowed = match spacing.unit {
                Some(_) => "must be one rate from 0 to 1tbit, as a number",
                None => {
                    "must be one rate from 0 to 1tbit with its unit; or name the unit of all: unit = \"kbit\""
                }
            };
            return Err(TextError::new(number, line, allowed));
        };
        if steps.len() == MOST_ENTRIES {
            return Err(TextError::too_many(number));
        }
        steps.push((end, rate));
        end += spacing.interval;
    }
    RateTrace::new(steps, end).map_err(TextError::whole)
}
