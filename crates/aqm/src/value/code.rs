//! Packet values as 16-bit codes on a logarithmic scale, and the integer logarithms behind it.
//!
//! A value v is a positive number; its unit is what `gold` gives the marginal bit at 100 Gbit/s. Its code is round(K·log₂ v), clamped to
//! 1..=65535, with K *bins per octave*: thus codes count from v_min = 2^(1/K), a step of one is a factor of 2^(1/K) (1.1 % with the
//! default K = 64), and 0 stays free for unmarked packets. Values are compared by their codes.
//!
//! Source: the published header encodings differ and none is documented; 16 bits and 32 to 64 bins per octave are the choice of this
//! project. Arithmetic is on integers: logarithms by repeated squaring, powers from a table of the roots of 2, both good to 2⁻⁵⁴.

use crate::parameter::{Domain, Parameter};

/// Fraction bits of a logarithm.
pub(crate) const LOG_BITS: u32 = 56;
/// Fraction bits of a mantissa.
const MANTISSA_BITS: u32 = 62;

/// 2^(2^−i) for i from 1, in units of 2⁻⁶², rounded down.
const ROOTS: [u64; LOG_BITS as usize] = {
    let mut roots = [0; LOG_BITS as usize];
    let mut root: u128 = 2 << MANTISSA_BITS;
    let mut index = 0;
    while index < roots.len() {
        root = (root << MANTISSA_BITS).isqrt();
        roots[index] = root as u64;
        index += 1;
    }
    roots
};

/// log₂ `number` in units of 2⁻⁵⁶, rounded down; of 0 that of 1.
pub(crate) const fn log2(number: u64) -> i128 {
    if number == 0 {
        return 0;
    }
    let shift = number.leading_zeros();
    let whole = 63 - shift;
    // In [1, 2), with 63 fraction bits: its square fits 128 bits.
    let mut mantissa = number << shift;
    let mut fraction: i128 = 0;
    let mut bit = 0;
    while bit < LOG_BITS {
        let square = mantissa as u128 * mantissa as u128;
        fraction <<= 1;
        // In [1, 4) with 126 fraction bits.
        mantissa = if square >> 127 != 0 {
            fraction |= 1;
            (square >> 64) as u64
        } else {
            (square >> 63) as u64
        };
        bit += 1;
    }
    ((whole as i128) << LOG_BITS) + fraction
}

/// 2^`log` in units of 2^−`bits`, rounded down; `log` is in units of 2⁻⁵⁶. Saturates.
pub(crate) fn exp2(log: i128, bits: u32) -> u128 {
    let whole = log >> LOG_BITS;
    let mut mantissa: u128 = 1 << MANTISSA_BITS;
    for (index, &root) in ROOTS.iter().enumerate() {
        if (log >> (LOG_BITS as usize - 1 - index)) & 1 == 1 {
            mantissa = (mantissa * u128::from(root)) >> MANTISSA_BITS;
        }
    }
    // The mantissa is below 2⁶³.
    match whole + i128::from(bits) - i128::from(MANTISSA_BITS) {
        left @ 0..=64 => mantissa << left,
        65.. => u128::MAX,
        right @ -127..0 => mantissa >> -right,
        _ => 0,
    }
}

/// The number of bins per octave of packet values. Two values can be compared only on the same scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeScale(u32);

impl Default for CodeScale {
    fn default() -> Self {
        Self(64)
    }
}

impl CodeScale {
    /// The most bins per octave with which 60 octaves fit.
    pub const MAX: u64 = 1_024;

    /// A scale with `bins` per octave; brought into 1..=1024.
    pub fn new(bins: u64) -> Self {
        Self(bins.clamp(1, Self::MAX) as u32)
    }
    /// K.
    pub fn bins_per_octave(self) -> u64 {
        self.0.into()
    }
    /// The code of a value, rounded to the nearest.
    pub fn code(self, value: u64) -> u16 {
        let half = 1 << (LOG_BITS - 1);
        let code = (log2(value) * i128::from(self.0) + half) >> LOG_BITS;
        code.clamp(1, u16::MAX.into()) as u16
    }
    /// The logarithm of the smallest value whose code is above `code`, in units of 2⁻⁵⁶: (code + ½) / K.
    pub(crate) fn boundary(self, code: u16) -> i128 {
        ((2 * i128::from(code) + 1) << LOG_BITS) / (2 * i128::from(self.0))
    }
}

/// The row for a table with a scale of codes.
pub const BINS_PER_OCTAVE: Parameter = Parameter::FIXED
    .named("bins_per_octave")
    .domain(Domain::Integer(1, CodeScale::MAX))
    .default("64")
    .source("ours; 9 per octave were seen to be slightly worse than 32 to 256")
    .help("Resolution of values: the number of codes for a factor of two of the value.");

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigUint;

    #[test]
    fn codes_are_the_nearest_of_the_logarithm_exactly() {
        // round(K·log₂ v) > c  ⇔  v^(2K) ≥ 2^(2c + 1), in whole numbers.
        for bins in [1, 9, 64, 1_024] {
            let scale = CodeScale::new(bins);
            for value in [2, 3, 7, 900, 65_535, 1 << 20, 500_000_000, u64::MAX] {
                let code = scale.code(value);
                let power = BigUint::from(value).pow(2 * bins as u32);
                let above = |c: u32| power >= BigUint::from(1_u8) << (2 * c + 1);
                let code = u32::from(code);
                assert!(above(code - 1) || code == 1, "{value} at {bins}: {code}");
                assert!(!above(code) || code == 65_535, "{value} at {bins}: {code}");
            }
        }
        assert_eq!(CodeScale::default().code(0), 1);
        assert_eq!(CodeScale::default().code(1), 1);
    }

    #[test]
    fn powers_undo_logarithms() {
        for number in [1, 2, 3, 10, 12_345, 100_000_000_000, u64::MAX] {
            let back = exp2(log2(number), 0);
            let error = u128::from(number).abs_diff(back);
            assert!(error <= 1 + (u128::from(number) >> 50), "{number}: {back}");
        }
        assert_eq!(exp2(64 << LOG_BITS, 0), 1 << 64);
        assert_eq!(exp2(-(3 << LOG_BITS), 4), 2);
        assert_eq!(exp2(-(1 << 100), 32), 0);
        assert_eq!(exp2(1 << 100, 32), u128::MAX);
    }
}
