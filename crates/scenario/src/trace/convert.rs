//! Converts chances to rates and back, for a trace of the one kind that a scenario plays as the other.

use quell_aqm::link_trace::{ChanceTrace, RateTrace};
use quell_units::{Rate, Time};

use super::{MOST_ENTRIES, TextError};

/// Number of bytes that a chance carries.
const CHANCE: u64 = 1_500;
/// Chances are counted over windows of this length.
const WINDOW: Time = Time::from_millis(100);

/// The mean rate of each 100 ms; the last window may be shorter.
///
/// # Errors
///
/// The trace has more windows than entries are allowed.
pub fn rates_of(trace: &ChanceTrace) -> Result<RateTrace, TextError> {
    let length = trace.length();
    let windows = length.as_nanos().div_ceil(WINDOW.as_nanos());
    if windows > MOST_ENTRIES as u64 {
        return Err(TextError::too_many(1));
    }
    let mut steps: Vec<(Time, Rate)> = Vec::new();
    let mut chances = trace.times().iter().peekable();
    for window in 0..windows {
        let start = WINDOW * window;
        let end = (start + WINDOW).min(length);
        let mut count = 0;
        // The last entry falls on the end of the trace, and belongs to it.
        while chances.next_if(|at| **at < end || end == length).is_some() {
            count += 1;
        }
        let bits = u128::from(count * CHANCE * 8) * 1_000_000_000;
        let rate = Rate::from_bps((bits / u128::from((end - start).as_nanos())) as u64);
        // A short text may stand for a long silence.
        if steps.last().is_none_or(|(_, before)| *before != rate) {
            steps.push((start, rate));
        }
    }
    RateTrace::new(steps, length).map_err(TextError::whole)
}

/// A chance whenever the link would have carried 1 500 bytes more. The trace ends with its last chance.
///
/// # Errors
///
/// There are more chances than entries are allowed, or none.
pub fn chances_of(trace: &RateTrace) -> Result<ChanceTrace, TextError> {
    const NEED: u128 = CHANCE as u128 * 8 * 1_000_000_000;
    let mut times = Vec::new();
    // In bit/s × ns.
    let mut carried = 0_u128;
    let steps = trace.steps();
    let ends = steps.iter().skip(1).map(|(at, _)| *at);
    for ((start, rate), end) in steps.iter().zip(ends.chain([trace.length()])) {
        let rate = u128::from(rate.as_bps());
        let before = carried;
        carried += rate * u128::from((end - *start).as_nanos());
        let chances = carried / NEED;
        if times.len() as u128 + chances > MOST_ENTRIES as u128 {
            return Err(TextError::too_many(1));
        }
        for chance in 1..=chances {
            let wait = (chance * NEED - before).div_ceil(rate);
            times.push(*start + Time::from_nanos(wait as u64));
        }
        carried %= NEED;
    }
    ChanceTrace::new(times).map_err(TextError::whole)
}
