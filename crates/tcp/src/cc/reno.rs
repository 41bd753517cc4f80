//! NewReno: RFC 5681, 6582 and 3465; Linux `net/ipv4/tcp_cong.c` (`tcp_reno_*`).

use quell_units::parameter::{Default as Otherwise, Domain};
use quell_units::{Parameter, Settings};

use super::{AckSample, CcConfig, Kind, Window};

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
    scalable: false,
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
    make: |settings| CcConfig::Reno(RenoConfig::from_settings(settings)),
};

impl RenoConfig {
    fn from_settings(settings: &Settings) -> Self {
        Self {
            growth: match settings.word("growth") {
                "acks" => Growth::Acks,
                _ => Growth::Segments,
            },
        }
    }
}

/// NewReno of one connection; the window is all its state.
#[derive(Debug, Clone, Default)]
pub struct Reno {
    config: RenoConfig,
}

impl Reno {
    /// For a new connection.
    pub fn new(config: RenoConfig) -> Self {
        Self { config }
    }
    pub(super) fn increase(&mut self, ack: &AckSample, window: &mut Window) {
        let mut acked = ack.acked;
        if window.in_slow_start() {
            acked = window.slow_start(acked);
            if acked == 0 {
                return;
            }
        }
        if self.config.growth == Growth::Acks {
            acked = 1;
        }
        window.additive_increase(window.cwnd, acked);
    }
    pub(super) fn threshold(&mut self, window: &Window) -> u32 {
        window.half()
    }
}
