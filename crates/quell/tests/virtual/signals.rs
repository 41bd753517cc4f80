//! Ctrl-C, and worse.

use std::fs;
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::stage::Stage;

/// A run that would take minutes, and is under way.
pub(crate) fn under_way(stage: &Stage) -> Child {
    let mut command = stage.quell(&["run", "scenario.toml", "--world", "virtual"]);
    let child = command
        .args([
            "--duration",
            "20000s",
            "--set",
            "link.rate=1mbit",
            "--out",
            "out",
        ])
        .spawn()
        .unwrap();
    wait_until("the guest has begun", || {
        let folders = fs::read_dir(stage.path().join("tmp")).unwrap().flatten();
        folders
            .map(|folder| folder.path().join("progress"))
            .any(|path| fs::read_to_string(path).is_ok_and(|told| told.len() >= 10))
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
    let child = under_way(&stage);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let summary = stage.json("out/summary.json");
    assert_eq!(summary["partial"], true);
    assert!(summary["duration_s"].as_f64().unwrap() < 20_000.0);
    assert!(stage.path().join("out/run.json").exists());
    assert_eq!(stage.left_over(), [] as [&str; 0]);
    assert_eq!(kernels_of(&stage), [] as [&str; 0]);
}

#[test]
fn a_killed_run_leaves_no_process() {
    let Some(stage) = Stage::new("a_killed_run_leaves_no_process") else {
        return;
    };
    let mut child = under_way(&stage);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("every process is gone", || kernels_of(&stage).is_empty());
    assert!(!stage.path().join("out").exists());
}
