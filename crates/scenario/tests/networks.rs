//! `remark`: networks with packet values of their own in front of a link. `values`: how values go from a link to the next.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::AtomicBool;

use quell_measure::{GroupSummary, Summary};
use quell_scenario::contract::{Listener, Row, Unwritten};
use quell_scenario::schema::schema;
use quell_scenario::{Carried, Loaded, Override, Scenario, World, sim};
use quell_units::Time;

/// The shipped one.
const TRANSIT: &str = include_str!("../../../scenarios/networks/transit.toml");

const HEADERS: &str = include_str!("../../../scenarios/networks/headers.toml");

/// Datagrams of three groups, 24 Mbit/s each: two of one network, of which one is worth half, and one of another.
const OPEN: &str = r#"schema = 1
name = "open"
[[link]]
name = "city"
rate = "unlimited"
queue = "fifo"
[[link]]
name = "transit"
rate = "30mbit"
queue = "csaqm"
remark = [{ groups = ["gold", "silver"], function = "gold" }, { groups = ["other"], function = "silver" }]
[[group]]
name = "gold"
rtt = "10ms"
value = "gold"
app = { kind = "cbr", size = "1500B", interval = "500us" }
[[group]]
name = "silver"
rtt = "10ms"
value = "silver"
app = { kind = "cbr", size = "1500B", interval = "500us" }
[[group]]
name = "other"
path = ["transit"]
rtt = "10ms"
value = "gold"
app = { kind = "cbr", size = "1500B", interval = "500us" }
[run]
duration = "12s"
warmup = "2s"
"#;

/// The list of networks in [`OPEN`].
fn with(networks: &str) -> String {
    let start = OPEN.find("remark = ").unwrap();
    let end = start + OPEN[start..].find('\n').unwrap();
    format!("{}{networks}{}", &OPEN[..start], &OPEN[end..])
}

fn loaded(text: &str, sets: &[&str], world: World) -> Result<Loaded, String> {
    let sets: Vec<_> = sets.iter().map(|set| Override::set(set).unwrap()).collect();
    Scenario::load("f", text, &sets, Some(world)).map_err(|problems| problems.to_string())
}

fn load(text: &str, sets: &[&str]) -> Scenario {
    let loaded = loaded(text, sets, World::Sim);
    loaded.unwrap_or_else(|why| panic!("{why}")).scenario
}

struct Deaf;

impl Listener for Deaf {
    fn progress(&mut self, _now: Time) {}
    fn row(&mut self, _row: Row) -> Result<(), Unwritten> {
        Ok(())
    }
}

fn summary(text: &str, sets: &[&str]) -> Summary {
    let never = AtomicBool::new(false);
    let run = sim::run(&load(text, sets), 1, &never, &mut Deaf);
    run.unwrap().summary
}

/// What reached the receivers of each group, in Mbit/s of packets, over `seconds`.
fn delivered(summary: &Summary, seconds: f64) -> Vec<f64> {
    let rate = |group: &GroupSummary| group.packets as f64 * 12_000.0 / seconds / 1e6;
    summary.figures.groups.iter().map(rate).collect()
}

fn assert_near(found: &[f64], expected: &[f64], within: f64, what: &str) {
    for (found_one, expected_one) in found.iter().zip(expected) {
        let off = (found_one / expected_one - 1.0).abs();
        assert!(off < within, "{what}: {found:?} for {expected:?}");
    }
}

/// Every group sends more than its share. The rate that survives a threshold is v⁻¹ of the network's sum, and within a network that of its
/// flows; all are scaled functions, so the shares follow by hand. The node serves 63/64 of the link.
#[test]
fn a_link_shares_by_the_functions_of_networks_and_each_network_by_its_own() {
    let all = 30.0 * 63.0 / 64.0;
    let cases: [(&str, [f64; 3]); 4] = [
        // Nothing but flows: 1 to 1/2 to 1.
        ("", [0.4, 0.2, 0.4]),
        // Networks 2 to 1; within the first 2 to 1.
        (
            r#"remark = [{ groups = ["gold", "silver"], function = "gold" }, { groups = ["other"], function = "silver" }]"#,
            [4.0 / 9.0, 2.0 / 9.0, 1.0 / 3.0],
        ),
        // Networks 1 to 1.
        (
            r#"remark = [{ groups = ["gold", "silver"], function = "gold" }, { groups = ["other"], function = "gold" }]"#,
            [1.0 / 3.0, 1.0 / 6.0, 0.5],
        ),
        // One network of what was two flows of different networks: 1 to 1 between the networks, within it 1 to 1.
        (
            r#"remark = [{ groups = ["gold", "other"], function = "gold" }, { groups = ["silver"], function = "gold" }]"#,
            [0.25, 0.5, 0.25],
        ),
    ];
    for (networks, shares) in cases {
        let found = delivered(&summary(&with(networks), &[]), 10.0);
        let expected = shares.map(|share| share * all);
        assert_near(&found, &expected, 0.05, networks);
    }
}

/// On a group's first link its packets are marked by flow, and at once by network: a policy in two levels.
#[test]
fn one_link_may_share_by_network_too() {
    let start = OPEN.find("[[link]]").unwrap();
    let end = start + 8 + OPEN[start + 8..].find("[[link]]").unwrap();
    let text = format!("{}{}", &OPEN[..start], &OPEN[end..])
        .replace("path = [\"transit\"]\n", "")
        .replace("[[link]]", "[link]");
    let found = delivered(&summary(&text, &[]), 10.0);
    let all = 30.0 * 63.0 / 64.0;
    let expected = [4.0 / 9.0, 2.0 / 9.0, 1.0 / 3.0].map(|share| share * all);
    assert_near(&found, &expected, 0.05, "one link");
    let scenario = load(&text, &[]);
    let again = Scenario::parse(&scenario.to_toml()).unwrap();
    assert_eq!(again.canonical(), scenario.canonical());
}

/// The shipped scenario: CUBIC flows, which nobody holds at a rate, share as the transit network sells, whatever their number.
#[test]
fn tcp_shares_by_network_at_the_second_link_and_by_flow_within_the_first_network() {
    let goodput = |text: &str, sets: &[&str]| {
        let summary = summary(text, sets);
        let groups = summary.figures.groups.iter();
        let rates: Vec<f64> = groups
            .map(|group| group.goodput_bps.iter().sum::<f64>() / 1e6)
            .collect();
        let shares: Vec<f64> = summary
            .figures
            .links
            .iter()
            .map(|link| link.bottleneck_share)
            .collect();
        (rates, shares)
    };
    let (rates, waited) = goodput(TRANSIT, &[]);
    let networks = (rates[0] + rates[1]) / rates[2];
    assert!((1.7..2.3).contains(&networks), "{rates:?}");
    assert!((1.6..2.4).contains(&(rates[0] / rates[1])), "{rates:?}");
    assert!(waited[0] < 0.3 && waited[1] > 0.8, "{waited:?}");
    // Without the key they share by flow: 6 parts to 8.
    let start = TRANSIT.find("remark = [").unwrap();
    let end = TRANSIT.find("\n]\n").unwrap();
    let without = format!("{}{}", &TRANSIT[..start], &TRANSIT[end + 2..]);
    let (rates, _) = goodput(&without, &[]);
    let by_flow = (rates[0] + rates[1]) / rates[2];
    assert!((0.6..0.9).contains(&by_flow), "{rates:?}");
    // The first network's own link holds it below what it has bought; its own policy holds there, and the rest is the other's.
    let (rates, waited) = goodput(TRANSIT, &["link.city.rate=30mbit"]);
    assert!((1.6..2.4).contains(&(rates[0] / rates[1])), "{rates:?}");
    let city = rates[0] + rates[1];
    assert!((24.0..30.0).contains(&city) && rates[2] > 24.0, "{rates:?}");
    assert!(waited[0] > 0.8, "{waited:?}");
}

#[test]
fn packets_are_given_new_values_only_where_the_link_says_so() {
    let without = with("");
    let [plain, remarked] = [&without[..], OPEN].map(|text| summary(text, &[]).figures);
    // What comes before the link is the same to the packet.
    assert_eq!(plain.queues[0], remarked.queues[0]);
    assert_ne!(plain.queues[1], remarked.queues[1]);
    let text = OPEN.replace("\"silver\" }]", "\"silver\", period = \"10ms\" }]");
    assert_ne!(summary(&text, &[]).figures.queues[1], remarked.queues[1]);
}

#[test]
fn it_is_written_as_it_is_read_and_its_keys_matter() {
    let own = "[value.half]\nkind = \"inverse\"\nscale = 2\n";
    let text = format!("{OPEN}{own}").replace("\"silver\" }]", "\"half\" }]");
    for text in [OPEN, TRANSIT, &text] {
        let scenario = load(text, &[]);
        let again = Scenario::parse(&scenario.to_toml()).unwrap();
        assert_eq!(again, scenario);
        assert_eq!(again.canonical(), scenario.canonical());
        let instance: serde_json::Value = toml::from_str(text).unwrap();
        let schema = jsonschema::draft202012::new(&schema()).unwrap();
        assert!(schema.is_valid(&instance));
    }
    let canonical = |text: &str| load(text, &[]).canonical();
    let mut all = vec![
        canonical(OPEN),
        canonical(&with("")),
        canonical(&text),
        canonical(&OPEN.replace("\"silver\" }]", "\"gold\" }]")),
        canonical(&with(
            r#"remark = [{ groups = ["gold"], function = "gold" }]"#,
        )),
    ];
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), count);
    let by_argument = r#"link.transit.remark=[{ groups = ["gold"], function = "gold" }]"#;
    assert_eq!(load(&with(""), &[by_argument]).links[1].remark.len(), 1);
}

#[test]
fn impossible_networks_are_refused_with_what_would_be_right() {
    for (networks, why) in [
        (r#"remark = []"#, "must be a list of 1 to 64 networks"),
        (r#"remark = "gold""#, "must be a list of 1 to 64 networks"),
        (
            r#"remark = [{ groups = ["glod"], function = "gold" }]"#,
            "f:11: link.transit.remark.1.groups = \"glod\": there is no group glod (did you mean gold?); groups are: gold, silver, other",
        ),
        (
            r#"remark = [{ groups = ["gold"], function = "gold" }, { groups = ["gold"], function = "gold" }]"#,
            "link.transit.remark.2.groups = \"gold\": is in a network of this link already",
        ),
        (
            r#"remark = [{ groups = [], function = "gold" }]"#,
            "must be a list of names of groups",
        ),
        (
            r#"remark = [{ groups = ["gold"], function = "glod" }]"#,
            "there is no value function glod (did you mean gold?)",
        ),
        (
            r#"remark = [{ groups = ["gold"], function = "gold", period = "1us" }]"#,
            "link.transit.remark.1.period = \"1us\": must be",
        ),
        (
            r#"remark = [{ groups = ["gold"] }]"#,
            "link.transit.remark.1.function: is missing",
        ),
        (
            r#"remark = [{ groups = ["gold"], function = "gold", marker = "table" }]"#,
            "link.transit.remark.1.marker = \"table\": unknown key",
        ),
    ] {
        let found = loaded(&with(networks), &[], World::Sim).unwrap_err();
        assert!(found.contains(why), "{networks}: {found}");
    }
    let elsewhere = OPEN.replacen(
        "queue = \"fifo\"",
        "queue = \"fifo\"\nremark = [{ groups = [\"other\"], function = \"gold\" }]",
        1,
    );
    let found = loaded(&elsewhere, &[], World::Sim).unwrap_err();
    let why =
        "link.city.remark.1.groups = \"other\": does not cross this link, so this has no effect";
    assert!(found.contains(why), "{found}");
    let without = OPEN.replacen("value = \"silver\"", "value = \"none\"", 1);
    let found = loaded(&without, &[], World::Sim).unwrap_err();
    assert!(
        found.contains("has no packet values, so this has no effect"),
        "{found}"
    );
}

#[test]
fn every_world_takes_networks() {
    for text in [OPEN, TRANSIT] {
        for &world in World::ALL {
            assert!(loaded(text, &[], world).is_ok(), "{}", world.name());
        }
    }
}

#[test]
fn values_that_nobody_looks_at_are_a_warning_and_a_function_of_a_network_is_used() {
    let text = OPEN.replace("\"csaqm\"", "\"pie\"");
    let warnings = loaded(&text, &[], World::Sim).unwrap().warnings;
    let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    assert!(
        warnings
            .iter()
            .any(|one| one.contains("no queue here or behind looks at packet values")),
        "{warnings:?}"
    );
    let own = "[value.half]\nkind = \"inverse\"\nscale = 2\n";
    let text = format!("{OPEN}{own}");
    let unused = loaded(&text, &[], World::Sim).unwrap().warnings;
    assert_eq!(unused.len(), 1);
    let text = text.replace("\"silver\" }]", "\"half\" }]");
    assert!(loaded(&text, &[], World::Sim).unwrap().warnings.is_empty());
}

/// The first link with this, in the shipped scenario of values in headers.
fn edge(values: &str) -> String {
    HEADERS.replacen("values = \"header\"\n", values, 1)
}

#[test]
fn values_in_headers_are_the_same_values_where_hosts_are_modelled() {
    let [beside, header] = [edge(""), edge("values = \"header\"\n")];
    let short = ["run.duration=4s", "run.warmup=1s"];
    let [beside, header] = [beside, header].map(|text| summary(&text, &short).figures);
    assert_eq!(beside, header);
    for &world in World::ALL {
        assert!(
            loaded(HEADERS, &[], world).unwrap().warnings.is_empty(),
            "{}",
            world.name()
        );
    }
}

#[test]
fn how_values_are_carried_is_written_as_it_is_read() {
    for (values, expected) in [
        ("", Carried::Beside),
        ("values = \"beside\"\n", Carried::Beside),
        ("values = \"header\"\n", Carried::Header),
    ] {
        let scenario = load(&edge(values), &[]);
        assert_eq!(scenario.links[0].values, expected);
        assert_eq!(scenario.links[1].values, Carried::Beside);
        let text = scenario.to_toml();
        assert_eq!(text.contains("\nvalues = "), expected == Carried::Header);
        assert_eq!(Scenario::parse(&text).unwrap(), scenario);
        let instance: serde_json::Value = toml::from_str(&text).unwrap();
        assert!(
            jsonschema::draft202012::new(&schema())
                .unwrap()
                .is_valid(&instance)
        );
    }
    let canonical = |text: &str| load(text, &[]).canonical();
    assert_ne!(canonical(&edge("")), canonical(HEADERS));
    let wrong = loaded(&edge("values = \"shim\"\n"), &[], World::Sim).unwrap_err();
    assert!(
        wrong.contains("link.edge.values = \"shim\": must be one of \"beside\", \"header\""),
        "{wrong}"
    );
    let by_argument = load(&edge(""), &["link.edge.values=header"]);
    assert_eq!(by_argument.links[0].values, Carried::Header);
}

#[test]
fn headers_that_nobody_reads_are_a_warning() {
    let warning = |text: &str, sets: &[&str]| {
        let warnings = loaded(text, sets, World::Sim).unwrap().warnings;
        let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        warnings.join("\n")
    };
    let last = warning(HEADERS, &["link.core.values=header"]);
    assert!(last.contains("link.core.values"), "{last}");
    assert!(last.contains("only receivers could read"), "{last}");
    let none = HEADERS.replace("value = \"gold\"", "value = \"none\"");
    let none = none.replace("value = \"silver\"", "value = \"none\"");
    let none = warning(&none, &[]);
    assert!(none.contains("no group with a value crosses"), "{none}");
    assert!(none.contains("link.edge.values"), "{none}");
}
