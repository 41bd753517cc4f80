//! The parameters of RED, and what follows from them on a link.

use alloc::format;
use alloc::string::String;
use core::fmt;

use super::floyd::{self, WEIGHT_BITS};
use super::linux;
use super::tc::{self, PARTS};
use crate::limit::{LIMIT, QueueLimit};
use crate::parameter::{self, Amount, Domain, Parameter, ParameterError, Value};
use crate::qdisc::Link;
use crate::units::{Bytes, Probability, Rate, name_of, parameters, words};

const LINUX: (&str, &str) = ("form", "linux");
const FLOYD: (&str, &str) = ("form", "floyd");
/// Without it the kernel refuses nodrop and ignores harddrop.
const ECN: (&str, &str) = ("ecn", "true");
const AMOUNT: Domain = Domain::Limit {
    plain_is_packets: false,
};
/// The default probability of the form linux.
const USUAL: u64 = PARTS / 50;
/// The average and the kernel count in 32 bits.
pub(super) const LARGEST: Bytes = Bytes::new(u32::MAX as u64);
/// The lowest rate of the imagined link that empties the average; `tc` keeps whole bytes/s.
const SLOWEST: Rate = Rate::from_bps(8);
const FASTEST: Rate = Rate::from_mbps(1_000_000);

/// A living parameter of both forms; rows override what differs.
const ROW: Parameter = Parameter::LIVE.source("tc-red(8)");

words! {
    /// The word of `form`.
    pub(crate) enum Form {
        Linux = "linux",
        Floyd = "floyd",
    }
}
parameters! {
    /// The parameters of RED.
    pub struct Parameters {
        /// Linux's sch_red to the integer, or the published algorithm.
        form: Form = ROW.default("linux").fixed().source("quell"),
        /// What may wait. Linux counts bytes.
        limit: Amount = ROW.domain(AMOUNT).default("320ms").source("tc-red(8): its example has 400000 bytes at 10mbit"),
        /// Average queue at which signals begin; its unit is that of max. Linux counts bytes.
        min: Option<Amount> = ROW.threshold(parameter::Threshold::Standing).domain(AMOUNT).derived("max / 3"),
        /// Average queue at which the probability is reached; above, every packet is signalled, or gently more.
        max: Option<Amount> = ROW.domain(AMOUNT)
            .derived("3 × min where that is given, else limit / 4; linux: as far as the kernel's 31 bits hold it, and such that min is above avpkt"),
        /// Size of an average packet: for the weight, for the decay while idle, and for byte_mode.
        avpkt: Bytes = ROW.domain(Domain::Bytes(1, u32::MAX as u64)).default("1000B")
            .source("tc-red(8): 1000 is a good value"),
        /// Packets that may come at once into an empty queue without taking the average above min; gives the weight.
        burst: Option<u32> = ROW.domain(Domain::Packets(1, u32::MAX as u64))
            .derived("(2 × min + max) / (3 × avpkt), as far as the kernel's 31 bits hold the average").only(LINUX),
        /// Weight of a new sample in the average.
        weight: u64 = ROW.domain(Domain::Fraction(1, 1 << WEIGHT_BITS, 1 << WEIGHT_BITS)).default("0.002")
            .only(FLOYD).source("Floyd and Jacobson 1993 (w_q)"),
        /// Probability of a signal at max.
        // The default of linux is USUAL.
        probability: u64 = ROW.domain(Domain::Fraction(1, PARTS, PARTS))
            .default_by("form", &[("linux", "0.02"), ("floyd", "0.1")])
            .source("tc-red(8); Floyd 1997, \"Discussions of setting parameters\" (max_p)"),
        /// Rate of the imagined packets that let the average decay while the link is idle.
        bandwidth: Option<Rate> = ROW.domain(Domain::Rate(SLOWEST, FASTEST)).derived("the link's rate; tc: 10mbit"),
        /// Mark packets that are ECN-capable instead of dropping them.
        ecn: bool = ROW,
        /// Drop above max all the same (gentle: above twice max).
        harddrop: bool = ROW.only(ECN),
        /// Queue what would be signalled but is not ECN-capable.
        nodrop: bool = ROW.only(ECN),
        /// Every 500 ms move the probability, from 0.01 to 0.5, to hold the average in the middle fifth between min and
        /// max.
        adaptive: bool = ROW.source("tc-red(8); Floyd, Gummadi and Shenker 2001"),
        /// Above max let the probability rise to 1 at twice max, instead of jumping to 1.
        gentle: bool = ROW.default("true").only(FLOYD)
            .source("Floyd 2000, \"Recommendation on using the gentle variant of RED\""),
        /// At least 1/probability packets between two signals; at most twice as many.
        wait: bool = ROW.only(FLOYD).source("ns-2 (wait_); DPDK rte_red"),
        /// Signal a packet in proportion to its size over avpkt.
        byte_mode: bool = ROW.only(FLOYD).source("Floyd and Jacobson 1993, section 4; ns-2 (bytes_)"),
    }
}

/// The unit of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Packets,
    Bytes,
}

/// The signals to packets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Signals {
    pub(super) ecn: bool,
    pub(super) harddrop: bool,
    pub(super) nodrop: bool,
}

/// The constants of the law.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant, reason = "lives as long as a change takes")]
pub(super) enum Constants {
    Linux(linux::Parameters),
    Floyd(Unit, floyd::Parameters),
}

/// Everything that follows from the parameters on a link.
#[derive(Debug, Clone)]
pub(super) struct Config {
    pub(super) signals: Signals,
    pub(super) adaptive: bool,
    pub(super) constants: Constants,
}

/// The thresholds in their unit.
#[derive(Debug, Clone, Copy)]
struct Thresholds {
    unit: Unit,
    min: u32,
    max: u32,
}

impl Config {
    /// Refuses parameters that `tc` or the kernel refuse, and those that would have no effect.
    pub(super) fn of(parameters: &Parameters, link: Link) -> Result<Self, ParameterError> {
        let signals = Signals {
            ecn: parameters.ecn,
            harddrop: parameters.harddrop,
            nodrop: parameters.nodrop,
        };
        let limit = limit_of(parameters, link)?;
        let thresholds = Thresholds::of(parameters, link, limit)?;
        let constants = match parameters.form {
            Form::Floyd => Constants::Floyd(thresholds.unit, floyd(parameters, link, thresholds)),
            Form::Linux => {
                let must = "must be in bytes or time with form = \"linux\"";
                if let QueueLimit::Packets(_) = limit {
                    return Err(ParameterError::new(LIMIT, parameters.limit, must));
                }
                if thresholds.unit == Unit::Packets {
                    return Err(error(name_of!(Parameters, max), parameters.max, must));
                }
                Constants::Linux(linux(parameters, link, thresholds)?)
            }
        };
        Ok(Self {
            signals,
            adaptive: parameters.adaptive,
            constants,
        })
    }
}

/// The limit; a default as far as the average counts.
pub(super) fn limit_of(parameters: &Parameters, link: Link) -> Result<QueueLimit, ParameterError> {
    let limit = QueueLimit::of(LIMIT, parameters.limit, link)?;
    Ok(match parameters.limit {
        Amount::DefaultTime(_) => limit.at_most(LARGEST),
        _ => limit,
    })
}

/// A threshold as a number in its unit.
fn counted(amount: Amount, link: Link) -> (Unit, u64) {
    match amount {
        Amount::Packets(packets) => (Unit::Packets, packets),
        Amount::Bytes(bytes) => (Unit::Bytes, bytes.get()),
        Amount::Time(time) | Amount::DefaultTime(time) => {
            (Unit::Bytes, link.rate.bytes_in(time).get())
        }
    }
}

impl Thresholds {
    fn of(parameters: &Parameters, link: Link, limit: QueueLimit) -> Result<Self, ParameterError> {
        let (min_name, max_name) = (name_of!(Parameters, min), name_of!(Parameters, max));
        let given = |amount: Option<Amount>| amount.map(|amount| counted(amount, link));
        let (of_limit, unit) = match limit {
            QueueLimit::Packets(packets) => (packets, Unit::Packets),
            QueueLimit::Bytes(bytes) => (bytes.get(), Unit::Bytes),
        };
        let ((unit, min), max) = match (given(parameters.min), given(parameters.max)) {
            (Some(min), Some(max)) => (min, max),
            (Some(min), None) => (min, (min.0, min.1.saturating_mul(3))),
            (None, Some(max)) => ((max.0, max.1 / 3), max),
            (None, None) => {
                let max = (of_limit / 4).min(largest_max(parameters));
                let max = match parameters.form {
                    // No weight suits a min below an average packet.
                    Form::Linux if max / 3 <= u64::from(avpkt(parameters)) => {
                        3 * least_min(parameters, link)
                    }
                    _ => max,
                };
                ((unit, max / 3), (unit, max))
            }
        };
        if max.0 != unit {
            let must = "must have the unit of max";
            return Err(error(min_name, parameters.min, must));
        }
        let fitting = |name, found: Option<Amount>, amount: u64| {
            let allowed = format!("is {amount} and must be from 1 to {}", u32::MAX);
            u32::try_from(amount)
                .ok()
                .filter(|&amount| amount > 0)
                .ok_or_else(|| error(name, found, allowed))
        };
        // The average and the kernel count in 32 bits.
        fitting(LIMIT, Some(parameters.limit), of_limit)?;
        let min = fitting(min_name, parameters.min, min)?;
        let max = fitting(max_name, parameters.max, max.1)?;
        if min > max {
            let must = format!("is {min} and must not be above max, {max}");
            return Err(error(min_name, parameters.min, must));
        }
        Ok(Self { unit, min, max })
    }
}

/// The least `min` that is derived where the limit holds a few packets only: it lets a whole packet through, and one and a half average ones,
/// for which `tc` finds the weight 1/2.
fn least_min(parameters: &Parameters, link: Link) -> u64 {
    let average = u64::from(avpkt(parameters));
    link.mtu.get().max(average + average.div_ceil(2))
}

/// The largest `max` over which `tc` can spread the default probability, with a `min` of a third of it.
///
/// Another probability is the user's, and is refused if it is too small. That it was given does not count: a resolved
/// scenario names its defaults too.
fn largest_max(parameters: &Parameters) -> u64 {
    let value = parameters.probability;
    if value != USUAL || parameters.form == Form::Floyd {
        return u64::MAX;
    }
    // max − min is at most (2·max + 2)/3 and must stay below probability · 2³¹.
    let range = (value << 31) / PARTS;
    (range * 3 / 2).saturating_sub(2).min((1 << 30) - 1)
}

fn floyd(parameters: &Parameters, link: Link, thresholds: Thresholds) -> floyd::Parameters {
    floyd::Parameters {
        min: thresholds.min,
        max: thresholds.max,
        weight: parameters.weight,
        max_probability: Probability::ratio(parameters.probability, PARTS),
        gentle: parameters.gentle,
        wait: parameters.wait,
        byte_mode: parameters.byte_mode,
        avpkt: avpkt(parameters),
        bandwidth: bandwidth(parameters, link),
    }
}

/// The configuration as `red_parse_opt` of `tc` derives it.
fn linux(
    parameters: &Parameters,
    link: Link,
    thresholds: Thresholds,
) -> Result<linux::Parameters, ParameterError> {
    let Thresholds { min, max, .. } = thresholds;
    let avpkt = avpkt(parameters);
    let parts = parameters.probability;
    if tc::probability_log(min, max, parts).is_none() {
        return Err(ParameterError::new(
            name_of!(Parameters, probability),
            Value::Fraction(parts, PARTS),
            "is too small: must be above (max - min) in bytes / 2^31",
        ));
    }
    let given = parameters.burst;
    let least = 1 + min / avpkt;
    let burst = given.unwrap_or_else(|| {
        let usual = (2 * u64::from(min) + u64::from(max)) / (3 * u64::from(avpkt));
        u32::try_from(usual).unwrap_or(u32::MAX).max(least)
    });
    let Some(mut weight_log) = tc::weight_log(min, burst, avpkt) else {
        return Err(match given {
            Some(burst) if burst < least => ParameterError::new(
                name_of!(Parameters, burst),
                Value::Packets(burst.into()),
                format!("is too small: must be at least {least}p, 1 + min / avpkt"),
            ),
            _ => no_weight(parameters, min),
        });
    };
    if given.is_none() {
        weight_log = weight_log.min(max.leading_zeros().saturating_sub(1)).max(1);
    }
    let bandwidth = bandwidth(parameters, link);
    let Some(idle) = tc::idle_table(weight_log, avpkt, bandwidth) else {
        return Err(ParameterError::new(
            name_of!(Parameters, bandwidth),
            bandwidth,
            format!("is too low for packets of {avpkt} bytes"),
        ));
    };
    let constants = linux::Parameters {
        min,
        max,
        weight_log,
        max_probability: tc::max_probability(parts),
        idle,
    };
    if !constants.are_valid() {
        let allowed = format!(
            "is {max} and must be below 2^{} with this burst",
            31 - weight_log.min(31)
        );
        return Err(error(name_of!(Parameters, max), parameters.max, allowed));
    }
    Ok(constants)
}

/// `min` does not hold an average packet: the refusal of whichever of the two was written.
fn no_weight(parameters: &Parameters, min: u32) -> ParameterError {
    let (min, avpkt) = (Bytes::new(min.into()), parameters.avpkt);
    let why = "for any weight to allow the burst";
    let (name, found) = match (parameters.min, parameters.max) {
        (Some(found), _) => (name_of!(Parameters, min), found),
        (None, Some(found)) => (name_of!(Parameters, max), found),
        (None, None) => {
            let allowed = format!("must be below min, {min}, {why}");
            return ParameterError::new(name_of!(Parameters, avpkt), avpkt, allowed);
        }
    };
    let allowed = format!("makes min {min}, which must be above avpkt, {avpkt}, {why}");
    ParameterError::new(name, found, allowed)
}

fn avpkt(parameters: &Parameters) -> u32 {
    // The table keeps it in range.
    u32::try_from(parameters.avpkt.get()).unwrap_or(u32::MAX)
}

fn bandwidth(parameters: &Parameters, link: Link) -> Rate {
    parameters
        .bandwidth
        .unwrap_or_else(|| link.rate.clamp(SLOWEST, FASTEST))
}

fn error(
    name: &str,
    found: Option<impl fmt::Display>,
    allowed: impl Into<String>,
) -> ParameterError {
    match found {
        Some(found) => ParameterError::new(name, found, allowed),
        None => ParameterError::new(name, "derived", allowed),
    }
}
