//! The table marker: the rate as the index of a region, a random offset from a table, the value from another. For pipelines that cannot calculate.
//!
//! Source: US 12,206,590 (WO 2022/238773), of which the structure is known here: regions of the rate that grow by a factor q; a random
//! index into a table whose length is a power of two gives how many regions below the flow's own the drawn rate is; a table per policy,
//! here per function, gives the value of the region.
//! Derived, as the contents of the tables are not known: with u = (j + ½)/N the offset of entry j is floor(log_q(1/u)), because a rate drawn evenly
//! below R is u·R. A region is worth what its lower boundary is: then what survives is right in the mean of all thresholds and rates,
//! and off by less than one region for each (1.1 % with 64 regions per octave). A region that is rarer than one in N is never drawn: no packet of a flow of
//! R is worth more than the bit at R/(2N).
//! Ours: 1. the region comes from the leading bits of the rate by a table too, so nothing is divided or looked up in a tree. 2. The rate is the
//! time-decaying average of `rate.rs`.

use alloc::boxed::Box;

use super::parameters::{FLOWS, Flows, IDLE, OURS, PER, Per, TIME_CONSTANT};
use super::rate::{Decay, Estimate};
use super::{MarkerLaw, one};
use crate::kind::Entry;
use crate::parameter::{Domain, Parameter, ParameterError, Table as _};
use crate::random::Random;
use crate::units::{Bytes, Rate, Time, parameters};
use crate::value::ValueFunction;
use crate::value::code::{LOG_BITS, exp2, log2};

parameters! {
    /// The parameters of this marker.
    pub(crate) struct Parameters {
        per: Per = PER,
        flows: u64 = FLOWS.domain(Domain::Integer(16, 1 << 20)).default("65536"),
        idle: Time = IDLE,
        time_constant: Time = TIME_CONSTANT,
        /// Regions per factor of two of the rate.
        steps: u32 = Parameter::FIXED.domain(Domain::Integer(1, 256)).default("64")
            .source("ours: as fine as the codes"),
        /// The table of offsets has 2 to this power entries: the resolution of the most valuable parts of a flow.
        table_bits: u32 = Parameter::FIXED.domain(Domain::Integer(4, 16)).default("12").source(OURS),
    }
}

/// Octaves of rates that are distinguished: all of an estimate.
const OCTAVES: u32 = 43;
/// Leading bits of a rate that choose its region, besides the first.
const LEADING_BITS: u32 = 10;

/// The law of the table marker.
#[derive(Debug)]
pub(super) struct TableLaw {
    decay: Decay,
    steps: u32,
    /// The region within its octave, by the leading bits.
    regions: Box<[u16]>,
    /// The number of regions to go down, by the drawn number.
    offsets: Box<[u16]>,
    table_bits: u32,
    codes: Box<[u16]>,
}

impl TableLaw {
    /// The region of a rate, from 1 bit/s on.
    #[inline]
    fn region(&self, rate: Rate) -> u32 {
        let rate = rate.as_bps().max(1);
        let octave = 63 - rate.leading_zeros();
        let leading = (rate << rate.leading_zeros()) >> (63 - LEADING_BITS);
        let part = leading as usize - (1 << LEADING_BITS);
        octave * self.steps + u32::from(self.regions[part])
    }
}

impl MarkerLaw for TableLaw {
    const ENTRY: Entry = Entry {
        name: "table",
        summary: "As random, with three tables in place of arithmetic.",
        source: "US 12,206,590; the tables derived",
        parameters: Parameters::ROWS,
    };
    type Parameters = Parameters;
    type FlowState = Estimate;
    const PLACE: usize = 32;

    fn new(parameters: &Parameters, functions: &[ValueFunction]) -> Result<Self, ParameterError> {
        let function = one(functions)?;
        let Parameters {
            steps, table_bits, ..
        } = *parameters;
        let region = |log: i128| ((log * i128::from(steps)) >> LOG_BITS) as u16;
        let one = i128::from(LEADING_BITS) << LOG_BITS;
        let halves = i128::from(table_bits + 1) << LOG_BITS;
        Ok(Self {
            decay: Decay::new(parameters.time_constant),
            steps,
            regions: (0..1_u64 << LEADING_BITS)
                .map(|part| region(log2((1 << LEADING_BITS) + part) - one))
                .collect(),
            // 1/u is 2N / (2j + 1).
            offsets: (0..1_u64 << table_bits)
                .map(|entry| region(halves - log2(2 * entry + 1)))
                .collect(),
            table_bits,
            codes: (0..i128::from(OCTAVES * steps))
                .map(|region| exp2((region << LOG_BITS) / i128::from(steps), 0))
                .map(|rate| function.code_at(Rate::from_bps(rate as u64)))
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
    fn fresh(&self) -> Estimate {
        Estimate::default()
    }

    #[inline]
    fn code(&self, flow: &mut Estimate, len: Bytes, since: Time, random: &mut Random) -> u16 {
        flow.packet(&self.decay, len, since);
        let drawn = (random.u32() >> (32 - self.table_bits)) as usize;
        let offset = u32::from(self.offsets[drawn]);
        let region = self.region(flow.rate()).saturating_sub(offset) as usize;
        self.codes[region.min(self.codes.len() - 1)]
    }
}
