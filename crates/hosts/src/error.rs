//! What can go wrong with a host: a system call that is refused, or a request that cannot be met.

use std::io;

use crate::kernel_queue::KernelQueueError;

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
    /// An interface that was brought up does not send.
    #[error("interface {interface} is still not up after {seconds} s: its state is {state}")]
    NotUp {
        /// Index of the interface.
        interface: u32,
        /// How long it was waited for, in seconds.
        seconds: u64,
        /// Its state, in the kernel's words.
        state: String,
    },
    /// The largest packet is one that no wire of a topology can have.
    #[error("an MTU of {mtu} bytes is not between {least} and {most}")]
    Mtu {
        /// The MTU that was asked for, in bytes.
        mtu: u32,
        /// The smallest possible one.
        least: u32,
        /// The largest possible one.
        most: u32,
    },
    /// A topology cannot have so many groups, or so few.
    #[error("{groups} groups are not between 1 and {most}")]
    Groups {
        /// How many were asked for.
        groups: usize,
        /// The most that there can be.
        most: usize,
    },
    /// The kernel's own queue cannot be set up or read.
    #[error("the kernel's own queue: {0}")]
    KernelQueue(#[from] KernelQueueError),
    /// The kernel has no such congestion control, and quell cannot load it.
    #[error("congestion control {name}: {why}")]
    CongestionControl {
        /// The scenario's name of the control.
        name: String,
        /// Why it cannot be used.
        why: String,
    },
    /// A right could not be given away.
    #[error(transparent)]
    Rights(#[from] quell_confine::Error),
}

/// Names what was asked when a system call failed.
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
