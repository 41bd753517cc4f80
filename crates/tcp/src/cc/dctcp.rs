//! DCTCP: RFC 8257; Linux `net/ipv4/tcp_dctcp.c`, in its integers.
//!
//! The fraction of marked segments is smoothed once per window into alpha, and the window shrinks
//! by alpha/2 once per window in which marks came back. The receiver's part is in
//! [`receiver`](crate::receiver); instead of its own feedback DCTCP may have AccECN's, as Linux's has
//! where the host negotiates that.
//!
//! Deviations from RFC 8257: 1. segments are counted, not bytes (Linux); 2. no growth while the
//! window is being reduced (Linux's CWR state), so a round with a mark adds nothing.

use quell_units::parameter::{Default as Otherwise, Domain};
use quell_units::{Parameter, Settings};

use super::control::{Event, State};
use super::{AckSample, CcConfig, Kind, Window};

/// Alpha of 1.
const ONE: u32 = 1 << 10;

/// Options of DCTCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DctcpConfig {
    /// The gain of the average is 2 to the power of minus this.
    pub shift_g: u32,
    /// Alpha of a new connection, in 1/1024.
    pub alpha_on_init: u32,
    /// How marks come back.
    pub feedback: DctcpFeedback,
}

/// How DCTCP learns of marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DctcpFeedback {
    /// Each ACK's ECE tells of the segments that it acknowledges (RFC 8257 section 3.2).
    #[default]
    Own,
    /// AccECN (RFC 9768).
    AccEcn,
}

impl Default for DctcpConfig {
    fn default() -> Self {
        Self {
            shift_g: 4,
            alpha_on_init: ONE,
            feedback: DctcpFeedback::Own,
        }
    }
}

pub(super) const KIND: Kind = Kind {
    name: "dctcp",
    scalable: true,
    summary: "Reduces the window in proportion to the fraction of marked segments.",
    source: "RFC 8257; Linux tcp_dctcp.c",
    parameters: &[
        Parameter {
            name: "shift_g",
            opposite: None,
            domain: Domain::Integer(0, 10),
            default: Otherwise::Is("4"),
            only: None,
            live: false,
            source: "Linux dctcp_shift_g; RFC 8257 section 4.2 (g = 1/16)",
            help: "The gain of the average of the marked fraction is 2 to the power of minus this.",
        },
        Parameter {
            name: "alpha_on_init",
            opposite: None,
            domain: Domain::Fraction(0, ONE as u64, ONE as u64),
            default: Otherwise::Is("1"),
            only: None,
            live: false,
            source: "RFC 8257 section 3.3; Linux dctcp_alpha_on_init, in 1/1024",
            help: "The marked fraction assumed at the start; kept in 1/1024, as Linux does.",
        },
        Parameter {
            name: "feedback",
            opposite: None,
            domain: Domain::Word(&["dctcp", "accecn"]),
            default: Otherwise::Is("dctcp"),
            only: None,
            live: false,
            source: "RFC 8257 section 3.2 (dctcp); RFC 9768 (accecn)",
            help: "How marks come back: in the ECE flag of each ACK, or counted by AccECN.",
        },
    ],
    make: |settings| CcConfig::Dctcp(DctcpConfig::from_settings(settings)),
};

impl DctcpConfig {
    fn from_settings(settings: &Settings) -> Self {
        Self {
            shift_g: settings.number("shift_g") as u32,
            alpha_on_init: settings.number("alpha_on_init") as u32,
            feedback: match settings.word("feedback") {
                "accecn" => DctcpFeedback::AccEcn,
                _ => DctcpFeedback::Own,
            },
        }
    }
}

/// DCTCP of one connection.
#[derive(Debug, Clone)]
pub struct Dctcp {
    shift_g: u32,
    /// Smoothed marked fraction, in 1/1024.
    alpha: u32,
    /// The observation window ends when this is acknowledged.
    next: u64,
    /// What was delivered when it began.
    delivered: u64,
    delivered_ce: u64,
    /// The window before the last reduction.
    loss_cwnd: u32,
}

impl Dctcp {
    /// For a new connection.
    pub fn new(config: DctcpConfig) -> Self {
        Self {
            shift_g: config.shift_g,
            alpha: config.alpha_on_init.min(ONE),
            next: 0,
            delivered: 0,
            delivered_ce: 0,
            loss_cwnd: 0,
        }
    }
    /// Once per window: alpha = (1 - g) alpha + g F (RFC 8257 section 3.3).
    pub(super) fn on_ack(&mut self, ack: &AckSample) {
        if ack.una < self.next {
            return;
        }
        let delivered = ack.delivered - self.delivered;
        let marked = ack.delivered_ce - self.delivered_ce;
        // What the shift no longer moves goes at once, so that alpha can reach zero.
        let decay = match self.alpha >> self.shift_g {
            0 => self.alpha,
            decay => decay,
        };
        self.alpha -= decay;
        if marked > 0 {
            let gain = (marked << (10 - self.shift_g)) / delivered.max(1);
            self.alpha = (u64::from(self.alpha) + gain).min(u64::from(ONE)) as u32;
        }
        self.next = ack.next;
        self.delivered = ack.delivered;
        self.delivered_ce = ack.delivered_ce;
    }
    pub(super) fn increase(&mut self, ack: &AckSample, window: &mut Window) {
        let acked = if window.in_slow_start() {
            window.slow_start(ack.acked)
        } else {
            ack.acked
        };
        if acked > 0 {
            window.additive_increase(window.cwnd, acked);
        }
    }
    /// cwnd (1 - alpha/2), at least two segments.
    pub(super) fn threshold(&mut self, window: &Window) -> u32 {
        self.loss_cwnd = window.cwnd;
        let cut = (u64::from(window.cwnd) * u64::from(self.alpha)) >> 11;
        (window.cwnd - cut as u32).max(2)
    }
    /// A loss halves the window (RFC 8257 section 3.5), also where the marks were counted already.
    pub(super) fn on_state(&mut self, old: State, new: State, window: &mut Window) {
        if new == State::Recovery && old != State::Recovery {
            self.react_to_loss(window);
        }
    }
    pub(super) fn on_event(&mut self, event: Event, window: &mut Window) {
        if event == Event::Timeout {
            self.react_to_loss(window);
        }
    }
    fn react_to_loss(&mut self, window: &mut Window) {
        self.loss_cwnd = window.cwnd;
        window.ssthresh = window.half();
    }
    pub(super) fn undo(&self, window: &Window) -> u32 {
        window.cwnd.max(self.loss_cwnd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One observation window in which `marked` of `delivered` segments carried CE.
    fn round(dctcp: &mut Dctcp, total: &mut AckSample, delivered: u64, marked: u64) {
        total.delivered += delivered;
        total.delivered_ce += marked;
        total.una = total.next;
        total.next += delivered;
        dctcp.on_ack(total);
    }

    #[test]
    fn alpha_follows_the_marked_fraction_with_gain_one_sixteenth() {
        let mut dctcp = Dctcp::new(DctcpConfig::default());
        let mut total = AckSample::default();
        round(&mut dctcp, &mut total, 10, 0);
        assert_eq!(dctcp.alpha, 1024 - 64);
        round(&mut dctcp, &mut total, 10, 10);
        assert_eq!(dctcp.alpha, 960 - 60 + 64);
        for _ in 0..200 {
            round(&mut dctcp, &mut total, 100, 50);
        }
        // The fixed point of alpha - alpha/16 + 32, rounded down as the shift does.
        assert!((512 - 15..=527).contains(&dctcp.alpha), "{}", dctcp.alpha);
    }

    #[test]
    fn a_gain_of_one_believes_each_window() {
        let mut dctcp = Dctcp::new(DctcpConfig {
            shift_g: 0,
            ..DctcpConfig::default()
        });
        round(&mut dctcp, &mut AckSample::default(), 10, 5);
        assert_eq!(dctcp.alpha, 512);
    }

    #[test]
    fn alpha_below_sixteen_drops_to_zero_at_once() {
        let mut dctcp = Dctcp::new(DctcpConfig {
            alpha_on_init: 15,
            ..DctcpConfig::default()
        });
        round(&mut dctcp, &mut AckSample::default(), 10, 0);
        assert_eq!(dctcp.alpha, 0);
    }

    #[test]
    fn marks_cut_by_half_of_alpha_and_a_loss_by_half() {
        let mut dctcp = Dctcp::new(DctcpConfig {
            alpha_on_init: 256,
            ..DctcpConfig::default()
        });
        let mut window = Window::new(100);
        assert_eq!(dctcp.threshold(&window), 100 - 100 * 256 / 2048);
        dctcp.on_state(State::Open, State::Recovery, &mut window);
        assert_eq!(window.ssthresh, 50);
    }
}
