//! Probabilities in fixed point.

use core::fmt;

/// A probability in units of 2⁻⁶², from 0 to exactly 1.
///
/// The unit leaves room for one carry: the sum of two probabilities fits 64 bits, which is what
/// deterministic accumulators (`recur` of RFC 9332) need. Products go through 128 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Probability(u64);

impl Probability {
    /// The binary digits after the point: the unit is 2^−`BITS`.
    pub const BITS: u32 = 62;
    /// Never.
    pub const ZERO: Self = Self(0);
    /// Always.
    pub const ONE: Self = Self(1 << Self::BITS);

    /// A probability in units of 2⁻⁶²; clamped to 1.
    pub const fn from_raw(raw: u64) -> Self {
        if raw > Self::ONE.0 {
            Self::ONE
        } else {
            Self(raw)
        }
    }
    /// The probability in units of 2⁻⁶².
    pub const fn raw(self) -> u64 {
        self.0
    }
    /// `numerator / denominator`, rounded down and clamped to 1. A zero denominator gives 1.
    pub const fn ratio(numerator: u64, denominator: u64) -> Self {
        if numerator >= denominator {
            return Self::ONE;
        }
        // numerator < denominator ≤ 2⁶⁴, so the quotient is below 2⁶².
        Self((((numerator as u128) << Self::BITS) / denominator as u128) as u64)
    }
    /// `self²`, rounded down.
    pub const fn squared(self) -> Self {
        self.times(self)
    }
    /// The product, rounded down: both factors are at most 2⁶², so 128 bits hold it.
    pub const fn times(self, other: Self) -> Self {
        Self(((self.0 as u128 * other.0 as u128) >> Self::BITS) as u64)
    }
    /// `factor · self`, clamped to 1.
    pub const fn scaled(self, factor: u64) -> Self {
        let product = self.0 as u128 * factor as u128;
        if product > Self::ONE.0 as u128 {
            Self::ONE
        } else {
            Self(product as u64)
        }
    }
    /// The larger of two.
    pub fn max(self, other: Self) -> Self {
        Ord::max(self, other)
    }
    /// The probability as a floating-point number, for reports only.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / Self::ONE.0 as f64
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6}", self.as_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_stays_within_one() {
        let half = Probability::ratio(1, 2);
        assert_eq!(half.squared(), Probability::ratio(1, 4));
        assert_eq!(half.scaled(2), Probability::ONE);
        assert_eq!(half.scaled(255), Probability::ONE);
        assert_eq!(Probability::ONE.squared(), Probability::ONE);
        assert_eq!(Probability::ratio(3, 2), Probability::ONE);
        assert_eq!(Probability::ratio(1, u64::MAX).raw(), 0);
        assert_eq!(Probability::ratio(0, 0), Probability::ONE);
    }
}
