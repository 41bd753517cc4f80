//! The random marker: each packet gets the value of a rate drawn evenly below the flow's own.
//!
//! Sources: the public PVPIE module for ns-3 (`tlpvpie`) and US 11,425,046. The share of bytes whose draw is worth more
//! than c is v⁻¹(c)/R, so what survives the threshold c has the rate v⁻¹(c): the marker requirement, without any token bucket.
//! Deviation from the ns-3 module: 1. the rate is the time-decaying average of `rate.rs`, updated before the draw.

use super::parameters::{FLOWS, Flows, IDLE, PER, Per, TIME_CONSTANT};
use super::rate::{Decay, Estimate};
use super::{MarkerLaw, one};
use crate::kind::Entry;
use crate::parameter::{Domain, ParameterError, Table as _};
use crate::random::Random;
use crate::units::{Bytes, Rate, Time, parameters};
use crate::value::ValueFunction;

parameters! {
    /// The parameters of this marker.
    pub(crate) struct Parameters {
        per: Per = PER,
        flows: u64 = FLOWS.domain(Domain::Integer(16, 1 << 20)).default("65536"),
        idle: Time = IDLE,
        time_constant: Time = TIME_CONSTANT,
    }
}

/// The law of the random marker.
#[derive(Debug)]
pub(super) struct RandomLaw {
    function: ValueFunction,
    decay: Decay,
}

impl MarkerLaw for RandomLaw {
    const ENTRY: Entry = Entry {
        name: "random",
        summary: "The value of a rate drawn evenly below the flow's measured rate.",
        source: "US 11,425,046 and the public PVPIE module for ns-3 (tlpvpie)",
        parameters: Parameters::ROWS,
    };
    type Parameters = Parameters;
    type FlowState = Estimate;
    const PLACE: usize = 32;

    fn new(parameters: &Parameters, functions: &[ValueFunction]) -> Result<Self, ParameterError> {
        Ok(Self {
            function: one(functions)?,
            decay: Decay::new(parameters.time_constant),
        })
    }
    fn flows(parameters: &Parameters) -> Flows {
        Flows {
            per: parameters.per,
            flows: parameters.flows,
            idle: parameters.idle,
        }
    }
    fn fresh(&self) -> Estimate {
        Estimate::default()
    }
    #[inline]
    fn code(&self, rate: &mut Estimate, len: Bytes, since: Time, random: &mut Random) -> u16 {
        rate.packet(&self.decay, len, since);
        self.function.code_at(draw(Rate::ZERO, rate.rate(), random))
    }
}

/// A whole rate above `from` and up to `to`, each as likely but for 2⁻³² of the span, which is below 2⁴⁷ bit/s; `to` if there is none.
#[inline]
pub(super) fn draw(from: Rate, to: Rate, random: &mut Random) -> Rate {
    let span = to.as_bps().saturating_sub(from.as_bps());
    let below = (u128::from(random.u32()) * u128::from(span)) >> 32;
    Rate::from_bps(to.as_bps().saturating_sub(below as u64))
}
