//! Traces as text again: CSV with whole nanoseconds and bit/s, which reads back as the same trace.

use std::fmt::Write as _;

use quell_aqm::link_trace::{LinkTrace, Trace, UNSCALED};
use quell_units::notation;

/// The trace as CSV.
pub fn text(trace: &Trace) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    match trace {
        Trace::Rates(rates) => {
            out.push_str("time_ns,rate_bps\n");
            for (at, rate) in rates.steps() {
                let _ = writeln!(out, "{},{}", at.as_nanos(), rate.as_bps());
            }
            let _ = writeln!(out, "{},", rates.length().as_nanos());
        }
        Trace::Chances(chances) => {
            out.push_str("time_ns\n");
            for at in chances.times() {
                let _ = writeln!(out, "{}", at.as_nanos());
            }
        }
    }
    out
}

/// The lines of the table `rate`.
pub(crate) fn table(course: &LinkTrace) -> String {
    let mode = match &course.trace {
        Trace::Rates(_) => "rate",
        Trace::Chances(_) => "opportunities",
    };
    let mut out = format!(
        "mode = \"{mode}\"\nrepeat = {}\noffset = \"{}\"\nscale = {}\n",
        course.repeat,
        course.offset,
        notation::write_fraction(u64::from(course.scale), u64::from(UNSCALED)),
    );
    if matches!(course.trace, Trace::Chances(_)) {
        let _ = writeln!(out, "framing = \"{}\"", course.framing.name());
    }
    let _ = writeln!(out, "data = '''\n{}'''", text(&course.trace));
    out
}

/// The trace as a text of canonical JSON.
pub(crate) fn canonical(course: &LinkTrace) -> String {
    table(course)
}
