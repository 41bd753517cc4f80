//! Gains of controllers, in Hz.

use core::fmt;

/// A frequency in whole nanohertz, so that decimal gains such as 0.16 Hz are exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Frequency(u64);

impl Frequency {
    /// A frequency in nanohertz.
    pub const fn from_nanohertz(nanohertz: u64) -> Self {
        Self(nanohertz)
    }
    /// The frequency in nanohertz.
    pub const fn as_nanohertz(self) -> u64 {
        self.0
    }
    /// A frequency in 1/256 Hz, the unit of Linux's `dualpi2` attributes; exact (10⁹/256 is an integer).
    pub const fn from_256ths(n: u64) -> Self {
        Self(n.saturating_mul(1_000_000_000 / 256))
    }
    /// The frequency in 1/256 Hz, rounded down as `tc` does.
    pub const fn as_256ths(self) -> u64 {
        self.0 / (1_000_000_000 / 256)
    }
}

impl fmt::Display for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::format::format_in(f, self.0, &[("Hz", 1_000_000_000)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn linux_gains_are_exact() {
        assert_eq!(Frequency::from_256ths(41).to_string(), "0.16015625Hz");
        assert_eq!(Frequency::from_256ths(819).as_256ths(), 819);
    }
}
