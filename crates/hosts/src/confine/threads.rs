//! How many threads this process has.
//!
//! Rights belong to threads, and so does a copy of a process (fork(2)): what is done while there is one thread holds for all
//! that come later, and what is done while there are several holds for one of them. [`require_one`] counts them, so that an
//! order of calls that would leave a thread behind is an error and not a comment.

use std::time::{Duration, Instant};
use std::{fs, io, thread};

use super::error::{Error, SeveralThreads, cannot};

/// A thread that was joined stays listed, and prevents what needs a single thread, until the kernel has removed it. That takes
/// longer on a busy machine.
const REMOVAL: Duration = Duration::from_secs(1);

/// Returns an error unless the calling thread is the only one of its process, or becomes it within a second: threads that have
/// ended are waited for.
///
/// # Errors
///
/// [`Error::Threads`] where there are others, [`Error::System`] where `/proc` cannot be read.
pub fn require_one() -> Result<(), Error> {
    let began = Instant::now();
    loop {
        match count().map_err(cannot("count the threads of this process"))? {
            1 => return Ok(()),
            _ if began.elapsed() < REMOVAL => thread::sleep(Duration::from_millis(1)),
            count => return Err(SeveralThreads { count }.into()),
        }
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
