//! Quantities as people write them: any text is read or refused, and what was read is printed such that it reads back as the same.

#![no_main]

use quell_units::notation;

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(time) = notation::time(text) {
        assert_eq!(notation::time(&time.to_string()), Ok(time));
    }
    if let Ok(rate) = notation::rate(text) {
        assert_eq!(notation::rate(&rate.to_string()), Ok(rate));
    }
    if let Ok(bytes) = notation::bytes(text) {
        assert_eq!(notation::bytes(&bytes.to_string()), Ok(bytes));
    }
    if let Ok(frequency) = notation::frequency(text) {
        assert_eq!(notation::frequency(&frequency.to_string()), Ok(frequency));
    }
    let _ = notation::packets(text);
    let _ = notation::integer(text);
});
