//! Why a program could not be put behind a link.

use std::io;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a program could not be put behind a link, or the link failed while it ran.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The options do not describe a link.
    #[error("{0}")]
    Options(String),
    /// The scenario, or what the options made of it, is wrong.
    #[error(transparent)]
    Scenario(#[from] quell_scenario::Problems),
    /// Namespaces, interfaces or routes could not be made.
    #[error(transparent)]
    Host(#[from] quell_hosts::Error),
    /// The link failed.
    #[error("the link failed: {0}")]
    Link(#[from] quell_link::Error),
    /// Rights could not be given away.
    #[error("cannot give rights away: {0}")]
    Rights(#[from] quell_confine::Error),
    /// Results could not be written.
    #[error(transparent)]
    Results(#[from] quell_results::Error),
    /// All numbers of the networks inside are in use.
    #[error("no network is free for the inside: {0} overlap what this host has; use --subnet")]
    NoSubnet(String),
    /// The system refused something.
    #[error("cannot {doing}: {source}")]
    System {
        /// What was asked, as the end of "cannot …".
        doing: String,
        /// The answer.
        source: io::Error,
    },
    /// The program pasta is missing, may not do its work, or ended.
    #[error("--net pasta: {0}")]
    Pasta(String),
    /// A thread of the run is gone.
    #[error("{0} ended before the program did")]
    Gone(&'static str),
}

/// Names what was asked when a system call failed.
pub(crate) trait Doing<T> {
    /// `doing` is the end of "cannot …".
    fn doing(self, doing: &str) -> Result<T>;
}

impl<T, E: Into<io::Error>> Doing<T> for std::result::Result<T, E> {
    fn doing(self, doing: &str) -> Result<T> {
        self.map_err(|source| Error::System {
            doing: doing.to_owned(),
            source: source.into(),
        })
    }
}
