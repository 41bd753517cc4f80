//! Packet-delivery traces of mahimahi: one whole number of milliseconds in each line, none below the one before.
//!
//! As `mm-link` reads them: an empty line is an error, and so is a trace that lasts for no time. `link_queue.cc` of mahimahi has the rules.

use quell_aqm::link_trace::ChanceTrace;
use quell_units::Time;

use super::{MOST_ENTRIES, TextError};

pub(super) fn parse(text: &str) -> Result<ChanceTrace, TextError> {
    let mut times: Vec<Time> = Vec::new();
    let mut last = Time::ZERO;
    for (index, line) in text.lines().enumerate() {
        let wrong = |allowed: &str| Err(TextError::new(index + 1, line, allowed));
        let Some(ms) = whole(line) else {
            return wrong(match line.trim() {
                "" => "is empty; write one number of milliseconds in each line",
                _ => "must be a whole number of milliseconds",
            });
        };
        let at = Time::from_millis(ms);
        if at < last {
            return wrong("is below the line before; times must not fall");
        }
        if times.len() == MOST_ENTRIES {
            return Err(TextError::too_many(index + 1));
        }
        last = at;
        times.push(at);
    }
    ChanceTrace::new(times).map_err(TextError::whole)
}

/// At most 10¹² ms, which is 31 years.
fn whole(line: &str) -> Option<u64> {
    let line = line.trim();
    let digits = (1..=12).contains(&line.len()) && line.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| {
        let each = line.bytes().map(|byte| u64::from(byte - b'0'));
        each.fold(0, |sum, digit| sum * 10 + digit)
    })
}
