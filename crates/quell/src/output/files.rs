//! Files that commands write besides results, and folders that have the names of queues.

use std::path::Path;

use quell_lab::results::plot::Error;
use quell_lab::results::{replace, write_bytes};

use crate::failure::Failure;

/// Writes a file that may be there already.
pub(crate) fn write(out: &Path, content: &[u8]) -> Result<(), Failure> {
    replace(out, |new| write_bytes(new, content)).map_err(Failure::failed)
}

/// A picture or report cannot be made.
pub(crate) fn fail(error: Error) -> Failure {
    match error {
        Error::Read { .. } => Failure::failed(error),
        error => Failure::input(error),
    }
}

/// A queue's name as part of a path.
pub(crate) fn folder(queue: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "._-=".contains(c);
    queue.replace(|c| !is_safe(c), "-")
}
