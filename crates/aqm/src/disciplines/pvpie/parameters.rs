//! The parameters of PVPIE, and the PIE that follows from them.

use crate::disciplines::pie::rfc8033::Config;
use crate::disciplines::pie::{Decay, LONGEST, SHORTEST};
use crate::limit::limit_row;
use crate::parameter::{self, Amount, Domain, Parameter, Preset};
use crate::units::{Bytes, Probability, Time, parameters, words};
use crate::virtual_queue::parameters::{ValueParameters, value_rows};

use super::threshold::GAIN_PARTS;

const TLP: &str = "the public PVPIE module for ns-3 (tlpvpie)";
const TWO_LEVELS: Option<(&str, &str)> = Some(("levels", "2"));
/// The parts of 1 in which `max_ecnth` is kept.
const FRACTIONS: u64 = 1 << 20;
/// The largest gain of the second level.
const LARGEST_GAIN: u64 = 16 * GAIN_PARTS;

const ROW: Parameter = Parameter {
    source: TLP,
    ..Parameter::LIVE
};

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
        levels: u64 = Parameter {
            domain: Domain::Integer(1, 2),
            default: Preset::Is("1"),
            live: false,
            help: "1: the threshold is a quantile of what arrived (PVPIE). 2: a controller moves it until as much is signalled as PIE wants (TL-PVPIE).",
            ..ROW
        },
        limit: Amount = limit_row("250ms", "quell: far above the target at any rate; tlpvpie: 25 packets, its experiments 200 kB"),
        target: Time = Parameter {
            threshold: Some(parameter::Threshold::Standing),
            domain: Domain::Time(SHORTEST, LONGEST),
            default: Preset::Is("20ms"),
            help: "Queue delay that the controller holds.",
            ..ROW
        },
        tupdate: Time = Parameter {
            domain: Domain::Time(SHORTEST, LONGEST),
            default: Preset::Is("30ms"),
            source: "the public PVPIE module for ns-3 (tlpvpie); its experiments: 100 ms",
            help: "Interval between two updates of the probability.",
            ..ROW
        },
        alpha: u64 = Parameter {
            domain: Domain::Integer(0, 32),
            default: Preset::Is("2"),
            help: "Integral gain, in sixteenths of 1 Hz.",
            ..ROW
        },
        beta: u64 = Parameter {
            domain: Domain::Integer(0, 32),
            default: Preset::Is("20"),
            help: "Proportional gain, in sixteenths of 1 Hz.",
            ..ROW
        },
        max_burst: Time = Parameter {
            domain: Domain::Time(Time::ZERO, LONGEST),
            default: Preset::Is("100ms"),
            help: "How long a burst after a calm time passes without signals.",
            ..ROW
        },
        window: Option<Time> = Parameter {
            domain: Domain::Time(SHORTEST, LONGEST),
            default: Preset::Derived("1 s with one level, 100 ms with two"),
            source: "the public PVPIE module for ns-3 (tlpvpie): 1 s, its experiments 100 to 300 ms",
            help: "How long arrivals are remembered: their values, and with two levels what was signalled.",
            ..ROW
        },
        threshold_update: Time = Parameter {
            domain: Domain::Time(SHORTEST, LONGEST),
            default: Preset::Is("10ms"),
            only: TWO_LEVELS,
            help: "Interval between two updates of the threshold.",
            ..ROW
        },
        phi: u64 = Parameter {
            domain: Domain::Fraction(0, LARGEST_GAIN, GAIN_PARTS),
            default: Preset::Is("0.125"),
            only: TWO_LEVELS,
            help: "Integral gain of the threshold, in ranges of values for each update.",
            ..ROW
        },
        psi: u64 = Parameter {
            domain: Domain::Fraction(0, LARGEST_GAIN, GAIN_PARTS),
            default: Preset::Is("1.25"),
            only: TWO_LEVELS,
            source: "the public PVPIE module for ns-3 (tlpvpie); its experiments: 0.125",
            help: "Proportional gain of the threshold, in ranges of values.",
            ..ROW
        },
        ties: Ties = Parameter {
            domain: Ties::DOMAIN,
            default: Preset::Is("share"),
            source: "quell; tlpvpie: pass",
            help: "Packets of exactly the threshold's value: share signals as many as the probability asks for, at random; pass signals none.",
            ..ROW
        },
        ecn: bool = Parameter {
            opposite: Some("noecn"),
            source: "quell, as pie; tlpvpie: false",
            help: "Mark ECN-capable packets while the probability is below max_ecnth, instead of dropping them.",
            ..ROW
        },
        max_ecnth: u64 = Parameter {
            domain: Domain::Fraction(0, FRACTIONS, FRACTIONS),
            default: Preset::Is("0.1"),
            only: Some(("ecn", "true")),
            source: "RFC 8033 section 5.1 (MAX_ECNTH)",
            help: "From this probability on ECN-capable packets are dropped too.",
            ..ROW
        },
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
