//! DCTCP: RFC 8257; Linux `net/ipv4/tcp_dctcp.c`, in its integers.
//!
//! The control smooths the fraction of marked segments once per window into alpha, and reduces the
//! window by alpha/2 once per window in which marks came back. The receiver's part is in
//! [`receiver`](crate::receiver); DCTCP may use AccECN's feedback instead of its own, as Linux's does
//! where the host negotiates it.
//!
//! Deviations from RFC 8257: 1. the control counts segments, not bytes (Linux); 2. the window does
//! not grow while it is being reduced (Linux's CWR state), so a round with a mark adds nothing.

use quell_units::parameter::{Domain, Table as _};
use quell_units::{Parameter, parameters, words};

use super::reno::Reno;
use super::{
    AckSample, CaState, CongestionControl, Connection, Control, ControlKind, Declared, Event, Host,
    Window,
};
use crate::ecn::{Codepoint, EctScope, FeedbackMode};

/// Alpha of 1 (`DCTCP_MAX_ALPHA`).
const MAX_ALPHA: u32 = 1 << 10;

words! {
    /// The feedback of marks to DCTCP.
    pub enum DctcpFeedback {
        /// The ECE flag of each ACK, for the segments that it acknowledges (RFC 8257 section 3.2).
        Own = "dctcp",
        /// AccECN (RFC 9768).
        AccEcn = "accecn",
    }
}

parameters! {
    /// Options of DCTCP.
    #[derive(PartialEq, Eq)]
    pub struct DctcpConfig {
        /// Gain of the average of the marked fraction: 2 to the power of -shift_g.
        shift_g: u32 = Parameter::FIXED.domain(Domain::Integer(0, 10)).default("4")
            .source("Linux dctcp_shift_g; RFC 8257 section 4.2 (g = 1/16)"),
        /// Marked fraction assumed at the start; kept in 1/1024, as in Linux.
        alpha_on_init: u32 = Parameter::FIXED.domain(Domain::Fraction(0, MAX_ALPHA as u64, MAX_ALPHA as u64))
            .default("1").source("RFC 8257 section 3.3; Linux dctcp_alpha_on_init, in 1/1024"),
        /// How marks come back: in the ECE flag of each ACK, or counted by AccECN.
        feedback: DctcpFeedback = Parameter::FIXED.default("dctcp")
            .source("RFC 8257 section 3.2 (dctcp); RFC 9768 (accecn)"),
    }
}

/// DCTCP of one connection.
#[derive(Debug, Clone)]
pub struct Dctcp {
    shift_g: u32,
    /// Smoothed fraction of marked segments, in 1/1024 (DCTCP.Alpha).
    alpha: u32,
    /// The observation window ends when this number is acknowledged (DCTCP.WindowEnd).
    next_seq: u64,
    /// Segments delivered when it began, and of those with CE.
    old_delivered: u64,
    old_delivered_ce: u64,
    /// Window before the last reduction, in segments.
    loss_cwnd: u32,
}

impl Declared for Dctcp {
    type Config = DctcpConfig;
    const KIND: ControlKind = ControlKind {
        name: "dctcp",
        summary: "Reduces the window in proportion to the fraction of marked segments.",
        source: "RFC 8257; Linux tcp_dctcp.c",
        scalable: true,
        // Linux's flag TCP_CONG_NEEDS_ECN: ECT(0), on every packet.
        ecn: Some(Codepoint::Ect0),
        ect_scope: Some(EctScope::Everything),
        parameters: DctcpConfig::ROWS,
        ..ControlKind::PLAIN
    };
    fn feedback(config: &DctcpConfig) -> FeedbackMode {
        match config.feedback {
            DctcpFeedback::Own => FeedbackMode::Dctcp,
            DctcpFeedback::AccEcn => FeedbackMode::Accurate,
        }
    }
    fn new(config: &DctcpConfig, _host: &Host, _window: &mut Window) -> Self {
        Self {
            shift_g: config.shift_g,
            alpha: config.alpha_on_init.min(MAX_ALPHA),
            next_seq: 0,
            old_delivered: 0,
            old_delivered_ce: 0,
            loss_cwnd: 0,
        }
    }
}

impl CongestionControl for Dctcp {
    /// Without feedback for each segment Reno takes over (Linux `dctcp_init`, `dctcp_reno`).
    fn init(
        &mut self,
        agreed: FeedbackMode,
        connection: &Connection,
        _window: &mut Window,
    ) -> Option<Control> {
        self.old_delivered = connection.delivered;
        self.old_delivered_ce = connection.delivered_ce;
        let is_enough = matches!(agreed, FeedbackMode::Dctcp | FeedbackMode::Accurate);
        (!is_enough).then(|| Control::Reno(Reno::default()))
    }
    /// RFC 8257 section 3.3, once per window: "DCTCP.Alpha = DCTCP.Alpha * (1 - g) + g * M"
    /// (`dctcp_update_alpha`).
    #[inline]
    fn on_ack(&mut self, ack: &AckSample, _connection: &Connection, _window: &mut Window) {
        if ack.snd_una < self.next_seq {
            return;
        }
        let delivered = ack.delivered - self.old_delivered;
        let delivered_ce = ack.delivered_ce - self.old_delivered_ce;
        // `min_not_zero`: below 2^shift_g the shift would yield nothing, and alpha would never
        // reach zero.
        let decay = match self.alpha >> self.shift_g {
            0 => self.alpha,
            decay => decay,
        };
        self.alpha -= decay;
        if delivered_ce > 0 {
            let gain = (delivered_ce << (10 - self.shift_g)) / delivered.max(1);
            self.alpha = (u64::from(self.alpha) + gain).min(u64::from(MAX_ALPHA)) as u32;
        }
        self.next_seq = ack.snd_nxt;
        self.old_delivered = ack.delivered;
        self.old_delivered_ce = ack.delivered_ce;
    }
    #[inline]
    fn cong_avoid(&mut self, ack: &AckSample, _connection: &Connection, window: &mut Window) {
        let acked = if window.in_slow_start() {
            window.slow_start(ack.acked)
        } else {
            ack.acked
        };
        if acked > 0 {
            window.cong_avoid_ai(window.cwnd, acked);
        }
    }
    /// RFC 8257 section 3.3: "cwnd = cwnd * (1 - DCTCP.Alpha / 2)", at least two segments
    /// (`dctcp_ssthresh`).
    fn ssthresh(&mut self, _connection: &Connection, window: &Window) -> u32 {
        self.loss_cwnd = window.cwnd;
        let cut = (u64::from(window.cwnd) * u64::from(self.alpha)) >> 11;
        (window.cwnd - cut as u32).max(2)
    }
    /// RFC 8257 section 3.5: a loss halves the window, as in conventional TCP, even if marks have
    /// reduced it already (`dctcp_state`).
    fn set_state(&mut self, new: CaState, connection: &Connection, window: &mut Window) {
        if new == CaState::Recovery && connection.state != CaState::Recovery {
            self.react_to_loss(window);
        }
    }
    fn cwnd_event(&mut self, event: Event, _connection: &Connection, window: &mut Window) {
        if event == Event::Loss {
            self.react_to_loss(window);
        }
    }
    fn undo_cwnd(&mut self, _connection: &Connection, window: &mut Window) -> u32 {
        window.cwnd.max(self.loss_cwnd)
    }
}

impl Dctcp {
    fn react_to_loss(&mut self, window: &mut Window) {
        self.loss_cwnd = window.cwnd;
        window.ssthresh = window.half();
    }
}

#[cfg(test)]
mod tests {
    use quell_units::{Random, Settings};

    use super::*;
    use crate::ticks::Ticks;

    fn dctcp(options: &[(&str, &str)]) -> Dctcp {
        let mut settings = Settings::new(Dctcp::KIND.parameters);
        for (key, value) in options {
            settings.set(key, value).unwrap();
        }
        let host = Host {
            ticks: Ticks::EXACT,
            random: Random::new(1, "control"),
        };
        Dctcp::new(&DctcpConfig::of(&settings), &host, &mut Window::new(10))
    }

    /// One observation window in which `marked` of `delivered` segments carried CE.
    fn round(dctcp: &mut Dctcp, total: &mut AckSample, delivered: u64, marked: u64) {
        total.delivered += delivered;
        total.delivered_ce += marked;
        total.snd_una = total.snd_nxt;
        total.snd_nxt += delivered;
        dctcp.on_ack(total, &Connection::default(), &mut Window::new(10));
    }

    #[test]
    fn alpha_follows_the_marked_fraction_with_gain_one_sixteenth() {
        let mut dctcp = dctcp(&[]);
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
        let mut dctcp = dctcp(&[("shift_g", "0")]);
        round(&mut dctcp, &mut AckSample::default(), 10, 5);
        assert_eq!(dctcp.alpha, 512);
    }

    #[test]
    fn alpha_below_sixteen_drops_to_zero_at_once() {
        let mut dctcp = dctcp(&[("alpha_on_init", "0.0146")]);
        round(&mut dctcp, &mut AckSample::default(), 10, 0);
        assert_eq!(dctcp.alpha, 0);
    }

    #[test]
    fn marks_cut_by_half_of_alpha_and_a_loss_by_half() {
        let mut dctcp = dctcp(&[("alpha_on_init", "0.25")]);
        let mut window = Window::new(100);
        let connection = Connection::default();
        assert_eq!(dctcp.ssthresh(&connection, &window), 100 - 100 * 256 / 2048);
        dctcp.set_state(CaState::Recovery, &connection, &mut window);
        assert_eq!(window.ssthresh, 50);
    }
}
