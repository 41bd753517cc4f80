//! The parameters of GSP, and what several of them mean together.

use alloc::format;

use super::adaptation::{Coefficients, PARTS};
use crate::parameter::{self, Amount, Domain, Parameter, ParameterError};
use crate::qdisc::Backlog;
use crate::units::{Bytes, Rate, Time, name_of, parameters, words};

const ADAPTIVE: (&str, &str) = ("adaptive", "true");
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
        /// Above this a packet is dropped, one in each interval. Below the limit.
        threshold: Amount = ROW.threshold(parameter::Threshold::Standing).domain(AMOUNT).default("10ms")
            .source("slides: 125 kB, 10 ms at 100 Mbit/s and the BDP of one of ten flows"),
        /// Timeout after a drop, in which there is no other; the longest, if adaptive.
        interval: Time = ROW.domain(Domain::Time(SHORTEST, LONGEST)).default("200ms")
            .source("HPSR 2015: twice the RTT of the traffic expected to dominate"),
        /// What may wait, as in fifo.
        limit: Amount = ROW.domain(AMOUNT).default("100ms").source("quell; a typical access buffer. ns-3 port: 1000p"),
        /// The timeout shrinks while the queue is above the threshold for too long.
        adaptive: bool = ROW.source("HPSR 2015"),
        /// Cumulative time above the threshold that halves the timeout.
        tau: Option<Time> = ROW.domain(Domain::Time(SHORTEST, LONGEST)).derived("5 × interval").only(ADAPTIVE)
            .source("HPSR 2015: comfortably larger than the interval, here five times"),
        /// How much more time above the threshold counts than time below.
        alpha: u64 = ROW.domain(Domain::Fraction(1, 16 * PARTS, PARTS)).default("2").only(ADAPTIVE)
            .source("ns-3 port; HPSR 2015: not much larger than 1"),
        /// The largest cumulative time; it sets the shortest timeout.
        max_time: Time = ROW.domain(Domain::Time(SHORTEST, LONGEST)).default("60s").only(ADAPTIVE)
            .source("ns-3 port"),
        /// What a threshold in time is compared with: the backlog at the link's rate, or the sojourn time of the last
        /// packet that left.
        delay: Delay = ROW.default("backlog").source("backlog: quell; sojourn: ns-3 port"),
        /// Whether the arriving packet counts when the queue is compared with the threshold.
        count_arriving: bool = ROW.source("ns-3 port: true; P4 port: false"),
        /// A packet that does not fit is not looked at by GSP: its loss begins no interval.
        limit_first: bool = ROW.source("both ports: false"),
        /// A packet lost to the limit begins an interval, as one that GSP drops.
        overflow_restarts: bool = ROW.source("both ports: false"),
        /// Mark an ECN-capable packet that fits instead of dropping it.
        ecn: bool = ROW.opposite("noecn").source("quell; no source mentions ECN"),
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
