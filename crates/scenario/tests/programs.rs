//! Groups of programs: how they are written, and what refuses them.
#![allow(clippy::unwrap_used)]

use quell_scenario::{Loaded, Override, Problems, Scenario, World, programs};

const TEXT: &str = r#"schema = 1
name = "t"
[link]
rate = "10mbit"
queue = "fifo"
[[group]]
name = "speed"
rtt = "20ms"
app = { kind = "program", server = ["iperf3", "-s"], client = [
  "iperf3", '-c', "$SERVER", "a \"b\"\n" ] }
[run]
duration = "10s"
"#;

fn load(text: &str, sets: &[&str], world: Option<World>) -> Result<Loaded, Problems> {
    let sets: Vec<Override> = sets.iter().map(|set| Override::set(set).unwrap()).collect();
    Scenario::load("t.toml", text, &sets, world)
}

/// Every line of a refusal.
fn refused(text: &str, sets: &[&str], world: Option<World>) -> String {
    load(text, sets, world).unwrap_err().to_string()
}

#[test]
fn command_lines_are_read_word_by_word_and_written_so_that_they_read_back() {
    let loaded = load(TEXT, &[], Some(World::Virtual)).unwrap();
    let group = &loaded.scenario.groups[0];
    let lines: Vec<String> = programs(group).map(|(_, line)| line.to_string()).collect();
    assert_eq!(
        lines,
        [
            r#"["iperf3", "-s"]"#,
            r#"["iperf3", "-c", "$SERVER", "a \"b\"\n"]"#
        ]
    );
    let again = load(&loaded.scenario.to_toml(), &[], Some(World::Virtual)).unwrap();
    assert_eq!(again.scenario, loaded.scenario);
    let set = [r#"group.speed.app.client=["curl", "$SERVER"]"#];
    let changed = load(TEXT, &set, None).unwrap().scenario;
    let last = programs(&changed.groups[0]).last().unwrap().1.to_string();
    assert_eq!(last, r#"["curl", "$SERVER"]"#);
}

#[test]
fn a_program_is_known_with_its_line_and_key() {
    let loaded = load(TEXT, &[], None).unwrap();
    let named: Vec<String> = loaded
        .programs
        .iter()
        .map(|one| one.problem(format!("no {}", one.program)).to_string())
        .collect();
    assert_eq!(
        named[0],
        r#"t.toml:9: group.speed.app.server = ["iperf3", "-s"]: no iperf3"#
    );
    assert!(
        named[1].starts_with("t.toml:9: group.speed.app.client = "),
        "{}",
        named[1]
    );
}

#[test]
fn a_world_without_programs_says_so_at_the_line_of_the_kind() {
    let text = refused(TEXT, &[], Some(World::Sim));
    assert!(
        text.starts_with("t.toml:9: group.speed.app.kind = \"program\": "),
        "{text}"
    );
    let why =
        "the sim world has modelled hosts, which run no programs; use --world virtual or live";
    assert!(text.ends_with(why), "{text}");
    for world in [World::Virtual, World::Live] {
        load(TEXT, &[], Some(world)).unwrap();
    }
}

#[test]
fn what_has_no_effect_or_no_meaning_is_refused() {
    for (from, to, expected) in [
        (
            r#"rtt = "20ms""#,
            "rtt = \"20ms\"\ncount = 2",
            "count = 2: must be 1, and stay so: a group has one server",
        ),
        (
            r#"rtt = "20ms""#,
            "rtt = \"20ms\"\npacing = true",
            "pacing = true: has no effect",
        ),
        (
            r#"["iperf3", "-s"]"#,
            r#""iperf3 -s""#,
            r#"a list of a program and its arguments, such as ["iperf3", "-s"], of at most 512 bytes; write ["iperf3", "-s"]"#,
        ),
        (
            r#"["iperf3", "-s"]"#,
            "[]",
            "must be a list of a program and its arguments",
        ),
        (
            r#"["iperf3", "-s"]"#,
            r#"["iperf3", 5]"#,
            "must be a list of a program and its arguments",
        ),
        (
            r#"["iperf3", "-s"]"#,
            r#"["iperf3", "a\u0000b"]"#,
            "must be a list of a program and its arguments",
        ),
    ] {
        let text = TEXT.replace(from, to);
        let found = refused(&text, &[], Some(World::Virtual));
        assert!(found.contains(expected), "{found}");
        assert!(found.starts_with("t.toml:"), "{found}");
    }
    let neither = TEXT.replace("server = [\"iperf3\", \"-s\"], client = [\n  \"iperf3\", '-c', \"$SERVER\", \"a \\\"b\\\"\\n\" ]", "sends = \"server\"");
    let found = refused(&neither, &[], None);
    assert!(found.contains("a server, a client or both"), "{found}");
    // A change of the number is one too.
    for count in [0, 3] {
        let change =
            format!("[[at]]\ntime = \"5s\"\nset = {{ \"group.speed.count\" = {count} }}\n");
        let found = refused(&format!("{TEXT}{change}"), &[], Some(World::Virtual));
        assert!(
            found.contains("count = 1: must be 1, and stay so"),
            "{found}"
        );
    }
}
