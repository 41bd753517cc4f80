//! Why a right could not be given away.

use std::io;

/// Why a right could not be given away. Whoever gets this error may still have every right.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The kernel refused something.
    #[error("cannot {doing}: {source}")]
    System {
        /// What was asked, as the end of "cannot …".
        doing: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The rules of Landlock could not be made or enforced.
    #[error("Landlock: {0}")]
    Landlock(#[from] ::landlock::RulesetError),
    /// It holds for one thread, and the process has more.
    #[error(transparent)]
    Threads(#[from] SeveralThreads),
}

/// This process has other threads beside the calling one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this works only while the process has a single thread, and it has {count}")]
pub struct SeveralThreads {
    /// How many threads there are, with the calling one.
    pub count: usize,
}

/// Names what was asked when the kernel refuses it; `doing` is the end of "cannot …".
pub(crate) fn cannot<E: Into<io::Error>>(doing: &'static str) -> impl FnOnce(E) -> Error {
    move |source| Error::System {
        doing,
        source: source.into(),
    }
}
