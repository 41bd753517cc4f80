//! What is behind the far edge.

/// What is behind the far edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Net {
    /// Everything that the host reaches.
    Relay,
    /// Nothing but the far edge itself.
    None,
    /// What this host routes to, with its address: the remote servers themselves send the downloads. Needs root; IPv4 only.
    Nat,
}

impl Net {
    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Relay => "relay",
            Self::None => "none",
            Self::Nat => "nat",
        }
    }

    /// Whether a TCP of this machine, whose congestion control is known here, sends the downloads.
    pub(crate) fn has_far_tcp(self) -> bool {
        matches!(self, Self::Relay | Self::None)
    }

    /// Whether something passes on what is for the addresses of the host's name servers and of its loopback.
    pub(crate) fn stands_for_host(self) -> bool {
        matches!(self, Self::Relay)
    }
}
