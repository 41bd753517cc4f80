//! Why a run did not give a result.

use std::fmt;
use std::path::{Path, PathBuf};

use quell_kernel::Reason;
use quell_kernel::held::real;

/// Why a run did not give a result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// What was asked for cannot be done, here or at all; nothing was started.
    #[error("{0}")]
    Refused(Reason),
    /// The run failed.
    #[error("{0}")]
    Failed(String),
    /// The result is not on disk as it should be.
    #[error(transparent)]
    Results(#[from] quell_results::Error),
    /// Some seeds failed or did not begin; those that are whole are kept.
    #[error("{error}{}", .kept.iter().map(ToString::to_string).collect::<String>())]
    Incomplete {
        /// What went wrong first.
        error: Box<RunError>,
        /// The seeds that are whole, of each scenario that was not.
        kept: Vec<KeptSeeds>,
    },
}

/// What is whole of a scenario with several seeds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptSeeds {
    /// The folder with a folder for each.
    pub folder: PathBuf,
    /// How many are whole.
    pub whole: usize,
    /// How many were asked for.
    pub asked: usize,
}

impl fmt::Display for KeptSeeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            folder,
            whole,
            asked,
        } = self;
        write!(
            f,
            "\n{whole} of {asked} seeds are complete, in {}",
            folder.display()
        )
    }
}

impl RunError {
    /// The exit code of a program that ends with this error: 1 the run failed, 2 the input is wrong.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Refused(_) => 2,
            Self::Results(error) if error.is_refusal() => 2,
            Self::Failed(_) | Self::Results(_) => 1,
            Self::Incomplete { error, .. } => error.exit_code(),
        }
    }

    /// What was asked for cannot be done.
    pub fn refused(reason: impl Into<Reason>) -> Self {
        Self::Refused(reason.into())
    }

    /// Turns an error of reading `path` into one that names it.
    pub(crate) fn reading(path: &Path) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |error| Self::Failed(format!("cannot read {}: {error}", real(&path).display()))
    }

    /// Turns an error of writing `path` into one that names it.
    pub(crate) fn writing<E: Into<Box<dyn std::error::Error + Send + Sync>>>(
        path: &Path,
    ) -> impl FnOnce(E) -> Self + use<E> {
        let writing = quell_results::Error::writing(path);
        move |error| writing(error).into()
    }
}
