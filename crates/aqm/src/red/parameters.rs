//! The parameter table of RED, and what its rows give together with the link.

use alloc::format;
use alloc::string::{String, ToString};

use super::floyd::{self, WEIGHT_BITS};
use super::linux;
use super::tc::{self, PARTS};
use crate::parameter::{Domain, Parameter, ParameterError, Preset, Settings, Value, limit_bytes};
use crate::qdisc::Link;
use crate::single_queue::Limit;
use crate::units::{Bytes, Probability, Rate};

const LINUX: Option<(&str, &str)> = Some(("form", "linux"));
const FLOYD: Option<(&str, &str)> = Some(("form", "floyd"));
/// Without it the kernel refuses nodrop and ignores harddrop.
const ECN: Option<(&str, &str)> = Some(("ecn", "true"));
const AMOUNT: Domain = Domain::Limit {
    plain_is_packets: false,
};
/// Of an imagined link that empties the average; `tc` keeps whole bytes/s.
const SLOWEST: Rate = Rate::from_bps(8);
const FASTEST: Rate = Rate::from_mbps(1_000_000);

/// A living parameter of both forms; rows override what differs.
const ROW: Parameter = Parameter {
    name: "",
    opposite: None,
    domain: Domain::Flag,
    default: Preset::Is("false"),
    only: None,
    live: true,
    source: "tc-red(8)",
    help: "",
};

pub(super) const TABLE: &[Parameter] = &[
    Parameter {
        name: "form",
        domain: Domain::Word(&["linux", "floyd"]),
        default: Preset::Is("linux"),
        live: false,
        source: "quell",
        help: "Linux's sch_red to the integer, or the published algorithm.",
        ..ROW
    },
    Parameter {
        name: "limit",
        domain: AMOUNT,
        default: Preset::Is("320ms"),
        source: "tc-red(8): its example has 400000 bytes at 10mbit",
        help: "What may wait. Linux counts bytes.",
        ..ROW
    },
    Parameter {
        name: "min",
        domain: AMOUNT,
        default: Preset::Derived("max / 3"),
        help: "Average queue at which signals begin; its unit is that of max. Linux counts bytes.",
        ..ROW
    },
    Parameter {
        name: "max",
        domain: AMOUNT,
        default: Preset::Derived(
            "3 × min where that is given, else limit / 4; linux: as far as the kernel's 31 bits hold it",
        ),
        help: "Average queue at which the probability is reached; above, every packet is signalled, or gently more.",
        ..ROW
    },
    Parameter {
        name: "avpkt",
        domain: Domain::Bytes(1, u32::MAX as u64),
        default: Preset::Is("1000B"),
        source: "tc-red(8): 1000 is a good value",
        help: "Size of an average packet: for the weight, for the decay while idle, and for byte_mode.",
        ..ROW
    },
    Parameter {
        name: "burst",
        domain: Domain::Packets(1, u32::MAX as u64),
        default: Preset::Derived(
            "(2 × min + max) / (3 × avpkt), as far as the kernel's 31 bits hold the average",
        ),
        only: LINUX,
        help: "Packets that may come at once into an empty queue without taking the average above min; gives the weight.",
        ..ROW
    },
    Parameter {
        name: "weight",
        domain: Domain::Fraction(1, 1 << WEIGHT_BITS, 1 << WEIGHT_BITS),
        default: Preset::Is("0.002"),
        only: FLOYD,
        source: "Floyd and Jacobson 1993 (w_q)",
        help: "Weight of a new sample in the average.",
        ..ROW
    },
    Parameter {
        name: "probability",
        domain: Domain::Fraction(1, PARTS, PARTS),
        default: Preset::By("form", &[("linux", "0.02"), ("floyd", "0.1")]),
        source: "tc-red(8); Floyd 1997, \"Discussions of setting parameters\" (max_p)",
        help: "Probability of a signal at max.",
        ..ROW
    },
    Parameter {
        name: "bandwidth",
        domain: Domain::Rate(SLOWEST, FASTEST),
        default: Preset::Derived("the link's rate; tc: 10mbit"),
        help: "Rate of the imagined packets that let the average decay while the link is idle.",
        ..ROW
    },
    Parameter {
        name: "ecn",
        help: "Mark packets that are ECN-capable instead of dropping them.",
        ..ROW
    },
    Parameter {
        name: "harddrop",
        only: ECN,
        help: "Drop above max all the same (gentle: above twice max).",
        ..ROW
    },
    Parameter {
        name: "nodrop",
        only: ECN,
        help: "Queue what would be signalled but is not ECN-capable.",
        ..ROW
    },
    Parameter {
        name: "adaptive",
        source: "tc-red(8); Floyd, Gummadi and Shenker 2001",
        help: "Every 500 ms move the probability, from 0.01 to 0.5, to hold the average in the middle fifth between min and max.",
        ..ROW
    },
    Parameter {
        name: "gentle",
        default: Preset::Is("true"),
        only: FLOYD,
        source: "Floyd 2000, \"Recommendation on using the gentle variant of RED\"",
        help: "Above max let the probability rise to 1 at twice max, instead of jumping to 1.",
        ..ROW
    },
    Parameter {
        name: "wait",
        only: FLOYD,
        source: "ns-2 (wait_); DPDK rte_red",
        help: "At least 1/probability packets between two signals; at most twice as many.",
        ..ROW
    },
    Parameter {
        name: "byte_mode",
        only: FLOYD,
        source: "Floyd and Jacobson 1993, section 4; ns-2 (bytes_)",
        help: "Signal a packet in proportion to its size over avpkt.",
        ..ROW
    },
];

/// What the queue is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Packets,
    Bytes,
}

/// What happens to a packet that is to be signalled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Signals {
    pub(super) ecn: bool,
    pub(super) harddrop: bool,
    pub(super) nodrop: bool,
}

/// The law's parameters.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant, reason = "lives as long as a change takes")]
pub(super) enum Law {
    Linux(linux::Parameters),
    Floyd(Unit, floyd::Parameters),
}

/// All that settings and link give.
#[derive(Debug, Clone)]
pub(super) struct Config {
    pub(super) limit: Limit,
    pub(super) signals: Signals,
    pub(super) adaptive: bool,
    pub(super) law: Law,
}

/// The thresholds in their unit.
#[derive(Debug, Clone, Copy)]
struct Thresholds {
    unit: Unit,
    min: u32,
    max: u32,
}

impl Config {
    /// Refuses what `tc` or the kernel refuse, and what would have no effect.
    pub(super) fn of(settings: &Settings, link: Link) -> Result<Self, ParameterError> {
        let signals = Signals {
            ecn: settings.flag("ecn"),
            harddrop: settings.flag("harddrop"),
            nodrop: settings.flag("nodrop"),
        };
        let limit = Limit::of(settings, link)?;
        let thresholds = Thresholds::of(settings, link, limit)?;
        let law = if settings.word("form") == "floyd" {
            Law::Floyd(thresholds.unit, floyd(settings, link, thresholds))
        } else {
            for (name, unit) in [("limit", unit_of(limit)), ("max", thresholds.unit)] {
                if unit == Unit::Packets {
                    let must = "must be in bytes or time with form = \"linux\"";
                    return Err(error(settings, name, must));
                }
            }
            Law::Linux(linux(settings, link, thresholds)?)
        };
        Ok(Self {
            limit,
            signals,
            adaptive: settings.flag("adaptive"),
            law,
        })
    }
}

fn unit_of(limit: Limit) -> Unit {
    match limit {
        Limit::Packets(_) => Unit::Packets,
        Limit::Bytes(_) => Unit::Bytes,
    }
}

impl Thresholds {
    fn of(settings: &Settings, link: Link, limit: Limit) -> Result<Self, ParameterError> {
        let given = |name| {
            settings
                .value(name)
                .map(|value| match limit_bytes(value, link.rate) {
                    Some(bytes) => (Unit::Bytes, bytes.get()),
                    None => (Unit::Packets, settings.number(name)),
                })
        };
        let (of_limit, unit) = match limit {
            Limit::Packets(packets) => (packets, Unit::Packets),
            Limit::Bytes(bytes) => (bytes.get(), Unit::Bytes),
        };
        let ((unit, min), max) = match (given("min"), given("max")) {
            (Some(min), Some(max)) => (min, max),
            (Some(min), None) => (min, (min.0, min.1.saturating_mul(3))),
            (None, Some(max)) => ((max.0, max.1 / 3), max),
            (None, None) => {
                let max = (of_limit / 4).min(largest_max(settings));
                ((unit, max / 3), (unit, max))
            }
        };
        if max.0 != unit {
            return Err(error(settings, "min", "must have the unit of max"));
        }
        let fitting = |name, amount: u64| {
            let allowed = format!("is {amount} and must be from 1 to {}", u32::MAX);
            u32::try_from(amount)
                .ok()
                .filter(|&amount| amount > 0)
                .ok_or_else(|| error(settings, name, &allowed))
        };
        // The average and the kernel count in 32 bits.
        fitting("limit", of_limit)?;
        let (min, max) = (fitting("min", min)?, fitting("max", max.1)?);
        if min > max {
            return Err(error(
                settings,
                "min",
                &format!("is {min} and must not be above max, {max}"),
            ));
        }
        Ok(Self { unit, min, max })
    }
}

/// The largest `max` over which `tc` can spread the default probability, with a `min` of a third of it.
fn largest_max(settings: &Settings) -> u64 {
    if settings.word("form") == "floyd" || settings.is_given("probability") {
        return u64::MAX;
    }
    // max − min is at most (2·max + 2)/3 and must stay below probability · 2³¹.
    let range = (settings.number("probability") << 31) / PARTS;
    (range * 3 / 2).saturating_sub(2).min((1 << 30) - 1)
}

fn floyd(settings: &Settings, link: Link, thresholds: Thresholds) -> floyd::Parameters {
    floyd::Parameters {
        min: thresholds.min,
        max: thresholds.max,
        weight: settings.number("weight"),
        max_probability: Probability::ratio(settings.number("probability"), PARTS),
        gentle: settings.flag("gentle"),
        wait: settings.flag("wait"),
        byte_mode: settings.flag("byte_mode"),
        avpkt: avpkt(settings),
        bandwidth: bandwidth(settings, link),
    }
}

/// As `red_parse_opt` of `tc` does.
fn linux(
    settings: &Settings,
    link: Link,
    thresholds: Thresholds,
) -> Result<linux::Parameters, ParameterError> {
    let Thresholds { min, max, .. } = thresholds;
    let avpkt = avpkt(settings);
    let parts = settings.number("probability");
    if tc::probability_log(min, max, parts).is_none() {
        return Err(error(
            settings,
            "probability",
            "is too small: must be above (max - min) in bytes / 2^31",
        ));
    }
    let given = settings
        .is_given("burst")
        .then(|| settings.number("burst") as u32);
    let least = 1 + min / avpkt;
    let burst = given.unwrap_or_else(|| {
        let usual = (2 * u64::from(min) + u64::from(max)) / (3 * u64::from(avpkt));
        u32::try_from(usual).unwrap_or(u32::MAX).max(least)
    });
    let Some(mut weight_log) = tc::weight_log(min, burst, avpkt) else {
        return Err(match given {
            Some(burst) if burst < least => error(
                settings,
                "burst",
                &format!("is too small: must be at least {least}p, 1 + min / avpkt"),
            ),
            _ => error(
                settings,
                "avpkt",
                &format!(
                    "must be below min, {}, for any weight to allow the burst",
                    Bytes::new(min.into())
                ),
            ),
        });
    };
    if given.is_none() {
        weight_log = weight_log.min(max.leading_zeros().saturating_sub(1)).max(1);
    }
    let bandwidth = bandwidth(settings, link);
    let Some(idle) = tc::idle_table(weight_log, avpkt, bandwidth) else {
        return Err(ParameterError {
            key: "bandwidth".to_string(),
            found: bandwidth.to_string(),
            allowed: format!("is too low for packets of {avpkt} bytes"),
        });
    };
    let parameters = linux::Parameters {
        min,
        max,
        weight_log,
        max_probability: tc::max_probability(parts),
        idle,
    };
    if !parameters.are_valid() {
        let allowed = format!(
            "is {max} and must be below 2^{} with this burst",
            31 - weight_log.min(31)
        );
        return Err(error(settings, "max", &allowed));
    }
    Ok(parameters)
}

fn avpkt(settings: &Settings) -> u32 {
    // The table keeps it in range.
    u32::try_from(settings.number("avpkt")).unwrap_or(u32::MAX)
}

fn bandwidth(settings: &Settings, link: Link) -> Rate {
    match settings.value("bandwidth") {
        Some(Value::Rate(rate)) => rate,
        _ => link.rate.clamp(SLOWEST, FASTEST),
    }
}

fn error(settings: &Settings, name: &str, allowed: &str) -> ParameterError {
    ParameterError {
        key: name.to_string(),
        found: settings
            .value(name)
            .map_or_else(|| String::from("derived"), |value| value.to_string()),
        allowed: allowed.to_string(),
    }
}
