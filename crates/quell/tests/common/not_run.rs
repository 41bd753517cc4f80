//! Telling what this machine or this call cannot run.

use std::fs;
use std::io::Write as _;

/// Says that `test` did not run, also in the file that QUELL_NOT_RUN names.
pub(crate) fn not_run(test: &str, reason: &str) {
    let line = format!("not run: {test}: {reason}\n");
    // Not through the test harness, which would swallow it.
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(path) = std::env::var_os("QUELL_NOT_RUN") {
        let file = fs::File::options().append(true).create(true).open(path);
        // One write, so that lines of concurrent tests do not mix.
        file.and_then(|mut file| file.write_all(line.as_bytes()))
            .unwrap();
    }
}
