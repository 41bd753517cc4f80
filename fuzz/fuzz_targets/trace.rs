//! Traces of links: any text is read or refused in every format, what was read is written such that it reads back as the same, and a
//! conversion gives a trace or an error.

#![no_main]

use quell_aqm::link_trace::Trace;
use quell_lab::scenario::trace::{Format, chances_of, guess, parse, rates_of, text};

libfuzzer_sys::fuzz_target!(|input: &str| {
    // What repeats a pattern many times is large, not wrong.
    if input.contains("count") {
        return;
    }
    let _ = guess(input);
    for format in Format::ALL {
        let Ok(trace) = parse(input, format) else {
            continue;
        };
        let written = text(&trace);
        assert_eq!(
            parse(&written, Format::Csv).as_ref(),
            Ok(&trace),
            "{written}"
        );
        match &trace {
            Trace::Chances(chances) if chances.length().as_nanos() < 1 << 40 => {
                let _ = rates_of(chances);
            }
            Trace::Rates(rates) if rates.length().as_nanos() < 1 << 33 => {
                let _ = chances_of(rates);
            }
            _ => {}
        }
    }
});
