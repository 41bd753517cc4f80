//! Queue disciplines: whatever happens to any of them, started in any way, its laws hold.
//!
//! The first byte chooses the discipline, the second where it starts, the next how many of its parameters are given besides; the rest is
//! what happens.

#![no_main]

use quell_laws::choices::Choices;
use quell_laws::queue::{Subject, operations};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut choices = Choices(bytes);
    let subject = choices.of(&Subject::all().collect::<Vec<_>>());
    let form = choices.of(subject.test_cases.forms);
    let given: Vec<(&str, String)> = (0..choices.byte() % 5)
        .map(|_| {
            let parameter = choices.of(&subject.entry.parameters.iter().collect::<Vec<_>>());
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
    operations::keep_the_laws(&subject, &given, &operations::of(&mut choices));
});
