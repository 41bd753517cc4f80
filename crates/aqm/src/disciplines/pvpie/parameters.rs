//! The parameters of PVPIE, and the PIE that follows from them.

use crate::disciplines::pie::rfc8033::Config;
use crate::disciplines::pie::{Decay, LONGEST, SHORTEST};
use crate::limit::LIMIT_ROW;
use crate::parameter::{self, Amount, Domain, Parameter};
use crate::units::{Bytes, Probability, Time, parameters, words};
use crate::virtual_queue::parameters::{ValueParameters, value_rows};

use super::threshold::GAIN_PARTS;

const TLP: &str = "the public PVPIE module for ns-3 (tlpvpie)";
const TWO_LEVELS: (&str, &str) = ("levels", "2");
/// The parts of 1 in which `max_ecnth` is kept.
const FRACTIONS: u64 = 1 << 20;
/// The largest gain of the second level.
const LARGEST_GAIN: u64 = 16 * GAIN_PARTS;

const ROW: Parameter = Parameter::LIVE.source(TLP);

words! {
    /// The fate of packets of exactly the threshold's value.
    pub(crate) enum Ties {
        Share = "share",
        Pass = "pass",
    }
}

parameters! {
    /// The parameters of PVPIE.
    pub struct Parameters {
        /// 1: the threshold is a quantile of what arrived (PVPIE). 2: a controller moves it until as much is signalled
        /// as PIE wants (TL-PVPIE).
        levels: u64 = ROW.domain(Domain::Integer(1, 2)).default("1").fixed(),
        limit: Amount = LIMIT_ROW.default("250ms")
            .source("quell: far above the target at any rate; tlpvpie: 25 packets, its experiments 200 kB"),
        /// Queue delay that the controller holds.
        target: Time = ROW.threshold(parameter::Threshold::Standing).domain(Domain::Time(SHORTEST, LONGEST))
            .default("20ms"),
        /// Interval between two updates of the probability.
        tupdate: Time = ROW.domain(Domain::Time(SHORTEST, LONGEST)).default("30ms")
            .source("the public PVPIE module for ns-3 (tlpvpie); its experiments: 100 ms"),
        /// Integral gain, in sixteenths of 1 Hz.
        alpha: u64 = ROW.domain(Domain::Integer(0, 32)).default("2"),
        /// Proportional gain, in sixteenths of 1 Hz.
        beta: u64 = ROW.domain(Domain::Integer(0, 32)).default("20"),
        /// How long a burst after a calm time passes without signals.
        max_burst: Time = ROW.domain(Domain::Time(Time::ZERO, LONGEST)).default("100ms"),
        /// How long arrivals are remembered: their values, and with two levels what was signalled.
        window: Option<Time> = ROW.domain(Domain::Time(SHORTEST, LONGEST))
            .derived("1 s with one level, 100 ms with two")
            .source("the public PVPIE module for ns-3 (tlpvpie): 1 s, its experiments 100 to 300 ms"),
        /// Interval between two updates of the threshold.
        threshold_update: Time = ROW.domain(Domain::Time(SHORTEST, LONGEST)).default("10ms").only(TWO_LEVELS),
        /// Integral gain of the threshold, in ranges of values for each update.
        phi: u64 = ROW.domain(Domain::Fraction(0, LARGEST_GAIN, GAIN_PARTS)).default("0.125").only(TWO_LEVELS),
        /// Proportional gain of the threshold, in ranges of values.
        psi: u64 = ROW.domain(Domain::Fraction(0, LARGEST_GAIN, GAIN_PARTS)).default("1.25").only(TWO_LEVELS)
            .source("the public PVPIE module for ns-3 (tlpvpie); its experiments: 0.125"),
        /// Packets of exactly the threshold's value: share signals as many as the probability asks for, at random; pass
        /// signals none.
        ties: Ties = ROW.default("share").source("quell; tlpvpie: pass"),
        /// Mark ECN-capable packets while the probability is below max_ecnth, instead of dropping them.
        ecn: bool = ROW.opposite("noecn").source("quell, as pie; tlpvpie: false"),
        /// From this probability on ECN-capable packets are dropped too.
        max_ecnth: u64 = ROW.domain(Domain::Fraction(0, FRACTIONS, FRACTIONS)).default("0.1").only(("ecn", "true"))
            .source("RFC 8033 section 5.1 (MAX_ECNTH)"),
        ..values: ValueParameters = value_rows(None),
    }
}

impl Parameters {
    /// The window, also if it is not given.
    pub(super) fn window(&self) -> Time {
        self.window.unwrap_or(match self.levels {
            2 => Time::from_millis(100),
            _ => Time::from_secs(1),
        })
    }

    /// PIE without the parts that PVPIE replaces: the spacing of signals, rest, and the short queue in bytes.
    pub(super) fn pie(&self) -> Config {
        Config {
            target: self.target,
            interval: self.tupdate,
            alpha: self.alpha,
            beta: self.beta,
            ecn: self.ecn,
            estimates: false,
            max_burst: self.max_burst,
            max_ecnth: Probability::ratio(self.max_ecnth, FRACTIONS),
            mean_size: Bytes::ZERO,
            on_off: false,
            derandomize: false,
            cap_drop: true,
            decay: Decay::Zero,
        }
    }
}
