//! The parameter table of PVPIE, and what it makes of PIE.

use crate::parameter::{Domain, Parameter, Preset, Settings};
use crate::pie::rfc8033::{Config, Decay};
use crate::pie::{LONGEST, SHORTEST};
use crate::units::{Bytes, Probability, Time};
use crate::virtual_queue::parameters::{DEFAULT_VALUE, HIGHEST_VALUE};

use super::threshold::GAIN_PARTS;

const TLP: &str = "the public PVPIE module for ns-3 (tlpvpie)";
const TWO_LEVELS: Option<(&str, &str)> = Some(("levels", "2"));
/// In which fractions `max_ecnth` is kept.
const FRACTIONS: u64 = 1 << 20;
/// The largest gain of the second level.
const LARGEST_GAIN: u64 = 16 * GAIN_PARTS;

const ROW: Parameter = Parameter {
    name: "",
    opposite: None,
    domain: Domain::Flag,
    default: Preset::Is("false"),
    only: None,
    live: true,
    source: TLP,
    help: "",
};

pub(super) const TABLE: &[Parameter] = &[
    Parameter {
        name: "levels",
        domain: Domain::Integer(1, 2),
        default: Preset::Is("1"),
        live: false,
        help: "1: the threshold is a quantile of what arrived (PVPIE). 2: a controller moves it until as much is signalled as PIE wants (TL-PVPIE).",
        ..ROW
    },
    Parameter {
        name: "limit",
        domain: Domain::Limit {
            plain_is_packets: true,
        },
        default: Preset::Is("250ms"),
        source: "quell: far above the target at any rate; tlpvpie: 25 packets, its experiments 200 kB",
        help: "What may wait: packets, bytes, or a time at the link's rate.",
        ..ROW
    },
    Parameter {
        name: "target",
        domain: Domain::Time(SHORTEST, LONGEST),
        default: Preset::Is("20ms"),
        help: "Queue delay that the controller holds.",
        ..ROW
    },
    Parameter {
        name: "tupdate",
        domain: Domain::Time(SHORTEST, LONGEST),
        default: Preset::Is("30ms"),
        source: "the public PVPIE module for ns-3 (tlpvpie); its experiments: 100 ms",
        help: "Interval between two updates of the probability.",
        ..ROW
    },
    Parameter {
        name: "alpha",
        domain: Domain::Integer(0, 32),
        default: Preset::Is("2"),
        help: "Integral gain, in sixteenths of 1 Hz.",
        ..ROW
    },
    Parameter {
        name: "beta",
        domain: Domain::Integer(0, 32),
        default: Preset::Is("20"),
        help: "Proportional gain, in sixteenths of 1 Hz.",
        ..ROW
    },
    Parameter {
        name: "max_burst",
        domain: Domain::Time(Time::ZERO, LONGEST),
        default: Preset::Is("100ms"),
        help: "How long a burst after a calm time passes without signals.",
        ..ROW
    },
    Parameter {
        name: "window",
        domain: Domain::Time(SHORTEST, LONGEST),
        default: Preset::Derived("1 s with one level, 100 ms with two"),
        source: "the public PVPIE module for ns-3 (tlpvpie): 1 s, its experiments 100 to 300 ms",
        help: "How long arrivals are remembered: their values, and with two levels what was signalled.",
        ..ROW
    },
    Parameter {
        name: "threshold_update",
        domain: Domain::Time(SHORTEST, LONGEST),
        default: Preset::Is("10ms"),
        only: TWO_LEVELS,
        help: "Interval between two updates of the threshold.",
        ..ROW
    },
    Parameter {
        name: "phi",
        domain: Domain::Fraction(0, LARGEST_GAIN, GAIN_PARTS),
        default: Preset::Is("0.125"),
        only: TWO_LEVELS,
        help: "Integral gain of the threshold, in ranges of values for each update.",
        ..ROW
    },
    Parameter {
        name: "psi",
        domain: Domain::Fraction(0, LARGEST_GAIN, GAIN_PARTS),
        default: Preset::Is("1.25"),
        only: TWO_LEVELS,
        source: "the public PVPIE module for ns-3 (tlpvpie); its experiments: 0.125",
        help: "Proportional gain of the threshold, in ranges of values.",
        ..ROW
    },
    Parameter {
        name: "ties",
        domain: Domain::Word(&["share", "pass"]),
        default: Preset::Is("share"),
        source: "quell; tlpvpie: pass",
        help: "Packets of exactly the threshold's value: share signals as many as the probability asks for, at random; pass signals none.",
        ..ROW
    },
    Parameter {
        name: "ecn",
        opposite: Some("noecn"),
        source: "quell, as pie; tlpvpie: false",
        help: "Mark ECN-capable packets while the probability is below max_ecnth, instead of dropping them.",
        ..ROW
    },
    Parameter {
        name: "max_ecnth",
        domain: Domain::Fraction(0, FRACTIONS, FRACTIONS),
        default: Preset::Is("0.1"),
        only: Some(("ecn", "true")),
        source: "RFC 8033 section 5.1 (MAX_ECNTH)",
        help: "From this probability on ECN-capable packets are dropped too.",
        ..ROW
    },
    DEFAULT_VALUE,
    HIGHEST_VALUE,
];

/// The window, also where nobody says.
pub(super) fn window(settings: &Settings) -> Time {
    match settings.value("window") {
        Some(_) => settings.time("window"),
        None if settings.number("levels") == 2 => Time::from_millis(100),
        None => Time::from_secs(1),
    }
}

/// PIE without what PVPIE decides otherwise: the spacing of signals, rest, and the short queue in bytes.
pub(super) fn pie(settings: &Settings) -> Config {
    Config {
        target: settings.time("target"),
        interval: settings.time("tupdate"),
        alpha: settings.number("alpha"),
        beta: settings.number("beta"),
        ecn: settings.flag("ecn"),
        estimates: false,
        max_burst: settings.time("max_burst"),
        max_ecnth: Probability::ratio(settings.number("max_ecnth"), FRACTIONS),
        mean_size: Bytes::ZERO,
        on_off: false,
        derandomize: false,
        cap_drop: true,
        decay: Decay::Zero,
    }
}
