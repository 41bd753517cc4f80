//! The multi-timescale marker: a flow that was quiet for long gets high values for a short burst.
//!
//! Source: US 11,695,703 (presumably behind "Towards core-stateless fairness on multiple timescales", ANRW 2019), reconstructed from
//! its claims: it agrees with them and is not confirmed. The rate is measured on n timescales, R₁ on the shortest, and each has a
//! function v_k. A rate r is drawn evenly below R₁. Up to R_n it is worth v_n(r). Where the rate on a shorter timescale is above all of the longer
//! ones, the part between is worth v_k(r + D_k), with D_k such that v_k goes on where the function before it stopped. Of a flow that sends
//! evenly all rates are the same and v_n alone counts: the marker requirement holds for it.
//!
//! Ours: 1. there are two to eight timescales, evenly spaced in the logarithm from `shortest` to `longest`. 2. With one function f for all, the n-th
//! timescale has f and each shorter one that of a rate `boost` times as high: v_k(x) = f(x / boost^(n − k)). (The same function on all of them would
//! be the random marker of R₁.) 3. D_k comes from the tabulated functions and is exact to a code. 4. A timescale whose rate is not above that of the
//! longer ones is passed over.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::MarkerLaw;
use super::parameters::{FLOWS, Flows, IDLE, OURS, PER, Per};
use super::random::draw;
use super::rate::{Decay, Estimate};
use crate::kind::Entry;
use crate::parameter::{Domain, Given, Parameter, ParameterError, Table as _};
use crate::random::Random;
use crate::units::{Bytes, Rate, Time, name_of, parameters};
use crate::value::ValueFunction;
use crate::value::code::{exp2, log2};

/// The most timescales.
const MOST: usize = 8;

const ROW: Parameter = Parameter::FIXED.source(OURS);
const TIMES: Domain = Domain::Time(Time::from_millis(1), Time::from_secs(100));

parameters! {
    /// The parameters of this marker.
    pub(crate) struct Parameters {
        per: Per = PER,
        flows: u64 = FLOWS.domain(Domain::Integer(16, 1 << 20)).default("65536"),
        idle: Time = IDLE_LONG,
        /// On how many the rate is measured.
        timescales: u8 = ROW.domain(Domain::Integer(2, MOST as u64)).default("3"),
        /// The time constant of the shortest, as that of the other markers.
        shortest: Time = ROW.domain(TIMES).default("100ms"),
        /// The time constant of the longest.
        longest: Time = ROW.domain(TIMES).default("10s"),
        /// With one function for all: how many times the rate a timescale allows that the next longer one does.
        boost: Given<u64> = ROW.domain(Domain::Integer(1, 1_000)).default("4"),
    }
}

/// A place must outlive the memory of the longest timescale.
const IDLE_LONG: Parameter = IDLE
    .default("30s")
    .source("ours: three times the longest timescale");

/// The law of the multi-timescale marker.
#[derive(Debug)]
pub(super) struct MultiTimescaleLaw {
    /// The timescales, the shortest first.
    timescales: Box<[(Decay, ValueFunction)]>,
}

impl MarkerLaw for MultiTimescaleLaw {
    const ENTRY: Entry = Entry {
        name: "multi_timescale",
        summary: "As random, with functions of its own for what exceeds the rates of longer times.",
        source: "US 11,695,703, reconstructed from its claims",
        parameters: Parameters::ROWS,
    };
    type Parameters = Parameters;
    type FlowState = [Estimate; MOST];
    const PLACE: usize = 88;

    fn new(parameters: &Parameters, functions: &[ValueFunction]) -> Result<Self, ParameterError> {
        let count = usize::from(parameters.timescales);
        let Parameters {
            shortest,
            longest,
            boost,
            ..
        } = *parameters;
        if shortest >= longest {
            let name = name_of!(Parameters, shortest);
            return Err(ParameterError::new(name, shortest, "must be below longest"));
        }
        let functions: Vec<ValueFunction> = match functions {
            [function] => {
                let times = |shorter: usize| boost.value.saturating_pow(shorter as u32);
                (0..count)
                    .map(|k| function.stretched(times(count - 1 - k)))
                    .collect()
            }
            given if given.len() != count => {
                let allowed = "must be one, or one for each timescale";
                return Err(ParameterError::new("functions", given.len(), allowed));
            }
            _ if boost.is_given => {
                let allowed = "has an effect only with one function";
                let name = name_of!(Parameters, boost);
                return Err(ParameterError::new(name, boost.value, allowed));
            }
            given => given.to_vec(),
        };
        let logs = (log2(shortest.as_nanos()), log2(longest.as_nanos()));
        let time = |k: usize| logs.0 + (logs.1 - logs.0) * k as i128 / (count - 1) as i128;
        let decay = |k| Decay::new(Time::from_nanos(exp2(time(k), 0) as u64));
        Ok(Self {
            timescales: functions
                .into_iter()
                .enumerate()
                .map(|(k, function)| (decay(k), function))
                .collect(),
        })
    }
    fn flows(parameters: &Parameters) -> Flows {
        Flows {
            per: parameters.per,
            flows: parameters.flows,
            idle: parameters.idle,
        }
    }
    fn fresh(&self) -> Self::FlowState {
        [Estimate::default(); MOST]
    }

    #[inline]
    fn code(
        &self,
        flow: &mut Self::FlowState,
        len: Bytes,
        since: Time,
        random: &mut Random,
    ) -> u16 {
        for (estimate, (decay, _)) in flow.iter_mut().zip(&self.timescales) {
            estimate.packet(decay, len, since);
        }
        let drawn = draw(Rate::ZERO, flow[0].rate(), random).as_bps();
        // The function in force, the rate up to which it is, and what is added to rates before it is asked.
        let last = self.timescales.len() - 1;
        let mut function = &self.timescales[last].1;
        let mut reached = flow[last].rate().as_bps();
        let mut shift = 0_i64;
        // Rates are below 2⁴³ and inverses below 2⁶³: no sum overflows.
        let moved = |rate: u64, shift: i64| Rate::from_bps(rate.saturating_add_signed(shift));
        for k in (0..last).rev() {
            if drawn <= reached {
                break;
            }
            let (rate, shorter) = (flow[k].rate().as_bps(), &self.timescales[k].1);
            if rate > reached {
                let level = function.code_at(moved(reached, shift));
                let same = shorter.rate_at(level).as_bps().min(i64::MAX as u64);
                shift = same as i64 - reached as i64;
                (function, reached) = (shorter, rate);
            }
        }
        function.code_at(moved(drawn, shift))
    }
}
