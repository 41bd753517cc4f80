//! Why a program could not be put behind a link.

use std::fmt;
use std::io;

use quell_hosts::user_namespace::UserNamespaceError;

use crate::attach_error::AttachError;
use crate::name_error::NameError;
use crate::option_error::OptionError;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What somebody else's code answers that is called from here.
pub type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// Why a program could not be put behind a link, or the link failed while it ran.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The options do not describe a link.
    #[error(transparent)]
    Options(#[from] OptionError),
    /// There is no link of this name, or it refuses.
    #[error(transparent)]
    Named(#[from] NameError),
    /// There is nothing that a link can be put in front of, or it cannot be put there.
    #[error(transparent)]
    Attach(#[from] AttachError),
    /// A scenario file cannot be read.
    #[error("cannot read {file}: {source}")]
    Unreadable {
        /// The file.
        file: String,
        /// The answer.
        source: io::Error,
    },
    /// A side cannot have this MTU.
    #[error(
        "--mtu {mtu}: must be from {}",
        if *ipv6 { "1280 to 1500, or 576 with --ipv4-only" } else { "576 to 1500" }
    )]
    Mtu {
        /// What was asked for.
        mtu: u16,
        /// Whether there is IPv6 beside IPv4.
        ipv6: bool,
    },
    /// The host's own network changes, which only root may do.
    #[error("--net nat adds an interface and a table of addresses to this host: only root may")]
    NatNeedsRoot,
    /// Another user needs root.
    #[error("--user: only root can give a program another user")]
    UserNeedsRoot,
    /// Without root a user namespace is needed.
    #[error("{}{}", .0, Fix(.0.fix()))]
    UserNamespace(#[source] UserNamespaceError),
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
    Rights(#[from] quell_hosts::confine::Error),
    /// Results could not be written.
    #[error(transparent)]
    Results(#[from] quell_results::Error),
    /// Who watches could not begin.
    #[error("{0}")]
    Watcher(#[source] AnyError),
    /// All numbers of the networks inside are in use.
    #[error("no network is free for the inside: {0} overlap what this host has; use --subnet")]
    NoSubnet(String),
    /// The relay may not have the ports that it needs.
    #[error("{0}")]
    NoPorts(&'static str),
    /// The system refused something.
    #[error("cannot {doing}: {source}")]
    System {
        /// What was asked, as the end of "cannot …".
        doing: String,
        /// The answer.
        source: io::Error,
    },
    /// A thread of the run is gone.
    #[error("{0} ended before the program did")]
    Gone(&'static str),
}

/// The end of a message that has a fix.
struct Fix<T>(Option<T>);

impl<T: fmt::Display> fmt::Display for Fix<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(fix) => write!(f, "; fix: {fix}"),
            None => Ok(()),
        }
    }
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
