//! Ctrl-C, and worse.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use quell_units::Time;
use rustix::process::{Pid, Signal, kill_process};

use crate::recomputed;
use crate::stage::Stage;

/// A run that would take minutes, and has come to the time `at`.
pub(crate) fn under_way(stage: &Stage, arguments: &[&str], at: Time) -> Child {
    let mut command = stage.quell(&["run", "scenario.toml", "--world", "virtual"]);
    let child = command
        .args(["--duration", "20000s", "--out", "out"])
        .args(arguments)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let is_there = |told: String| told.parse().is_ok_and(|nanos: u64| nanos >= at.as_nanos());
    wait_until("the guest has begun", || {
        let folders = fs::read_dir(stage.path().join("tmp")).unwrap().flatten();
        folders
            .map(|folder| folder.path().join("progress"))
            .any(|path| fs::read_to_string(path).is_ok_and(is_there))
    });
    assert!(!kernels_of(stage).is_empty());
    child
}

/// Processes whose program is a kernel of this stage, or a part of one.
fn kernels_of(stage: &Stage) -> Vec<String> {
    let stage = stage.path().to_str().unwrap();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|process| fs::read_to_string(process.path().join("cmdline")).ok())
        .filter(|line| line.contains(stage) && line.contains("/linux\0"))
        .collect()
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(
            began.elapsed() < Duration::from_secs(120),
            "waited in vain: {what}"
        );
        sleep(Duration::from_millis(50));
    }
}

#[test]
fn ctrl_c_ends_the_guest_and_keeps_what_was_measured() {
    let Some(stage) = Stage::new("ctrl_c_ends_the_guest_and_keeps_what_was_measured") else {
        return;
    };
    let at = Time::from_millis(recomputed::some_time_ms(3_000, 8_000));
    let child = under_way(&stage, &["--packets"], at);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.signal(), Some(2), "{errors}");
    assert!(
        errors.contains("interrupted at ") && errors.contains(" s of 20000 s"),
        "{errors}"
    );
    // A reading of the guest's clock costs 256 ns: hosts are a little late.
    recomputed::check(&stage.path().join("out"), 1_000_000);
    assert!(stage.path().join("out/run.json").exists());
    assert_eq!(stage.left_over(), [] as [&str; 0]);
    assert_eq!(kernels_of(&stage), [] as [&str; 0]);
}

#[test]
fn the_guest_ends_when_the_other_end_of_the_parent_pipe_closes() {
    let Some(stage) = Stage::new("the_guest_ends_when_the_other_end_of_the_parent_pipe_closes")
    else {
        return;
    };
    let mut child = under_way(&stage, &["--parent-pipe", "0"], Time::from_secs(3));
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        output.status.signal(),
        Some(Signal::HUP.as_raw()),
        "{errors}"
    );
    assert!(errors.contains(" s of 20000 s"), "{errors}");
    assert!(stage.path().join("out/run.json").exists());
    assert_eq!(kernels_of(&stage), [] as [&str; 0]);
}

#[test]
fn a_killed_run_leaves_no_process() {
    let Some(stage) = Stage::new("a_killed_run_leaves_no_process") else {
        return;
    };
    let mut child = under_way(&stage, &["--set", "link.rate=1mbit"], Time::from_secs(1));
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("every process is gone", || kernels_of(&stage).is_empty());
    assert!(!stage.path().join("out").exists());
}
