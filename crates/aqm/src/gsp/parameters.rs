//! The parameter table of GSP, and what several parameters mean together.

use alloc::format;
use alloc::string::{String, ToString};

use super::adaptation::{Law, PARTS};
use crate::parameter::{Domain, Parameter, ParameterError, Preset, Settings, Value, limit_bytes};
use crate::qdisc::{Backlog, Link};
use crate::single_queue::Limit;
use crate::units::{Bytes, Rate, Time};

const ADAPTIVE: Option<(&str, &str)> = Some(("adaptive", "true"));
const SHORTEST: Time = Time::from_micros(1);
const LONGEST: Time = Time::from_secs(3_600);

/// A living switch that is off; rows override what differs.
const ROW: Parameter = Parameter {
    name: "",
    opposite: None,
    domain: Domain::Flag,
    default: Preset::Is("false"),
    only: None,
    live: true,
    source: "",
    help: "",
};
/// A queue limit, with its unit.
const AMOUNT: Domain = Domain::Limit {
    plain_is_packets: false,
};

pub(super) const TABLE: &[Parameter] = &[
    Parameter {
        name: "threshold",
        domain: AMOUNT,
        default: Preset::Is("10ms"),
        source: "slides: 125 kB, 10 ms at 100 Mbit/s and the BDP of one of ten flows",
        help: "Above this a packet is dropped, one in each interval. Below the limit.",
        ..ROW
    },
    Parameter {
        name: "interval",
        domain: Domain::Time(SHORTEST, LONGEST),
        default: Preset::Is("200ms"),
        source: "HPSR 2015: twice the RTT of the traffic expected to dominate",
        help: "Timeout after a drop, in which there is no other; the longest, if adaptive.",
        ..ROW
    },
    Parameter {
        name: "limit",
        domain: AMOUNT,
        default: Preset::Is("100ms"),
        source: "quell; a typical access buffer. ns-3 port: 1000p",
        help: "What may wait, as in fifo.",
        ..ROW
    },
    Parameter {
        name: "adaptive",
        source: "HPSR 2015",
        help: "The timeout shrinks while the queue is above the threshold for too long.",
        ..ROW
    },
    Parameter {
        name: "tau",
        domain: Domain::Time(SHORTEST, LONGEST),
        default: Preset::Derived("5 × interval"),
        only: ADAPTIVE,
        source: "HPSR 2015: comfortably larger than the interval, here five times",
        help: "Cumulative time above the threshold that halves the timeout.",
        ..ROW
    },
    Parameter {
        name: "alpha",
        domain: Domain::Fraction(1, 16 * PARTS, PARTS),
        default: Preset::Is("2"),
        only: ADAPTIVE,
        source: "ns-3 port; HPSR 2015: not much larger than 1",
        help: "How much more time above the threshold counts than time below.",
        ..ROW
    },
    Parameter {
        name: "max_time",
        domain: Domain::Time(SHORTEST, LONGEST),
        default: Preset::Is("60s"),
        only: ADAPTIVE,
        source: "ns-3 port",
        help: "The largest cumulative time; it sets the shortest timeout.",
        ..ROW
    },
    Parameter {
        name: "delay",
        domain: Domain::Word(&["backlog", "sojourn"]),
        default: Preset::Is("backlog"),
        source: "backlog: quell; sojourn: ns-3 port",
        help: "What a threshold in time is compared with: the backlog at the link's rate, or the sojourn time of the last packet that left.",
        ..ROW
    },
    Parameter {
        name: "count_arriving",
        source: "ns-3 port: true; P4 port: false",
        help: "Whether the arriving packet counts when the queue is compared with the threshold.",
        ..ROW
    },
    Parameter {
        name: "limit_first",
        source: "both ports: false",
        help: "A packet that does not fit is not looked at by GSP: its loss begins no interval.",
        ..ROW
    },
    Parameter {
        name: "overflow_restarts",
        source: "both ports: false",
        help: "A packet lost to the limit begins an interval, as one that GSP drops.",
        ..ROW
    },
    Parameter {
        name: "ecn",
        opposite: Some("noecn"),
        source: "quell; no source mentions ECN",
        help: "Mark an ECN-capable packet that fits instead of dropping it.",
        ..ROW
    },
];

/// What the queue is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Threshold {
    Packets(u64),
    Bytes(Bytes),
    /// Of the last packet that left.
    Sojourn(Time),
}

impl Threshold {
    /// `q · 8 / rate > time` exactly when `q` is more than the whole bytes that the rate carries in that time.
    fn of(settings: &Settings, rate: Rate) -> Self {
        let setting = setting(settings, "threshold");
        match (setting, limit_bytes(setting, rate)) {
            (Value::Time(time), _) if settings.word("delay") == "sojourn" => Self::Sojourn(time),
            (Value::Packets(packets), _) => Self::Packets(packets),
            (_, bytes) => Self::Bytes(bytes.unwrap_or(Bytes::MAX)),
        }
    }
    /// Whether a queue of `backlog` is above, if the last packet that left had waited for `sojourn`.
    #[inline]
    pub(super) fn is_exceeded(self, backlog: Backlog, sojourn: Time) -> bool {
        match self {
            Self::Packets(threshold) => backlog.packets > threshold,
            Self::Bytes(threshold) => backlog.bytes > threshold,
            Self::Sojourn(threshold) => sojourn > threshold,
        }
    }
}

/// The settings, ready for use at one rate of the link.
#[derive(Debug, Clone, Copy)]
pub(super) struct Config {
    pub(super) threshold: Threshold,
    pub(super) limit: Limit,
    pub(super) interval: Time,
    /// Without it the interval is fixed.
    pub(super) law: Option<Law>,
    pub(super) count_arriving: bool,
    pub(super) limit_first: bool,
    pub(super) overflow_restarts: bool,
    pub(super) ecn: bool,
}

impl Config {
    /// Refuses a limit that accepts nothing, a threshold that is not below it, and switches that would do nothing.
    pub(super) fn of(settings: &Settings, link: Link) -> Result<Self, ParameterError> {
        let limit = Limit::of(settings, link)?;
        check(settings, link.rate)?;
        Ok(Self::with(settings, link.rate, limit))
    }
    /// Without a look at the limit and the threshold, whose sizes a change of rate may have brought together.
    pub(super) fn with(settings: &Settings, rate: Rate, limit: Limit) -> Self {
        let interval = settings.time("interval");
        Self {
            threshold: Threshold::of(settings, rate),
            limit,
            interval,
            law: settings
                .flag("adaptive")
                .then(|| Law::of(settings, interval)),
            count_arriving: settings.flag("count_arriving"),
            limit_first: settings.flag("limit_first"),
            overflow_restarts: settings.flag("overflow_restarts"),
            ecn: settings.flag("ecn"),
        }
    }
}

fn check(settings: &Settings, rate: Rate) -> Result<(), ParameterError> {
    let (threshold, limit) = (setting(settings, "threshold"), setting(settings, "limit"));
    let reached = match (threshold, limit) {
        (Value::Packets(threshold), Value::Packets(limit)) => threshold < limit,
        (Value::Time(threshold), Value::Time(limit)) => threshold < limit,
        // Packets have no fixed size, and without a rate a time is no amount.
        (Value::Packets(_), _) | (_, Value::Packets(_)) => true,
        _ if rate.is_unlimited() => true,
        _ => limit_bytes(threshold, rate) < limit_bytes(limit, rate),
    };
    if !reached {
        return refuse(
            "threshold",
            threshold,
            format!("must be below the limit, which is {limit}"),
        );
    }
    switches(settings)
}

/// Refuses switches that would do nothing beside a threshold of this unit.
pub(super) fn switches(settings: &Settings) -> Result<(), ParameterError> {
    let in_time = matches!(setting(settings, "threshold"), Value::Time(_));
    if settings.is_given("delay") && !in_time {
        let allowed = "has an effect only with a threshold in time".to_string();
        return refuse("delay", setting(settings, "delay"), allowed);
    }
    let sojourn = in_time && settings.word("delay") == "sojourn";
    if settings.flag("count_arriving") && sojourn {
        let allowed = "has no effect with delay = \"sojourn\"".to_string();
        return refuse("count_arriving", Value::Flag(true), allowed);
    }
    Ok(())
}

fn setting(settings: &Settings, name: &str) -> Value {
    settings.value(name).expect("it has a default")
}

fn refuse(key: &str, found: Value, allowed: String) -> Result<(), ParameterError> {
    Err(ParameterError {
        key: key.to_string(),
        found: found.to_string(),
        allowed,
    })
}
