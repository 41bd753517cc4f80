//! The fast-adapting marker: what a flow sends beyond its measured rate is worth less at once, before the measure has followed.
//!
//! Source: US 11,425,046, of which the structure is known here and none of the numbers. A flow has a rate R and a token level T, filled at R
//! and emptied by its packets. While T stays between 0 and a threshold the rate is right, and a packet is worth v(r) with r evenly below R.
//! Below 0 the rate is too low: it becomes R' = R + (|T| + c)/t, the packet gets r between R and R', and T a positive constant. Above the
//! threshold the rate is too high: it becomes R' = R − (T − threshold)/t, and r is evenly below R'.
//!
//! Ours, where the source is not known: 1. the positive constant is c too: then T − t·R changes by what is sent against R and by nothing else, so R
//! follows as an average with time constant t does, without bias. 2. c = 1 500 bytes, a packet: more would let more of a burst pass as ordinary.
//! 3. The threshold is 60 kB: with packets of s bytes about s²/(2·threshold·(c + s)) of an even Poisson stream overruns without being a
//! burst (0.6 %) and is missing from what survives. 4. It is at most t·R, and T falls to it: a flow that was silent has no tokens to
//! burst with. 5. t = 100 ms, as for the other markers. The marker requirement needs some ten packets within t (1.2 Mbit/s): between rarer ones the
//! rate overshoots.

use super::parameters::{FLOWS, Flows, IDLE, OURS, PER, Per, TIME_CONSTANT};
use super::random::draw;
use super::{MarkerLaw, one};
use crate::kind::Entry;
use crate::parameter::{Domain, Parameter, ParameterError, Table as _};
use crate::random::Random;
use crate::units::{Bytes, Rate, Time, parameters};
use crate::value::ValueFunction;

const BYTES: Parameter = Parameter::FIXED
    .domain(Domain::Bytes(1, 1_000_000_000))
    .source(OURS);

parameters! {
    /// The parameters of this marker.
    pub(crate) struct Parameters {
        per: Per = PER,
        flows: u64 = FLOWS.domain(Domain::Integer(16, 1 << 20)).default("65536"),
        idle: Time = IDLE,
        time_constant: Time = TIME_CONSTANT,
        /// More tokens than this show that the measured rate is too high; bursts up to it pass as ordinary.
        bucket: Bytes = BYTES.default("60kB"),
        /// What an overrun adds to the rate beyond itself, within the time constant, and the tokens that it leaves.
        step: Bytes = BYTES.default("1500B"),
    }
}

/// Rates are kept in units of 2⁻¹⁶ bit/s and stay below 2⁴² bit/s.
const RATE_BITS: u32 = 16;
const LARGEST: u64 = 1 << (42 + RATE_BITS);
/// Tokens are kept in 10⁻⁹ bit, which 1 bit/s earns in a nanosecond.
const BYTE: i64 = 8_000_000_000;

/// The law of the fast-adapting marker.
#[derive(Debug)]
pub(super) struct FastAdaptingLaw {
    function: ValueFunction,
    /// The time constant in nanoseconds.
    time_constant: u64,
    /// 2⁶⁴ divided by the time constant.
    inverse: u64,
    bucket: i64,
    step: i64,
}

/// The state of a flow.
#[derive(Debug, Clone, Default)]
pub(super) struct Flow {
    rate: u64,
    tokens: i64,
}

impl FastAdaptingLaw {
    /// Tokens as a rate over the time constant.
    #[inline]
    fn spread(&self, tokens: i64) -> u64 {
        let wide = u128::from(tokens.unsigned_abs()) * u128::from(self.inverse);
        (wide >> (64 - RATE_BITS)) as u64
    }
    /// The most tokens that a flow of this rate may have.
    #[inline]
    fn threshold(&self, rate: u64) -> i64 {
        let earned = (u128::from(rate) * u128::from(self.time_constant)) >> RATE_BITS;
        earned.min(self.bucket as u128) as i64
    }
}

/// Whole bit/s, rounded up.
fn whole(rate: u64) -> Rate {
    Rate::from_bps(rate.div_ceil(1 << RATE_BITS))
}

impl MarkerLaw for FastAdaptingLaw {
    const ENTRY: Entry = Entry {
        name: "fast_adapting",
        summary: "As random, and what overruns the measured rate is worth less at once.",
        source: "US 11,425,046; the numbers ours",
        parameters: Parameters::ROWS,
    };
    type Parameters = Parameters;
    type FlowState = Flow;
    const PLACE: usize = 40;

    fn new(parameters: &Parameters, functions: &[ValueFunction]) -> Result<Self, ParameterError> {
        let time_constant = parameters.time_constant.as_nanos();
        // At most 10⁹ bytes, 2⁶³ tokens minus a bit.
        let tokens = |bytes: Bytes| (bytes.get() as i64).saturating_mul(BYTE);
        Ok(Self {
            function: one(functions)?,
            time_constant,
            inverse: u64::MAX / time_constant,
            bucket: tokens(parameters.bucket),
            step: tokens(parameters.step),
        })
    }
    fn flows(parameters: &Parameters) -> Flows {
        Flows {
            per: parameters.per,
            flows: parameters.flows,
            idle: parameters.idle,
        }
    }
    fn fresh(&self) -> Flow {
        Flow::default()
    }

    #[inline]
    fn code(&self, flow: &mut Flow, len: Bytes, since: Time, random: &mut Random) -> u16 {
        // No IP packet is longer; more tokens than fit are too many in any case.
        let len = len.get().min(0xffff) as i64 * BYTE;
        let earned = (u128::from(flow.rate) * u128::from(since.as_nanos())) >> RATE_BITS;
        let earned = earned.min(1 << 62) as i64;
        let tokens = flow.tokens.saturating_add(earned).saturating_sub(len);
        let before = flow.rate;
        let threshold = self.threshold(before);
        if tokens < 0 {
            // Neither of the two is below −2⁶³.
            let missing = tokens.saturating_neg().saturating_add(self.step);
            flow.rate = (before + self.spread(missing)).min(LARGEST);
            flow.tokens = self.step;
            let value = draw(whole(before), whole(flow.rate), random);
            return self.function.code_at(value);
        }
        flow.tokens = tokens;
        if tokens > threshold {
            flow.rate = before.saturating_sub(self.spread(tokens - threshold));
            flow.tokens = self.threshold(flow.rate);
        }
        self.function
            .code_at(draw(Rate::ZERO, whole(flow.rate), random))
    }
}
