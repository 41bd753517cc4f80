//! TCP Prague: RFC 9331 section 4; `tcp_prague.c` 0.7 of the L4S project, in its integers, or 0.6 ([`EarlierState`]).
//!
//! Prague answers marks as DCTCP does, in proportion to their fraction alpha, and grows only for segments that carry none. From a few
//! rounds after slow start on, a flow whose round trip is shorter than `rtt_target` reduces, grows and averages as if it took that long.
//! Its window has fractions of a segment; where it is four packets or less, a rate takes its place. It paces, in bursts of `burst`.
//! Packets are ECT(1), ACKs and retransmissions too (ECN++), and AccECN reports the marks. Without ECN it is Reno.
//!
//! Kept from the original: 1. the first mark halves the window, but where its ACK also acknowledges an unmarked segment in slow start,
//! slow start overwrites that (`first_ce = "halve"` repairs it); 2. the rate counts whole packets and the sender spends it on payload, so
//! the pace is 3.6 % above the window per RTT; 3. a second has 2²³ eighths of a µs where a rate becomes a window; 4. the answer to marks
//! needs a new state of congestion and `rtt_target` since the last answer, so round trips of 15 to 20 ms, which meet both only every
//! second round, get 1.1 to 1.2 times the rate of 5 or 25 ms.
//!
//! Deviations: 1. packets keep their size, where the original shrinks them below two per `rtt_target`, that is below 0.97 Mbit/s; 2. a
//! peer without feedback for each mark makes it Reno, also where RFC 3168's could be agreed on; 3. products are exact where the
//! original's overflow (windows above 2¹⁹ segments);
//! 4. the Reno that takes over paces, unless the scenario turns that off.
//!
//! The window grows only while it is full. Where the host has Linux's queue discipline `fq`, a segment that waits there for its pace has
//! left TCP and fills it; otherwise TCP itself waits, and the window is not full. The L4S project asks for `fq`; the hosts of the live and
//! virtual worlds have none. There a flow that marks have brought to the least rate, a full packet in 112 ms, stays at it where the ACK comes
//! sooner. Deviation 1 widens that range: the original's packets of 202 bytes then leave each 12 ms, by its source, and two fill the window.

mod classic;
mod earlier;
mod state;

pub use earlier::EarlierState;
pub use state::{PraguePath, PragueRules, PragueState};

use quell_units::parameter::{Domain, Table as _};
use quell_units::{Parameter, Rate, Time, parameters, words};

use self::classic::ClassicQueue;
use super::reno::Reno;
use super::{
    AckSample, CaState, CongestionControl, Connection, Control, ControlKind, Declared, Event, Host,
    Window,
};
use crate::ecn::{Codepoint, EctScope, FeedbackMode};

words! {
    /// The feedback of marks to Prague.
    pub enum PragueFeedback {
        /// AccECN (RFC 9768).
        AccEcn = "accecn",
        /// The ECE flag of each ACK, for the segments that it acknowledges (RFC 8257 section 3.2).
        Dctcp = "dctcp",
    }
}

words! {
    /// Effect of the first mark.
    pub enum FirstCe {
        /// It halves the window unless slow start overwrites that in the same ACK.
        Linux = "linux",
        /// It halves the window.
        Halve = "halve",
    }
}

words! {
    /// The first estimate of alpha.
    pub enum AlphaMode {
        /// Zero; the first mark halves the window.
        Zero = "0",
        /// One.
        One = "1",
    }
}

words! {
    /// Which Prague.
    pub enum PragueVariant {
        /// That of 2024 and later, with a fractional window and a rate in the place of small ones.
        Current = "0.7",
        /// That of 2021, which published measurements used.
        Earlier = "0.6",
    }
}

parameters! {
    /// Options of Prague.
    #[derive(PartialEq, Eq)]
    pub struct PragueConfig {
        /// How marks come back: counted by AccECN, or in the ECE flag of each ACK.
        feedback: PragueFeedback = Parameter::FIXED.default("accecn")
            .source("RFC 9331 section 4.2; RFC 9768 (accecn); RFC 8257 section 3.2 (dctcp)"),
        /// Round trip that flows with shorter ones behave as if they had; in whole microseconds.
        rtt_target: Time = Parameter::FIXED.domain(Domain::Time(Time::ZERO, Time::from_secs(1))).default("25ms")
            .source("module parameter prague_rtt_target of tcp_prague.c; RFC 9331 appendix A.1.6"),
        /// Rounds after slow start until rtt_target applies.
        rtt_transition: u32 = Parameter::FIXED.domain(Domain::Integer(0, u32::MAX as u64)).default("4")
            .source("module parameter prague_rtt_transition of tcp_prague.c (500 in 0.6)"),
        /// Version of the module; 0.6 (2021) has whole windows, paces two packets per round trip at least, and bursts
        /// of two.
        variant: PragueVariant = Parameter::FIXED.default("0.7").source("MODULE_VERSION of tcp_prague.c"),
        /// First mark in slow start: halves the window unless the same ACK grows it, or in any case.
        first_ce: FirstCe = Parameter::FIXED.only(("variant", "0.7")).default("linux")
            .source("tcp_prague.c (linux); ours (halve)"),
        /// First estimate of the marked fraction: 0, where the first mark halves the window, or 1.
        alpha_mode: AlphaMode = Parameter::FIXED.only(("variant", "0.7")).default("0")
            .source("module parameter prague_alpha_mode of tcp_prague.c"),
        /// Longest burst at the pacing rate; taken as 2 to the power of -n seconds, rounded down.
        burst: Time = Parameter::FIXED.domain(Domain::Time(Time::from_micros(1), Time::from_secs(1))).default("250us")
            .source("module parameter prague_burst_shift of tcp_prague.c (2^-12 s); RFC 9331 section 4.3, item 7"),
        /// Whether a rate takes the place of windows of four packets or less.
        rate_mode: bool = Parameter::FIXED.only(("variant", "0.7")).default("true")
            .source("module parameter prague_cwnd_mode of tcp_prague.c"),
        /// Answers marks nearly as Reno where the RTT says that the queue is a Classic one.
        ecn_fallback: bool = Parameter::FIXED.only(("variant", "0.6")).default("false")
            .source("module parameter prague_ecn_fallback of tcp_prague.c 0.6; RFC 9331 section 4.3, item 3"),
        /// Whether the host has the queue discipline fq: what waits there for its pace fills the window, which grows
        /// only while full.
        fq: bool = Parameter::FIXED.default("true")
            .source("tc-fq(8); tcp_internal_pacing() of Linux net/ipv4/tcp_output.c"),
    }
}

/// Prague of one connection.
#[derive(Debug, Clone)]
pub struct Prague {
    rules: PragueRules,
    state: VariantState,
    /// Segments that wait for their pace fill the window.
    waits_outside: bool,
    looks_for_classic: bool,
}

/// The state of either version.
#[derive(Debug, Clone)]
enum VariantState {
    Current(PragueState),
    Earlier(EarlierState),
}

impl Declared for Prague {
    type Config = PragueConfig;
    const KIND: ControlKind = ControlKind {
        name: "prague",
        kernel: None,
        summary: "Reduces in proportion to marks, as if each round trip took 25 ms at least; paced, for L4S.",
        source: "RFC 9331; tcp_prague.c 0.7 of the L4S project",
        scalable: true,
        ecn: Some(Codepoint::Ect1),
        ect_scope: Some(EctScope::Everything),
        paced: true,
        parameters: PragueConfig::ROWS,
    };
    fn feedback(config: &PragueConfig) -> FeedbackMode {
        match config.feedback {
            PragueFeedback::AccEcn => FeedbackMode::Accurate,
            PragueFeedback::Dctcp => FeedbackMode::Dctcp,
        }
    }
    fn new(config: &PragueConfig, _host: &Host, _window: &mut Window) -> Self {
        let micros = config.rtt_target.as_nanos() / 1_000;
        // The least n with 2⁻ⁿ s ≤ burst.
        let per_second = 1_000_000_000_u64.div_ceil(config.burst.as_nanos().max(1));
        let rules = PragueRules {
            rtt_target_us: micros.min(1_000_000) as u32,
            rtt_transition: config.rtt_transition,
            alpha_one: config.alpha_mode == AlphaMode::One,
            first_ce_halves: config.first_ce == FirstCe::Halve,
            burst_shift: per_second.next_power_of_two().trailing_zeros(),
            rate_mode: config.rate_mode,
        };
        let state = match config.variant {
            PragueVariant::Current => VariantState::Current(PragueState::default()),
            PragueVariant::Earlier => VariantState::Earlier(EarlierState::default()),
        };
        Self {
            rules,
            state,
            waits_outside: config.fq,
            looks_for_classic: config.ecn_fallback,
        }
    }
}

impl Prague {
    fn classic(&mut self) -> Option<&mut ClassicQueue> {
        match &mut self.state {
            VariantState::Earlier(state) => state.classic.as_mut(),
            VariantState::Current(_) => None,
        }
    }
}

/// The connection in Prague's units.
fn path(connection: &Connection) -> PraguePath {
    let srtt8 = connection.srtt.map_or(0, |srtt| srtt.as_nanos() / 125);
    PraguePath {
        now_us: connection.now.as_nanos() / 1_000,
        srtt8: u32::try_from(srtt8).unwrap_or(u32::MAX),
        mtu: connection.mtu,
        delivered: connection.delivered,
        delivered_ce: connection.delivered_ce,
        snd_una: connection.snd_una,
        snd_nxt: connection.snd_nxt,
        in_flight: connection.in_flight,
    }
}

impl CongestionControl for Prague {
    /// RFC 9331 section 4.2: a sender that cannot learn of each mark must not send ECT(1); Reno takes over.
    fn init(
        &mut self,
        agreed: FeedbackMode,
        connection: &Connection,
        window: &mut Window,
    ) -> Option<Control> {
        if !matches!(agreed, FeedbackMode::Dctcp | FeedbackMode::Accurate) {
            return Some(Control::Reno(Reno::default()));
        }
        let path = path(connection);
        match &mut self.state {
            VariantState::Current(state) => *state = PragueState::new(&self.rules, &path, window),
            VariantState::Earlier(state) => {
                *state = EarlierState::new(&self.rules, &path, window);
                let looks = self.looks_for_classic;
                state.classic = looks.then(|| ClassicQueue::new(path.srtt8));
            }
        }
        None
    }
    fn on_ack(&mut self, ack: &AckSample, connection: &Connection, _window: &mut Window) {
        if let (Some(classic), Some(rtt)) = (self.classic(), ack.rtt) {
            classic.on_rtt(rtt, connection.min_rtt);
        }
    }
    fn set_state(&mut self, new: CaState, connection: &Connection, window: &mut Window) {
        if new != connection.state {
            let path = path(connection);
            match &mut self.state {
                VariantState::Current(state) => state.set_state(&self.rules, &path, window, new),
                VariantState::Earlier(state) => state.set_state(&self.rules, &path, window, new),
            }
        }
    }
    fn cwnd_event(&mut self, event: Event, connection: &Connection, window: &mut Window) {
        if event == Event::Loss {
            let path = path(connection);
            match &mut self.state {
                VariantState::Current(state) => state.on_loss(&self.rules, &path, window),
                VariantState::Earlier(state) => state.on_loss(&self.rules, &path, window),
            }
        }
    }
    /// The window follows the fractional one step by step, and the threshold follows it.
    fn ssthresh(&mut self, _connection: &Connection, window: &Window) -> u32 {
        if let Some(classic) = self.classic() {
            classic.on_reduction(window.ssthresh);
        }
        window.ssthresh
    }
    fn cong_control(&mut self, ack: &AckSample, connection: &Connection, window: &mut Window) {
        let waits = !connection.app_limited && connection.next_departure > connection.now;
        let limited = ack.cwnd_limited || (self.waits_outside && waits);
        let path = path(connection);
        let (rules, acked, marked) = (&self.rules, ack.acked, ack.acked_ce);
        match &mut self.state {
            VariantState::Current(state) => {
                state.on_ack(rules, &path, window, acked, marked, limited)
            }
            VariantState::Earlier(state) => {
                state.on_ack(rules, &path, window, acked, marked, limited)
            }
        }
    }
    fn undo_cwnd(&mut self, connection: &Connection, window: &mut Window) -> u32 {
        match &mut self.state {
            VariantState::Current(state) => state.undo(&path(connection), window),
            VariantState::Earlier(state) => state.undo(window),
        }
    }
    fn has_cong_control(&self) -> bool {
        true
    }
    fn pacing_rate(&self) -> Option<Rate> {
        let rate = match &self.state {
            VariantState::Current(state) => state.pacing_rate,
            VariantState::Earlier(state) => state.pacing_rate,
        };
        (rate > 0).then(|| Rate::from_bps(rate.saturating_mul(8).min(u64::MAX - 1)))
    }
    fn min_tso_segs(&self) -> u32 {
        1
    }
    fn tso_segs(&self, _bytes: u64, _mss: u32) -> u32 {
        match &self.state {
            VariantState::Current(state) => state.max_tso_burst.max(1),
            VariantState::Earlier(state) => state.max_tso_burst.max(earlier::MIN_BURST),
        }
    }
}

#[cfg(test)]
mod tests {
    use quell_units::Settings;

    use super::*;
    use crate::ticks::Ticks;

    fn rules(options: &[(&str, &str)]) -> PragueRules {
        let mut settings = Settings::new(Prague::KIND.parameters);
        for (key, value) in options {
            settings.set(key, value).unwrap();
        }
        let host = Host {
            ticks: Ticks::EXACT,
            random: quell_units::Random::new(1, "test"),
        };
        Prague::new(&PragueConfig::of(&settings), &host, &mut Window::new(10)).rules
    }

    #[test]
    fn a_burst_is_the_longest_power_of_two_of_a_second_within_its_option() {
        for (burst, shift) in [
            ("250us", 12),
            ("244us", 13),
            ("1s", 0),
            ("500ms", 1),
            ("1us", 20),
        ] {
            assert_eq!(rules(&[("burst", burst)]).burst_shift, shift, "{burst}");
        }
    }

    #[test]
    fn the_defaults_are_those_of_the_module() {
        let usual = PragueRules {
            rtt_target_us: 25_000,
            rtt_transition: 4,
            alpha_one: false,
            first_ce_halves: false,
            burst_shift: 12,
            rate_mode: true,
        };
        assert_eq!(rules(&[]), usual);
    }
}
