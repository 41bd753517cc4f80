//! Why a link cannot be made, or why it stopped.

use std::io;

use quell_aqm::ParameterError;

use crate::config::ConfigError;

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
