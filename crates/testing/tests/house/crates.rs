//! Which crate depends on which: the table of docs/architecture.md, compared with cargo.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

use crate::house::{project, read};

/// The most programs that `cargo test` links: each costs seconds with every edit of a crate below it.
const TEST_PROGRAMS: usize = 45;

/// What cargo says of the crates of the workspace.
fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--format-version",
            "1",
            "--offline",
        ])
        .current_dir(project())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// The crates of the workspace with those that each depends on, its tests aside.
fn workspace() -> BTreeMap<String, BTreeSet<String>> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let packages = packages();
    let names: BTreeSet<String> = packages
        .iter()
        .map(|package| text(&package["name"]))
        .collect();
    let of = |package: &Value| {
        let all = package["dependencies"].as_array().unwrap().iter();
        all.filter(|one| one["kind"] != "dev")
            .map(|one| text(&one["name"]))
            .filter(|name| names.contains(name))
            .collect()
    };
    packages
        .iter()
        .map(|package| (text(&package["name"]), of(package)))
        .collect()
}

/// The rows of the table whose first column is headed `crate`: each crate, whether it is portable, and what it depends on.
fn documented() -> Vec<(String, bool, BTreeSet<String>)> {
    let page = read("docs/architecture.md");
    let rows = page
        .lines()
        .skip_while(|line| !line.starts_with("| crate |"))
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let quoted = |cell: &str| -> Vec<String> {
        let parts = cell.split('`').skip(1).step_by(2);
        parts.map(str::to_owned).collect()
    };
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, name, portable, depends_on, _, _] = cells[..] else {
            panic!("{row}")
        };
        (
            quoted(name).remove(0),
            portable == "yes",
            quoted(depends_on).into_iter().collect(),
        )
    })
    .collect()
}

#[test]
fn the_table_of_the_architecture_is_the_truth() {
    let (workspace, documented) = (workspace(), documented());
    let shown: BTreeMap<_, _> = documented
        .iter()
        .map(|(name, _, depends_on)| (name.clone(), depends_on.clone()))
        .collect();
    assert_eq!(shown, workspace);
    assert_eq!(shown.len(), documented.len(), "a crate has two rows");
}

#[test]
fn arrows_point_down_and_what_is_portable_depends_on_nothing_else() {
    let documented = documented();
    for (index, (name, portable, depends_on)) in documented.iter().enumerate() {
        for other in depends_on {
            let below = documented[index + 1..].iter().find(|row| row.0 == *other);
            let Some((_, is_portable, _)) = below else {
                panic!("{name} depends on {other}, which is not below it");
            };
            assert!(*is_portable || !portable, "{name} depends on {other}");
        }
    }
    let portable = documented.iter().filter(|row| row.1);
    let portable: BTreeSet<String> = portable.map(|row| row.0.clone()).collect();
    let script = read("scripts/portable");
    let list = script
        .lines()
        .find_map(|line| line.strip_prefix("CRATES=("));
    let compiled = list.unwrap().trim_end_matches(')').split_whitespace();
    let compiled: BTreeSet<String> = compiled.map(|name| format!("quell-{name}")).collect();
    assert_eq!(portable, compiled);
}

/// A new test is a module of a program that there is. One of its own has a reason at its head: a process with one thread, say.
#[test]
fn test_programs_are_few() {
    let packages = packages();
    let targets = packages
        .iter()
        .flat_map(|package| package["targets"].as_array().unwrap());
    let is_linked = |target: &&Value| {
        let is_left_out = ["bench", "custom-build", "example"];
        target["test"] == true && is_left_out.iter().all(|kind| target["kind"][0] != *kind)
    };
    let count = targets.filter(is_linked).count();
    assert!(count <= TEST_PROGRAMS, "{count}, more than {TEST_PROGRAMS}");
}
