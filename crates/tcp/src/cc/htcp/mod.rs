//! H-TCP: Leith and Shorten, draft-leith-tcp-htcp-06; Linux `net/ipv4/tcp_htcp.c` in its integers.
//!
//! The window grows by alpha segments per round, and alpha grows with the time since the last reduction: one segment for the first
//! second, then 1 + 10 (D - 1) + ((D - 1)/2)² after D seconds. A reduction leaves beta = RTTmin/RTTmax of the window, between 0.5 and
//! 0.8, where the throughput of the last two epochs differs by a fifth at most. With `use_rtt_scaling` alpha is in proportion to the
//! lowest RTT, so that flows with unlike RTTs grow alike.
//!
//! Its clock is the host's jiffies, and RTTs are rounded up to jiffies: with 250 Hz an RTT of 5 ms is 8 ms. So `hz` shows in results, and
//! RTTs of 12 ms or less get no adaptive backoff.
//!
//! Kept from Linux: 1. the ACK that raises the window counts nothing towards the next step; 2. after a reduction the first step still has
//! the alpha of the old epoch; 3. an RTT that is higher by more than 20 ms at once never enters RTTmax; 4. what an ACK leaves over at
//! the slow-start threshold is lost; 5. growth counts segments acknowledged in order.
//!
//! Deviation from Linux: where timers are exact, jiffies are those of `hz`, or 250 a second.

mod state;

pub use state::{HtcpRules, HtcpState};

use quell_units::parameter::{Domain, Table as _};
use quell_units::{Parameter, Time, parameters};

use super::{
    AckSample, CaState, CongestionControl, Connection, Control, ControlKind, Declared, Host, Window,
};
use crate::ecn::FeedbackMode;
use crate::ticks::Ticks;

/// Jiffies per second of a host whose timers are exact.
const HZ: u32 = 250;
/// A kernel's count of jiffies begins five minutes before it wraps, so that zero, which means "none" in the state, is no time at
/// which runs begin (`INITIAL_JIFFIES`).
const BEFORE_WRAP: u32 = 300;

parameters! {
    /// Options of H-TCP.
    #[derive(PartialEq, Eq)]
    pub struct HtcpConfig {
        /// Whether growth is in proportion to the lowest RTT, from a tenth at 10 ms to twice at 200 ms.
        use_rtt_scaling: bool = Parameter::FIXED.default("true")
            .source("Linux module parameter; draft-leith-tcp-htcp-06"),
        /// Whether a reduction leaves half of the window where the throughput of two epochs differs by more than a
        /// fifth.
        use_bandwidth_switch: bool = Parameter::FIXED.default("true")
            .source("Linux module parameter; draft-leith-tcp-htcp-06"),
        /// Jiffies per second of the clock that RTTs and epochs are measured with.
        hz: Option<u64> = Parameter::FIXED.domain(Domain::Integer(1, 1_000))
            .derived("that of the host's timers, or 250").source("Linux CONFIG_HZ"),
    }
}

/// H-TCP of one connection.
#[derive(Debug, Clone)]
pub struct Htcp {
    rules: HtcpRules,
    ticks: Ticks,
    state: HtcpState,
}

impl Htcp {
    /// `tcp_jiffies32`.
    fn jiffies(&self, now: Time) -> u32 {
        let since = self.ticks.at(now) as u32;
        since.wrapping_sub(self.rules.hz * BEFORE_WRAP)
    }
}

impl Declared for Htcp {
    type Config = HtcpConfig;
    const KIND: ControlKind = ControlKind {
        name: "htcp",
        summary: "Grows faster the longer the last reduction is ago; reduces by RTTmin/RTTmax.",
        source: "draft-leith-tcp-htcp-06; Linux tcp_htcp.c",
        parameters: HtcpConfig::ROWS,
        ..ControlKind::PLAIN
    };
    fn new(config: &HtcpConfig, host: &Host, _window: &mut Window) -> Self {
        let ticks = match config.hz {
            Some(hz) => Ticks::new(hz as u32, Time::ZERO),
            None => host.ticks.or_hz(HZ),
        };
        let rules = HtcpRules {
            hz: ticks.hz() as u32,
            rtt_scaling: config.use_rtt_scaling,
            bandwidth_switch: config.use_bandwidth_switch,
        };
        Self {
            rules,
            ticks,
            state: HtcpState::new(0),
        }
    }
}

impl CongestionControl for Htcp {
    fn init(
        &mut self,
        _agreed: FeedbackMode,
        connection: &Connection,
        _window: &mut Window,
    ) -> Option<Control> {
        self.state = HtcpState::new(self.jiffies(connection.now));
        None
    }
    fn on_ack(&mut self, ack: &AckSample, connection: &Connection, window: &mut Window) {
        // Linux asks only where something was outstanding.
        if ack.acked_in_order == 0 && ack.prior_in_flight == 0 {
            return;
        }
        let micros = |rtt: Time| u32::try_from(rtt.as_nanos() / 1_000).unwrap_or(u32::MAX);
        self.state.on_acked(
            &self.rules,
            connection.state,
            ack.acked_in_order,
            ack.rtt.map(micros),
            window.cwnd,
            self.jiffies(connection.now),
        );
    }
    fn cong_avoid(&mut self, ack: &AckSample, connection: &Connection, window: &mut Window) {
        let now = self.jiffies(connection.now);
        self.state.grow(&self.rules, ack.acked, now, window);
    }
    fn ssthresh(&mut self, connection: &Connection, window: &Window) -> u32 {
        let now = self.jiffies(connection.now);
        self.state.threshold(&self.rules, now, window.cwnd)
    }
    fn set_state(&mut self, new: CaState, connection: &Connection, _window: &mut Window) {
        self.state.set_state(new, self.jiffies(connection.now));
    }
    fn undo_cwnd(&mut self, _connection: &Connection, window: &mut Window) -> u32 {
        self.state.undo(window)
    }
}
