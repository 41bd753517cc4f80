//! A program under test as a process of its own, and what becomes of it.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// More than anything takes that a test waits for, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(120);

/// `program` with `arguments` in `folder`. It reads nothing, and what it prints is kept.
#[must_use]
pub fn program(program: &str, folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Copies a program, so that it can be started at once. Another process writes the copy: what this one writes is open for a moment in whatever
/// another test starts meanwhile, and the kernel starts no file that is open for writing.
///
/// # Panics
///
/// It cannot be copied.
#[track_caller]
pub fn copy_program(from: &Path, to: &Path) {
    let copied = Command::new("cp").args([from, to]).status();
    assert!(
        copied.is_ok_and(|status| status.success()),
        "{from:?} to {to:?}"
    );
}

/// Writes a script that can be started at once, as [`copy_program`] copies one.
///
/// # Panics
///
/// It cannot be written.
#[track_caller]
pub fn write_program(path: &Path, script: &str) {
    let mut writer = Command::new("sh")
        .args(["-c", "cat >\"$0\" && chmod 755 \"$0\""])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .expect("a shell");
    let input = writer.stdin.take();
    let written = input.map(|mut input| input.write_all(script.as_bytes()));
    assert!(written.is_some_and(|written| written.is_ok()), "{path:?}");
    assert!(
        writer.wait().is_ok_and(|status| status.success()),
        "{path:?}"
    );
}

/// What a program printed, as text.
#[must_use]
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Waits until another process or the kernel has done `what`.
///
/// # Panics
///
/// It takes longer than two minutes.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "waited in vain: {what}");
        sleep(Duration::from_millis(10));
    }
}

/// The error text of a program that must have refused its input: exit code 2, and each of `words` in that text.
///
/// # Panics
///
/// It ended otherwise, or a word is missing.
#[track_caller]
pub fn refused(output: &Output, words: &[&str]) -> String {
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    for word in words {
        assert!(errors.contains(word), "no {word:?} in: {errors}");
    }
    errors
}
