//! NewReno: RFC 5681, 6582 and 3465; Linux `net/ipv4/tcp_cong.c` (`tcp_reno_*`).

use quell_aqm::parameter::{Default as Otherwise, Domain};
use quell_aqm::{Parameter, Settings};

use super::Kind;

/// What congestion avoidance counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Growth {
    /// Segments acknowledged: one more per window of them (RFC 3465; Linux).
    #[default]
    Segments,
    /// ACKs: with delayed ACKs only half as much (RFC 5681 equation 3).
    Acks,
}

/// Options of Reno.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RenoConfig {
    /// What congestion avoidance counts.
    pub growth: Growth,
}

pub(super) const KIND: Kind = Kind {
    name: "reno",
    summary: "Additive increase by one segment per round, halving on loss.",
    source: "RFC 5681, RFC 6582; Linux tcp_cong.c",
    parameters: &[Parameter {
        name: "growth",
        opposite: None,
        domain: Domain::Word(&["segments", "acks"]),
        default: Otherwise::Is("segments"),
        only: None,
        live: false,
        source: "Linux (segments); RFC 5681 equation 3 (acks)",
        help: "What congestion avoidance counts: acknowledged segments, or ACKs, which delayed ACKs halve.",
    }],
};

impl RenoConfig {
    pub(super) fn from_settings(settings: &Settings) -> Self {
        Self {
            growth: match settings.word("growth") {
                "acks" => Growth::Acks,
                _ => Growth::Segments,
            },
        }
    }
}
