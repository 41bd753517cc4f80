//! An exponentially weighted moving average with a gain of 2^−n, in fixed point, that does not stall.
//!
//! `Q += (q − Q) >> n` on whole numbers stands still at any distance below 2^n. The sum kept here is Q · 2^(n + 16), so Q stays
//! within 2⁻¹⁶ above its exact value: e ← e·(1 − 2^−n) + r with a rounding r below 2^−(n+16).

/// Bits of the average below those that the gain consumes.
pub(crate) const FRACTION: u32 = 16;
/// Largest value that is averaged, far above any queue (in nanoseconds: 39 hours).
pub(crate) const LARGEST: u64 = 1 << 47;

/// The average of whole numbers.
#[derive(Debug, Clone)]
pub(crate) struct Ewma {
    /// Below 2⁴⁷ · 2^(16 + n), n at most 32, and one more for rounding.
    pub(crate) sum: u128,
    bits: u32,
}

impl Ewma {
    /// Begins at zero with a gain of 2^−`bits`, at most 32 of them.
    pub(crate) fn new(bits: u32) -> Self {
        Self { sum: 0, bits }
    }
    /// Changes the gain; the average stays as it is.
    pub(crate) fn set_bits(&mut self, bits: u32) {
        self.sum = (self.sum << bits) >> self.bits;
        self.bits = bits;
    }
    /// Adds `value` to the average.
    #[inline]
    pub(crate) fn update(&mut self, value: u64) {
        let value = u128::from(value.min(LARGEST)) << FRACTION;
        self.sum = self.sum - (self.sum >> self.bits) + value;
    }
    /// The average in units of 2⁻¹⁶, rounded down: below 2⁶⁴.
    #[inline]
    pub(crate) fn get(&self) -> u64 {
        (self.sum >> self.bits) as u64
    }
    /// The average times 2^`left`, rounded down; `left` is at most 28 with 32 bits, 40 with 20.
    #[inline]
    pub(crate) fn shifted(&self, left: u32) -> u128 {
        (self.sum << left) >> (self.bits + FRACTION)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use num_bigint::BigInt;
    use num_rational::BigRational;
    use num_traits::Signed;

    #[test]
    fn it_equals_an_exact_average_where_whole_numbers_would_stall() {
        let integer = |n: u64| BigRational::from_integer(BigInt::from(n));
        for bits in [0, 1, 5, 20] {
            let mut average = Ewma::new(bits);
            let mut random = Random::new(3, "test");
            let mut exact = integer(0);
            for n in 0..2_000 {
                // Twenty packets, and then none, and then anything.
                let q = match n {
                    0..500 => 20,
                    500..1_000 => 0,
                    _ => random.below(1_000),
                };
                average.update(q);
                // The exact fraction gets long: it is cut far below the tolerance.
                exact = &exact + (integer(q) - &exact) / integer(1 << bits);
                let cut = BigInt::from(1_u128 << 100);
                exact = BigRational::new((exact * &cut).to_integer(), cut);
                let unit = BigInt::from(1_u128 << (bits + FRACTION));
                let kept = BigRational::new(BigInt::from(average.sum), unit);
                let error = (kept - &exact).abs();
                let tolerance = BigRational::new(1.into(), (1_u64 << FRACTION).into());
                assert!(error <= tolerance, "{bits} bits: {error}");
            }
        }
        // The same in whole packets, with arithmetic shifts: 20 packets are never noticed, 80 never
        // become an average of 80 from below, and from above only because shifts round towards −∞.
        let literal = |mut average: i64, q: i64| {
            (0..1_000).for_each(|_| average += (q - average) >> 5);
            average
        };
        assert_eq!(
            (literal(0, 20), literal(0, 80), literal(100, 80)),
            (0, 49, 80)
        );
    }

    #[test]
    fn it_converges_at_the_rate_of_its_gain() {
        // (1 − 2^−n)^m is left of a step after m values: about 1/e after 2^n.
        for (bits, left) in [(5, 362_055), (7, 366_438), (3, 343_609)] {
            let mut average = Ewma::new(bits);
            (0..1 << bits).for_each(|_| average.update(1_000_000));
            let gone = average.shifted(0) as i64;
            assert!((1_000_000 - gone - left).abs() <= 1, "{bits} bits: {gone}");
        }
    }

    #[test]
    fn nothing_overflows_and_a_change_of_gain_keeps_the_average() {
        let mut average = Ewma::new(20);
        (0..1_000).for_each(|_| average.update(1_000));
        let before = average.shifted(20);
        average.set_bits(5);
        assert!(average.shifted(20).abs_diff(before) <= 1 << 5);
        for bits in [20, 32] {
            let mut average = Ewma::new(bits);
            average.sum = u128::from(LARGEST) << (FRACTION + bits);
            (0..1_000).for_each(|_| average.update(u64::MAX));
            assert_eq!(average.shifted(28), u128::from(LARGEST) << 28);
        }
    }
}
