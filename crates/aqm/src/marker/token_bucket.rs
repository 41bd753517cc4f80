//! The token-bucket marker: the function cut into regions of the rate, with a bucket for each.
//!
//! Source: the framework's page and the header comment of the public PVPIE module for ns-3: boundaries b₀ < b₁ < …, a bucket for each that is
//! filled at b_i and holds what b_i carries in a typical buffer delay, full at first. A packet of s bytes takes the first bucket k with at least s, is
//! worth v(b_k), and s is taken from every bucket j ≥ k (the comment says j > k; only with j ≥ k does what is marked with the regions up to k have
//! the rate b_k, as the marker requirement says). It draws nothing at random.
//!
//! A bucket is kept as the time at which it will be full again (the virtual scheduling of ITU-T I.371): taking s moves that by s/b_i.
//! Deviations: 1. ten regions per decade and up to 10 Gbit/s instead of thirty and 0.93 Gbit/s (`steps`, `to`): the time per packet grows with the
//! number of regions. 2. A bucket holds at least `least`, or else no packet of 1 500 bytes would ever fit the regions below 1.2 Mbit/s. 3. A packet for
//! which no bucket has enough is worth the least there is. 4. Between two boundaries the requirement holds only for the lower one, so a flow
//! gets up to a region (26 %) less than its function says.

use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use super::parameters::{IDLE, PER, flows};
use super::{Law, one};
use crate::parameter::{Default, Domain, Parameter, ParameterError, Settings};
use crate::random::Random;
use crate::registry::Entry;
use crate::units::{Bytes, Rate, Time};
use crate::value::ValueFunction;
use crate::value::code::{exp2, log2};
use crate::value::curve::Curve;

const PVPIE: &str = "the public PVPIE module for ns-3 (tlpvpie)";

#[rustfmt::skip] // One row for each.
const PARAMETERS: &[Parameter] = &[
    PER,
    flows("4096", 1 << 16),
    IDLE,
    row("from", RATES, "10kbit", PVPIE, "The lowest boundary: no part of a flow is worth more than the bit at this rate."),
    row("to", RATES, "10gbit", "ours: above the flows of today", "The highest boundary, rounded up to a whole step; what is beyond is worth the least there is."),
    row("steps", Domain::Integer(1, 100), "10", "ours, for speed; the ns-3 module has 30", "Regions per factor of ten of the rate."),
    row("depth", Domain::Time(Time::from_micros(1), Time::from_secs(10)), "10ms", "ours: half the delay target of PIE, a typical buffer delay", "How long a bucket takes to fill: the bursts that a region takes."),
    row("least", Domain::Bytes(64, 1_000_000), "3kB", "ours: two full packets", "A bucket holds at least so much."),
];

const RATES: Domain = Domain::Rate(Rate::from_bps(1_000), Curve::FASTEST);

const fn row(
    name: &'static str,
    domain: Domain,
    default: &'static str,
    source: &'static str,
    help: &'static str,
) -> Parameter {
    Parameter {
        name,
        opposite: None,
        domain,
        default: Default::Is(default),
        only: None,
        live: false,
        source,
        help,
    }
}

pub(super) const ENTRY: Entry = Entry {
    name: "token_bucket",
    summary: "The value of the first region of the rate whose bucket has tokens.",
    source: PVPIE,
    parameters: PARAMETERS,
};

/// Fraction bits of the nanoseconds in which buckets are kept.
const CLOCK_BITS: u32 = 8;
/// Fraction bits of the time that a byte takes, beyond those: below 2³³ ns at 1 kbit/s.
const BYTE_BITS: u32 = 12;
/// No bucket takes longer to fill, nor does any packet at the lowest rate: 2⁴⁰ ns, 18 minutes.
const LONGEST: u64 = 1 << (40 + CLOCK_BITS);

/// A region of the rate.
#[derive(Debug, Clone, Copy)]
struct Region {
    /// The time in which it earns a byte.
    per_byte: u64,
    /// The time in which its bucket fills.
    depth: u64,
    /// What a packet is worth that it takes.
    code: u16,
}

/// The law of the token-bucket marker.
#[derive(Debug)]
pub(super) struct TokenBucketLaw {
    regions: Box<[Region]>,
}

/// The buckets of a flow.
#[derive(Debug)]
pub(super) struct Buckets {
    /// The flow's own time.
    clock: u64,
    /// When each bucket is full.
    full: Box<[u64]>,
}

impl Clone for Buckets {
    fn clone(&self) -> Self {
        Self {
            clock: self.clock,
            full: self.full.clone(),
        }
    }
    /// In the memory that there is.
    fn clone_from(&mut self, other: &Self) {
        self.clock = other.clock;
        self.full.clone_from(&other.full);
    }
}

impl TokenBucketLaw {
    pub(super) fn new(
        settings: &Settings,
        functions: &[ValueFunction],
    ) -> Result<Self, ParameterError> {
        let function = one(functions)?;
        let (from, to) = (settings.rate("from"), settings.rate("to"));
        if from > to {
            return Err(ParameterError {
                key: "from".to_string(),
                found: from.to_string(),
                allowed: "must not be above to".to_string(),
            });
        }
        let depth = settings.time("depth").as_nanos() << CLOCK_BITS;
        let least = settings.number("least");
        let steps = i128::from(settings.number("steps"));
        let mut regions = Vec::new();
        for step in 0_i128.. {
            let rate = exp2(log2(from.as_bps()) + step * log2(10) / steps, 0) as u64;
            // 8·10⁹ · 2²⁰ is below 2⁵³.
            let per_byte = ((8_000_000_000_u64 << (CLOCK_BITS + BYTE_BITS)) + rate / 2) / rate;
            let least = least.saturating_mul(per_byte) >> BYTE_BITS;
            regions.push(Region {
                per_byte,
                depth: depth.max(least).min(LONGEST),
                code: function.code_at(Rate::from_bps(rate)),
            });
            if rate >= to.as_bps() {
                break;
            }
        }
        Ok(Self {
            regions: regions.into_boxed_slice(),
        })
    }
}

impl Law for TokenBucketLaw {
    type State = Buckets;

    fn fresh(&self) -> Buckets {
        Buckets {
            clock: 0,
            full: vec![0; self.regions.len()].into_boxed_slice(),
        }
    }

    fn heap(&self) -> usize {
        self.regions.len() * size_of::<u64>()
    }

    #[inline]
    fn code(&self, flow: &mut Buckets, len: Bytes, since: Time, _random: &mut Random) -> u16 {
        // No IP packet is longer; no bucket takes longer to fill.
        let len = len.get().min(0xffff);
        let since = (since.as_nanos().min(LONGEST >> CLOCK_BITS)) << CLOCK_BITS;
        flow.clock += since;
        if flow.clock >= 1 << 62 {
            for full in &mut flow.full {
                *full = full.saturating_sub(flow.clock);
            }
            flow.clock = 0;
        }
        let clock = flow.clock;
        let mut code = None;
        // 2¹⁶ bytes of less than 2⁴³ each.
        for (region, full) in self.regions.iter().zip(&mut flow.full) {
            let after = (*full).max(clock) + ((len * region.per_byte) >> BYTE_BITS);
            if code.is_none() && after - clock <= region.depth {
                code = Some(region.code);
            }
            if code.is_some() {
                // A bucket may be overdrawn by those that are below it; not without end.
                *full = after.min(clock + LONGEST);
            }
        }
        code.unwrap_or(1)
    }
}
