//! RED's control law as published: Floyd and Jacobson, "Random Early Detection Gateways for
//! Congestion Avoidance", 1993, figure 2; gentle mode as Floyd recommended it in 2000; adaptation
//! of the probability by Floyd, Gummadi and Shenker, "Adaptive RED", 2001.
//!
//! On each arrival, with `q` packets or bytes waiting:
//!
//! * `avg ← (1 − w)·avg + w·q`, or after an idle time of `m` packets `avg ← (1 − w)^m·avg`;
//! * `p_b = max_p·(avg − min)/(max − min)`; above `max` in gentle mode from `max_p` to 1 at 2·max;
//! * `count ← count + 1`; marked with `p_a = p_b/(1 − count·p_b)`.
//!
//! Fixed point: the average in 2⁻³² units, rounded down at each step; `p_b` in 2⁻⁶², below the exact
//! value by at most 2·2⁻⁶²; `p_a` is never computed: `R·(1 − count·p_b) < p_b` is decided exactly for
//! a random `R` of 32 bits. No division.
//!
//! Deviations from the paper: 1. `gentle` and `wait` (ns-2: at least 1/p_b packets between two
//! marks). 2. In byte mode `p_a` is scaled by the size over the *average* packet size and `count`
//! counts bytes, as in ns-2; the paper scales `p_b` by the size over the largest one. 3. `m` counts
//! whole packets, as in ns-2. 4. The idle time begins when the link finds nothing to send.

use super::tc::power;
use crate::units::{Bytes, Probability, Rate, Time};

/// Fraction bits of averages and thresholds.
const FRACTION_BITS: u32 = 32;
/// Fraction bits of the weight.
pub(super) const WEIGHT_BITS: u32 = 32;

/// The parameters of the law. Thresholds are packets or bytes, as the queue is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameters {
    /// Lower threshold.
    pub min: u32,
    /// Upper threshold, at least `min`.
    pub max: u32,
    /// The weight of a sample in parts of 2³², from 1 to 2³².
    pub weight: u64,
    /// The probability at `max` (max_p).
    pub max_probability: Probability,
    /// Whether the probability rises from `max_probability` to 1 between `max` and twice `max`,
    /// instead of jumping to 1 at `max`.
    pub gentle: bool,
    /// Whether at least 1/p_b packets lie between two marks.
    pub wait: bool,
    /// Whether a packet is marked in proportion to its size.
    pub byte_mode: bool,
    /// The size of an average packet, at least 1.
    pub avpkt: u32,
    /// The rate at which imagined packets leave an idle link.
    pub bandwidth: Rate,
}

/// The fate of an arriving packet.
pub use super::linux::Action;

/// Parameters and state.
#[derive(Debug, Clone)]
pub struct FloydRed {
    parameters: Parameters,
    /// Thresholds at the average's scale; `full` is where everything is marked.
    min: u64,
    max: u64,
    full: u64,
    probability: Probability,
    slopes: Slopes,
    /// The average in units of 2⁻³².
    average: u64,
    /// Packets or bytes since the last mark; `None` below `min`.
    count: Option<u64>,
    idle_since: Option<Time>,
}

/// The slopes of the probability per unit of the average, between the thresholds and above.
#[derive(Debug, Clone, Copy)]
struct Slopes {
    between: Slope,
    above: Slope,
}

impl Slopes {
    /// `max_p/(max − min)` and `(1 − max_p)/max`.
    fn of(probability: Probability, min: u64, max: u64) -> Self {
        Self {
            between: Slope::of(probability.raw(), max - min),
            above: Slope::of(Probability::ONE.raw() - probability.raw(), max),
        }
    }
}

/// `factor · 2^−shift`, rounded down to 64 bits, so that no rise is short by as much as 2.
#[derive(Debug, Clone, Copy)]
struct Slope {
    factor: u64,
    shift: u32,
}

impl Slope {
    /// `rise / over`; 0 over nothing.
    fn of(rise: u64, over: u64) -> Self {
        // At most 2⁶² · 2⁶⁴.
        let exact = (u128::from(rise) << 64)
            .checked_div(over.into())
            .unwrap_or(0);
        let surplus = (u128::BITS - exact.leading_zeros()).saturating_sub(u64::BITS);
        Self {
            factor: (exact >> surplus) as u64,
            shift: u64::BITS - surplus,
        }
    }
    /// The rise over `over`, which is at most the run that the slope was made for.
    #[inline]
    fn rise(self, over: u64) -> u64 {
        ((u128::from(over) * u128::from(self.factor)) >> self.shift) as u64
    }
}

impl FloydRed {
    /// The law with an average of 0.
    pub fn new(parameters: Parameters) -> Self {
        let scaled = |threshold: u32| u64::from(threshold) << FRACTION_BITS;
        let (min, max) = (scaled(parameters.min), scaled(parameters.max));
        let probability = parameters.max_probability;
        Self {
            min,
            max,
            // Twice a threshold below 2³¹ fits; a larger one is out of the average's reach.
            full: if parameters.gentle {
                max.saturating_mul(2)
            } else {
                max
            },
            probability,
            slopes: Slopes::of(probability, min, max),
            average: 0,
            count: None,
            idle_since: None,
            parameters,
        }
    }

    /// The parameters of the law.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }
    /// The average, rounded down.
    pub fn average(&self) -> u64 {
        self.average >> FRACTION_BITS
    }
    /// The average in units of 2⁻³².
    pub fn raw_average(&self) -> u64 {
        self.average
    }
    /// The probability at `max`.
    pub fn probability(&self) -> Probability {
        self.probability
    }

    /// A packet of `len` arrives while `queued` packets or bytes wait: the average takes note, and
    /// decides.
    #[inline]
    pub fn arrival(
        &mut self,
        queued: u64,
        len: Bytes,
        now: Time,
        random: impl FnOnce() -> u32,
    ) -> Action {
        self.average = match self.idle_since.take() {
            None => self.averaged(queued),
            Some(since) => self.decayed(now - since),
        };
        if self.average < self.min {
            self.count = None;
            return Action::Pass;
        }
        if self.average >= self.full {
            self.count = Some(0);
            return Action::Forced;
        }
        // The first packet above `min` counts as none since a mark.
        let step = if self.parameters.byte_mode {
            len.get()
        } else {
            1
        };
        let count = self.count.map_or(0, |count| count.saturating_add(step));
        let marks = self.marks(self.base_probability(), count, len, random);
        self.count = Some(if marks { 0 } else { count });
        if marks { Action::Early } else { Action::Pass }
    }

    /// The link has nothing left to send.
    #[inline]
    pub fn idle(&mut self, now: Time) {
        if self.idle_since.is_none() {
            self.idle_since = Some(now);
        }
    }

    /// Half a second has passed (2001, figure 1): max_p grows by min(0.01, max_p/4) above the middle fifth
    /// between the thresholds and shrinks by a tenth below it, within 0.01 and 0.5. Deviation: an idle
    /// link counts with its decayed average, as in Linux; ns-2 adapts on arrivals only.
    pub fn adapt(&mut self, now: Time) {
        let average = match self.idle_since {
            None => self.average,
            Some(since) => self.decayed(now - since),
        };
        let fifth = (self.max - self.min) / 5;
        let (percent, half) = (Probability::ratio(1, 100), Probability::ratio(1, 2));
        let raw = self.probability.raw();
        if average > self.min + 3 * fifth && self.probability <= half {
            self.probability = Probability::from_raw(raw + percent.raw().min(raw / 4));
        } else if average < self.min + 2 * fifth && self.probability >= percent {
            self.probability = Probability::from_raw(raw / 10 * 9 + raw % 10 * 9 / 10);
        }
        self.slopes = Slopes::of(self.probability, self.min, self.max);
    }

    /// The queue was emptied.
    pub fn restart(&mut self) {
        self.idle_since = None;
        self.average = 0;
        self.count = None;
    }

    /// Takes the state over, and with `adapted` the probability, of a law that counts in the same unit.
    pub fn inherit(&mut self, other: &Self, adapted: bool) {
        self.average = other.average;
        self.count = other.count;
        self.idle_since = other.idle_since;
        if adapted {
            self.probability = other.probability;
            self.slopes = Slopes::of(self.probability, self.min, self.max);
        }
    }

    /// `(1 − w)·avg + w·q`, rounded down.
    #[inline]
    fn averaged(&self, queued: u64) -> u64 {
        let sample = queued.min(u32::MAX.into()) << FRACTION_BITS;
        // Without a difference, whose sign no processor foresees.
        let weight = self.parameters.weight;
        let kept = u128::from(self.average) * u128::from((1 << WEIGHT_BITS) - weight);
        ((kept + u128::from(sample) * u128::from(weight)) >> WEIGHT_BITS) as u64
    }

    /// `(1 − w)^m·avg`, rounded down.
    fn decayed(&self, idle: Time) -> u64 {
        let packet = u128::from(self.parameters.avpkt) * 8_000_000_000;
        let packets =
            u128::from(idle.as_nanos()) * u128::from(self.parameters.bandwidth.as_bps()) / packet;
        let packets = u64::try_from(packets).unwrap_or(u64::MAX);
        let kept = Probability::from_raw(
            ((1 << WEIGHT_BITS) - self.parameters.weight) << (62 - WEIGHT_BITS),
        );
        let product = u128::from(self.average) * u128::from(power(kept, packets).raw());
        (product >> 62) as u64
    }

    /// p_b for an average between `min` and `full`.
    #[inline]
    fn base_probability(&self) -> u64 {
        if self.average < self.max {
            self.slopes.between.rise(self.average - self.min)
        } else {
            self.probability.raw() + self.slopes.above.rise(self.average - self.max)
        }
    }

    /// Whether a packet of `len` is marked with p_a, after `count`.
    #[inline]
    fn marks(&self, base: u64, count: u64, len: Bytes, random: impl FnOnce() -> u32) -> bool {
        let passed = u128::from(count) * u128::from(base);
        if self.parameters.byte_mode {
            return self.marks_bytes(base, passed, len, random);
        }
        let one = Probability::ONE.raw();
        let passed = u64::try_from(passed).unwrap_or(u64::MAX);
        if self.parameters.wait && passed < one {
            return false;
        }
        let end = if self.parameters.wait { 2 * one } else { one };
        let left = end.saturating_sub(passed);
        // R·left < p_b·2³², without the fraction of the product, which decides nothing.
        left == 0 || base > ((u128::from(random()) * u128::from(left)) >> 32) as u64
    }

    /// Whether to mark, in byte mode.
    fn marks_bytes(
        &self,
        base: u64,
        passed: u128,
        len: Bytes,
        random: impl FnOnce() -> u32,
    ) -> bool {
        // `avpkt` bytes are a packet: everything below is times that.
        let one = u128::from(self.parameters.avpkt) << Probability::BITS;
        if self.parameters.wait && passed < one {
            return false;
        }
        let end = if self.parameters.wait { 2 * one } else { one };
        let left = end.saturating_sub(passed);
        // `one` is below 2⁹⁴ and a length below 2³², so both sides stay below 2¹²⁸.
        let size = len.get().min(u32::MAX.into());
        let chance = u128::from(base) * u128::from(size);
        left == 0 || u128::from(random()) * left < chance << 32
    }
}

#[cfg(test)]
mod tests;
