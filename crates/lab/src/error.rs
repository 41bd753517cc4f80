//! Why a run did not give a result.

use std::io;
use std::path::{Path, PathBuf};

/// Why a run did not give a result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// What was asked for cannot be done, here or at all; nothing was started.
    #[error("{0}")]
    Refused(String),
    /// The run failed.
    #[error("{0}")]
    Failed(String),
    /// A result could not be written; nothing of it is left behind.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// What was to be written.
        path: PathBuf,
        /// Why that failed.
        source: io::Error,
    },
}

impl RunError {
    /// The exit code of a program that ends with this error: 1 the run failed, 2 the input is wrong.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Refused(_) => 2,
            Self::Failed(_) | Self::Write { .. } => 1,
        }
    }

    /// Turns an error of writing `path` into one that names it.
    pub(crate) fn writing<E: Into<Box<dyn std::error::Error + Send + Sync>>>(
        path: &Path,
    ) -> impl FnOnce(E) -> Self {
        let path = path.to_owned();
        move |error| Self::Write {
            path,
            source: io::Error::other(error),
        }
    }
}
