#![allow(clippy::unwrap_used)]

use quell_lab::World;

use super::Suite;
use crate::characterize::{Profile, Request};

/// A suite with one item whose keys these are.
fn item(keys: &str) -> String {
    let group = if keys.contains("group") {
        ""
    } else {
        "group = [{ name = \"bulk\" }]\n"
    };
    format!("schema = 1\n[item.one]\nsource = \"s\"\nweight = \"w\"\ntitle = \"t\"\n{group}{keys}")
}

fn request(suite: Suite) -> Request {
    Request {
        queue: "codel".to_owned(),
        against: Vec::new(),
        profile: Profile::named("10mbit").unwrap(),
        suite,
        only: Vec::new(),
        world: World::Sim,
        controls: Vec::new(),
        seeds: Some(1),
    }
}

#[test]
fn a_wrong_file_is_refused_with_line_key_and_what_is_allowed() {
    let statement = |keys: &str| {
        item(&format!(
            "[statement.s]\nsource = \"s\"\nwhat = \"w\"\n{keys}"
        ))
    };
    for (text, expected) in [
        (String::new(), "mine.toml:1: schema: is missing; must be 1"),
        (
            "schema = 1".to_owned(),
            "item: is missing; a suite has items, such as [item.one]",
        ),
        (
            "schema = 2".to_owned(),
            "mine.toml:1: schema = 2: must be 1",
        ),
        (
            item("losss = true"),
            "mine.toml:7: item.one.losss = true: unknown key (did you mean losses?)",
        ),
        (
            item("losses = 1"),
            "mine.toml:7: item.one.losses = 1: must be true or false",
        ),
        (
            item("group = []").replace("title", "tilte"),
            "item.one.title: is missing; must be a text",
        ),
        (
            "schema = 1\n[item.one]".to_owned(),
            "item.one: needs group = a list of groups of flows, or cannot = why it does not run",
        ),
        (
            "schema = 1\n[item.\"../one\"]".to_owned(),
            "mine.toml:2: item.../one: a name has small letters, digits and hyphens",
        ),
        (
            item("rate = \"{speed:rate}\""),
            "mine.toml:7: item.one.rate: at character 1: there is no figure, field or axis speed",
        ),
        (
            item("rate = \"{rate:mbit}\""),
            "\"mbit\" is no form; there are d, g, .2",
        ),
        (
            item("both-ways = \"own-buffer\""),
            "needs reverse = the rate of the other direction",
        ),
        (
            item("both-ways = \"yes\""),
            "item.one.both-ways = \"yes\": must be one of same, own-buffer",
        ),
        (
            item("buffer = 0"),
            "item.one.buffer = 0: must be a number of packets from 1 to 1000000000",
        ),
        (
            item("queue = { kind = \"codel\", limit = \"9p\" }"),
            "item.one.queue.limit = \"9p\": is the buffer of the item",
        ),
        (
            item("at = [{ time = \"1s\" }]"),
            "item.one.at.1: needs time and set",
        ),
        (
            item("first = { rate = \"1mbit\" }"),
            "item.one.first: needs rate and queue",
        ),
        (
            statement("check = { figure = \"delay\", at-most = 1 }"),
            "mine.toml:10: statement.s.check.figure = \"delay\": must be one of utilisation, goodput_bps",
        ),
        (
            statement("check = { figure = \"jain\" }"),
            "statement.s.check: needs either at-least or at-most",
        ),
        (
            statement("where = \"kind = 'codel'\""),
            "mine.toml:10: statement.s.where",
        ),
    ] {
        let problems = Suite::read("mine.toml", &text).unwrap_err().to_string();
        assert!(problems.contains(expected), "{text}\n{problems}");
    }
}

#[test]
fn what_only_a_card_shows_names_the_item_of_the_file() {
    for (keys, expected) in [
        (
            "group = [{ name = \"a\", app = \"nothing\" }]",
            "mine.toml:2: item.one: scenarios/one.toml:",
        ),
        (
            "group = [{ name = \"a\", app = \"nothing\" }]",
            "group.a.app",
        ),
        (
            "measured = \"soon\"",
            "mine.toml:2: item.one: \"soon\" is no time",
        ),
        (
            "rate = \"{target}\"",
            "item.one: a part of this text has no value",
        ),
        ("rate = \"{1 + 'a'}\"", "item.one: a is no number"),
        (
            "group = [{ name = \"a\\\"b\\n[link]\" }]",
            "item.one: scenarios/one.toml:",
        ),
    ] {
        let suite = Suite::read("mine.toml", &item(keys)).unwrap();
        let error = request(suite).prepare().unwrap_err().to_string();
        assert!(error.contains(expected), "{keys}\n{error}");
    }
}

/// A file of a stranger neither fills the memory nor takes for ever.
#[test]
fn what_a_file_makes_is_bounded() {
    let many: String = (0..300).map(|n| format!("[item.i{n}]\n")).collect();
    let problems = Suite::read("m", &format!("schema = 1\n{many}"))
        .unwrap_err()
        .to_string();
    assert!(
        problems.contains("item: has more than 200 names"),
        "{problems}"
    );

    let long = "x".repeat(200_000);
    let groups = "{ name = \"a\" }, ".repeat(2_000);
    let shared = item(&format!("group = [{groups}]\n[group.a]\nmark = \"{long}\""));
    let problems = Suite::read("m", &shared).unwrap_err().to_string();
    assert!(
        problems.contains("too much is repeated in too many places")
            || problems.contains("longer than"),
        "{problems}"
    );

    let doubling: String = (1..40)
        .map(|n| format!("t{n} = \"text('{{t{}}}{{t{}}}')\"\n", n - 1, n - 1))
        .collect();
    let lets = format!(
        "{}\n[let]\nt0 = \"'xxxxxxxx'\"\n{doubling}",
        item("rate = \"{t39}\"")
    );
    let suite = Suite::read("m", &lets).unwrap();
    let error = request(suite).prepare().unwrap_err().to_string();
    assert!(
        error.contains("too long") || error.contains("too deeply"),
        "{error}"
    );
}

#[test]
fn the_shipped_suites_together_are_all() {
    let of = |name: &str| Suite::named(name).unwrap().test_cases().len();
    assert_eq!(of("all"), of("rfc7928") + of("l4s") + of("access"));
    assert!(Suite::named("rfc").is_none());
}
