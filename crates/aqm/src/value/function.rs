//! A throughput-value function in codes: which rate survives which threshold, and what the marginal bit at a rate is worth.
//!
//! A function is a table: for each code c the highest rate, in whole bit/s, whose value is above c. It is what the marker requirement
//! speaks of, v⁻¹(c): of a flow whose packets drew rates from 1 to R evenly, exactly that rate survives the threshold c. The code of a rate
//! is found in the same table, so that both agree to the bit: an index by the rate's logarithm, then a short search.
//!
//! A scenario names the function of a group, `value = "gold"` (or "silver", "background"), and may define its own, each a table with a shape
//! and what belongs to it:
//!
//! ```toml
//! [value]
//! quarter = { kind = "inverse", reach = "100gbit", scale = 4 }        # v(4x): a quarter of what gold gets
//! line = { kind = "linear", value = 500000000, zero = "100mbit" }     # 5·10⁸ − 5x
//! curve = { kind = "rational", value = 65535, half = "720kbit" }
//! pieces = { kind = "piecewise", points = [["1mbit", 1000000], ["10mbit", 20000], ["10mbit", 200], ["1gbit", 1]] }
//! ```
//!
//! Sources: see [`curve`](super::curve); silver and background are gold of 2x and of 20x, as in the public PVPIE module.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::code::CodeScale;
use super::curve::{Curve, CurvePoint, RATE_BITS};
use crate::kind::Entry;
use crate::parameter::{Domain, Parameter, ParameterError, Settings, Table as _};
use crate::units::{Rate, parameters};

/// Parts of 1 in which rates are scaled.
const SCALE: u64 = 1_000;
const SCALE_WIDE: u128 = SCALE as u128;
/// Each octave of rates has 2⁷ entries in the index: a step of 0.8 %, finer than a code of the default scale.
const INDEX_BITS: u32 = 7;

const PVPIE: &str = "the public PVPIE module for ns-3 (tlpvpie), packet-marker-queue-disc.cc";
const P4: &str = "the P4 remarker of ELTE (ppv-remarker), README";

const RATES: Domain = Domain::Rate(Rate::from_bps(1), Curve::FASTEST);
const VALUES: Domain = Domain::Integer(2, Curve::DEAREST);
const SCALED: Parameter = Parameter::FIXED
    .domain(Domain::Fraction(1, 1_000 * SCALE, SCALE))
    .default("1")
    .source(PVPIE)
    .help("Multiplies the rate: with 2 the flow gets half of what it would get with 1.");

parameters! {
    /// The parameters of `inverse`.
    struct Inverse {
        /// The rate at which the value has fallen to 1, the least there is.
        reach: Rate = Parameter::FIXED.domain(RATES).default("100gbit").source("ours: above the links of today"),
        scale: u64 = SCALED,
    }
}
parameters! {
    /// The parameters of `linear`.
    struct Linear {
        /// What the first bit is worth.
        value: u64 = Parameter::FIXED.domain(VALUES).default("500000000").source(PVPIE),
        /// The rate at which nothing is left of it; beyond it the smallest value.
        zero: Rate = Parameter::FIXED.domain(RATES).default("100mbit").source(PVPIE),
        scale: u64 = SCALED,
    }
}
parameters! {
    /// The parameters of `rational`.
    struct Rational {
        /// What the first bit is worth.
        value: u64 = Parameter::FIXED.domain(VALUES).default("65535").source(P4),
        /// The rate at which half of it is left.
        half: Rate = Parameter::FIXED.domain(RATES).default("720kbit")
            .source("the P4 remarker of ELTE: 900 bytes in 10 ms"),
        scale: u64 = SCALED,
    }
}
parameters! {
    /// The parameters of `piecewise`; its points come apart from them.
    struct Piecewise {
        scale: u64 = SCALED,
    }
}

/// Makes the list of kinds and an enum over them from one list.
macro_rules! functions {
    ($($variant:ident = $name:literal: $summary:literal, $source:expr, $parameters:expr;)*) => {
        /// Every kind of function, as scenarios name it. `piecewise` takes its points apart from its parameters.
        pub const FUNCTIONS: &[Entry] = &[$(Entry {
            name: $name,
            summary: $summary,
            source: $source,
            parameters: $parameters,
        },)*];

        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        enum Shape { $($variant,)* }

        impl Shape {
            fn of(kind: &str) -> Result<Self, ParameterError> {
                match kind {
                    $($name => Ok(Self::$variant),)*
                    _ => Err(Entry::unknown(FUNCTIONS, kind)),
                }
            }
        }
    };
}

#[rustfmt::skip] // One row for each.
functions! {
    Gold = "gold": "100 Gbit/s over the rate: a straight line on log-log axes.", "ours, after the recommendation of log-log curves", &[];
    Silver = "silver": "Gold of twice the rate: half of gold's share.", PVPIE, &[];
    Background = "background": "Gold of twenty times the rate: a twentieth of gold's share.", PVPIE, &[];
    Inverse = "inverse": "Reach over the rate: a straight line on log-log axes.", "ours, after the recommendation of log-log curves", Inverse::ROWS;
    Linear = "linear": "Falls evenly from a value at rate 0 to nothing.", PVPIE, Linear::ROWS;
    Rational = "rational": "Value · half / (rate + half).", P4, Rational::ROWS;
    Piecewise = "piecewise": "Straight lines on log-log axes from point to point.", "the pieces of the framework's figures; axes ours", Piecewise::ROWS;
}

/// A throughput-value function in codes. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ValueFunction(Arc<Table>);

#[derive(Debug)]
struct Table {
    /// Rates that are worth more than each code from 0 to the highest, in bit/s: falling, and 0 at the highest and one beyond.
    rates: Box<[u64]>,
    /// The code of the lowest rate of each step of the index.
    index: Box<[u16]>,
}

impl ValueFunction {
    /// The function of `kind` in [`FUNCTIONS`], with settings from its table. `points` are those of `piecewise`, in order, and empty for
    /// all others. Refused with the reason: an unknown kind, and what is not a falling function.
    pub fn new(
        kind: &str,
        settings: &Settings,
        points: &[CurvePoint],
        codes: CodeScale,
    ) -> Result<Self, ParameterError> {
        let shape = Shape::of(kind)?;
        settings.check()?;
        if shape != Shape::Piecewise && !points.is_empty() {
            let allowed = "has an effect only with kind = \"piecewise\"";
            return Err(ParameterError::new("points", points.len(), allowed));
        }
        let gold = Curve::Inverse {
            reach: Rate::from_mbps(100_000),
        };
        let (curve, scale) = match shape {
            Shape::Gold => (gold, SCALE),
            Shape::Silver => (gold, 2 * SCALE),
            Shape::Background => (gold, 20 * SCALE),
            Shape::Inverse => {
                let Inverse { reach, scale } = Inverse::of(settings);
                (Curve::Inverse { reach }, scale)
            }
            Shape::Linear => {
                let Linear { value, zero, scale } = Linear::of(settings);
                (Curve::Linear { value, zero }, scale)
            }
            Shape::Rational => {
                let Rational { value, half, scale } = Rational::of(settings);
                (Curve::Rational { value, half }, scale)
            }
            Shape::Piecewise => {
                let Piecewise { scale } = Piecewise::of(settings);
                (Curve::Piecewise(points.to_vec()), scale)
            }
        };
        Self::of(&curve, scale, codes)
    }

    /// One of `gold`, `silver` and `background`, or another kind with its defaults.
    pub fn named(kind: &str, codes: CodeScale) -> Result<Self, ParameterError> {
        Self::new(kind, &Settings::new(find(kind)?.parameters), &[], codes)
    }

    /// v(x · `scale` / 1000) of a curve. Refused: a curve that does not fall, and a scale outside 1..=1 000 000.
    pub fn of(curve: &Curve, scale: u64, codes: CodeScale) -> Result<Self, ParameterError> {
        curve.check()?;
        if !(1..=1_000 * SCALE).contains(&scale) {
            let allowed = "must be from 1 to 1000000 thousandths";
            return Err(ParameterError::new("scale", scale, allowed));
        }
        // Every packet that is marked at all is worth more than 0.
        let mut rates = alloc::vec![u64::MAX];
        let mut rate = u64::MAX;
        for code in 1..=u16::MAX {
            let exact = curve
                .reaches(codes.boundary(code))
                .min(u128::MAX / SCALE_WIDE);
            let scaled = (exact * SCALE_WIDE / u128::from(scale)) >> RATE_BITS;
            rate = rate.min(u64::try_from(scaled).unwrap_or(u64::MAX));
            if code == u16::MAX {
                rate = 0;
            }
            rates.push(rate);
            if rate == 0 {
                break;
            }
        }
        Ok(Self(Arc::new(Table::new(rates))))
    }

    /// The value of the marginal bit at `rate`. Rate 0 has the value of 1 bit/s.
    #[inline]
    pub fn code_at(&self, rate: Rate) -> u16 {
        self.0.code(rate.as_bps().max(1))
    }
    /// v⁻¹: the highest rate whose bits are all worth more than `code`, which is what survives that threshold; unlimited for 0, which no marked
    /// packet has.
    #[inline]
    pub fn rate_above(&self, code: u16) -> Rate {
        let rate = self.0.rates.get(usize::from(code));
        Rate::from_bps(rate.copied().unwrap_or(0))
    }
    /// The rate at which the marginal bit is worth `code`: the middle of those that are.
    pub(crate) fn rate_at(&self, code: u16) -> Rate {
        let from = self.rate_above(code).as_bps();
        let to = self.rate_above(code.saturating_sub(1)).as_bps();
        Rate::from_bps(from + (to - from) / 2)
    }
    /// v(x / `factor`): each value at a rate `factor` times as high; a factor of 0 counts as 1.
    pub fn stretched(&self, factor: u64) -> Self {
        let codes = &self.0.rates[..=self.highest().into()];
        let stretched = codes.iter().map(|&rate| rate.saturating_mul(factor.max(1)));
        Self(Arc::new(Table::new(stretched.collect())))
    }
    /// The highest code that it gives.
    pub fn highest(&self) -> u16 {
        // One rate for each 16-bit code at most.
        (self.0.rates.len() - 2) as u16
    }
}

impl Table {
    /// A table of the rates of all codes, the last of them 0.
    fn new(mut rates: Vec<u64>) -> Self {
        rates.push(0);
        let count = |rate: u64| rates.partition_point(|&above| above >= rate) as u16;
        // Steps up to the one in which the smallest code begins, and one more.
        let steps = step(rates[1].saturating_add(1)) + 2;
        let index = (0..steps).map(|step| count(lowest(step))).collect();
        Self {
            rates: rates.into_boxed_slice(),
            index,
        }
    }

    /// The number of codes that begin above `rate`, which is at least 1.
    #[inline]
    fn code(&self, rate: u64) -> u16 {
        if rate > self.rates[1] {
            return 1;
        }
        let step = step(rate);
        let (high, low) = (self.index[step], self.index[step + 1]);
        let from = usize::from(low);
        if high - low <= 2 {
            // Mostly so: two comparisons without a branch that could be guessed wrong. Beyond the step they are not met.
            let first = u16::from(self.rates[from] >= rate);
            let second = u16::from(self.rates[from + 1] >= rate);
            return low + first + second;
        }
        let between = &self.rates[from..usize::from(high)];
        low + between.partition_point(|&above| above >= rate) as u16
    }
}

/// The step of the index to which a rate from 1 belongs.
#[inline]
fn step(rate: u64) -> usize {
    let octave = 63 - rate.leading_zeros();
    // The leading bits, without those that are shifted in.
    let part = ((rate << (63 - octave)) >> (63 - INDEX_BITS)) as usize;
    // The part has its leading bit, which counts one octave.
    ((octave as usize) << INDEX_BITS) + part - (1 << INDEX_BITS)
}

/// The lowest rate of a step.
fn lowest(step: usize) -> u64 {
    let octave = step >> INDEX_BITS;
    let part = (1 << INDEX_BITS) + (step & ((1 << INDEX_BITS) - 1)) as u128;
    let rate = (part << octave).div_ceil(1 << INDEX_BITS);
    u64::try_from(rate).unwrap_or(u64::MAX)
}

/// The entry of `kind`, or an error that lists all kinds.
pub fn find(kind: &str) -> Result<&'static Entry, ParameterError> {
    Entry::find(FUNCTIONS, kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigUint;

    /// Whether the shape of a curve is worth more than `code` at `rate`, in whole numbers: v(scale·x)^(2K) ≥ 2^(2·code + 1).
    fn is_above(curve: &Curve, scale: u64, codes: CodeScale, rate: u64, code: u16) -> bool {
        let big = |number: u64| BigUint::from(number);
        let (x, one) = (big(rate) * scale, big(SCALE));
        let (value, of) = match curve {
            Curve::Inverse { reach } => (big(reach.as_bps()) * one, x),
            Curve::Linear { value, zero } => {
                let zero = big(zero.as_bps()) * one;
                let left = if x < zero { &zero - x } else { big(0) };
                (left * *value, zero)
            }
            Curve::Rational { value, half } => {
                let half = big(half.as_bps()) * one;
                (&half * *value, x + half)
            }
            Curve::Piecewise(_) => unreachable!("not rational"),
        };
        let power = 2 * codes.bins_per_octave() as u32;
        value.pow(power) >= of.pow(power) << (2 * u32::from(code) + 1)
    }

    #[test]
    fn thresholds_are_exact_and_codes_agree_with_them() {
        let curves = [
            (
                Curve::Inverse {
                    reach: Rate::from_mbps(100_000),
                },
                1_000,
            ),
            (
                Curve::Inverse {
                    reach: Rate::from_mbps(100_000),
                },
                2_000,
            ),
            (
                Curve::Inverse {
                    reach: Rate::from_mbps(100_000),
                },
                20_000,
            ),
            (
                Curve::Inverse {
                    reach: Curve::FASTEST,
                },
                333,
            ),
            (
                Curve::Linear {
                    value: 500_000_000,
                    zero: Rate::from_mbps(100),
                },
                1_000,
            ),
            (
                Curve::Linear {
                    value: 500_000_000,
                    zero: Rate::from_mbps(100),
                },
                20_000,
            ),
            (
                Curve::Rational {
                    value: 65_535,
                    half: Rate::from_bps(720_000),
                },
                1_000,
            ),
            (
                Curve::Rational {
                    value: 65_535,
                    half: Rate::from_bps(720_000),
                },
                7,
            ),
        ];
        for codes in [CodeScale::default(), CodeScale::new(9)] {
            for (curve, scale) in &curves {
                let function = ValueFunction::of(curve, *scale, codes).unwrap();
                let highest = function.highest();
                let stride = 1 + usize::from(highest) / 300;
                for code in (1..=highest).step_by(stride) {
                    let rate = function.rate_above(code).as_bps();
                    let above = |rate| is_above(curve, *scale, codes, rate, code);
                    assert!(rate == 0 || above(rate), "{curve:?}: {code}, {rate}");
                    assert!(!above(rate + 1), "{curve:?}: {code}, {rate}");
                    let at = |rate| function.code_at(Rate::from_bps(rate));
                    assert!(at(rate + 1) <= code, "{curve:?}: {code}, {rate}");
                    assert!(rate == 0 || at(rate) > code, "{curve:?}: {code}, {rate}");
                }
            }
        }
    }
}
