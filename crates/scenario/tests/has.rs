//! Adaptive streaming in scenarios: ladders, presets, and what does not go together.
#![allow(clippy::unwrap_used)]

use quell_scenario::Scenario;

fn with(app: &str) -> String {
    format!(
        "schema = 1\nname = \"has\"\n[link]\nrate = \"20mbit\"\nqueue = \"pie\"\n[[group]]\nname = \"tv\"\nrtt = \"20ms\"\n\
         app = {app}\n[run]\nduration = \"10s\"\n"
    )
}

/// The line `app = …` of the resolved scenario, which reads back as the same.
fn resolved(app: &str) -> String {
    let scenario = Scenario::parse(&with(app)).unwrap_or_else(|problems| panic!("{problems}"));
    let text = scenario.to_toml();
    assert_eq!(Scenario::parse(&text).unwrap().to_toml(), text);
    let line = text.lines().find(|line| line.starts_with("app = "));
    line.unwrap().trim_start_matches("app = ").to_owned()
}

fn refusal(app: &str) -> String {
    Scenario::parse(&with(app)).unwrap_err().to_string()
}

const SMOOTH: &str = r#"ladder = ["230kbit", "331kbit", "477kbit", "688kbit", "991kbit", "1.427mbit", "2.056mbit", "2.962mbit"]"#;

#[test]
fn a_ladder_is_a_name_or_a_list_and_resolves_to_a_list() {
    let named = resolved(r#"{ kind = "has", ladder = "smooth" }"#);
    assert!(named.contains(SMOOTH), "{named}");
    let listed = resolved(r#"{ kind = "has", ladder = ["1mbit", "2500kbit"] }"#);
    assert!(
        listed.contains(r#"ladder = ["1mbit", "2.5mbit"],"#),
        "{listed}"
    );
    assert_eq!(
        resolved(r#"{ kind = "has", ladder = "1mbit, 2.5mbit" }"#),
        listed
    );
}

#[test]
fn a_preset_gives_ladder_and_segment_and_what_is_given_counts() {
    let smooth = resolved(r#"{ kind = "has", preset = "smooth" }"#);
    assert!(
        smooth.contains(SMOOTH) && smooth.contains(r#"segment = "2s""#),
        "{smooth}"
    );
    let longer = resolved(r#"{ kind = "has", preset = "smooth", segment = "4s" }"#);
    assert_eq!(
        longer,
        smooth.replace(r#"segment = "2s""#, r#"segment = "4s""#)
    );
}

#[test]
fn impossible_ladders_and_buffers_are_refused_with_their_line() {
    for (app, words) in [
        (
            r#"{ kind = "has", ladder = ["2mbit", "1mbit"] }"#,
            "group.tv.app.ladder = [\"2mbit\", \"1mbit\"]: must be \"classic\" or",
        ),
        (
            r#"{ kind = "has", ladder = [] }"#,
            "group.tv.app.ladder = []: must be \"classic\" or",
        ),
        (
            r#"{ kind = "has", ladder = ["100gbit"] }"#,
            "rising rates from 1kbit to 4gbit",
        ),
        (
            r#"{ kind = "has", ladder = "smoth" }"#,
            "did you mean \"smooth\"?",
        ),
        (r#"{ kind = "dash" }"#, "did you mean \"has\"?"),
        (
            r#"{ kind = "has", segment = "10s", max-buffer = "19s" }"#,
            "group.tv.app.max-buffer = \"19s\": must be at least 20s, two segments",
        ),
        (
            r#"{ kind = "has", abr = "bola-e", low-buffer = "2s" }"#,
            "group.tv.app.low-buffer = \"2s\": has an effect only with abr = \"dynamic\"",
        ),
    ] {
        let found = refusal(app);
        assert!(found.contains(words), "{found}");
    }
}
