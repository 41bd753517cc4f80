//! What can go wrong with a host: a system call that is refused, or a request that cannot be met.

use std::io;
use std::time::Duration;

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
    /// A setting of the network cannot be made, because `/proc/sys` cannot be written.
    #[error(
        "cannot set {key} = {value}: /proc/sys cannot be written here, as in most containers; --world virtual works without, or start the container \
         with --security-opt systempaths=unconfined (podman: unmask=ALL)"
    )]
    ReadOnlySettings {
        /// Its dotted name.
        key: String,
        /// The value that it should have.
        value: String,
    },
    /// Offloads stay on that would let super-packets or unfinished checksums reach the link.
    #[error("interface {interface}: offloads cannot be turned off: {}", features.join(", "))]
    OffloadStuck {
        /// Name of the interface.
        interface: String,
        /// The kernel's names of the features that stay on.
        features: Vec<String>,
    },
    /// This host does not pass packets on, and that is not ours to change.
    #[error("{0}")]
    Forwarding(String),
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
    Rights(#[from] crate::confine::Error),
}

/// Where tc may be when the environment does not say.
pub(crate) const TC_PATH: &str = "/usr/sbin:/sbin:/usr/bin:/bin:/usr/local/sbin:/usr/local/bin";
/// tc answers in milliseconds.
pub(crate) const TC_PATIENCE: Duration = Duration::from_secs(10);

/// Why the kernel's own queue cannot be set up or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KernelQueueError {
    /// The first word is no name of a discipline.
    #[error(
        "{discipline:?} does not begin with the name of a discipline, as in \"pie limit 1000\""
    )]
    NoName {
        /// The words that were given.
        discipline: String,
    },
    /// A word that would move the queue to another place, or is an option of tc.
    #[error("{word:?} is no parameter of {kind}")]
    NoParameter {
        /// The word.
        word: String,
        /// Name of the discipline.
        kind: String,
    },
    /// The rate is 0 or unlimited.
    #[error("it needs a rate")]
    NoRate,
    /// The bucket holds nothing.
    #[error("it needs a burst of at least a byte")]
    NoBurst,
    /// The topology has IPv6.
    #[error("its router carries IPv4 only")]
    Ipv6,
    /// There is no tc.
    #[error("it is set up by tc, and there is none in {TC_PATH}: install iproute2")]
    NoTc,
    /// This kernel has no discipline of that name.
    #[error("cannot {asked}: {why}; this kernel has no such discipline")]
    NoSuchDiscipline {
        /// What was asked: the call of tc.
        asked: String,
        /// The words of tc.
        why: String,
    },
    /// tc failed.
    #[error("cannot {asked}: {why}")]
    Tc {
        /// What was asked: the call of tc.
        asked: String,
        /// The words of tc.
        why: String,
    },
    /// tc did not end in time.
    #[error("{asked} takes longer than {} s", TC_PATIENCE.as_secs())]
    Stuck {
        /// What was asked: the call of tc.
        asked: String,
    },
    /// The counters in the output of tc cannot be read.
    #[error("its counters cannot be read: {output}")]
    Unreadable {
        /// The output.
        output: String,
    },
    /// The thread that reads the counters has ended.
    #[error("the thread that reads its counters is gone")]
    Gone,
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
