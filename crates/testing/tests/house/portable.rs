//! What a browser has not, the crates that run there do not name. `scripts/portable` compiles them for it as well, but the standard
//! library of that target has files, threads and clocks, which fail when they are used.

use crate::house::{names, project, read, sources};

/// Parts of the standard library that a page has not, or that differ from run to run.
const FORBIDDEN: [&str; 9] = [
    "std::env",
    "std::fs",
    "std::net",
    "std::os",
    "std::process",
    "std::thread",
    "std::time",
    "Instant",
    "SystemTime",
];

/// The crates that `scripts/portable` compiles.
fn crates() -> Vec<String> {
    let script = read("scripts/portable");
    let list = script
        .lines()
        .find_map(|line| line.strip_prefix("CRATES=("));
    let list = list.unwrap().trim_end_matches(')');
    list.split_whitespace().map(str::to_owned).collect()
}

/// The forbidden names of a source.
fn violations(source: &str) -> Vec<String> {
    let is_forbidden = |name: &String| {
        FORBIDDEN
            .iter()
            .any(|forbidden| match forbidden.contains("::") {
                true => *name == **forbidden || name.starts_with(&format!("{forbidden}::")),
                false => name.split("::").any(|part| part == *forbidden),
            })
    };
    names(source).into_iter().filter(is_forbidden).collect()
}

#[test]
fn portable_crates_name_no_file_socket_thread_or_clock() {
    let crates = crates();
    assert_eq!(
        crates,
        [
            "units", "aqm", "measure", "tcp", "app", "sim", "scenario", "watch", "wasm"
        ]
    );
    let mut found = Vec::new();
    for name in crates {
        for path in sources(&format!("crates/{name}/src")) {
            let source = std::fs::read_to_string(&path).unwrap();
            let shown = path.strip_prefix(project()).unwrap().display();
            found.extend(
                violations(&source)
                    .iter()
                    .map(|name| format!("{shown}: {name}")),
            );
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_violation_is_found_however_it_is_written() {
    for source in [
        "use std::fs;",
        "use std::{fmt, fs::File};",
        "use std::{\n    collections::BTreeMap,\n    time::{Duration, Instant},\n};",
        "fn f() { std::thread::spawn(|| ()); }",
        "let now = ::std::time::SystemTime::now();",
        "fn wait(until: Instant) {}",
    ] {
        assert!(!violations(source).is_empty(), "{source}");
    }
    for source in [
        "use std::fmt;",
        "// std::fs",
        "use core::time;",
        "struct Instants;",
    ] {
        assert_eq!(violations(source), [] as [&str; 0], "{source}");
    }
}
