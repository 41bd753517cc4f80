//! The parameters of CoDel, which its flow-queuing form shares.

use crate::parameter::{self, Domain, Given, Parameter, ParameterError, Preset, Table as _};
use crate::units::{Time, name_of, parameters};

/// Linux takes longer times, but distinguishes no more than 2 199 s, half the time until its clock wraps.
const LONGEST: Time = Time::from_secs(2_000);
const SHORTEST: Time = Time::from_micros(1);
/// The ECN field: the part of the DS field that a discipline sees.
const ECN_FIELD: Domain = Domain::Integer(0, 3);

const ROW: Parameter = Parameter::LIVE.source("tc-codel(8)");

parameters! {
    /// The parameters of CoDel besides its form and its limit.
    pub struct Parameters {
        /// Standing delay that is accepted.
        target: Time = ROW.threshold(parameter::Threshold::Standing).domain(Domain::Time(SHORTEST, LONGEST))
            .default("5ms").source("tc-codel(8); RFC 8289 section 4.4"),
        /// How long the delay must stay above target before the first drop; about the longest usual RTT.
        interval: Time = ROW.domain(Domain::Time(SHORTEST, LONGEST)).default("100ms")
            .source("tc-codel(8); RFC 8289 section 4.3"),
        /// ECN-capable packets are marked instead of dropped.
        ecn: bool = ROW.opposite("noecn"),
        /// ECN-capable packets that waited longer than this are marked, whatever else is decided.
        ce_threshold: Option<Time> = ROW.threshold(parameter::Threshold::EachPacket { spares: None })
            .domain(Domain::Time(Time::ZERO, LONGEST)).derived("none: no packet is marked for its own delay"),
        /// With ce_threshold_mask: only packets whose masked ECN field equals this; 1 for L4S.
        ce_threshold_selector: Given<u8> = ROW.domain(ECN_FIELD).default("0")
            .source("tc-fq_codel(8): ce_threshold_selector VALUE/MASK"),
        /// The bits of the ECN field that ce_threshold_selector compares, 1 for L4S; with 0 all packets are meant.
        ce_threshold_mask: Given<u8> = ROW.domain(ECN_FIELD).default("0")
            .source("tc-fq_codel(8): ce_threshold_selector VALUE/MASK"),
    }
}

/// The rows, for a discipline whose `ce_threshold` exists only under a condition.
pub(super) const fn rows(
    ce_threshold_only: Option<(&'static str, &'static str)>,
) -> [Parameter; 6] {
    let Some(rows) = Parameters::ROWS.first_chunk() else {
        panic!("there are six rows");
    };
    let mut rows = *rows;
    rows[3].only = ce_threshold_only;
    rows[4].only = ce_threshold_only;
    rows[5].only = ce_threshold_only;
    rows
}

/// The rows, for a discipline with another default of `ecn`.
pub(crate) const fn rows_with_ecn(default: Preset, source: &'static str) -> [Parameter; 6] {
    let mut rows = rows(None);
    rows[2].default = default;
    rows[2].source = source;
    rows
}

/// When a packet is marked for its own delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CeThreshold {
    /// `None` if never.
    pub(crate) delay: Option<Time>,
    pub(crate) selector: u8,
    pub(crate) mask: u8,
}

impl CeThreshold {
    /// Refuses a selection that has no effect or no meaning.
    pub(crate) fn of(parameters: &Parameters) -> Result<Self, ParameterError> {
        let (selector, mask) = (
            parameters.ce_threshold_selector,
            parameters.ce_threshold_mask,
        );
        let selector_name = name_of!(Parameters, ce_threshold_selector);
        for (name, given) in [
            (name_of!(Parameters, ce_threshold_mask), mask),
            (selector_name, selector),
        ] {
            if parameters.ce_threshold.is_none() && given.is_given {
                let allowed = "has an effect only with ce_threshold";
                return Err(ParameterError::new(name, given.value, allowed));
            }
        }
        if selector.value & !mask.value != 0 {
            let allowed = "must not have bits that ce_threshold_mask has not";
            return Err(ParameterError::new(selector_name, selector.value, allowed));
        }
        Ok(Self {
            delay: parameters.ce_threshold,
            selector: selector.value,
            mask: mask.value,
        })
    }
}
