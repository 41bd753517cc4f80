//! A summary of a trace in one line, which shows a wrong format, unit or column.

use quell_aqm::link_trace::{ChanceTrace, LinkTrace, Trace};
use quell_units::{Rate, Time};

use super::Format;

/// `csv: 3 rates in 30s, 2 to 40 Mbit/s, mean 17 Mbit/s`; `mahimahi: 1 chance in 30s, mean 0.4 kbit/s`.
pub(super) fn summary(format: Format, trace: &Trace) -> String {
    let course = LinkTrace::new(trace.clone());
    let (name, length) = (format.name(), course.length());
    let counted = |count: usize, one: &str| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {one}s"),
    };
    match trace {
        Trace::Chances(chances) => {
            let mean = in_words(mean_of(chances));
            let count = counted(chances.times().len(), "chance");
            format!("{name}: {count} in {length}, mean {mean}")
        }
        Trace::Rates(rates) => {
            let mean = in_words(course.mean_rate());
            let all = rates.steps().iter().map(|(_, rate)| *rate);
            let (low, high) = (all.clone().min(), all.max());
            let count = counted(rates.steps().len(), "rate");
            let range = match (low, high) {
                (Some(low), Some(high)) if low < high => {
                    format!("{} to {}, mean {mean}", in_words(low), in_words(high))
                }
                _ => mean,
            };
            format!("{name}: {count} in {length}, {range}")
        }
    }
}

/// The mean rate of chances of 1 500 bytes, also where they are further apart than a byte a second.
pub(super) fn mean_of(chances: &ChanceTrace) -> Rate {
    let bits = chances.times().len() as u128 * 12_000 * 1_000_000_000;
    let length = chances.length().max(Time::from_nanos(1));
    Rate::from_bps((bits / u128::from(length.as_nanos())) as u64)
}

/// A rate with three digits and its usual unit.
pub(super) fn in_words(rate: Rate) -> String {
    let bps = rate.as_bps() as f64;
    let (value, unit) = match rate.as_bps() {
        0..1_000_000 => (bps / 1e3, "kbit/s"),
        1_000_000..1_000_000_000 => (bps / 1e6, "Mbit/s"),
        _ => (bps / 1e9, "Gbit/s"),
    };
    let places = match value {
        ..10.0 => 2,
        ..100.0 => 1,
        _ => 0,
    };
    let text = format!("{value:.places$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    format!("{text} {unit}")
}
