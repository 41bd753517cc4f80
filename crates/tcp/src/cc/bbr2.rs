//! BBR v2: Google's alpha of 2019 to 2021, `google/bbr` `net/ipv4/tcp_bbr2.c`, in its integers.
//!
//! As v1 it models the path by bandwidth and RTT. Besides, losses and, where asked for, marks bound what is
//! in flight; and it probes for bandwidth as rarely as a Reno flow would. The state machine is in
//! [`bbr::bounded`](super::bbr::bounded).
//!
//! Marks count only where the RTT is at most `ecn_max_rtt`, and below 1/16 of the packets not at all:
//! the share that they add to alpha rounds to zero.

use quell_units::parameter::{Domain, Table as _};
use quell_units::{Parameter, Time, parameters, words};

use super::ControlKind;
use super::bbr::bounded::{Rules, Timing};
use super::bbr::{Bounded, Version};

/// Longest RTT at which marks may count, in µs: 19 bits.
pub(super) const LONGEST_ECN_RTT: Time = Time::from_micros((1 << 19) - 1);

words! {
    /// Which v2.
    pub enum Revision {
        /// The published alpha.
        Alpha = "alpha",
        /// Later experiments: marks also cut the bounds of bandwidth.
        Of2020 = "2020",
    }
}

parameters! {
    /// Options of BBR v2.
    #[derive(PartialEq, Eq)]
    pub struct Bbr2Config {
        /// Whether it responds to marks; then packets are ECT(0) and marks come back as with DCTCP.
        ecn: bool = Parameter::FIXED.default("false").source("google/bbr tcp_bbr2.c, module parameter ecn_enable"),
        /// Longest RTT, measured without a queue, at which it responds to marks; 0 for any.
        ecn_max_rtt: Time = Parameter::FIXED.domain(Domain::Time(Time::ZERO, LONGEST_ECN_RTT)).default("5ms")
            .only(("ecn", "true")).source("google/bbr tcp_bbr2.c, module parameter ecn_max_rtt_us"),
        /// Share of the bound in flight that the first round of a probe after marks adds; 0 for no such probe.
        ecn_reprobe_gain: u32 = Parameter::FIXED.domain(Domain::Fraction(0, 256, 256)).default("0").only(("ecn", "true"))
            .source("google/bbr tcp_bbr2.c, module parameter ecn_reprobe_gain, in 1/256"),
        /// Share of a flight that may be lost before a probe has gone too far; kept in 1/256.
        loss_threshold: u32 = Parameter::FIXED.domain(Domain::Fraction(1, 255, 256)).default("0.02")
            .source("google/bbr tcp_bbr2.c, module parameter loss_thresh: 5/256"),
        /// Share by which a round with loss cuts its bounds; kept in 1/256.
        beta: u32 = Parameter::FIXED.domain(Domain::Fraction(1, 255, 256)).default("0.297")
            .source("google/bbr tcp_bbr2.c, module parameter beta: 76/256"),
        /// Which v2: the published one, or the one in which marks also cut the bounds of bandwidth.
        revision: Revision = Parameter::FIXED.default("alpha").only(("ecn", "true"))
            .source("google/bbr at 8d11b540 (alpha) and 0487ade5 (2020)"),
    }
}

/// BBR v2 of one connection.
pub type Bbr2 = Bounded<V2>;

/// Marks [`Bbr2`].
#[derive(Debug, Clone)]
pub enum V2 {}

impl Version for V2 {
    type Config = Bbr2Config;
    const KIND: ControlKind = ControlKind {
        name: "bbr2",
        summary: "Paces at the bandwidth that it measures, with bounds in flight from loss and marks.",
        source: "google/bbr tcp_bbr2.c (v2 alpha)",
        paced: true,
        parameters: Bbr2Config::ROWS,
        ..ControlKind::PLAIN
    };
    fn rules(config: &Bbr2Config, timing: Timing) -> Rules {
        Rules {
            ecn_max_rtt_us: (config.ecn_max_rtt.as_nanos() / 1_000) as u32,
            ecn_reprobe_gain: config.ecn_reprobe_gain,
            loss_threshold: config.loss_threshold,
            beta: config.beta,
            marks_cut_bw: config.revision == Revision::Of2020,
            ..Rules::v2(timing)
        }
    }
    fn has_ecn(config: &Bbr2Config) -> bool {
        config.ecn
    }
    fn sizes_bursts(_config: &Bbr2Config) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use quell_units::Settings;

    use super::*;

    #[test]
    fn the_defaults_are_those_of_the_module() {
        let config = Bbr2Config::of(&Settings::new(Bbr2Config::ROWS));
        let timing = Timing::default();
        assert_eq!(V2::rules(&config, timing), Rules::v2(timing));
    }
}
