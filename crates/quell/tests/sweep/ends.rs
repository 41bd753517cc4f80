//! How a sweep ends before its end, and what it refuses.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::sweep::support::{CELLS, Place, QUELL, SWEEP, cells, err};

#[test]
fn an_interrupt_leaves_whole_cells_and_ends_by_the_signal() {
    let place = Place::new(&SWEEP.replace("count = 2 }", "count = 40 }"));
    for signal in [Signal::INT, Signal::TERM] {
        let child = place
            .command("s.toml --store s --jobs 2")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let before = cells(&place.tree("s"));
        while cells(&place.tree("s")) < before + 3 {
            sleep(Duration::from_millis(5));
        }
        kill_process(Pid::from_child(&child), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.signal(), Some(signal.as_raw()));
        assert!(
            err(&output).contains("cells are left, and the same command goes on"),
            "{}",
            err(&output)
        );
        place.ok("check s");
        let tree = place.tree("s");
        assert!(
            tree.keys().all(|name| !name.contains("unfinished")),
            "{:?}",
            tree.keys()
        );
    }
}

#[test]
fn a_sweep_ends_when_the_other_end_of_its_parent_pipe_closes() {
    let place = Place::new(&SWEEP.replace("count = 2 }", "count = 40 }"));
    let mut child = place
        .command("s.toml --store s --jobs 2 --parent-pipe 0")
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while cells(&place.tree("s")) < 3 {
        sleep(Duration::from_millis(5));
    }
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(Signal::HUP.as_raw()));
    assert!(err(&output).contains("cells are left"), "{}", err(&output));
    place.ok("check s");
}

#[test]
fn a_time_limit_ends_early_and_the_same_command_goes_on() {
    let place = Place::new(SWEEP);
    place.ok("s.toml --store whole");
    let said = place.fails(1, "s.toml --store s --time-limit 0ms");
    assert!(
        said.contains(&format!("the time is over; {CELLS} cells are left")),
        "{said}"
    );
    assert_eq!(cells(&place.tree("s")), 0);
    place.ok("s.toml --store s --time-limit 10min");
    assert!(place.tree("s") == place.tree("whole"));
}

/// A file system that takes no more than two kilobytes of a file: as on a full disk a write fails.
#[test]
fn a_full_disk_ends_the_sweep_and_leaves_whole_cells() {
    let place = Place::new(SWEEP);
    place.ok("s.toml --store whole");
    place.ok("s.toml --store s --shard 1/2");
    let line = format!("ulimit -f 4; exec {QUELL} sweep s.toml --store s");
    let output = Command::new("sh")
        .args(["-c", &line])
        .current_dir(place.path(""))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    assert!(err(&output).contains("File too large"), "{}", err(&output));
    place.ok("check s");
    place.ok("s.toml --store s");
    assert!(place.tree("s") == place.tree("whole"));
}

#[test]
fn a_dry_run_says_what_would_run_and_writes_nothing() {
    let place = Place::new(SWEEP);
    let said = place.ok("s.toml --store s --dry-run --jobs 2");
    assert!(
        said.contains(&format!("{CELLS} cells in the sim world")),
        "{said}"
    );
    assert!(said.contains("to run, about 1 s with --jobs 2"), "{said}");
    assert!(!place.path("s").exists());
    place.ok("s.toml --store s --shard 1/2");
    let said = place.ok("s.toml --store s --dry-run");
    let there = cells(&place.tree("s"));
    assert!(
        said.contains(&format!("{} to run", CELLS - there)),
        "{said}"
    );
}

#[test]
fn a_run_says_nothing_on_standard_error_where_nobody_looks() {
    let place = Place::new(SWEEP);
    let output = place.sweep("s.toml");
    assert_eq!((output.status.code(), err(&output).as_str()), (Some(0), ""));
    assert!(place.path("results/sweep-s/plan.json").exists());
}

#[test]
fn another_sweep_in_a_store_shares_its_cells_and_changes_the_plan() {
    let place = Place::new(SWEEP);
    place.ok("s.toml --store s");
    let more = SWEEP.replace(
        "[\"2mbit\", \"8mbit\"]",
        "[\"2mbit\", \"8mbit\", \"3mbit\"]",
    );
    fs::write(place.path("more.toml"), more).unwrap();
    let output = place.sweep("more.toml --store s");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        said.contains(&format!(", {CELLS} were there, 24 ran")),
        "{said}"
    );
    assert!(err(&output).contains("the store had the plan of another sweep"));
    assert!(place.sweep("s.toml --store s").status.success());
    assert!(place.ok("check s").contains("24 belong to another plan"));
}

#[test]
fn wrong_input_is_refused_with_its_place_before_anything_is_written() {
    let place = Place::new(SWEEP);
    for (from, to, expected) in [
        (
            "scenario = \"small.toml\"",
            "scenario = \"none.toml\"",
            "s.toml:3: scenario: cannot read none.toml",
        ),
        (
            "\"group.a.congestion-control\"",
            "\"group.a.congestion-controls\"",
            "did you mean congestion-control?",
        ),
        (
            "[\"2mbit\", \"8mbit\"]",
            "[\"2mbit\", \"8mbit\", \"fast\"]",
            "s.toml:6: link.rate = fast: must be a rate",
        ),
        (
            "[axis]",
            "[axes]",
            "s.toml:5: axes = a table: unknown key (did you mean axis?)",
        ),
        (
            "700ms",
            "100ms",
            "s.toml:17: run.duration = 100ms: leaves nothing to measure after the warm-up",
        ),
        ("schema = 1", "schema = = 1", "s.toml:2: this is not TOML"),
    ] {
        assert!(SWEEP.contains(from), "{from}");
        fs::write(place.path("s.toml"), SWEEP.replacen(from, to, 1)).unwrap();
        let said = place.fails(2, "s.toml --store s");
        assert!(said.contains(expected), "{said}\n{expected}");
        assert!(!place.path("s").exists());
    }
    for (words, expected) in [
        ("nothing.toml", "cannot read nothing.toml"),
        ("s.toml --shard 4/3", "must be K/N"),
        ("s.toml --time-limit soon", "a time with its unit"),
        ("s.toml --jobs 0", "at least 1"),
        ("table nothing", "is this the store of a sweep?"),
        ("check nothing", "is this the store of a sweep?"),
    ] {
        let said = place.fails(2, words);
        assert!(said.contains(expected), "{said}\n{expected}");
    }
    fs::write(place.path("s.toml"), SWEEP).unwrap();
    fs::write(place.path("file"), "").unwrap();
    assert!(
        place
            .fails(1, "s.toml --store file")
            .contains("cannot write file")
    );
    assert!(
        place
            .fails(2, "s.toml --reuse-live")
            .contains("has an effect only in the live world")
    );
    assert!(
        place
            .fails(2, "s.toml --kernel 6.1")
            .contains("has an effect only in the virtual world")
    );
}
