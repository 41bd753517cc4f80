//! What people write first, who know other tools: accepted where it can mean one thing only, else answered with what would be right.

use super::*;

/// [`GOOD`] with some text replaced: the first line of its refusal, without file, line and key.
fn answer(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    let told = refusal(&GOOD.replacen(from, to, 1));
    let line = told.lines().next().unwrap_or_default();
    line.split_once(" = ")
        .map_or(line, |(_, rest)| rest)
        .to_owned()
}

#[test]
fn a_name_stands_for_the_table_that_says_no_more() {
    let load = |text: &str, arguments: &[&str]| {
        let sets = arguments
            .iter()
            .map(|argument| Override::set(argument).unwrap());
        let sets: Vec<Override> = sets.collect();
        Scenario::load("f.toml", text, &sets, None).map(|loaded| loaded.scenario)
    };
    let plain = load(GOOD, &[]).unwrap();
    let short = GOOD.replace("app = { kind = \"bulk\" }", "app = \"bulk\"");
    assert_eq!(load(&short, &[]).unwrap(), plain);
    let queue = |name| GOOD.replace("[link.queue]\nkind = \"fifo\"\nlimit = \"100ms\"", name);
    let short = queue("queue = \"dualpi2\"");
    assert_eq!(
        load(&short, &[]),
        load(&queue("queue = { kind = \"dualpi2\" }"), &[])
    );
    // Arguments find the table all the same.
    for (argument, key, value) in [
        ("link.queue.target=5ms", "target", "5ms"),
        ("link.queue.limit=50p", "limit", "50p"),
    ] {
        let side = load(&short, &[argument]).unwrap().links.remove(0).forward;
        assert_eq!(side.queue.settings.value(key).unwrap().to_string(), value);
    }
    let transfer = ["group.a.app.kind=transfer", "group.a.app.size=1MB"];
    let short = GOOD.replace("app = { kind = \"bulk\" }", "app = \"bulk\"");
    assert_eq!(
        load(&short, &transfer).unwrap().groups[0].app.kind(),
        "transfer"
    );
    let bulk = load(GOOD, &["group.voice.app=bulk"]).unwrap();
    assert_eq!(bulk.groups[1].app.kind(), "bulk");
    // A kind that must say more does not.
    assert!(
        load(&GOOD.replace("{ kind = \"bulk\" }", "\"transfer\""), &[])
            .unwrap_err()
            .to_string()
            .contains("group.a.app.size: is missing; must be an amount of data"),
    );
}

#[test]
fn units_of_other_tools_are_answered_with_those_of_quell() {
    let rate = "must be a rate from 1kbit to 1tbit; ";
    for (value, hint) in [
        (
            "\"10Mbps\"",
            "write \"10mbit\", or \"80mbit\" for bytes: Mbps is bits a second in most tools and bytes a second in tc",
        ),
        ("\"10M\"", "write \"10mbit\""),
        ("\"10 Mbit/s\"", "write \"10mbit\""),
        ("\"10MB/s\"", "a rate counts bits: write \"80mbit\""),
        ("10", "it has no unit: write \"10mbit\" for 10 Mbit/s"),
        (
            "10_000_000",
            "it has no unit: write \"10000000bit\" for bit/s",
        ),
    ] {
        let told = answer("rate = \"40mbit\"", &format!("rate = {value}"));
        assert!(told.ends_with(&format!("{rate}{hint}")), "{value}: {told}");
    }
    // No unit makes these right.
    for value in ["0", "\"0\"", "\"0 Mbps\"", "\"0.0M\""] {
        let told = answer("rate = \"40mbit\"", &format!("rate = {value}"));
        assert!(
            told.ends_with("must be a rate from 1kbit to 1tbit"),
            "{told}"
        );
    }
    for (from, to, hint) in [
        (
            "duration = \"10s\"",
            "duration = 60",
            "must be a time from 1ms to 86400s; it has no unit: write \"60s\" for seconds or \"60ms\" for milliseconds",
        ),
        (
            "rtt = \"7ms\"",
            "rtt = \"7 msec\"",
            "must be a time from 0s to 10s; write \"7ms\"",
        ),
        (
            "size = \"186B\"",
            "size = 186",
            "must be an amount of data from 29B to 1500B; it has no unit: write \"186B\"",
        ),
        (
            "interval = \"20ms\"",
            "interval = \"1us\"",
            "must be a time from 10us to 60s, or a table { mean = \"20ms\", stddev = \"1ms\" }",
        ),
        (
            "interval = \"20ms\"",
            "interval = 20",
            "or a table { mean = \"20ms\", stddev = \"1ms\" }; it has no unit: write \"20s\" for seconds or \"20ms\" for milliseconds",
        ),
        (
            "\"link.rate\" = \"20mbit\"",
            "\"link.rate\" = \"20Mbps\"",
            "or 0bit for an outage; write \"20mbit\", or \"160mbit\" for bytes: Mbps is bits a second in most tools and bytes a second in tc",
        ),
    ] {
        let told = answer(from, to);
        assert!(told.ends_with(hint), "{to}: {told}");
    }
}

#[test]
fn keys_of_other_tools_are_answered_with_those_of_quell() {
    for (from, to, meant) in [
        (
            "rate = \"40mbit\"",
            "rate = \"40mbit\"\nup = \"10mbit\"",
            "link.reverse.rate",
        ),
        (
            "rate = \"40mbit\"",
            "down = \"40mbit\"",
            "rate, the direction from senders to receivers",
        ),
        ("rate = \"40mbit\"", "bandwidth = \"40mbit\"", "rate"),
        (
            "rate = \"40mbit\"",
            "rate = \"40mbit\"\nlatency = \"10ms\"",
            "group.NAME.rtt, each group has its base RTT",
        ),
        (
            "rate = \"40mbit\"",
            "rate = \"40mbit\"\nbuffer = \"64kB\"",
            "link.queue.limit",
        ),
        (
            "name = \"good\"",
            "name = \"good\"\nduration = 60",
            "run.duration",
        ),
        (
            "name = \"good\"",
            "name = \"good\"\nupload = \"1mbit\"",
            "link.reverse.rate",
        ),
        ("count = 2", "flows = 2", "count"),
        ("congestion-control", "cc", "congestion-control"),
        (
            "rtt = \"7ms\"",
            "latency = \"7ms\"",
            "rtt, the base RTT, there and back",
        ),
        ("duration = \"10s\"", "time = \"10s\"", "duration"),
        (
            "duration = \"10s\"",
            "duration = \"10s\"\nseed = 4",
            "seeds, a list: one run each",
        ),
    ] {
        let told = refusal(&GOOD.replacen(from, to, 1));
        let question = format!("unknown key (did you mean {meant}?); ");
        assert!(told.contains(&question), "{to}: {told}");
    }
}

#[test]
fn words_of_other_tools_are_answered_with_those_of_quell() {
    for (from, to, meant) in [
        ("count = 2", "direction = \"up\"", "reverse"),
        ("count = 2", "ecn = \"l4s\"", "ect1"),
        ("count = 2", "ecn = true", "ect0"),
        ("{ kind = \"bulk\" }", "\"iperf\"", "bulk"),
        ("{ kind = \"bulk\" }", "\"ping\"", "cbr"),
        ("{ kind = \"bulk\" }", "\"voip\"", "voice"),
        ("{ kind = \"bulk\" }", "\"telephone\"", "voice"),
        ("{ kind = \"bulk\" }", "\"shooter\"", "game"),
        ("{ kind = \"bulk\" }", "\"webrtc\"", "rtc"),
    ] {
        let told = refusal(&GOOD.replacen(from, to, 1));
        assert!(
            told.contains(&format!("; did you mean \"{meant}\"?")),
            "{to}: {told}"
        );
        assert_eq!(told.matches("did you mean").count(), 1, "{to}: {told}");
    }
}

#[test]
fn lists_of_seeds_are_answered_with_what_is_wrong_in_them() {
    let many: Vec<String> = (0..=1_000).map(|seed| seed.to_string()).collect();
    let many = format!("[{}]", many.join(", "));
    for (seeds, words) in [
        (
            "4",
            "run.seeds = 4: must be a list of 1 to 1000 different whole numbers, such as [1, 2, 3]; write [4]",
        ),
        (
            "[]",
            "run.seeds = []: is empty; give at least one seed, such as [1]",
        ),
        (
            "[3, -1]",
            "run.seeds = [3, -1]: -1 is not a seed; a seed is a whole number from 0 to 9223372036854775807",
        ),
        (
            "[\"a\"]",
            "run.seeds = [\"a\"]: \"a\" is not a seed; a seed is a whole number from 0 to 9223372036854775807",
        ),
        (
            "[7, 5, 7]",
            "run.seeds = [7, 5, 7]: has 7 twice; each seed is a separate run",
        ),
        (
            &many,
            "run.seeds = a list: has 1001 seeds; at most 1000 are allowed",
        ),
    ] {
        let told = refusal(&GOOD.replace(
            "duration = \"10s\"",
            &format!("duration = \"10s\"\nseeds = {seeds}"),
        ));
        assert_eq!(told, format!("f.toml:23: {words}"));
    }
}
