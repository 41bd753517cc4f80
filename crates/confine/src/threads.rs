//! How many threads this process has.
//!
//! Rights belong to threads, and so does a copy of a process (fork(2)): what is done while there is one thread holds for all
//! that come later, and what is done while there are several holds for one of them. [`require_one`] counts them, so that an
//! order of calls that would leave a thread behind is an error and not a comment.

use std::fs;
use std::io;

use crate::error::{Error, SeveralThreads, cannot};

/// Returns an error unless the calling thread is the only one of its process.
///
/// # Errors
///
/// [`Error::Threads`] where there are others, [`Error::System`] where `/proc` cannot be read.
pub fn require_one() -> Result<(), Error> {
    match count().map_err(cannot("count the threads of this process"))? {
        1 => Ok(()),
        count => Err(SeveralThreads { count }.into()),
    }
}

/// From `/proc/self/task`, which has a folder for each thread (proc(5)).
fn count() -> io::Result<usize> {
    Ok(fs::read_dir("/proc/self/task")?.count())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by a panic")]
mod tests {
    use super::*;

    #[test]
    fn a_second_thread_is_counted_and_refused() {
        // The test runs on a thread beside the harness's own.
        let refused = require_one().unwrap_err();
        assert!(
            matches!(refused, Error::Threads(SeveralThreads { count }) if count >= 2),
            "{refused}"
        );
    }
}
