//! The parameters of VDQ-CSAQM, and what follows from them.

use crate::limit::{LIMIT_ROW, QueueLimit};
use crate::parameter::{self, Amount, Domain, Parameter, ParameterError, Table as _};
use crate::qdisc::Link;
use crate::units::{Frequency, Time, name_of, parameters};
use crate::virtual_queue::Shape;
use crate::virtual_queue::law::Gains;
use crate::virtual_queue::parameters::{
    ALPHA, BETA, INTERVAL, RECOVERY, ROW, SERVING_RATE, TARGET, TARGET_OF_CLASSIC, VARIANT,
    VQ_LIMIT, ValueParameters, Values, Variant, check_target,
};

const DEFAULT_VALUE: Parameter = ValueParameters::ROWS[0];
const HIGHEST_VALUE: Parameter = ValueParameters::ROWS[1];
/// More than the 200 ms of the virtual queues, so that the physical queues are not the bottleneck.
const LIMIT: Parameter = LIMIT_ROW
    .default("250ms")
    .source("quell; RFC 9332 appendix A.1 (limit) for the value");

parameters! {
    /// The parameters of VDQ-CSAQM.
    pub struct Parameters {
        variant: Variant = VARIANT,
        /// Delay target D_0 of the virtual queue of L4S alone.
        target_0: Time = TARGET,
        /// Delay target D_1 of the virtual queue of all traffic.
        target_1: Time = TARGET_OF_CLASSIC,
        /// Serving rate C_v0 of the virtual queue of L4S alone, as a part of the link's rate; at most 1.
        serving_rate_0: u64 = SERVING_RATE,
        /// Serving rate C_v1 of the virtual queue of all traffic, as a part of the link's rate; at most 1. The link is
        /// used to this degree.
        serving_rate_1: u64 = SERVING_RATE,
        vq_limit: Time = VQ_LIMIT,
        interval: Time = INTERVAL,
        recovery: Time = RECOVERY,
        /// How far L4S is held below the share of Classic because marked packets are delivered: with n the ratio of
        /// their rates is 1/(1 - p)^(1/(n + 1)) instead of 1/(1 - p), where p is the share of L4S that is marked.
        compensation: u64 = ROW.domain(Domain::Integer(0, 8)).default("2").only(("variant", "r"))
            .source("quell: docs/guides/packet-values.md derives it"),
        alpha: Frequency = ALPHA,
        beta: Frequency = BETA,
        /// What the L4S queue may hold: packets, bytes, or a time at the link's rate.
        limit_l4s: Amount = LIMIT,
        /// What the Classic queue may hold: packets, bytes, or a time at the link's rate.
        limit_classic: Amount = LIMIT,
        /// Every ECN-capable packet is L4S, not only ECT(1) and CE.
        any_ect: bool = ROW.opposite("l4s_ect").default("true")
            .source("derived: the DCTCP and BBRv2 of the slides send ECT(0)"),
        /// Mark ECN-capable packets of the Classic queue instead of dropping them.
        ecn: bool = ROW.default("true").only(("any_ect", "false")).source("slides of ANRW 2020: drop (or ECN mark)"),
        default_value: u16 = DEFAULT_VALUE,
        highest_value: u16 = HIGHEST_VALUE,
        /// On overload drop the L4S packets that would be marked: from when one has waited for more than
        /// overload_delay, or the virtual queue of L4S is full, until 16 intervals pass without such a drop.
        drop_on_overload: bool = ROW.source("quell; RFC 9332 section 4.2.3 (drop on saturation)"),
        /// Sojourn time in the L4S queue above which overload is assumed.
        overload_delay: Time = ROW.threshold(parameter::Threshold::EachPacket { spares: None })
            .domain(Domain::Time(Time::ZERO, Time::from_micros(u32::MAX as u64))).default("20ms")
            .only(("drop_on_overload", "true")),
        /// An experiment that must fail: marked packets leave the virtual queues as dropped ones do, and L4S starves
        /// Classic.
        remove_marked: bool = ROW,
    }
}

impl Parameters {
    pub(super) fn values(&self) -> Values {
        Values::of(&ValueParameters {
            default_value: self.default_value,
            highest_value: self.highest_value,
        })
    }
    pub(super) fn gains(&self) -> Gains {
        Gains {
            alpha: self.alpha,
            beta: self.beta,
            recovery: self.recovery,
        }
    }
    /// The physical limits and their names, of L4S and of Classic.
    fn limits(&self) -> [(&'static str, Amount); 2] {
        [
            (name_of!(Parameters, limit_l4s), self.limit_l4s),
            (name_of!(Parameters, limit_classic), self.limit_classic),
        ]
    }
}

/// Everything that follows from the parameters on a link.
#[derive(Debug, Clone, Copy)]
pub(super) struct Configuration {
    pub(super) shapes: [Shape; 2],
    pub(super) limits: [QueueLimit; 2],
    pub(super) interval: Time,
    pub(super) any_ect: bool,
    /// Mark ECN-capable packets in the Classic queue instead of dropping them.
    pub(super) ecn: bool,
    /// The L4S delay above which L4S is dropped; `None` if it never is.
    pub(super) overload_delay: Option<Time>,
    pub(super) remove_marked: bool,
    pub(super) compensation: u64,
}

impl Configuration {
    /// Refuses limits that never accept a packet, and targets that a virtual queue can never exceed.
    pub(super) fn of(parameters: &Parameters, link: Link) -> Result<Self, ParameterError> {
        let [l4s, classic] = parameters
            .limits()
            .map(|(name, amount)| QueueLimit::of(name, amount, link));
        Self::with_limits([l4s?, classic?], parameters)
    }

    /// The configuration with `key` changed. Only the new limit is checked: the link may have become too slow for the others.
    pub(super) fn changed(
        &self,
        key: &str,
        parameters: &Parameters,
        link: Link,
    ) -> Result<Self, ParameterError> {
        let mut limits = self.limits;
        for (limit, (name, amount)) in limits.iter_mut().zip(parameters.limits()) {
            if name == key {
                *limit = QueueLimit::of(name, amount, link)?;
            }
        }
        Self::with_limits(limits, parameters)
    }

    fn with_limits(
        limits: [QueueLimit; 2],
        parameters: &Parameters,
    ) -> Result<Self, ParameterError> {
        let shape = |name, target, serving_rate| {
            check_target(name, target, parameters.vq_limit)?;
            Ok(Shape {
                serving_rate: Some(serving_rate),
                target,
                limit: parameters.vq_limit,
            })
        };
        Ok(Self {
            shapes: [
                shape(
                    name_of!(Parameters, target_0),
                    parameters.target_0,
                    parameters.serving_rate_0,
                )?,
                shape(
                    name_of!(Parameters, target_1),
                    parameters.target_1,
                    parameters.serving_rate_1,
                )?,
            ],
            limits,
            interval: parameters.interval,
            any_ect: parameters.any_ect,
            ecn: parameters.ecn,
            overload_delay: parameters
                .drop_on_overload
                .then_some(parameters.overload_delay),
            remove_marked: parameters.remove_marked,
            compensation: parameters.compensation,
        })
    }

    /// Adapts the physical limits to another rate, which is not zero.
    pub(super) fn set_rate(&mut self, parameters: &Parameters, link: Link) {
        self.limits = parameters
            .limits()
            .map(|(_, amount)| QueueLimit::at_rate(amount, link));
    }
}
