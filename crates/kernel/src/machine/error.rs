//! Why a machine did not do what it should, and what mends it.

use std::io;
use std::path::{Path, PathBuf};

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MachineError {
    /// The kernel's command line cannot carry this path.
    #[error("the folder {} cannot be told to a kernel: letters, digits and ._-+ only; set TMPDIR to another one", .0.display())]
    Path(PathBuf),
    /// A program did not start.
    #[error("{} does not start: {source}", program.display())]
    Start {
        /// Which.
        program: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is nowhere to write the kernel's messages.
    #[error("cannot write {}: {source}", path.display())]
    Log {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The kernel has no simulated clock.
    #[error(
        "the kernel {} has no simulated clock (CONFIG_UML_TIME_TRAVEL_SUPPORT)\n  what mends it: quell kernel build",
        .0.display()
    )]
    NoTimeTravel(PathBuf),
    /// The host does not let it run.
    #[error("this host does not run user-mode kernels: {why}\n  what mends it: {mend}")]
    Host {
        /// What was refused.
        why: String,
        /// What to do.
        mend: String,
    },
    /// The kernel gave up.
    #[error("the kernel inside panicked: {message}\n{tail}")]
    Panic {
        /// Its own words.
        message: String,
        /// The last of its messages.
        tail: String,
    },
    /// The kernel ended, and did not say why.
    #[error("the kernel {} ended early ({how})\n{tail}", kernel.display())]
    Ended {
        /// Its executable.
        kernel: PathBuf,
        /// Exit code or signal.
        how: String,
        /// The last of its messages.
        tail: String,
    },
}

impl MachineError {
    pub(super) fn log(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Log { path, source }
    }

    /// Whether nothing was started because the host or the kernel cannot do it.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Path(_) | Self::Start { .. } | Self::NoTimeTravel(_) | Self::Host { .. }
        )
    }
}
