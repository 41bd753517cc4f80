//! Scenarios of one group, for tests of one application's keys.

use quell_scenario::Scenario;

/// The line `app = …` of the resolved scenario, which reads back as the same.
pub(crate) fn resolved(text: &str) -> String {
    let scenario = Scenario::parse(text).unwrap_or_else(|problems| panic!("{problems}"));
    let text = scenario.to_toml();
    assert_eq!(Scenario::parse(&text).unwrap().to_toml(), text);
    let line = text.lines().find(|line| line.starts_with("app = "));
    line.unwrap().trim_start_matches("app = ").to_owned()
}

/// What is wrong with it.
pub(crate) fn refusal(text: &str) -> String {
    Scenario::parse(text).unwrap_err().to_string()
}
