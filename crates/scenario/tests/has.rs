//! Adaptive streaming in scenarios: ladders, presets, and what does not go together.
#![allow(clippy::unwrap_used)]

use crate::common;

use quell_scenario::{Origin, Override, Scenario};

fn with(app: &str) -> String {
    format!(
        "schema = 1\nname = \"has\"\n[link]\nrate = \"20mbit\"\nqueue = \"pie\"\n[[group]]\nname = \"tv\"\nrtt = \"20ms\"\n\
         app = {app}\n[run]\nduration = \"10s\"\n"
    )
}

fn resolved(app: &str) -> String {
    common::resolved(&with(app))
}

fn refusal(app: &str) -> String {
    common::refusal(&with(app))
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

/// With one file, `levels.txt`, of this content.
fn with_file(app: &str, sets: &[&str], content: &'static str) -> Result<Scenario, String> {
    let overrides: Vec<Override> = sets.iter().map(|set| Override::set(set).unwrap()).collect();
    let files = move |name: &str, origin: &Origin| match (name, origin) {
        ("levels.txt", Origin::Line(_)) => Ok(content.to_owned()),
        ("here.txt", Origin::Argument(_)) => Ok(content.to_owned()),
        _ => Err("there is no such file".into()),
    };
    let text = with(app);
    let loaded = Scenario::load_with_files("tv.toml", &text, &overrides, None, Box::new(files));
    loaded
        .map(|loaded| loaded.scenario)
        .map_err(|problems| problems.to_string())
}

const NAMED: &str = r#"{ kind = "has", ladder = { file = "levels.txt" } }"#;

#[test]
fn a_ladder_in_a_file_resolves_to_its_list_and_needs_the_file_no_more() {
    let listed = resolved(r#"{ kind = "has", ladder = ["300kbit", "1.5mbit", "4gbit"] }"#);
    for content in [
        "300kbit\n1.5mbit\n4gbit\n",
        "\u{feff}# levels\r\n\r\n  300kbit # phones\r\n1500kbit\r\n4gbit",
    ] {
        let scenario = with_file(NAMED, &[], content).unwrap();
        let text = scenario.to_toml();
        assert!(text.contains(&format!("app = {listed}\n")), "{text}");
        assert_eq!(Scenario::parse(&text).unwrap(), scenario);
    }
    // A key beside a preset counts, and an argument names a file too.
    let content = "300kbit\n1.5mbit\n4gbit\n";
    let preset = r#"{ kind = "has", preset = "smooth", ladder = { file = "levels.txt" } }"#;
    let scenario = with_file(preset, &[], content).unwrap().to_toml();
    assert!(scenario.contains(r#"segment = "2s", ladder = ["300kbit", "1.5mbit", "4gbit"]"#));
    for (app, set) in [
        (r#"{ kind = "has" }"#, "group.tv.app.ladder.file=here.txt"),
        (
            r#"{ kind = "has", ladder = "smooth" }"#,
            r#"group.tv.app.ladder={ file = "here.txt" }"#,
        ),
    ] {
        let scenario = with_file(app, &[set], content).unwrap().to_toml();
        assert!(scenario.contains(&listed), "{scenario}");
    }
}

#[test]
fn what_is_wrong_in_a_ladders_file_is_named_with_its_line() {
    let long = "1mbit\n2mbit\n3mbit\n4mbit\n5mbit\n6mbit\n7mbit\n8mbit\n9mbit\n10mbit\n11mbit\n12mbit\n13mbit\n14mbit\n\
                15mbit\n16mbit\n\n17mbit\n18mbit\n";
    for (content, problems) in [
        (
            "1mbit\n3mbit\n2mbit\n",
            "levels.txt:3: group.tv.app.ladder = 2mbit: must be above line 2, 3mbit: write the lowest rate first",
        ),
        (
            "1mbit\n\n1000kbit\n",
            "levels.txt:3: group.tv.app.ladder = 1000kbit: is that of line 1 again; leave one out",
        ),
        (
            "0bit\n1mbit\n5gbit\n",
            "levels.txt:1: group.tv.app.ladder = 0bit: must be a rate from 1kbit to 4gbit\n\
             levels.txt:3: group.tv.app.ladder = 5gbit: must be a rate from 1kbit to 4gbit",
        ),
        (
            "1000\n",
            "levels.txt:1: group.tv.app.ladder = 1000: must be a rate from 1kbit to 4gbit; it has no unit: write \"1000mbit\" for",
        ),
        (
            "unlimited\n",
            "levels.txt:1: group.tv.app.ladder = unlimited: must be a rate from",
        ),
        (
            "-1mbit\n",
            "levels.txt:1: group.tv.app.ladder = -1mbit: must be a rate from",
        ),
        (
            long,
            "levels.txt:18: group.tv.app.ladder = 17mbit: is rate 17; at most 16 are allowed",
        ),
        (
            "# nothing\n",
            "tv.toml:9: group.tv.app.ladder.file = \"levels.txt\": holds no rate; write one a line, from the lowest to the highest",
        ),
    ] {
        let found = with_file(NAMED, &[], content).unwrap_err();
        assert!(found.starts_with(problems), "{found}");
        assert_eq!(found.lines().count(), problems.lines().count(), "{found}");
    }
}

#[test]
fn a_ladders_file_that_cannot_be_read_or_named_is_refused_with_its_line() {
    for (app, words) in [
        (
            r#"{ kind = "has", ladder = { file = "other.txt" } }"#,
            "tv.toml:9: group.tv.app.ladder.file = \"other.txt\": there is no such file",
        ),
        (
            r#"{ kind = "has", ladder = { file = 7 } }"#,
            "tv.toml:9: group.tv.app.ladder.file = 7: must be the name of a file, in quotes",
        ),
        (
            r#"{ kind = "has", ladder = {} }"#,
            "tv.toml:9: group.tv.app.ladder = a table: must be \"classic\" or",
        ),
        (
            r#"{ kind = "has", ladder = { file = "levels.txt", unit = "kbit" } }"#,
            "tv.toml:9: group.tv.app.ladder.unit = \"kbit\": unknown key; a list in a file is { file = \"levels.txt\" }",
        ),
        (
            r#"{ kind = "has", ladder = "levels.txt" }"#,
            "or { file = \"levels.txt\" }; a file is { file = \"levels.txt\" }",
        ),
    ] {
        let found = with_file(app, &[], "1mbit\n").unwrap_err();
        assert!(found.contains(words), "{found}");
        assert_eq!(found.lines().count(), 1, "{found}");
    }
    // A page in a browser, for one, has no files.
    assert!(refusal(NAMED).contains("files cannot be read here; write what is in them instead"));
}
