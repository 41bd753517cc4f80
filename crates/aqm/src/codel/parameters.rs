//! The parameters of CoDel, which its flow-queuing form shares.

use alloc::string::ToString;

use crate::parameter::{Domain, Parameter, ParameterError, Preset, Settings, Value};
use crate::units::Time;

/// Linux takes longer times, but tells apart no more than 2 199 s, half of what its clock counts before it wraps.
const LONGEST: Time = Time::from_secs(2_000);
const SHORTEST: Time = Time::from_micros(1);
/// The ECN field: what a discipline sees of the DS field.
const ECN_FIELD: Domain = Domain::Integer(0, 3);

/// A living parameter; rows override what differs.
pub(crate) const ROW: Parameter = Parameter {
    name: "",
    opposite: None,
    domain: Domain::Flag,
    default: Preset::Is("false"),
    only: None,
    live: true,
    source: "tc-codel(8)",
    help: "",
};

pub(crate) const TARGET: Parameter = Parameter {
    name: "target",
    domain: Domain::Time(SHORTEST, LONGEST),
    default: Preset::Is("5ms"),
    source: "tc-codel(8); RFC 8289 section 4.4",
    help: "Standing delay that is accepted.",
    ..ROW
};
pub(crate) const INTERVAL: Parameter = Parameter {
    name: "interval",
    domain: Domain::Time(SHORTEST, LONGEST),
    default: Preset::Is("100ms"),
    source: "tc-codel(8); RFC 8289 section 4.3",
    help: "How long the delay must stay above target before the first drop; about the longest usual RTT.",
    ..ROW
};
pub(crate) const ECN: Parameter = Parameter {
    name: "ecn",
    opposite: Some("noecn"),
    help: "ECN-capable packets are marked instead of dropped.",
    ..ROW
};
pub(crate) const CE_THRESHOLD: Parameter = Parameter {
    name: "ce_threshold",
    domain: Domain::Time(Time::ZERO, LONGEST),
    default: Preset::Derived("none: no packet is marked for its own delay"),
    help: "ECN-capable packets that waited longer than this are marked, whatever else is decided.",
    ..ROW
};
pub(crate) const CE_THRESHOLD_SELECTOR: Parameter = Parameter {
    name: "ce_threshold_selector",
    domain: ECN_FIELD,
    default: Preset::Is("0"),
    source: "tc-fq_codel(8): ce_threshold_selector VALUE/MASK",
    help: "With ce_threshold_mask: only packets whose masked ECN field equals this; 1 for L4S.",
    ..ROW
};
pub(crate) const CE_THRESHOLD_MASK: Parameter = Parameter {
    name: "ce_threshold_mask",
    domain: ECN_FIELD,
    default: Preset::Is("0"),
    source: "tc-fq_codel(8): ce_threshold_selector VALUE/MASK",
    help: "The bits of the ECN field that ce_threshold_selector compares, 1 for L4S; with 0 all packets are meant.",
    ..ROW
};

/// When a packet is marked for its own delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CeThreshold {
    /// `None` if never.
    pub(crate) delay: Option<Time>,
    pub(crate) selector: u8,
    pub(crate) mask: u8,
}

impl CeThreshold {
    /// From a table with the three rows above; refuses a selection that means nothing.
    pub(crate) fn from_settings(settings: &Settings) -> Result<Self, ParameterError> {
        let threshold = Self {
            delay: match settings.value("ce_threshold") {
                Some(Value::Time(delay)) => Some(delay),
                _ => None,
            },
            selector: settings.number("ce_threshold_selector") as u8,
            mask: settings.number("ce_threshold_mask") as u8,
        };
        let refuse = |key: &str, allowed: &str| {
            Err(ParameterError {
                key: key.to_string(),
                found: settings.number(key).to_string(),
                allowed: allowed.to_string(),
            })
        };
        for key in ["ce_threshold_mask", "ce_threshold_selector"] {
            if threshold.delay.is_none() && settings.is_given(key) {
                return refuse(key, "has an effect only with ce_threshold");
            }
        }
        if threshold.selector & !threshold.mask != 0 {
            let allowed = "must not have bits that ce_threshold_mask has not";
            return refuse("ce_threshold_selector", allowed);
        }
        Ok(threshold)
    }
}
