//! Reads what lies in a result: [`columns`] of its series, and its [`captured`] packets.

pub mod captured;
pub mod columns;

use std::path::{Path, PathBuf};

/// A file of a result that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}: {why}", path.display())]
pub struct ReadError {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub why: String,
}

impl ReadError {
    fn of<E: ToString>(path: &Path) -> impl Fn(E) -> Self {
        move |why| Self {
            path: path.to_owned(),
            why: why.to_string(),
        }
    }
}
