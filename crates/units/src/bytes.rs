//! Amounts of data.

use core::fmt;
use core::ops::{Add, AddAssign, Sub, SubAssign};

/// A number of bytes. Sums saturate; differences panic below zero in debug builds, because a
/// negative backlog is a broken invariant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

impl Bytes {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// More than anything holds.
    pub const MAX: Self = Self(u64::MAX);

    /// A number of bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }
    /// The plain number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Bytes {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl SubAssign for Bytes {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl fmt::Display for Bytes {
    /// The shortest exact form: `1500B`, `500kB`, `32MiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [
            ("GB", 1_000_000_000),
            ("GiB", 1 << 30),
            ("MB", 1_000_000),
            ("MiB", 1 << 20),
            ("kB", 1_000),
            ("KiB", 1 << 10),
        ];
        for (unit, size) in units {
            if self.0 >= size && self.0.is_multiple_of(size) {
                return write!(f, "{}{unit}", self.0 / size);
            }
        }
        write!(f, "{}B", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn prints_round_amounts_in_larger_units() {
        for (bytes, text) in [
            (1_500, "1500B"),
            (500_000, "500kB"),
            (32 << 20, "32MiB"),
            (1_000, "1kB"),
            (30_000_000, "30MB"),
            (0, "0B"),
        ] {
            assert_eq!(Bytes::new(bytes).to_string(), text);
        }
    }
}
