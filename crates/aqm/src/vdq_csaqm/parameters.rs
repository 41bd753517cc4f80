//! The table of VDQ-CSAQM, and what follows from it.

use crate::parameter::{Domain, Parameter, ParameterError, Preset, Settings};
use crate::qdisc::Link;
use crate::single_queue::Limit;
use crate::units::Time;
use crate::virtual_queue::Shape;
use crate::virtual_queue::parameters::{
    ALPHA, BETA, DEFAULT_VALUE, HIGHEST_VALUE, INTERVAL, RECOVERY, ROW, SERVING_RATE, TARGET,
    TARGET_OF_CLASSIC, VARIANT, VQ_LIMIT, shape,
};

pub(super) const TABLE: &[Parameter] = &[
    VARIANT,
    Parameter {
        name: "target_0",
        help: "Delay target D_0 of the virtual queue of L4S alone.",
        ..TARGET
    },
    Parameter {
        name: "target_1",
        help: "Delay target D_1 of the virtual queue of all traffic.",
        ..TARGET_OF_CLASSIC
    },
    Parameter {
        name: "serving_rate_0",
        help: "Serving rate C_v0 of the virtual queue of L4S alone, as a part of the link's rate; at most 1.",
        ..SERVING_RATE
    },
    Parameter {
        name: "serving_rate_1",
        help: "Serving rate C_v1 of the virtual queue of all traffic, as a part of the link's rate; at most 1. The link is used to this degree.",
        ..SERVING_RATE
    },
    VQ_LIMIT,
    INTERVAL,
    RECOVERY,
    Parameter {
        name: "compensation",
        domain: Domain::Integer(0, 8),
        default: Preset::Is("2"),
        only: Some(("variant", "r")),
        source: "quell: docs/guides/packet-values.md derives it",
        help: "How far L4S is held below the share of Classic because marked packets are delivered: with n the ratio of their rates is 1/(1 - p)^(1/(n + 1)) instead of 1/(1 - p), where p is the share of L4S that is marked.",
        ..ROW
    },
    ALPHA,
    BETA,
    Parameter {
        name: "limit_l4s",
        help: "What the L4S queue may hold: packets, bytes, or a time at the link's rate.",
        ..LIMIT
    },
    Parameter {
        name: "limit_classic",
        help: "What the Classic queue may hold: packets, bytes, or a time at the link's rate.",
        ..LIMIT
    },
    Parameter {
        name: "any_ect",
        opposite: Some("l4s_ect"),
        default: Preset::Is("true"),
        source: "derived: the DCTCP and BBRv2 of the slides send ECT(0)",
        help: "Every ECN-capable packet is L4S, not only ECT(1) and CE.",
        ..ROW
    },
    Parameter {
        name: "ecn",
        default: Preset::Is("true"),
        only: Some(("any_ect", "false")),
        source: "slides of ANRW 2020: drop (or ECN mark)",
        help: "Mark ECN-capable packets of the Classic queue instead of dropping them.",
        ..ROW
    },
    DEFAULT_VALUE,
    HIGHEST_VALUE,
    Parameter {
        name: "drop_on_overload",
        source: "quell; RFC 9332 section 4.2.3 (drop on saturation)",
        help: "On overload drop the L4S packets that would be marked: from when one has waited for more than overload_delay, or the virtual queue of L4S is full, until 16 intervals pass without such a drop.",
        ..ROW
    },
    Parameter {
        name: "overload_delay",
        domain: Domain::Time(Time::ZERO, Time::from_micros(u32::MAX as u64)),
        default: Preset::Is("20ms"),
        only: Some(("drop_on_overload", "true")),
        help: "Sojourn time in the L4S queue above which overload is assumed.",
        ..ROW
    },
    Parameter {
        name: "remove_marked",
        help: "An experiment that must fail: marked packets leave the virtual queues as dropped ones do, and L4S starves Classic.",
        ..ROW
    },
];

/// 200 ms would be the virtual queues'; the physical ones must not be what binds.
const LIMIT: Parameter = Parameter {
    domain: Domain::Limit {
        plain_is_packets: true,
    },
    default: Preset::Is("250ms"),
    source: "quell; RFC 9332 appendix A.1 (limit) for the value",
    ..ROW
};

/// Everything that a table says, resolved.
#[derive(Debug, Clone, Copy)]
pub(super) struct Configuration {
    pub(super) shapes: [Shape; 2],
    pub(super) limits: [Limit; 2],
    pub(super) interval: Time,
    pub(super) any_ect: bool,
    /// Mark what can be marked in the Classic queue.
    pub(super) ecn: bool,
    /// The L4S delay above which L4S is dropped; `None` if it never is.
    pub(super) overload_delay: Option<Time>,
    pub(super) remove_marked: bool,
    pub(super) compensation: u64,
}

const LIMITS: [&str; 2] = ["limit_l4s", "limit_classic"];

impl Configuration {
    pub(super) fn of(settings: &Settings, link: Link) -> Result<Self, ParameterError> {
        let limit = |name| Limit::named(name, settings, link);
        Self::with_limits([limit(LIMITS[0])?, limit(LIMITS[1])?], settings)
    }

    /// With `key` changed. Only a new limit can be wrong, also where the link has become too slow for the others.
    pub(super) fn changed(
        &self,
        key: &str,
        settings: &Settings,
        link: Link,
    ) -> Result<Self, ParameterError> {
        let mut limits = self.limits;
        for (limit, name) in limits.iter_mut().zip(LIMITS) {
            if name == key {
                *limit = Limit::named(name, settings, link)?;
            }
        }
        Self::with_limits(limits, settings)
    }

    fn with_limits(limits: [Limit; 2], settings: &Settings) -> Result<Self, ParameterError> {
        Ok(Self {
            shapes: [
                shape(settings, "serving_rate_0", "target_0")?,
                shape(settings, "serving_rate_1", "target_1")?,
            ],
            limits,
            interval: settings.time("interval"),
            any_ect: settings.flag("any_ect"),
            ecn: settings.flag("ecn"),
            overload_delay: settings
                .flag("drop_on_overload")
                .then(|| settings.time("overload_delay")),
            remove_marked: settings.flag("remove_marked"),
            compensation: settings.number("compensation"),
        })
    }

    /// What the physical limits are at another rate.
    pub(super) fn set_rate(&mut self, settings: &Settings, link: Link) {
        for (limit, name) in self.limits.iter_mut().zip(LIMITS) {
            *limit = limit.named_at(name, settings, link);
        }
    }
}
