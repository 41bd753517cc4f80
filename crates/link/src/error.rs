//! Why a link cannot be made, or why it stopped.

use std::io;

use quell_aqm::ParameterError;

use crate::config::LinkConfig;
use crate::frames::Pool;

/// Why a link cannot be made, or why it stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The configuration cannot work.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The discipline refused a planned change.
    #[error("a planned change is refused: {0}")]
    Change(#[from] ParameterError),
    /// The system refused something: a port failed, for example because its interface is gone.
    #[error(transparent)]
    System(#[from] io::Error),
}

/// What cannot work in the configuration of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The pool has too few slots.
    #[error("{0} frames are too few: at least {least}", least = LinkConfig::FEWEST_FRAMES)]
    Frames(u32),
    /// No packet, or no slot, has this size.
    #[error("an MTU of {0} is not between {least} and {most}", least = LinkConfig::LEAST_MTU, most = Pool::MAX_MTU)]
    Mtu(u16),
    /// A descriptor cannot number so many groups.
    #[error("{0} groups are too many: at most {most}", most = LinkConfig::MOST_GROUPS)]
    Groups(usize),
    /// Two groups have this port.
    #[error("port {0} stands for two groups")]
    SharedPort(u16),
    /// [`Wakeup::Lazy`](crate::Wakeup::Lazy) or [`Wakeup::Ahead`](crate::Wakeup::Ahead) with a group without delay, or without
    /// groups.
    #[error("looking once per interval needs a delay in every group")]
    NoDelay,
    /// [`Wakeup::Ahead`](crate::Wakeup::Ahead) at an interface without `fq`.
    #[error("looking ahead needs the queue discipline fq at both ports")]
    NoFq,
}
