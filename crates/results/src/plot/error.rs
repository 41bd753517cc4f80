//! Why there is no picture.

use std::path::PathBuf;

use crate::read::ReadError;

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A path that is not a result.
    #[error("{} is no result: it has neither summary.json nor folders that have one", .0.display())]
    NoResult(PathBuf),
    /// A file of a result cannot be read.
    #[error("cannot read {}: {why}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The results have nothing that this kind shows.
    #[error("{0}")]
    Nothing(String),
}

impl From<ReadError> for Error {
    fn from(error: ReadError) -> Self {
        let ReadError { path, why } = error;
        Self::Read { path, why }
    }
}
