//! Queue disciplines: whatever happens to any of them, started in any way, its laws hold.
//!
//! The first byte chooses the discipline, the second where it starts, the next how many of its parameters are given besides; the rest is
//! what happens.

#![no_main]

#[path = "../../crates/aqm/tests/common/mod.rs"]
mod common;
#[path = "../../crates/aqm/tests/operations/mod.rs"]
mod operations;

use quell_aqm::disciplines::{KINDS, trials};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut choices = operations::Choices(bytes);
    let entry = choices.of(&KINDS.iter().collect::<Vec<_>>());
    let form = choices.of(trials(entry.name).expect("a kind of the list").forms);
    let given: Vec<(&str, String)> = (0..choices.byte() % 5)
        .map(|_| {
            let parameter = choices.of(&entry.parameters.iter().collect::<Vec<_>>());
            (
                parameter.name,
                operations::value(parameter, choices.candidate()),
            )
        })
        .collect();
    let form = form.iter().copied();
    let given: Vec<(&str, &str)> = form
        .chain(given.iter().map(|(key, value)| (*key, value.as_str())))
        .collect();
    operations::keep_the_laws(entry, &given, &operations::of(&mut choices));
});
