//! Why a result is not on disk.

use std::io;
use std::path::{Path, PathBuf};

use quell_kernel::held::real;

/// Why a result is not on disk.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The folder exists.
    #[error("{} exists already; results never go over old ones", .0.display())]
    Exists(PathBuf),
    /// Another run is going to write this folder.
    #[error("{} is what another run is about to write; choose another name", .0.display())]
    Reserved(PathBuf),
    /// The path does not end with a name.
    #[error("{} names no folder", .0.display())]
    NoName(PathBuf),
    /// A file or folder could not be written; nothing of the result is left behind.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// What was to be written.
        path: PathBuf,
        /// Why that failed.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Somebody else made a folder of the result's name during the run. Nothing of it was touched, and the result is beside it.
    #[error("{} was made by somebody else during the run; the result is in {}", wanted.display(), kept.display())]
    Taken {
        /// The name that the result was to have.
        wanted: PathBuf,
        /// Where it is.
        kept: PathBuf,
    },
    /// The thread that writes packets could not give its rights away.
    #[error("the thread that writes packets keeps its rights: {0}")]
    Rights(#[source] quell_hosts::confine::Error),
    /// The thread that writes packets could not start.
    #[error("the thread that writes packets cannot start: {0}")]
    Thread(io::Error),
    /// The thread that writes packets panicked.
    #[error("the thread that writes packets panicked")]
    Panicked,
}

impl Error {
    /// Whether the caller asked for what cannot be, so that nothing was begun.
    pub const fn is_refusal(&self) -> bool {
        matches!(self, Self::Exists(_) | Self::Reserved(_) | Self::NoName(_))
    }

    /// Turns an error of writing `path` into one that names it.
    pub fn writing<E: Into<Box<dyn std::error::Error + Send + Sync>>>(
        path: &Path,
    ) -> impl FnOnce(E) -> Self + use<E> {
        let path = path.to_owned();
        move |error| Self::Write {
            path: real(&path),
            source: error.into(),
        }
    }
}
