//! Runs that break off: at once, with the reason, and with nothing left behind.

use std::fs;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::thread::sleep;
use std::time::{Duration, Instant};

use quell_lab::live::{self, LiveError, LiveListener};
use quell_lab::{Listener, LiveOptions, Row, Scenario, Unwritten, World};
use quell_units::Time;

use crate::privileges::worker_of;
use crate::support::*;

/// The threads of a process that have this name.
fn threads(process: &str, name: &str) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{process}/task"))
        .unwrap()
        .flatten();
    tasks
        .filter(|task| {
            let called = fs::read_to_string(task.path().join("comm"));
            called.is_ok_and(|called| called.trim() == name)
        })
        .map(|task| task.file_name().to_str().unwrap().parse().unwrap())
        .collect()
}

#[test]
fn an_interface_that_goes_away_ends_the_run_at_once() {
    let test = "an_interface_that_goes_away_ends_the_run_at_once";
    let _beside = beside_others();
    if !can_run(test) {
        return;
    }
    if Command::new("ip").arg("-V").output().is_err()
        || Command::new("nsenter").arg("-V").output().is_err()
    {
        return not_run(
            test,
            "there is no ip(8) or nsenter(1) to delete an interface with",
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let began = Instant::now();
    let child = start(&["--duration", "40s", "--out", out.to_str().unwrap()]);
    sleep(Duration::from_secs(2));
    let worker = worker_of(child.id()).expect("a worker carries the packets");
    let process = worker.to_string();
    let [thread] = threads(&process, "quell-link")[..] else {
        panic!("one link");
    };
    // In the namespace of the run that this test has started.
    let mut delete = Command::new("nsenter");
    if !is_root() {
        delete.args([
            "--preserve-credentials",
            &format!("--user=/proc/{process}/ns/user"),
        ]);
    }
    let deleted = delete
        .arg(format!("--net=/proc/{process}/task/{thread}/ns/net"))
        .args(["ip", "link", "delete", "to-sender"])
        .status()
        .unwrap();
    assert!(deleted.success());
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("the link failed: "), "{errors}");
    assert!(
        began.elapsed() < Duration::from_secs(20),
        "{:?}",
        began.elapsed()
    );
    assert!(!out.exists());
}

/// Fails at the first row.
struct Full;

impl Listener for Full {
    fn progress(&mut self, _now: Time) {}
    fn row(&mut self, _row: Row) -> Result<(), Unwritten> {
        Err(Unwritten)
    }
}

impl LiveListener for Full {}

#[test]
fn an_error_of_a_row_ends_every_thread() {
    let test = "an_error_of_a_row_ends_every_thread";
    let _alone = alone();
    if !can_run(test) {
        return;
    }
    if !is_root() {
        return not_run(
            test,
            "a process with several threads cannot enter a user namespace",
        );
    }
    let text = fs::read_to_string(COEXISTENCE).unwrap();
    let text = text.replace("\"dctcp\"", "\"cubic\"");
    let scenario = Scenario::parse(&text).unwrap();
    for watch in [false, true] {
        let options = LiveOptions {
            watch,
            ..LiveOptions::default()
        };
        let began = Instant::now();
        let never = AtomicBool::new(false);
        let result = live::run(&scenario, 1, World::Live, &options, &never, &mut Full);
        assert!(matches!(result, Err(LiveError::Unwritten(_))));
        assert!(began.elapsed() < Duration::from_secs(20));
        for name in [
            "quell-link",
            "quell-sender",
            "quell-receiver",
            "quell-watch",
        ] {
            assert_eq!(threads("self", name), [] as [u32; 0], "{name}");
        }
    }
}
