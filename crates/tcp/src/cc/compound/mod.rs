//! Compound TCP: Tan, Song, Zhang and Sridharan, INFOCOM 2006; `tcp_compound.c` 1.3 for Linux, in its integers.
//!
//! The window is the sum of Reno's and of a delay-based part, dwnd. Once per round trip dwnd grows by W^0.75/8 - 1 segments where fewer
//! than gamma segments wait in the network, as the lowest RTT of the round shows, and shrinks by those that wait where they are more. So
//! it fills a fast path quickly and falls back to Reno where a queue stands. gamma begins at 30 segments and follows three quarters
//! of what Reno's part alone would leave in the network at each reduction, between 5 and 30. Windows below 38 segments are Reno's.
//!
//! No kernel of today has it; Windows had, in a form that differs in unknown ways. Of the paper and its drafts (draft-sridharan-tcpm-ctcp)
//! this has, with 1.3: the exponent on the whole window (INFOCOM; the drafts have dwnd), gamma's tuning (drafts), growth that is spread
//! over the round trip (1.3 alone; `paced`). Microsoft held patents on it.
//!
//! Deviations from 1.3: 1. paced growth that is left at the end of a round is added once; the original may add it in each later round
//! without a measurement, and keeps it below the low window; 2. a reduction is distributed to both parts at the next ACK that finds the
//! window full, not at the next ACK; 3. products are wide enough for any window.

mod state;

pub use state::{CompoundRules, CompoundState};

use quell_units::parameter::{Domain, Table as _};
use quell_units::{Parameter, parameters};

use super::{
    AckSample, CaState, CongestionControl, Connection, Control, ControlKind, Declared, Event, Host,
    Window,
};
use crate::ecn::FeedbackMode;

parameters! {
    /// Options of Compound.
    #[derive(PartialEq, Eq)]
    pub struct CompoundConfig {
        /// Segments that may wait in the network, at the start and after a pause.
        gamma: u32 = Parameter::FIXED.domain(Domain::Packets(0, 65_535)).default("30p")
            .source("tcp_compound.c GAMMA; draft-sridharan-tcpm-ctcp"),
        /// The least that gamma becomes.
        gamma_low: u32 = Parameter::FIXED.domain(Domain::Packets(0, 65_535)).default("5p")
            .source("tcp_compound.c GAMMA_LOW; draft-sridharan-tcpm-ctcp"),
        /// The most that gamma becomes; gamma_low if that is more.
        gamma_high: u32 = Parameter::FIXED.domain(Domain::Packets(0, 65_535)).default("30p")
            .source("tcp_compound.c GAMMA_HIGH; draft-sridharan-tcpm-ctcp"),
        /// Window below which the control is Reno.
        low_window: u32 = Parameter::FIXED.domain(Domain::Packets(0, 65_535)).default("38p")
            .source("tcp_compound.c LOW_WINDOW; draft-sridharan-tcpm-ctcp"),
        /// Segments that dwnd loses for each that waits, where more than gamma do.
        eta: u32 = Parameter::FIXED.domain(Domain::Integer(0, 1_000)).default("1")
            .source("tcp_compound.c ETA; zeta of the INFOCOM paper"),
        /// Weight of a new sample of gamma; kept in 1/64.
        lambda: u32 = Parameter::FIXED.domain(Domain::Fraction(0, 64, 64)).default("0.25")
            .source("tcp_compound.c LAMBDA_SHIFT"),
        /// Whether dwnd grows over the round trip, not at once.
        paced: bool = Parameter::FIXED.default("true").source("tcp_compound.c PACE_DWND"),
    }
}

/// Compound of one connection.
#[derive(Debug, Clone)]
pub struct Compound {
    rules: CompoundRules,
    state: CompoundState,
}

impl Declared for Compound {
    type Config = CompoundConfig;
    const KIND: ControlKind = ControlKind {
        name: "compound",
        summary: "Reno and a part that grows fast while few packets wait in the network.",
        source: "Tan et al., INFOCOM 2006; draft-sridharan-tcpm-ctcp; tcp_compound.c 1.3",
        parameters: CompoundConfig::ROWS,
        ..ControlKind::PLAIN
    };
    fn new(config: &CompoundConfig, _host: &Host, window: &mut Window) -> Self {
        let rules = CompoundRules {
            gamma: config.gamma,
            gamma_low: config.gamma_low,
            gamma_high: config.gamma_high.max(config.gamma_low),
            low_window: config.low_window,
            eta: config.eta,
            lambda: config.lambda,
            paced: config.paced,
        };
        let state = CompoundState::new(&rules, 0, window.cwnd);
        Self { rules, state }
    }
}

impl CongestionControl for Compound {
    fn init(
        &mut self,
        _agreed: FeedbackMode,
        connection: &Connection,
        window: &mut Window,
    ) -> Option<Control> {
        self.state = CompoundState::new(&self.rules, connection.snd_nxt, window.cwnd);
        None
    }
    #[inline]
    fn on_ack(&mut self, ack: &AckSample, _connection: &Connection, _window: &mut Window) {
        if let Some(rtt) = ack.rtt {
            let micros = rtt.as_nanos() / 1_000;
            self.state.on_rtt(micros.min(0x7fff_fffd) as u32);
        }
    }
    fn ssthresh(&mut self, _connection: &Connection, window: &Window) -> u32 {
        self.state.threshold(&self.rules, window)
    }
    fn set_state(&mut self, new: CaState, connection: &Connection, _window: &mut Window) {
        self.state.set_state(new, connection.snd_nxt);
    }
    fn cwnd_event(&mut self, event: Event, connection: &Connection, window: &mut Window) {
        if matches!(event, Event::CwndRestart | Event::TxStart(_)) {
            self.state
                .restart(&self.rules, connection.snd_nxt, window.cwnd);
        }
    }
    fn cong_avoid(&mut self, ack: &AckSample, connection: &Connection, window: &mut Window) {
        let round = (connection.snd_una, connection.snd_nxt);
        self.state
            .grow(&self.rules, window, round, connection.mss, ack.acked);
    }
}
