//! Stores that people or disks have changed.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::sweep::support::{CELLS, Place, SWEEP, cells};

/// Makes the sums of a cell right again.
fn seal(cell: &Path) {
    let line = "LC_ALL=C; sha256sum $(ls | grep -v SHA256SUMS) > SUMS && mv SUMS SHA256SUMS";
    let sealed = Command::new("sh")
        .args(["-c", line])
        .current_dir(cell)
        .status();
    assert!(sealed.unwrap().success());
}

fn change(file: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(file).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(file, text.replacen(from, to, 1)).unwrap();
}

#[test]
fn a_merge_keeps_both_results_of_a_cell_and_fails() {
    let place = Place::new(SWEEP);
    place.ok("s.toml --store one");
    place.ok("s.toml --store two");
    let cell = place.first_cell("two");
    change(
        &cell.join("summary.json"),
        "\"packets\": ",
        "\"packets\": 1",
    );
    // A change by hand is one to a damaged cell, and stays outside.
    let said = place.fails(1, "merge one two");
    assert!(
        said.contains("summary.json was changed; it was left out"),
        "{said}"
    );
    seal(&cell);
    let said = place.fails(1, "merge one two");
    assert!(
        said.contains("not deterministic: two stores have different results"),
        "{said}"
    );
    let key = cell.file_name().unwrap();
    let kept = place.path("one/conflicts").join(key);
    assert_eq!(
        fs::read(kept.join("summary.json")).unwrap(),
        fs::read(cell.join("summary.json")).unwrap()
    );
    assert_ne!(
        fs::read(place.first_cell("one").join("summary.json")).unwrap(),
        fs::read(cell.join("summary.json")).unwrap()
    );
    assert!(place.ok("check one").contains("results in conflicts"));
    assert!(
        place
            .fails(2, "merge one one")
            .contains("is the store itself")
    );
    assert!(
        place
            .fails(2, "merge one nothing")
            .contains("is this the store of a sweep?")
    );
}

#[test]
fn a_half_copied_cell_runs_again_and_what_it_was_is_kept() {
    let place = Place::new(SWEEP);
    place.ok("s.toml --store whole");
    place.ok("s.toml --store half");
    let cell = place.first_cell("half");
    fs::remove_file(cell.join("histograms.json")).unwrap();
    let said = place.fails(1, "check half");
    assert!(said.contains("lacks histograms.json"), "{said}");
    assert!(
        place
            .ok("s.toml --store half --dry-run")
            .contains("lack files or were changed")
    );
    let output = place.sweep("s.toml --store half");
    assert!(output.status.success());
    assert!(
        crate::sweep::support::err(&output).contains("lacks histograms.json; it is in damaged now")
    );
    let mut tree = place.tree("half");
    let before = tree.len();
    tree.retain(|name, _| !name.starts_with("damaged/"));
    assert!(tree.len() < before && tree == place.tree("whole"));
}

#[test]
fn a_changed_digit_is_found_and_the_cell_made_again() {
    let place = Place::new(SWEEP);
    place.ok("s.toml --store whole");
    place.ok("s.toml --store changed");
    let cell = place.first_cell("changed");
    change(
        &cell.join("summary.json"),
        "\"packets\": ",
        "\"packets\": 1",
    );
    let said = place.fails(1, "check changed");
    assert!(said.contains("summary.json was changed"), "{said}");
    place.fails(1, "check changed --set-aside");
    assert!(
        place
            .ok("check changed")
            .contains("1 of the plan are not there")
    );
    assert!(place.ok("s.toml --store changed").contains("1 ran"));
    let mut tree = place.tree("changed");
    tree.retain(|name, _| !name.starts_with("damaged/"));
    assert!(tree == place.tree("whole"));
    // The folder's name is the hash of what the cell depends on, and its scenario is that.
    change(&cell.join("scenario.toml"), "bit\"", "bit\" # or so");
    seal(&cell);
    place.ok("check changed");
    change(&cell.join("scenario.toml"), "seeds = [", "seeds = [7, ");
    change(
        &cell.join("scenario.toml"),
        "warmup = \"200ms\"",
        "warmup = \"201ms\"",
    );
    seal(&cell);
    let said = place.fails(1, "check changed");
    assert!(
        said.contains("scenario.toml is not that of cell.json"),
        "{said}"
    );
}

#[test]
fn no_command_takes_a_changed_digit_for_a_figure() {
    let place = Place::new(SWEEP);
    place.ok("s.toml --store whole");
    for name in ["summary.json", "histograms.json"] {
        place.ok("s.toml --store changed");
        let file = place.first_cell("changed").join(name);
        let text = fs::read_to_string(&file).unwrap();
        let digit = text.rfind(|c: char| ('1'..='8').contains(&c)).unwrap();
        fs::write(&file, format!("{}9{}", &text[..digit], &text[digit + 1..])).unwrap();
        let said = place.fails(1, "table changed --over-seeds --out t.csv");
        assert!(said.contains(&format!("{name} was changed")), "{said}");
        assert!(!place.path("t.csv").exists());
        place.ok("table changed --over-seeds --trust --out t.csv");
        fs::remove_file(place.path("t.csv")).unwrap();
        assert!(
            place
                .ok("s.toml --store changed --trust")
                .contains(", 0 ran")
        );
        assert!(
            place
                .ok("s.toml --store changed --dry-run")
                .contains("1 to run")
        );
        let output = place.sweep("s.toml --store changed");
        assert!(output.status.success());
        let said = crate::sweep::support::err(&output);
        assert!(said.contains(&format!("{name} was changed")), "{said}");
        let mut tree = place.tree("changed");
        tree.retain(|name, _| !name.starts_with("damaged/"));
        assert!(tree == place.tree("whole"), "{name}");
    }
}

/// A file of no content, as long as a disk: who reads all of it runs out of memory.
#[test]
fn a_file_without_end_is_refused_in_a_line() {
    let place = Place::new(SWEEP);
    place.ok("s.toml --store one");
    let cell = place.first_cell("one");
    for (name, commands) in [
        (
            "summary.json",
            &["table one", "table one --trust", "check one"][..],
        ),
        ("cell.json", &["check one"]),
        ("SHA256SUMS", &["table one", "check one"]),
    ] {
        let file = cell.join(name);
        let whole = fs::read(&file).unwrap();
        fs::File::create(&file).unwrap().set_len(1 << 41).unwrap();
        for command in commands {
            let said = place.fails(1, command);
            assert!(
                said.contains(&format!("{name}: it is longer than 64 MiB")),
                "{said}"
            );
        }
        fs::write(&file, whole).unwrap();
    }
    place.ok("check one");
}

#[test]
fn a_plan_or_a_summary_that_cannot_be_read_is_an_error_with_its_path() {
    let place = Place::new(SWEEP);
    place.ok("s.toml --store one");
    let summary = place.first_cell("one").join("summary.json");
    let whole = fs::read(&summary).unwrap();
    for text in [
        "[]",
        "{",
        "null",
        "{\"queues\": [7, {}], \"groups\": {\"a\": [[]]}, \"phases\": [3]}",
    ] {
        fs::write(&summary, text).unwrap();
        let output = place.sweep("table one --out t.csv");
        let said = crate::sweep::support::err(&output);
        assert!(!said.contains("panicked"), "{said}");
        assert!(said.contains("summary.json was changed"), "{said}");
        place.fails(1, "check one");
    }
    fs::write(&summary, whole).unwrap();
    place.ok("check one");
    let plan = fs::read_to_string(place.path("one/plan.json")).unwrap();
    for (from, to) in [
        ("\"schema\": 1", "\"schema\": 9"),
        ("\"2mbit\",", ""),
        ("[1,\"", "[1,\"../../"),
        ("\"points\": [", "\"points\": ["),
    ] {
        let text = if from == to {
            plan[..plan.len() / 2].to_owned()
        } else {
            plan.replacen(from, to, 1)
        };
        assert_ne!(text, plan);
        fs::write(place.path("one/plan.json"), text).unwrap();
        let said = place.fails(2, "table one");
        assert!(said.contains("one/plan.json: "), "{said}");
        place.fails(2, "check one");
    }
    // The next run writes its plan again.
    place.ok("s.toml --store one");
    assert_eq!(
        fs::read_to_string(place.path("one/plan.json")).unwrap(),
        plan
    );
}

#[test]
fn a_cell_that_failed_is_reported_until_it_runs_again() {
    let place = Place::new(SWEEP);
    place.ok("s.toml --store whole");
    place.ok("s.toml --store failed");
    let cell = place.first_cell("failed");
    for name in ["summary.json", "histograms.json"] {
        fs::remove_file(cell.join(name)).unwrap();
    }
    fs::write(cell.join("failed.json"), "{ \"error\": \"it broke\" }\n").unwrap();
    seal(&cell);
    let said = place.fails(1, "s.toml --store failed");
    assert!(
        said.contains("1 of 26 cells failed") && said.contains(": it broke"),
        "{said}"
    );
    assert!(
        place
            .ok("s.toml --store failed --dry-run")
            .contains("1 failed")
    );
    assert!(place.ok("check failed").contains("1 failed"));
    let output = place.sweep("table failed --out t.csv");
    assert!(crate::sweep::support::err(&output).contains("1 of the cells of the plan failed"));
    let lines = fs::read_to_string(place.path("t.csv"))
        .unwrap()
        .lines()
        .count();
    assert_eq!(lines, CELLS);
    // A store that has the result gives it to one that has an error, and takes no error for it.
    place.ok("merge copy failed");
    place.ok("merge copy whole");
    assert!(place.tree("copy") == place.tree("whole"));
    place.ok("merge copy failed");
    assert!(place.tree("copy") == place.tree("whole"));
    place.ok("s.toml --store failed --retry-failed");
    assert!(place.tree("failed") == place.tree("whole"));
    assert_eq!(cells(&place.tree("failed")), CELLS);
}
