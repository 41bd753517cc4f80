//! The web in scenarios: laws of sizes, presets, and what is taken from the link.
#![allow(clippy::unwrap_used)]

use crate::common;

use quell_scenario::{AppConfig, Scenario};

fn with(app: &str) -> String {
    format!(
        "schema = 1\nname = \"web\"\n[link]\nrate = \"20mbit\"\nqueue = \"pie\"\n[[group]]\nname = \"user\"\nrtt = \"7ms\"\n\
         app = {app}\n[run]\nduration = \"10s\"\n"
    )
}

fn resolved(app: &str) -> String {
    common::resolved(&with(app))
}

fn refusal(app: &str) -> String {
    common::refusal(&with(app))
}

#[test]
fn the_resolved_scenario_has_plain_values_and_those_of_the_path() {
    let plain = resolved("\"web\"");
    assert_eq!(
        plain,
        r#"{ kind = "web", model = "items", rate = 10, scale-with-link = false, size = { pareto = 0.9, min = "1kB", max = "1MB" }, connection = "new", max-concurrent = 10000, request = "0B", tls = "none", ideal-rate = "20mbit", ideal-rtt = "7ms" }"#
    );
    assert_eq!(resolved(r#"{ kind = "web", preset = "l4s-demo" }"#), plain);
    // Half of the link for which the rate is meant.
    let scaled = resolved(r#"{ kind = "web", scale-with-link = true }"#);
    assert_eq!(scaled, plain.replace("rate = 10,", "rate = 5,"));
}

#[test]
fn a_key_beside_a_preset_counts() {
    let sizes = r#"size = { p5 = "64KiB", p95 = "2MiB", min = "1B", max = "1GB" }"#;
    let ccafct = resolved(r#"{ kind = "web", preset = "ccafct" }"#);
    assert!(
        ccafct.contains("rate = 5,") && ccafct.contains(sizes),
        "{ccafct}"
    );
    let faster = resolved(r#"{ kind = "web", preset = "ccafct", rate = 8 }"#);
    assert_eq!(faster, ccafct.replace("rate = 5,", "rate = 8,"));
    let other = resolved(r#"{ kind = "web", preset = "ccafct", size = "5kB" }"#);
    assert_eq!(other, ccafct.replace(sizes, r#"size = "5kB""#));
    let wrong = refusal(r#"{ kind = "web", preset = "ccafc" }"#);
    assert!(
        wrong.contains("group.user.app.preset = \"ccafc\": must be one of \"l4s-demo\""),
        "{wrong}"
    );
    assert!(wrong.contains("did you mean \"ccafct\"?"), "{wrong}");
    let wrong = refusal(r#"{ kind = "bulk", preset = "ccafct" }"#);
    assert!(wrong.contains("has an effect only with kind ="), "{wrong}");
}

#[test]
fn a_law_of_sizes_is_a_table_and_a_wrong_one_is_shown() {
    for law in [
        r#""100kB""#,
        r#"{ median = "10kB", sigma = 0.5, min = "1kB", max = "1MB" }"#,
        r#"{ empirical = [["1kB", 0.25], ["10kB", 1]] }"#,
    ] {
        let text = resolved(&format!("{{ kind = \"web\", size = {law} }}"));
        assert!(text.contains(&format!("size = {law}")), "{text}");
    }
    let wrong = refusal(r#"{ kind = "web", size = { pareto = 0.9, min = "1MB", max = "1kB" } }"#);
    let shown = r#"group.user.app.size = { pareto = 0.9, min = "1MB", max = "1kB" }: must be an amount of data from 1B to 1GB, or a law"#;
    assert!(wrong.contains(shown), "{wrong}");
    let wrong = refusal(r#"{ kind = "web", size = "2GB" }"#);
    assert!(
        wrong.contains("must be an amount of data from 1B to 1GB"),
        "{wrong}"
    );
}

/// The data of a group in the other direction takes the other link.
#[test]
fn normalised_times_are_those_of_the_direction_of_the_data() {
    let text = with("\"web\"").replace("rtt =", "direction = \"reverse\"\nrtt =");
    let text = text.replace("[[group]]", "[link.reverse]\nrate = \"5mbit\"\n[[group]]");
    let scenario = Scenario::parse(&text).unwrap();
    let AppConfig::Web(web) = scenario.groups[0].app.config() else {
        panic!("another kind");
    };
    assert_eq!(web.ideal.unwrap().rate.to_string(), "5mbit");
}

/// The line `set = …` of the resolved scenario, which reads back as the same.
fn changed(app: &str, set: &str) -> String {
    let text = with(app) + &format!("[[at]]\ntime = \"5s\"\nset = {{ {set} }}\n");
    let scenario = Scenario::parse(&text).unwrap_or_else(|problems| panic!("{problems}"));
    let text = scenario.to_toml();
    assert_eq!(Scenario::parse(&text).unwrap(), scenario, "{text}");
    let line = text.lines().find(|line| line.starts_with("set = "));
    line.unwrap().trim_start_matches("set = ").to_owned()
}

#[test]
fn a_change_of_the_rate_is_scaled_as_the_first_rate_is() {
    let change = "\"group.user.app.rate\" = 100";
    assert_eq!(changed("\"web\"", change), format!("{{ {change} }}"));
    // Half of the link for which the rate is meant.
    let scaled = changed(r#"{ kind = "web", scale-with-link = true }"#, change);
    assert_eq!(scaled, "{ \"group.user.app.rate\" = 50 }");
    let table = r#""group.user.app.interval" = { mean = "10ms", stddev = "1ms" }"#;
    let cbr = r#"{ kind = "cbr", size = "200B", interval = "20ms" }"#;
    assert_eq!(changed(cbr, table), format!("{{ {table} }}"));
}

#[test]
fn a_parameter_that_has_no_effect_or_is_too_large_does_not_change() {
    let refused = |app: &str, set: &str| {
        let text = with(app) + &format!("[[at]]\ntime = \"5s\"\nset = {{ {set} }}\n");
        Scenario::parse(&text).unwrap_err().to_string()
    };
    let pages = refused(
        r#"{ kind = "web", model = "pages" }"#,
        r#""group.user.app.rate" = 5"#,
    );
    let can = "cannot change during a run; what can: link.rate,";
    assert!(pages.contains(can), "{pages}");
    assert!(pages.contains("group.user.app.{reading}"), "{pages}");
    let video = refused(
        r#"{ kind = "rtc", fps = 2, rate = "1mbit" }"#,
        r#""group.user.app.rate" = "1gbit""#,
    );
    assert!(video.contains("is too much for 2 frames"), "{video}");
}
