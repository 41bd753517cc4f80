//! What can go wrong with a kernel, and how to fix it.

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::Path;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What is wrong, in words, and how to fix it where that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// What is wrong.
    pub what: String,
    /// The command or step that fixes it.
    pub fix: Option<String>,
}

impl Reason {
    /// What is wrong, and how to fix it.
    pub fn with_fix(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            fix: Some(fix.into()),
        }
    }
}

impl From<String> for Reason {
    /// What is wrong; no fix is known.
    fn from(what: String) -> Self {
        Self { what, fix: None }
    }
}

impl From<&str> for Reason {
    /// What is wrong; no fix is known.
    fn from(what: &str) -> Self {
        what.to_owned().into()
    }
}

impl fmt::Display for Reason {
    /// The fix stands on a line of its own.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match &self.fix {
            Some(fix) => write!(f, "\n  fix: {fix}"),
            None => Ok(()),
        }
    }
}

/// Why a kernel could not be built, added or found.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The system refused something.
    System {
        /// What was asked, as the end of "cannot …".
        doing: String,
        /// The answer.
        source: io::Error,
    },
    /// What was asked for makes no sense: no kernel of that name, a file that is no kernel …
    Refused(Reason),
    /// It was tried and did not work.
    Failed(Reason),
    /// The caller asked to stop. No half kernel is left behind. The build tree of a folder is kept, and the next build continues there.
    Stopped,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason().fmt(f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::System { source, .. } => Some(source),
            Self::Refused(_) | Self::Failed(_) | Self::Stopped => None,
        }
    }
}

/// How to fix an error of the system.
fn fix(error: &io::Error) -> Option<&'static str> {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            Some("free some space, or let QUELL_KERNELS name a folder on a disk that has it")
        }
        ErrorKind::ReadOnlyFilesystem => {
            Some("let QUELL_KERNELS name a folder that can be written")
        }
        _ => None,
    }
}

impl Error {
    /// What is wrong, and how to fix it.
    pub fn reason(&self) -> Reason {
        match self {
            Self::System { doing, source } => Reason {
                what: format!("cannot {doing}: {source}"),
                fix: fix(source).map(str::to_owned),
            },
            Self::Refused(reason) | Self::Failed(reason) => reason.clone(),
            Self::Stopped => "stopped; no half kernel is left behind".into(),
        }
    }

    /// Whether the fault lies in what was asked for, not in what happened.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused(_))
    }

    pub(crate) fn refused(reason: impl Into<Reason>) -> Self {
        Self::Refused(reason.into())
    }

    pub(crate) fn failed(reason: impl Into<Reason>) -> Self {
        Self::Failed(reason.into())
    }

    /// Of a path: `doing` is "read", "copy" …
    pub(crate) fn at<'a>(doing: &'a str, path: &'a Path) -> impl FnOnce(io::Error) -> Self + 'a {
        move |source| Self::System {
            doing: format!("{doing} {}", path.display()),
            source,
        }
    }
}
