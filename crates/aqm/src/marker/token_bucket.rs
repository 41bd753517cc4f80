//! The token-bucket marker: the function cut into regions of the rate, with a bucket for each.
//!
//! Source: the framework's page and the header comment of the public PVPIE module for ns-3: boundaries b₀ < b₁ < …, a bucket for each that is
//! filled at b_i and holds what b_i carries in a typical buffer delay, full at first. A packet of s bytes takes the first bucket k with at least s, is
//! worth v(b_k), and s is taken from every bucket j ≥ k (the comment says j > k; only with j ≥ k does what is marked with the regions up to k have
//! the rate b_k, as the marker requirement says). It draws nothing at random.
//!
//! A bucket is kept as the time at which it will be full again (the virtual scheduling of ITU-T I.371): taking s moves that by s/b_i. Most buckets of
//! a flow need no look: those far above its rate are always full, and are written down only once they are not; those far below it are nearly
//! always empty, and a group of eight says when the first of them may take a packet. The outcome is that of asking all in turn.
//! Deviations: 1. ten regions per decade and up to 10 Gbit/s instead of thirty and 0.93 Gbit/s (`steps`, `to`): the time per packet grows with the
//! number of regions. 2. A bucket holds at least `least`, or else no packet of 1 500 bytes would ever fit the regions below 1.2 Mbit/s. 3. A packet for
//! which no bucket has enough is worth the least there is. 4. Between two boundaries the requirement holds only for the lower one, so a flow
//! gets up to a region (26 %) less than its function says.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::mem;

use super::parameters::{FLOWS, Flows, IDLE, PER, Per};
use super::{MarkerLaw, one};
use crate::kind::Entry;
use crate::parameter::{Domain, Parameter, ParameterError, Table as _};
use crate::random::Random;
use crate::units::{Bytes, Rate, Time, name_of, parameters};
use crate::value::ValueFunction;
use crate::value::code::{exp2, log2};
use crate::value::curve::Curve;

const PVPIE: &str = "the public PVPIE module for ns-3 (tlpvpie)";

parameters! {
    /// The parameters of this marker.
    pub(crate) struct Parameters {
        per: Per = PER,
        flows: u64 = FLOWS.domain(Domain::Integer(16, 1 << 16)).default("4096"),
        idle: Time = IDLE,
        /// The lowest boundary: no part of a flow is worth more than the bit at this rate.
        from: Rate = Parameter::FIXED.domain(RATES).default("10kbit").source(PVPIE),
        /// The highest boundary, rounded up to a whole step; what is beyond is worth the least there is.
        to: Rate = Parameter::FIXED.domain(RATES).default("10gbit").source("ours: above the flows of today"),
        /// Regions per factor of ten of the rate.
        steps: u8 = Parameter::FIXED.domain(Domain::Integer(1, 100)).default("10")
            .source("ours, for speed; the ns-3 module has 30"),
        /// How long a bucket takes to fill: the bursts that a region takes.
        depth: Time = Parameter::FIXED.domain(Domain::Time(Time::from_micros(1), Time::from_secs(10))).default("10ms")
            .source("ours: half the delay target of PIE, a typical buffer delay"),
        /// A bucket holds at least so much.
        least: Bytes = Parameter::FIXED.domain(Domain::Bytes(64, 1_000_000)).default("3kB")
            .source("ours: two full packets"),
    }
}

const RATES: Domain = Domain::Rate(Rate::from_bps(1_000), Curve::FASTEST);

/// Fraction bits of the nanoseconds in which buckets are kept.
const CLOCK_BITS: u32 = 8;
/// Fraction bits of the time that a byte takes, beyond those: below 2³³ ns at 1 kbit/s.
const BYTE_BITS: u32 = 12;
/// No bucket takes longer to fill, nor does any packet at the lowest rate: 2⁴⁰ ns, 18 minutes.
const LONGEST: u64 = 1 << (40 + CLOCK_BITS);
/// A bucket may be overdrawn by what regions below it take, but not by more: 2⁵³ ns, so that sums of times fit.
const MOST_OWED: u64 = 1 << (53 + CLOCK_BITS);
/// Regions of a group.
const GROUP: usize = 8;

/// A region of the rate.
#[derive(Debug, Clone, Copy)]
struct Region {
    /// The time in which it earns a byte.
    per_byte: u64,
    /// The time in which its bucket fills.
    depth: u64,
}

impl Region {
    /// The time in which it earns a packet: 2¹⁶ bytes of less than 2⁴³ each.
    #[inline]
    fn earns(&self, len: u64) -> u64 {
        (len * self.per_byte) >> BYTE_BITS
    }
}

/// The law of the token-bucket marker.
#[derive(Debug)]
pub(super) struct TokenBucketLaw {
    regions: Box<[Region]>,
    /// The value of a packet that a region takes; the least, after the last.
    codes: Box<[u16]>,
}

/// The buckets of a flow.
#[derive(Debug)]
pub(super) struct Buckets {
    /// The flow's own time.
    clock: u64,
    /// When each bucket below `top` is full. Those from `top` on were full at `clock`, and then took `last` bytes.
    full: Box<[u64]>,
    top: usize,
    last: u64,
    /// The time before which no bucket below `top` of a group can take `least` bytes.
    wake: Box<[u64]>,
    least: u64,
    /// Packets until `least` is found anew.
    renew: u8,
}

impl Clone for Buckets {
    fn clone(&self) -> Self {
        Self {
            full: self.full.clone(),
            wake: self.wake.clone(),
            ..*self
        }
    }
    /// Copies into the memory that is there.
    fn clone_from(&mut self, other: &Self) {
        let (mut full, mut wake) = (mem::take(&mut self.full), mem::take(&mut self.wake));
        full.clone_from(&other.full);
        wake.clone_from(&other.wake);
        *self = Self {
            full,
            wake,
            ..*other
        };
    }
}

impl TokenBucketLaw {
    /// Lets time pass: writes down the buckets that have not filled again since the last packet, and forgets those that have.
    #[inline]
    fn fill(&self, flow: &mut Buckets, since: u64) {
        let before = flow.clock;
        flow.clock += since;
        // A higher region earns the same sooner: behind the first that has earned it all have.
        while let Some(region) = self.regions.get(flow.top) {
            let earned = region.earns(flow.last);
            if earned <= since {
                break;
            }
            flow.full[flow.top] = before + earned;
            flow.wake[flow.top / GROUP] = 0;
            flow.top += 1;
        }
        while flow.top > 0 && flow.full[flow.top - 1] <= flow.clock {
            flow.top -= 1;
        }
        if flow.clock >= 1 << 62 {
            let past = flow.clock;
            for time in flow.full.iter_mut().chain(&mut flow.wake) {
                *time = time.saturating_sub(past);
            }
            flow.clock = 0;
        }
    }

    /// The first region with enough for a packet; as many as there are if none has.
    #[inline]
    fn choose(&self, flow: &mut Buckets, len: u64) -> usize {
        flow.renew = flow.renew.wrapping_sub(1);
        if len < flow.least || flow.renew == 0 {
            flow.least = len;
            flow.wake.fill(0);
        }
        let groups = flow.top.div_ceil(GROUP);
        for (group, wake) in flow.wake[..groups].iter_mut().enumerate() {
            if *wake > flow.clock {
                continue;
            }
            let first = group * GROUP;
            let range = first..flow.top.min(first + GROUP);
            let mut earliest = u64::MAX;
            for (index, region) in self.regions[range.clone()].iter().enumerate() {
                let full = flow.full[first + index];
                if full.max(flow.clock) + region.earns(len) <= flow.clock + region.depth {
                    return first + index;
                }
                let least = region.earns(flow.least);
                let early = match least <= region.depth {
                    true => (full + least).saturating_sub(region.depth),
                    // Never.
                    false => u64::MAX,
                };
                earliest = earliest.min(early);
            }
            *wake = earliest;
        }
        // All others are full; what does not fit in one fits in one that is larger.
        let fits = |region: &Region| region.earns(len) <= region.depth;
        let beyond = self.regions[flow.top..].iter().position(fits);
        beyond.map_or(self.regions.len(), |index| flow.top + index)
    }

    /// Takes a packet from a region and from all above it.
    #[inline]
    fn take(&self, flow: &mut Buckets, from: usize, len: u64) {
        // Regions that were passed over though they were full stay so.
        while flow.top < from {
            flow.full[flow.top] = flow.clock;
            flow.wake[flow.top / GROUP] = 0;
            flow.top += 1;
        }
        let taken = from..flow.top;
        for (region, full) in self.regions[taken.clone()]
            .iter()
            .zip(&mut flow.full[taken])
        {
            let after = (*full).max(flow.clock) + region.earns(len);
            *full = after.min(flow.clock + MOST_OWED);
        }
        flow.last = len;
    }
}

impl MarkerLaw for TokenBucketLaw {
    const ENTRY: Entry = Entry {
        name: "token_bucket",
        summary: "The value of the first region of the rate whose bucket has tokens.",
        source: PVPIE,
        parameters: Parameters::ROWS,
    };
    type Parameters = Parameters;
    type FlowState = Buckets;
    const PLACE: usize = 96;

    fn new(parameters: &Parameters, functions: &[ValueFunction]) -> Result<Self, ParameterError> {
        let function = one(functions)?;
        let Parameters { from, to, .. } = *parameters;
        if from > to {
            let name = name_of!(Parameters, from);
            return Err(ParameterError::new(name, from, "must not be above to"));
        }
        let depth = parameters.depth.as_nanos() << CLOCK_BITS;
        let least = parameters.least.get();
        let steps = i128::from(parameters.steps);
        let (mut regions, mut codes) = (Vec::new(), Vec::new());
        for step in 0_i128.. {
            let rate = exp2(log2(from.as_bps()) + step * log2(10) / steps, 0) as u64;
            // 8·10⁹ · 2²⁰ is below 2⁵³.
            let per_byte = ((8_000_000_000_u64 << (CLOCK_BITS + BYTE_BITS)) + rate / 2) / rate;
            let least = least.saturating_mul(per_byte) >> BYTE_BITS;
            regions.push(Region {
                per_byte,
                depth: depth.max(least).min(LONGEST),
            });
            codes.push(function.code_at(Rate::from_bps(rate)));
            if rate >= to.as_bps() {
                break;
            }
        }
        codes.push(1);
        Ok(Self {
            regions: regions.into_boxed_slice(),
            codes: codes.into_boxed_slice(),
        })
    }
    fn flows(parameters: &Parameters) -> Flows {
        Flows {
            per: parameters.per,
            flows: parameters.flows,
            idle: parameters.idle,
        }
    }
    fn fresh(&self) -> Buckets {
        let regions = self.regions.len();
        Buckets {
            clock: 0,
            full: vec![0; regions].into_boxed_slice(),
            top: 0,
            last: 0,
            wake: vec![0; regions.div_ceil(GROUP)].into_boxed_slice(),
            least: u64::MAX,
            renew: 0,
        }
    }

    fn heap(&self) -> usize {
        (self.regions.len() + self.regions.len().div_ceil(GROUP)) * size_of::<u64>()
    }

    #[inline]
    fn code(&self, flow: &mut Buckets, len: Bytes, since: Time, _random: &mut Random) -> u16 {
        // No IP packet is longer; no bucket takes longer to fill.
        let len = len.get().min(0xffff);
        let since = since.as_nanos().min(LONGEST >> CLOCK_BITS) << CLOCK_BITS;
        self.fill(flow, since);
        let chosen = self.choose(flow, len);
        self.take(flow, chosen, len);
        self.codes[chosen]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter::Settings;
    use crate::value::CodeScale;
    use proptest::prelude::*;

    /// Asks all buckets in turn.
    fn plain(law: &TokenBucketLaw, full: &mut [u64], clock: u64, len: u64) -> usize {
        let fits = |(region, full): (&Region, &u64)| {
            (*full).max(clock) + region.earns(len) <= clock + region.depth
        };
        let chosen = law
            .regions
            .iter()
            .zip(&*full)
            .position(fits)
            .unwrap_or(full.len());
        for (region, full) in law.regions.iter().zip(full).skip(chosen) {
            *full = (*full).max(clock) + region.earns(len);
        }
        chosen
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_left_out_makes_no_difference(
            packets in prop::collection::vec((0..5_u8, 0..1_000_u64, 1..3_000_u64), 1..2_000),
            depth in 0..3_usize,
        ) {
            let mut settings = Settings::new(Parameters::ROWS);
            settings.set("depth", ["10us", "1ms", "30ms"][depth]).unwrap();
            settings.set("least", "64B").unwrap();
            let gold = ValueFunction::named("gold", CodeScale::default()).unwrap();
            let law = TokenBucketLaw::new(&Parameters::of(&settings), &[gold]).unwrap();
            let (mut flow, mut random) = (law.fresh(), Random::new(1, "test"));
            let (mut full, mut clock) = (vec![0; law.regions.len()], 0);
            for (kind, gap, len) in packets {
                // Mostly small gaps and full packets; now and then anything.
                let since = match kind {
                    0 => gap * 1_000_000,
                    1 => 0,
                    _ => gap * 100,
                };
                let len = if len > 1_500 { 1_500 } else { len };
                clock += since << CLOCK_BITS;
                let code = law.code(&mut flow, Bytes::new(len), Time::from_nanos(since), &mut random);
                let chosen = plain(&law, &mut full, clock, len);
                prop_assert_eq!(code, law.codes[chosen]);
            }
        }
    }
}
