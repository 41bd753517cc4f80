//! Runs that are interrupted, or held up: their figures are those of the time that they had, or they say what was wrong.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::privileges::worker_of;
use crate::support::*;
use crate::{recomputed, signal};

/// Hosts on a busy machine take their samples so late, in ns.
const LATE: i64 = 300_000_000;

#[test]
fn an_interrupt_ends_a_run_cleanly_with_what_was_measured() {
    let test = "an_interrupt_ends_a_run_cleanly_with_what_was_measured";
    let _beside = beside_others();
    if !can_run(test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let at = recomputed::some_time_ms(2_000, 4_000);
    let child = start(&[
        "--duration",
        "60s",
        "--set",
        "run.warmup=1s",
        "--packets",
        "--out",
        out.to_str().unwrap(),
    ]);
    sleep(Duration::from_millis(at));
    signal(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.signal(), Some(2), "{errors}");
    assert!(
        errors.contains("interrupted at ") && errors.contains(" s of 60 s"),
        "{errors}"
    );
    recomputed::check(&out, LATE);
}

#[test]
fn a_run_ends_when_the_other_end_of_its_parent_pipe_closes() {
    let test = "a_run_ends_when_the_other_end_of_its_parent_pipe_closes";
    let _beside = beside_others();
    if !can_run(test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let more = [
        "--duration",
        "600s",
        "--set",
        "run.warmup=1s",
        "--parent-pipe",
        "0",
        "--out",
    ];
    let mut child = run(&more).arg(&out).stdin(Stdio::piped()).spawn().unwrap();
    sleep(Duration::from_secs(3));
    assert!(child.try_wait().unwrap().is_none());
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        output.status.signal(),
        Some(Signal::HUP.as_raw()),
        "{errors}"
    );
    assert!(errors.contains(" s of 600 s"), "{errors}");
    assert!(out.join("summary.json").exists());
}

#[test]
fn an_interrupt_in_the_warm_up_says_that_nothing_was_measured() {
    let test = "an_interrupt_in_the_warm_up_says_that_nothing_was_measured";
    let _beside = beside_others();
    if !can_run(test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let child = start(&["--set", "run.warmup=20s", "--out", out.to_str().unwrap()]);
    sleep(Duration::from_secs(2));
    signal(&child, Signal::TERM);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(15), "{output:?}");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(told.contains("nothing was measured"), "{told}");
    assert!(
        !told.contains("utilised") && !told.contains("bottleneck"),
        "{told}"
    );
}

#[test]
fn a_run_that_slept_says_so_and_is_an_error_if_strict() {
    let test = "a_run_that_slept_says_so_and_is_an_error_if_strict";
    let _beside = beside_others();
    if !can_run(test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let child = start(&[
        "--duration",
        "5s",
        "--set",
        "run.warmup=1s",
        "--strict",
        "--out",
        out.to_str().unwrap(),
    ]);
    sleep(Duration::from_secs(2));
    // As a terminal does: the program, and the process that carries packets for it.
    let worker = worker_of(child.id()).expect("a run has begun");
    for one in [Signal::STOP, Signal::CONT] {
        signal(&child, one);
        kill_process(Pid::from_raw(worker as i32).unwrap(), one).unwrap();
        if one == Signal::STOP {
            sleep(Duration::from_millis(1_500));
        }
    }
    let output = child.wait_with_output().unwrap();
    let (told, errors) = (
        String::from_utf8_lossy(&output.stdout).replace('\n', " "),
        String::from_utf8_lossy(&output.stderr),
    );
    assert_eq!(output.status.code(), Some(1), "{told}{errors}");
    assert!(told.contains("warning: the link slept for"), "{told}");
    assert!(errors.contains("--strict"), "{errors}");
    assert!(out.join("summary.json").exists());
}
