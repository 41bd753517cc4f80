//! The two end hosts, and which way data goes between them.

use std::fmt;

/// One of the two end hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Host {
    /// Where downloads come from. Connections are made from here, except those of a session that the other end opens.
    Sender,
    /// Where uploads come from. Each group has its port here, except where connections are made from here.
    Receiver,
}

impl Host {
    /// The one at the other end.
    pub fn other(self) -> Self {
        match self {
            Self::Sender => Self::Receiver,
            Self::Receiver => Self::Sender,
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sender => "sender host",
            Self::Receiver => "receiver host",
        })
    }
}
