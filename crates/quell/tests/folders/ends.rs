//! Ends that are none: a terminal that was closed, a file that may not grow.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::folders::support::{
    COEXISTENCE, LONG, QUELL, begun, json, names, quell, unfinished, wait_until,
};

#[test]
fn a_closed_terminal_ends_a_run_as_ctrl_c_does() {
    let folder = tempfile::tempdir().unwrap();
    let child = begun(folder.path(), "out");
    // The terminal says so, and so does the shell.
    for _ in 0..2 {
        kill_process(Pid::from_child(&child), Signal::HUP).unwrap();
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(1), "{output:?}");
    assert_eq!(names(folder.path()), ["out"]);
    let summary = json(&folder.path().join("out/summary.json"));
    assert_eq!(summary["partial"], true);
}

#[test]
fn a_run_that_was_told_to_ignore_hangups_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("sh");
    // As nohup(1) does.
    let script = "trap '' HUP; exec \"$0\" \"$@\"";
    command.args(["-c", script, QUELL, "run", COEXISTENCE, "--out", "out"]);
    let mut child = command
        .args(LONG)
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the run has begun", || {
        !unfinished(folder.path()).is_empty()
    });
    let id = Pid::from_child(&child);
    kill_process(id, Signal::HUP).unwrap();
    // Had the first signal counted, a second one of these would end the process at once.
    kill_process(id, Signal::INT).unwrap();
    child.wait().unwrap();
    assert_eq!(names(folder.path()), ["out"]);
}

#[test]
fn a_file_that_may_not_grow_is_an_error_and_not_a_signal() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("sh");
    // 256 blocks a file, and the signal does what it usually does.
    let script = "ulimit -f 256; exec \"$0\" \"$@\"";
    command.args(["-c", script, QUELL, "run", COEXISTENCE, "--packets"]);
    command.args(["--duration", "12s", "--out", "out"]);
    let output = command.current_dir(folder.path()).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let large = std::io::Error::from_raw_os_error(27).to_string();
    assert!(
        errors.contains("packets.pcapng: ") && errors.contains(&large),
        "{errors}"
    );
    assert_eq!(names(folder.path()), [] as [&str; 0]);
    // Nor do other commands end so.
    let output = quell(folder.path(), &["schema"]).output().unwrap();
    assert!(output.status.success());
}
