//! NewReno: RFC 5681, 6582 and 3465; Linux `net/ipv4/tcp_cong.c` (`tcp_reno_*`).

use quell_units::parameter::Table as _;
use quell_units::{Parameter, parameters, words};

use super::{AckSample, CongestionControl, Connection, ControlKind, Declared, Host, Window};

words! {
    /// The counter of congestion avoidance.
    #[derive(Default)]
    pub enum Growth {
        /// Segments acknowledged: one more per window of them (RFC 3465; Linux).
        #[default]
        Segments = "segments",
        /// ACKs: half as fast with delayed ACKs (RFC 5681 equation 3).
        Acks = "acks",
    }
}

parameters! {
    /// Options of Reno.
    #[derive(PartialEq, Eq, Default)]
    pub struct RenoConfig {
        /// What congestion avoidance counts: acknowledged segments or ACKs; delayed ACKs halve the latter.
        growth: Growth = Parameter::FIXED.default("segments").source("Linux (segments); RFC 5681 equation 3 (acks)"),
    }
}

/// NewReno of one connection; the window is all its state.
#[derive(Debug, Clone, Default)]
pub struct Reno {
    config: RenoConfig,
}

impl Declared for Reno {
    type Config = RenoConfig;
    const KIND: ControlKind = ControlKind {
        name: "reno",
        summary: "Additive increase by one segment per round, halving on loss.",
        source: "RFC 5681, RFC 6582; Linux tcp_cong.c",
        parameters: RenoConfig::ROWS,
        ..ControlKind::PLAIN
    };
    fn new(config: &RenoConfig, _host: &Host, _window: &mut Window) -> Self {
        Self { config: *config }
    }
}

impl CongestionControl for Reno {
    /// RFC 5681 section 3.1: "When the number of bytes acknowledged reaches cwnd, then cwnd can be
    /// incremented by up to SMSS bytes" (`tcp_reno_cong_avoid`).
    #[inline]
    fn cong_avoid(&mut self, ack: &AckSample, _connection: &Connection, window: &mut Window) {
        let mut acked = ack.acked;
        if window.in_slow_start() {
            acked = window.slow_start(acked);
            if acked == 0 {
                return;
            }
        }
        acked = match self.config.growth {
            Growth::Segments => acked,
            Growth::Acks => 1,
        };
        window.cong_avoid_ai(window.cwnd, acked);
    }
    fn ssthresh(&mut self, _connection: &Connection, window: &Window) -> u32 {
        window.half()
    }
}
