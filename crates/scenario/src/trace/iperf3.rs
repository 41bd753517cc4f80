//! The report of `iperf3 --json`, or of `--json-stream`: what each of its intervals carried.
//!
//! The rates are those of all streams together, in the direction in which the test sent first. At the receiver's end they are what the
//! path carried; at the sender's, what its socket took. Both are payload without headers, and what a test carried is what the path could
//! carry only while the sender always had more to send. Intervals that the test itself leaves out are left out.

use quell_aqm::link_trace::RateTrace;
use quell_units::{Rate, Time};
use serde_json::Value;

use super::{MOST_ENTRIES, TextError};

/// The latest time of an interval, in seconds: 30 years.
const LATEST: f64 = 1e9;

pub(super) fn parse(text: &str) -> Result<RateTrace, TextError> {
    let intervals = intervals(text)?;
    let mut steps: Vec<(Time, Rate)> = Vec::new();
    let (mut first, mut last) = (None, Time::ZERO);
    for (index, interval) in intervals.iter().enumerate() {
        let wrong = |allowed: &str| {
            let allowed = format!("interval {}: {allowed}", index + 1);
            Err(TextError::new(1, "", allowed))
        };
        let sum = &interval["sum"];
        if sum["omitted"] == Value::Bool(true) {
            continue;
        }
        let time = |name: &str| seconds(&sum[name]);
        let (Some(start), Some(end)) = (time("start"), time("end")) else {
            return wrong("sum.start and sum.end must be times in seconds");
        };
        let Some(rate) = sum["bits_per_second"].as_f64().and_then(rate) else {
            return wrong("sum.bits_per_second must be a rate up to 1tbit");
        };
        let origin = *first.get_or_insert(start);
        let at = start - origin;
        if steps.last().is_some_and(|(before, _)| at <= *before) || end <= start {
            return wrong("its times must rise");
        }
        if steps.len() == MOST_ENTRIES {
            return Err(TextError::too_many(1));
        }
        steps.push((at, rate));
        last = end - origin;
    }
    RateTrace::new(steps, last).map_err(TextError::whole)
}

/// Those of a report, or of the lines of `--json-stream`.
fn intervals(text: &str) -> Result<Vec<Value>, TextError> {
    let not_json = |line: usize, error: serde_json::Error| {
        let line = line + error.line().saturating_sub(1);
        TextError::new(line, "", format!("this is not JSON: {error}"))
    };
    let is_stream = text.trim_start().starts_with("{\"event\"");
    let mut found = Vec::new();
    let mut last = Value::Null;
    if is_stream {
        let lines = text.lines().enumerate();
        for (index, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let mut event: Value =
                serde_json::from_str(line).map_err(|error| not_json(index + 1, error))?;
            if event["event"] == "interval" {
                found.push(event["data"].take());
            }
            last = event;
        }
    } else {
        last = serde_json::from_str(text).map_err(|error| not_json(1, error))?;
        if let Some(Value::Array(intervals)) = last.get_mut("intervals") {
            found = std::mem::take(intervals);
        }
    }
    match found.is_empty() {
        true => Err(without_intervals(&last)),
        false => Ok(found),
    }
}

fn seconds(value: &Value) -> Option<Time> {
    let seconds = value.as_f64()?;
    // A whole number of nanoseconds, far below 2⁶³.
    (0.0..LATEST)
        .contains(&seconds)
        .then(|| Time::from_nanos((seconds * 1e9 + 0.5) as u64))
}

fn rate(bps: f64) -> Option<Rate> {
    (0.0..=1e12)
        .contains(&bps)
        .then(|| Rate::from_bps((bps + 0.5) as u64))
}

/// The error of a report without an interval.
fn without_intervals(value: &Value) -> TextError {
    let allowed = match value.get("error").and_then(Value::as_str) {
        Some(error) => format!("iperf3 failed, so there is no interval: {error}"),
        None => "has no intervals, as a report of iperf3 --json has them".to_owned(),
    };
    TextError::new(1, "", allowed)
}
