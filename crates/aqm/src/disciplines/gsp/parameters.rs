//! The parameters of GSP, and what several of them mean together.

use alloc::format;

use super::adaptation::{Coefficients, PARTS};
use crate::parameter::{self, Amount, Domain, Parameter, ParameterError, Preset};
use crate::qdisc::Backlog;
use crate::units::{Bytes, Rate, Time, name_of, parameters, words};

const ADAPTIVE: Option<(&str, &str)> = Some(("adaptive", "true"));
const SHORTEST: Time = Time::from_micros(1);
const LONGEST: Time = Time::from_secs(3_600);

const ROW: Parameter = Parameter::LIVE;
/// A queue limit, with its unit.
const AMOUNT: Domain = Domain::Limit {
    plain_is_packets: false,
};

words! {
    /// The delay that a threshold in time is compared with.
    pub(crate) enum Delay {
        Backlog = "backlog",
        Sojourn = "sojourn",
    }
}
parameters! {
    /// The parameters of GSP.
    pub struct Parameters {
        threshold: Amount = Parameter {
            threshold: Some(parameter::Threshold::Standing),
            domain: AMOUNT,
            default: Preset::Is("10ms"),
            source: "slides: 125 kB, 10 ms at 100 Mbit/s and the BDP of one of ten flows",
            help: "Above this a packet is dropped, one in each interval. Below the limit.",
            ..ROW
        },
        interval: Time = Parameter {
            domain: Domain::Time(SHORTEST, LONGEST),
            default: Preset::Is("200ms"),
            source: "HPSR 2015: twice the RTT of the traffic expected to dominate",
            help: "Timeout after a drop, in which there is no other; the longest, if adaptive.",
            ..ROW
        },
        limit: Amount = Parameter {
            domain: AMOUNT,
            default: Preset::Is("100ms"),
            source: "quell; a typical access buffer. ns-3 port: 1000p",
            help: "What may wait, as in fifo.",
            ..ROW
        },
        adaptive: bool = Parameter {
            source: "HPSR 2015",
            help: "The timeout shrinks while the queue is above the threshold for too long.",
            ..ROW
        },
        tau: Option<Time> = Parameter {
            domain: Domain::Time(SHORTEST, LONGEST),
            default: Preset::Derived("5 × interval"),
            only: ADAPTIVE,
            source: "HPSR 2015: comfortably larger than the interval, here five times",
            help: "Cumulative time above the threshold that halves the timeout.",
            ..ROW
        },
        alpha: u64 = Parameter {
            domain: Domain::Fraction(1, 16 * PARTS, PARTS),
            default: Preset::Is("2"),
            only: ADAPTIVE,
            source: "ns-3 port; HPSR 2015: not much larger than 1",
            help: "How much more time above the threshold counts than time below.",
            ..ROW
        },
        max_time: Time = Parameter {
            domain: Domain::Time(SHORTEST, LONGEST),
            default: Preset::Is("60s"),
            only: ADAPTIVE,
            source: "ns-3 port",
            help: "The largest cumulative time; it sets the shortest timeout.",
            ..ROW
        },
        delay: Delay = Parameter {
            domain: Delay::DOMAIN,
            default: Preset::Is("backlog"),
            source: "backlog: quell; sojourn: ns-3 port",
            help: "What a threshold in time is compared with: the backlog at the link's rate, or the sojourn time of the last packet that left.",
            ..ROW
        },
        count_arriving: bool = Parameter {
            source: "ns-3 port: true; P4 port: false",
            help: "Whether the arriving packet counts when the queue is compared with the threshold.",
            ..ROW
        },
        limit_first: bool = Parameter {
            source: "both ports: false",
            help: "A packet that does not fit is not looked at by GSP: its loss begins no interval.",
            ..ROW
        },
        overflow_restarts: bool = Parameter {
            source: "both ports: false",
            help: "A packet lost to the limit begins an interval, as one that GSP drops.",
            ..ROW
        },
        ecn: bool = Parameter {
            opposite: Some("noecn"),
            source: "quell; no source mentions ECN",
            help: "Mark an ECN-capable packet that fits instead of dropping it.",
            ..ROW
        },
    }
}

/// The threshold that the queue is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Threshold {
    Packets(u64),
    Bytes(Bytes),
    /// Sojourn time of the last packet that left.
    Sojourn(Time),
}

impl Threshold {
    /// `q · 8 / rate > time` exactly when `q` is more than the whole bytes that the rate carries in that time.
    fn of(parameters: &Parameters, rate: Rate) -> Self {
        let threshold = parameters.threshold;
        match (threshold, parameters.delay) {
            (Amount::Time(time) | Amount::DefaultTime(time), Delay::Sojourn) => Self::Sojourn(time),
            (Amount::Packets(packets), _) => Self::Packets(packets),
            (Amount::Bytes(bytes), _) => Self::Bytes(bytes),
            (Amount::Time(time) | Amount::DefaultTime(time), Delay::Backlog) => {
                Self::Bytes(rate.bytes_in(time))
            }
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

/// The parameters, ready for use at one rate of the link.
#[derive(Debug, Clone, Copy)]
pub(super) struct Config {
    pub(super) threshold: Threshold,
    pub(super) interval: Time,
    /// Coefficients of the adaptive timeout; `None` if the timeout is fixed.
    pub(super) adaptation: Option<Coefficients>,
    pub(super) count_arriving: bool,
    pub(super) limit_first: bool,
    pub(super) overflow_restarts: bool,
    pub(super) ecn: bool,
}

impl Config {
    pub(super) fn of(parameters: &Parameters, rate: Rate) -> Self {
        Self {
            threshold: Threshold::of(parameters, rate),
            interval: parameters.interval,
            adaptation: parameters.adaptive.then(|| {
                let tau = parameters.tau.unwrap_or(parameters.interval * 5);
                Coefficients::new(parameters.alpha, tau, parameters.max_time)
            }),
            count_arriving: parameters.count_arriving,
            limit_first: parameters.limit_first,
            overflow_restarts: parameters.overflow_restarts,
            ecn: parameters.ecn,
        }
    }
}

/// Refuses a threshold that is not below the limit.
pub(super) fn check_threshold(parameters: &Parameters, rate: Rate) -> Result<(), ParameterError> {
    let Parameters {
        threshold, limit, ..
    } = *parameters;
    let reached = match (threshold, limit) {
        (Amount::Packets(threshold), Amount::Packets(limit)) => threshold < limit,
        _ if threshold.time().is_some() && limit.time().is_some() => {
            threshold.time() < limit.time()
        }
        // Packets have no fixed size, and without a rate a time is no amount.
        (Amount::Packets(_), _) | (_, Amount::Packets(_)) => true,
        _ if rate.is_unlimited() => true,
        _ => threshold.bytes_at(rate) < limit.bytes_at(rate),
    };
    if reached {
        return Ok(());
    }
    let allowed = format!("must be below the limit, which is {limit}");
    Err(ParameterError::new(
        name_of!(Parameters, threshold),
        threshold,
        allowed,
    ))
}

/// Refuses switches that would have no effect beside a threshold of this unit.
pub(super) fn check_switches(parameters: &Parameters) -> Result<(), ParameterError> {
    let in_time = parameters.threshold.time().is_some();
    let by_sojourn = parameters.delay == Delay::Sojourn;
    // The default is not refused: a resolved scenario names it, whatever the threshold is.
    if by_sojourn && !in_time {
        let allowed = "has an effect only with a threshold in time";
        return Err(ParameterError::new(
            name_of!(Parameters, delay),
            parameters.delay,
            allowed,
        ));
    }
    if parameters.count_arriving && by_sojourn {
        let allowed = "has no effect with delay = \"sojourn\"";
        return Err(ParameterError::new(
            name_of!(Parameters, count_arriving),
            true,
            allowed,
        ));
    }
    Ok(())
}
