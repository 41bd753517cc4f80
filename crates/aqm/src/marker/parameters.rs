//! Rows that the markers' tables share.

use crate::parameter::{Domain, Parameter, Preset};
use crate::units::Time;

pub(crate) const OURS: &str = "ours";

/// Whether each flow is marked by itself.
pub(crate) const PER: Parameter = Parameter {
    name: "per",
    opposite: None,
    domain: Domain::Word(&["flow", "aggregate"]),
    default: Preset::Is("flow"),
    only: None,
    live: false,
    source: "both are in the framework's papers",
    help: "What the function is of: each flow, or everything that passes the marker taken together.",
};

/// Places for flows, at most so many that no scenario asks for more memory than there is.
pub(crate) const fn flows(default: &'static str, most: u64) -> Parameter {
    Parameter {
        name: "flows",
        opposite: None,
        domain: Domain::Integer(16, most),
        default: Preset::Is(default),
        only: Some(("per", "flow")),
        live: false,
        source: OURS,
        help: "Flows that the marker remembers, rounded up to a power of two. Flows beyond are marked together, as one.",
    }
}

/// When a place is free again.
pub(crate) const IDLE: Parameter = Parameter {
    name: "idle",
    opposite: None,
    domain: Domain::Time(Time::from_millis(1), Time::from_secs(3_600)),
    default: Preset::Is("1s"),
    only: Some(("per", "flow")),
    live: false,
    source: "ours: ten time constants",
    help: "A flow that has not sent for so long may be forgotten in favour of a new one.",
};

/// τ of the rate estimate.
pub(crate) const TIME_CONSTANT: Parameter = Parameter {
    name: "time_constant",
    opposite: None,
    domain: Domain::Time(Time::from_millis(1), Time::from_secs(100)),
    default: Preset::Is("100ms"),
    only: None,
    live: false,
    source: "ours: 20 ms was seen to be less fair in a model",
    help: "How long the measured rate of a flow remembers.",
};
