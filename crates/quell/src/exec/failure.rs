//! Why quell could not put a program behind a link.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use quell_exec::NotStarted;
use quell_exec::run::OWN_FAILURE;

use crate::arguments::Cause;

/// Why no program ran behind a link, and the exit code.
#[derive(Debug)]
pub(crate) struct ExecFailure {
    pub(crate) code: u8,
    why: Cause,
}

impl ExecFailure {
    /// quell itself has failed.
    pub(crate) fn own(why: impl Into<Cause>) -> Self {
        Self::own_or_by(None, why)
    }

    /// quell itself has failed, or been ended by `signal`.
    pub(crate) fn own_or_by(signal: Option<i32>, why: impl Into<Cause>) -> Self {
        let code = signal.and_then(|signal| u8::try_from(128 + signal).ok());
        Self {
            code: code.unwrap_or(OWN_FAILURE),
            why: why.into(),
        }
    }
}

impl From<NotStarted> for ExecFailure {
    fn from(why: NotStarted) -> Self {
        Self {
            code: why.code(),
            why: why.into(),
        }
    }
}

impl fmt::Display for ExecFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.why.fmt(f)
    }
}

/// An option that has no effect, or another one than it says, beside the others.
#[derive(Debug)]
pub(crate) struct NoEffect(&'static str);

impl NoEffect {
    /// Fails with the first reason that holds.
    pub(crate) fn check<const N: usize>(reasons: [(bool, &'static str); N]) -> Result<(), Self> {
        match reasons.into_iter().find(|(holds, _)| *holds) {
            Some((_, why)) => Err(Self(why)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for NoEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Error for NoEffect {}

/// The report of `--json` is not written.
#[derive(Debug)]
pub(crate) struct UnwrittenReport {
    path: PathBuf,
    source: io::Error,
}

impl UnwrittenReport {
    pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self { path, source }
    }
}

impl fmt::Display for UnwrittenReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, source } = self;
        let path = path.display();
        write!(f, "cannot write the report of --json to {path}: {source}")
    }
}

impl Error for UnwrittenReport {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.source)
    }
}
