//! What can go wrong with a host: a refused system call, or a wish that cannot be met.

use std::io;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a host, an interface or a congestion control could not be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The kernel refused something; `doing` says what was asked.
    #[error("cannot {doing}: {source}")]
    System {
        /// What was asked of the kernel, as the end of "cannot …".
        doing: String,
        /// Its answer.
        source: io::Error,
    },
    /// Offloads stay on that would let super-packets or unfinished checksums reach the link.
    #[error("interface {interface}: offloads cannot be turned off: {}", features.join(", "))]
    OffloadStuck {
        /// Name of the interface.
        interface: String,
        /// The kernel's names of the features that stay on.
        features: Vec<String>,
    },
    /// The topology asked for does not exist.
    #[error("{0}")]
    Topology(String),
    /// A queue of the kernel is not to be had.
    #[error("the kernel's own queue: {0}")]
    KernelQueue(String),
    /// No such congestion control, and none can be loaded.
    #[error("congestion control {name}: {why}")]
    CongestionControl {
        /// The scenario's name of the control.
        name: String,
        /// Why it is not to be had.
        why: String,
    },
}

/// Says what was being done when a system call failed.
pub(crate) trait Doing<T> {
    /// `doing` is the end of "cannot …".
    fn doing<S: Into<String>>(self, doing: impl FnOnce() -> S) -> Result<T>;
}

impl<T, E: Into<io::Error>> Doing<T> for std::result::Result<T, E> {
    fn doing<S: Into<String>>(self, doing: impl FnOnce() -> S) -> Result<T> {
        self.map_err(|source| Error::System {
            doing: doing().into(),
            source: source.into(),
        })
    }
}
