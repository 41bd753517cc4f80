//! Scenarios: any text is read or refused, and what was read is written such that it reads back as the same.

#![no_main]

use quell_lab::Scenario;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(scenario) = Scenario::parse(text) else {
        return;
    };
    let written = scenario.to_toml();
    match Scenario::parse(&written) {
        Ok(again) => assert_eq!(again, scenario, "{written}"),
        Err(problems) => panic!("what was written is refused: {problems}\n{written}"),
    }
});
