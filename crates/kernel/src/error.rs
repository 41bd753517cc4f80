//! What can go wrong with a kernel, and what mends it.

use std::io::{self, ErrorKind};
use std::path::Path;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a kernel could not be built, added or found. Every message says what mends it, where something does.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system refused something.
    #[error("cannot {doing}: {source}{}", mend(source))]
    System {
        /// What was asked, as the end of "cannot …".
        doing: String,
        /// The answer.
        source: io::Error,
    },
    /// What was asked for makes no sense: no kernel of that name, a file that is no kernel …
    #[error("{0}")]
    Refused(String),
    /// It was tried and did not work.
    #[error("{0}")]
    Failed(String),
    /// The caller asked to stop. No half kernel is left behind; the build tree of a folder is, and the next build goes on there.
    #[error("stopped; no half kernel is left behind")]
    Stopped,
}

/// What helps against an error of the system, as the rest of a sentence.
fn mend(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "; free some space, or let QUELL_KERNELS name a folder on a disk that has it"
        }
        ErrorKind::ReadOnlyFilesystem => "; let QUELL_KERNELS name a folder that can be written",
        _ => "",
    }
}

impl Error {
    /// Whether the fault lies in what was asked for, not in what happened.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused(_))
    }

    /// Of a path: `doing` is "read", "copy" …
    pub(crate) fn at<'a>(doing: &'a str, path: &'a Path) -> impl FnOnce(io::Error) -> Self + 'a {
        move |source| Self::System {
            doing: format!("{doing} {}", path.display()),
            source,
        }
    }
}
