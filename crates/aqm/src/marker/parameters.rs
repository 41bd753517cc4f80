//! Rows that the markers' tables share.

use crate::parameter::{Domain, Parameter};
use crate::units::{Time, words};

pub(super) const OURS: &str = "ours";

words! {
    /// The word of `per`.
    pub(crate) enum Per {
        Flow = "flow",
        Aggregate = "aggregate",
    }
}

/// Whether a marker distinguishes flows, and its memory of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flows {
    pub(super) per: Per,
    pub(super) flows: u64,
    pub(super) idle: Time,
}

/// Whether each flow is marked by itself.
pub(super) const PER: Parameter = Parameter::FIXED
    .default("flow")
    .source("both are in the framework's papers")
    .help(
        "What the function is of: each flow, or everything that passes the marker taken together.",
    );

/// Places for flows; the most is so low that no scenario asks for more memory than there is.
pub(super) const FLOWS: Parameter = Parameter::FIXED
        .only(("per", "flow"))
        .source(OURS)
        .help("Flows that the marker remembers, rounded up to a power of two. Flows beyond are marked together, as one.");

/// When a place is free again.
pub(super) const IDLE: Parameter = Parameter::FIXED
    .domain(Domain::Time(Time::from_millis(1), Time::from_secs(3_600)))
    .default("1s")
    .only(("per", "flow"))
    .source("ours: ten time constants")
    .help("A flow that has not sent for this long may be forgotten in favour of a new one.");

/// τ of the rate estimate.
pub(super) const TIME_CONSTANT: Parameter = Parameter::FIXED
    .domain(Domain::Time(Time::from_millis(1), Time::from_secs(100)))
    .default("100ms")
    .source("ours: 20 ms was seen to be less fair in a model")
    .help("How long the measured rate of a flow remembers.");
