//! Tests that this machine or this call cannot run.

use std::fs::File;
use std::io::Write as _;

/// Reports that `test` did not run, on standard error and in the file that QUELL_NOT_RUN names: `not run: TEST: REASON`.
///
/// `.ci/run` compares these lines with `.ci/allowed-skips`.
///
/// # Panics
///
/// The file cannot be written.
pub fn not_run(test: &str, reason: &str) {
    // One line, whatever an error's text is made of.
    let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = format!("not run: {test}: {reason}\n");
    // Not through the test harness, which would capture it.
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(path) = std::env::var_os("QUELL_NOT_RUN") {
        let file = File::options().append(true).create(true).open(path);
        // One write, so that lines of concurrent tests do not mix.
        file.and_then(|mut file| file.write_all(line.as_bytes()))
            .expect("QUELL_NOT_RUN names a file that can be written");
    }
}
