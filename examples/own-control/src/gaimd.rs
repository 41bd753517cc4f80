//! GAIMD: additive increase by α segments per round trip, decrease of the window to β of it.
//!
//! Source: Yang and Lam, "General AIMD Congestion Control", ICNP 2000. With α = 4 (1 - β²) / 3 it is as fast as Reno where losses are single
//! and time-outs count; the paper proposes α = 0.31 and β = 7/8, which vary less than Reno's 1 and 1/2.
//!
//! Slow start, recovery and time-outs are those of every control. Deviation: windows count whole segments, as in Linux, so a window of fewer than
//! 1/(1 - β) segments falls by one.

use quell_tcp::cc::{
    AckSample, CongestionControl, Connection, ControlKind, Declared, Host, Window,
};
use quell_units::parameter::{Domain, Table as _};
use quell_units::{Parameter, parameters};

/// Parts of 1 in which α and β are kept.
const PARTS: u64 = 1_000;

const ROW: Parameter = Parameter::FIXED.source("Yang and Lam 2000");

parameters! {
    /// Options of GAIMD.
    #[derive(PartialEq, Eq)]
    pub struct GaimdConfig {
        /// Segments that the window grows by per round trip.
        alpha: u64 = ROW.domain(Domain::Fraction(1, 10 * PARTS, PARTS)).default("0.31"),
        /// What is left of the window after a loss.
        beta: u64 = ROW.domain(Domain::Fraction(PARTS / 10, PARTS - 1, PARTS)).default("0.875"),
    }
}

/// GAIMD of one connection; the window is all its state.
#[derive(Debug, Clone)]
pub struct Gaimd {
    config: GaimdConfig,
}

impl Declared for Gaimd {
    type Config = GaimdConfig;
    const KIND: ControlKind = ControlKind {
        name: "gaimd",
        summary: "AIMD with any increase and decrease: gentler than Reno, and as fast.",
        source: "Yang and Lam, ICNP 2000",
        parameters: GaimdConfig::ROWS,
        ..ControlKind::PLAIN
    };
    fn new(config: &GaimdConfig, _host: &Host, _window: &mut Window) -> Self {
        Self { config: *config }
    }
}

impl CongestionControl for Gaimd {
    fn cong_avoid(&mut self, ack: &AckSample, _connection: &Connection, window: &mut Window) {
        let mut acked = ack.acked;
        if window.in_slow_start() {
            acked = window.slow_start(acked);
            if acked == 0 {
                return;
            }
        }
        // One segment for each cwnd/α segments acknowledged. At most 2³⁰ · 1000.
        let per_segment = u64::from(window.cwnd) * PARTS / self.config.alpha;
        let per_segment = u32::try_from(per_segment).unwrap_or(u32::MAX);
        window.cong_avoid_ai(per_segment, acked);
    }
    fn ssthresh(&mut self, _connection: &Connection, window: &Window) -> u32 {
        // No more than the window, which has 32 bits.
        let left = u64::from(window.cwnd) * self.config.beta / PARTS;
        (left as u32).max(2)
    }
}
