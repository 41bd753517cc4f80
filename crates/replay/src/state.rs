//! The state of the end under test, and what a script claims of it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// State of loss recovery, in Linux's words (`enum tcp_ca_state`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// Nothing unusual.
    Open,
    /// Duplicate ACKs or SACKs, and nothing lost yet.
    Disorder,
    /// The window is reduced because of ECN or a lost tail.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a time-out.
    Loss,
}

impl State {
    /// In the order of their numbers in Linux.
    pub const ALL: [Self; 5] = [
        Self::Open,
        Self::Disorder,
        Self::Cwr,
        Self::Recovery,
        Self::Loss,
    ];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "Open",
            Self::Disorder => "Disorder",
            Self::Cwr => "CWR",
            Self::Recovery => "Recovery",
            Self::Loss => "Loss",
        }
    }
}

/// The state of a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SenderState {
    /// Congestion window in segments.
    pub cwnd: u32,
    /// Slow start threshold in segments; `None` before the first reduction.
    pub ssthresh: Option<u32>,
    /// Retransmissions so far.
    pub resent: u64,
    /// State of loss recovery.
    pub state: State,
}

impl SenderState {
    /// Whether it is as a script says.
    pub fn keeps(&self, claims: &Claims) -> bool {
        claims.cwnd.is_none_or(|cwnd| cwnd == self.cwnd)
            && claims
                .ssthresh
                .is_none_or(|ssthresh| ssthresh == self.ssthresh)
            && claims.resent.is_none_or(|resent| resent == self.resent)
            && claims.state.is_none_or(|state| state == self.state)
    }
}

/// What a line says of the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Claims {
    /// Congestion window in segments.
    pub cwnd: Option<u32>,
    /// Slow start threshold in segments, or that there is none yet.
    pub ssthresh: Option<Option<u32>>,
    /// Retransmissions so far.
    pub resent: Option<u64>,
    /// State of loss recovery.
    pub state: Option<State>,
}

impl fmt::Display for SenderState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "is cwnd {} ssthresh ", self.cwnd)?;
        match self.ssthresh {
            Some(ssthresh) => write!(f, "{ssthresh}")?,
            None => f.write_str("none")?,
        }
        write!(f, " resent {} {}", self.resent, self.state.name())
    }
}
