//! BBR v3: `google/bbr` `net/ipv4/tcp_bbr.c` of 2023 and 2025, `tcp_bbr3.c` of 2026, and
//! draft-ietf-ccwg-bbr.
//!
//! v2 with other gains, an end of probes where bandwidth stops growing, and since 2026 an undo that returns
//! to the phase before a spurious loss. The state machine is in [`bbr::bounded`](super::bbr::bounded).
//!
//! | variant | ECN | DRAIN | undo |
//! | --- | --- | --- | --- |
//! | `google_2023` | as v2, if `ecn` | gain 0.344, until the queue is drained | bounds and window |
//! | `google_2026` | none | gain 0.5, at most 3 rounds | also the phase |
//! | `draft` | none | as 2026 | as 2026 |
//!
//! The draft's other differences and the integers that stand for its real numbers are in
//! [`Rules::v3_draft`].

use quell_units::parameter::{Domain, Table as _};
use quell_units::{Parameter, Time, parameters, words};

use super::ControlKind;
use super::bbr::bounded::{Rules, Timing};
use super::bbr::{Bounded, Version};
use super::bbr2::LONGEST_ECN_RTT;

words! {
    /// Which v3.
    pub enum Variant {
        /// Google's of 2023 and 2025, with ECN.
        Google2023 = "google_2023",
        /// Google's of 2026, without.
        Google2026 = "google_2026",
        /// The IETF's draft.
        Draft = "draft",
    }
}

parameters! {
    /// Options of BBR v3.
    #[derive(PartialEq, Eq)]
    pub struct Bbr3Config {
        /// Which v3: Google's of 2023 and 2025, its successor of 2026, or the draft.
        variant: Variant = Parameter::FIXED.default("google_2023")
            .source("google/bbr tcp_bbr.c at 001a430b (2023), tcp_bbr3.c at 67485976 (2026); draft-ietf-ccwg-bbr (draft)"),
        /// Whether it responds to marks; then packets are ECT(0) and marks come back as with DCTCP.
        ecn: bool = Parameter::FIXED.default("false").only(("variant", "google_2023"))
            .source("google/bbr tcp_bbr.c, route feature ecn_low"),
        /// Longest RTT, measured without a queue, at which it responds to marks; 0 for any.
        ecn_max_rtt: Time = Parameter::FIXED.domain(Domain::Time(Time::ZERO, LONGEST_ECN_RTT)).default("5ms")
            .only(("ecn", "true")).source("google/bbr tcp_bbr.c (bbr_ecn_max_rtt_us)"),
        /// Share of the bound in flight that the first round of a probe after marks adds; 0 for no such probe.
        ecn_reprobe_gain: u32 = Parameter::FIXED.domain(Domain::Fraction(0, 256, 256)).default("0.5")
            .only(("ecn", "true")).source("google/bbr tcp_bbr.c (bbr_ecn_reprobe_gain), in 1/256"),
    }
}

/// BBR v3 of one connection.
pub type Bbr3 = Bounded<V3>;

/// Marks [`Bbr3`].
#[derive(Debug, Clone)]
pub enum V3 {}

impl Version for V3 {
    type Config = Bbr3Config;
    const KIND: ControlKind = ControlKind {
        name: "bbr3",
        summary: "BBR v2 with probes that end where bandwidth stops growing.",
        source: "google/bbr tcp_bbr.c (v3), tcp_bbr3.c; draft-ietf-ccwg-bbr",
        paced: true,
        parameters: Bbr3Config::ROWS,
        ..ControlKind::PLAIN
    };
    fn rules(config: &Bbr3Config, timing: Timing) -> Rules {
        match config.variant {
            Variant::Google2023 => Rules {
                ecn_max_rtt_us: (config.ecn_max_rtt.as_nanos() / 1_000) as u32,
                ecn_reprobe_gain: config.ecn_reprobe_gain,
                ..Rules::v3_2023(timing)
            },
            Variant::Google2026 => Rules::v3_2026(timing),
            Variant::Draft => Rules::v3_draft(timing),
        }
    }
    fn has_ecn(config: &Bbr3Config) -> bool {
        config.ecn && config.variant == Variant::Google2023
    }
    fn sizes_bursts(config: &Bbr3Config) -> bool {
        // The module of 2026 leaves that to the stack.
        config.variant != Variant::Google2026
    }
}

#[cfg(test)]
mod tests {
    use quell_units::Settings;

    use super::*;

    #[test]
    fn the_defaults_are_those_of_the_module() {
        let config = Bbr3Config::of(&Settings::new(Bbr3Config::ROWS));
        let timing = Timing::default();
        assert_eq!(V3::rules(&config, timing), Rules::v3_2023(timing));
    }
}
