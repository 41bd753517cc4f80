//! Why a machine did not do what it should, and how to fix it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::Reason;
use crate::held::real;

/// Why a kernel did not start, or ended early.
#[derive(Debug)]
#[non_exhaustive]
pub enum MachineError {
    /// The kernel's command line cannot hold this path.
    Path(PathBuf),
    /// A program did not start.
    Start {
        /// The program.
        program: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// There is nowhere to write the kernel's messages.
    Log {
        /// Their file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The kernel has no simulated clock.
    NoTimeTravel(PathBuf),
    /// The host does not let it run.
    Host {
        /// What the host refused.
        why: String,
        /// The command or step that fixes it.
        fix: String,
    },
    /// The kernel panicked.
    Panic {
        /// The kernel's own words.
        message: String,
        /// The last of its messages.
        tail: String,
    },
    /// The kernel ended, and did not say why.
    Ended {
        /// Its executable.
        kernel: PathBuf,
        /// Exit code or signal.
        how: String,
        /// The last of its messages.
        tail: String,
    },
}

impl fmt::Display for MachineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason().fmt(f)
    }
}

impl std::error::Error for MachineError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Start { source, .. } | Self::Log { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl MachineError {
    pub(super) fn log(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Log {
            path: real(&path),
            source,
        }
    }

    /// What is wrong, and how to fix it.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Path(path) => Reason::with_fix(
                format!(
                    "the kernel's command line cannot hold the folder {}: only letters, digits and ._-+ work there",
                    path.display()
                ),
                "set TMPDIR to another folder",
            ),
            Self::Start { program, source } => {
                format!("{} does not start: {source}", program.display()).into()
            }
            Self::Log { path, source } => {
                format!("cannot write {}: {source}", path.display()).into()
            }
            Self::NoTimeTravel(kernel) => Reason::with_fix(
                format!(
                    "the kernel {} has no simulated clock (CONFIG_UML_TIME_TRAVEL_SUPPORT)",
                    kernel.display()
                ),
                "quell kernel build",
            ),
            Self::Host { why, fix } => Reason::with_fix(
                format!("this host does not run user-mode kernels: {why}"),
                fix,
            ),
            Self::Panic { message, tail } => {
                format!("the kernel inside panicked: {message}\n{tail}").into()
            }
            Self::Ended { kernel, how, tail } => format!(
                "the kernel {} ended early ({how})\n{tail}",
                kernel.display()
            )
            .into(),
        }
    }

    /// Whether nothing was started because the host or the kernel cannot do it.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Path(_) | Self::Start { .. } | Self::NoTimeTravel(_) | Self::Host { .. }
        )
    }
}
