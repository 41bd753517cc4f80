//! Why a link cannot be made, or why it stopped.

use std::io;

use quell_aqm::ParameterError;

use crate::config::ConfigError;
use crate::frames::OutOfMemory;

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
    /// The system does not give the memory of the frame pool.
    #[error(
        "this machine does not give the {} MiB that packets on the link may take: choose a lower rate, a shorter RTT or a shorter queue",
        bytes.div_ceil(1 << 20)
    )]
    Memory {
        /// The memory of the pool.
        bytes: u64,
    },
    /// The system refused something: a port failed, for example because its interface is gone.
    #[error(transparent)]
    System(#[from] io::Error),
}

impl From<OutOfMemory> for Error {
    fn from(refused: OutOfMemory) -> Self {
        Self::Memory {
            bytes: refused.bytes,
        }
    }
}
