//! The two end hosts, and which way data goes between them.

use std::fmt;

/// One of the two end hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Host {
    /// Where connections are made from, and downloads come from.
    Sender,
    /// Where each group has its port, and uploads come from.
    Receiver,
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sender => "sender host",
            Self::Receiver => "receiver host",
        })
    }
}
