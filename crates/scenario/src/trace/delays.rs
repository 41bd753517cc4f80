//! One delay in each line, in whole milliseconds one way, each as long as the others: what replayers of satellite links read.

use quell_units::Time;

use super::number::lines;
use super::path::PathRows;
use super::{MOST_ENTRIES, TextError};

pub(super) fn parse(text: &str, interval: Time) -> Result<PathRows, TextError> {
    let (mut times, mut values) = (Vec::new(), Vec::new());
    let mut length = Time::ZERO;
    for (number, line) in lines(text) {
        let Some(millis) = line.parse().ok().filter(|millis| *millis <= 10_000) else {
            let allowed = "must be one delay up to 10000, in whole milliseconds";
            return Err(TextError::new(number, line, allowed));
        };
        if times.len() == MOST_ENTRIES {
            return Err(TextError::too_many(number));
        }
        times.push(length);
        values.push(Time::from_millis(millis).as_nanos());
        length += interval;
    }
    Ok(PathRows {
        keys: vec!["delay"],
        times,
        values,
        length,
    })
}
