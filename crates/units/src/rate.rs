//! Bits per second.

use core::fmt;

use crate::{Bytes, Time};

/// A transmission rate in bit/s. Zero stops the link; [`Rate::UNLIMITED`] serialises in no time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// Nothing is sent.
    pub const ZERO: Self = Self(0);
    /// No serialisation delay at all.
    pub const UNLIMITED: Self = Self(u64::MAX);

    /// A rate in bit/s.
    pub const fn from_bps(bits_per_second: u64) -> Self {
        Self(bits_per_second)
    }
    /// A rate in Mbit/s (10⁶); saturates at [`Rate::UNLIMITED`].
    pub const fn from_mbps(megabits_per_second: u64) -> Self {
        Self(megabits_per_second.saturating_mul(1_000_000))
    }
    /// The rate in bit/s.
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// Whether nothing can be sent.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
    /// Whether serialisation takes no time.
    pub const fn is_unlimited(self) -> bool {
        self.0 == u64::MAX
    }
    /// The bytes that this rate carries in `span`, rounded down; saturates.
    pub const fn bytes_in(self, span: Time) -> Bytes {
        if self.is_unlimited() {
            return Bytes::MAX;
        }
        let bytes = self.0 as u128 * span.as_nanos() as u128 / 8_000_000_000;
        if bytes > u64::MAX as u128 {
            Bytes::MAX
        } else {
            Bytes::new(bytes as u64)
        }
    }
    /// The time that `bytes` take, rounded up; [`Time::MAX`] at rate zero.
    pub const fn time_for(self, bytes: Bytes) -> Time {
        if self.is_unlimited() {
            return Time::ZERO;
        }
        if self.is_zero() {
            return Time::MAX;
        }
        let nanos = (bytes.get() as u128 * 8_000_000_000).div_ceil(self.0 as u128);
        if nanos > u64::MAX as u128 {
            Time::MAX
        } else {
            Time::from_nanos(nanos as u64)
        }
    }
}

impl fmt::Display for Rate {
    /// The shortest exact form: `40mbit`, `1.5mbit`, `unlimited`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_unlimited() {
            return f.write_str("unlimited");
        }
        let units = [
            ("tbit", 1_000_000_000_000),
            ("gbit", 1_000_000_000),
            ("mbit", 1_000_000),
            ("kbit", 1_000),
            ("bit", 1),
        ];
        crate::format::format_in(f, self.0, &units)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn converts_between_bytes_and_time_exactly() {
        let rate = Rate::from_mbps(40);
        assert_eq!(rate.bytes_in(Time::from_millis(100)), Bytes::new(500_000));
        assert_eq!(rate.time_for(Bytes::new(1_500)), Time::from_micros(300));
        assert_eq!(
            Rate::from_bps(3).time_for(Bytes::new(1)),
            Time::from_nanos(2_666_666_667)
        );
        assert_eq!(Rate::UNLIMITED.time_for(Bytes::new(1_500)), Time::ZERO);
        assert_eq!(Rate::ZERO.time_for(Bytes::new(1)), Time::MAX);
    }

    #[test]
    fn what_does_not_fit_is_unlimited() {
        assert!(!Rate::from_mbps(u64::MAX / 1_000_000).is_unlimited());
        for mbps in [u64::MAX / 1_000_000 + 1, u64::MAX] {
            assert!(Rate::from_mbps(mbps).is_unlimited(), "{mbps}");
        }
    }

    #[test]
    fn prints_the_shortest_exact_form() {
        for (rate, text) in [
            (Rate::from_mbps(40), "40mbit"),
            (Rate::from_bps(1_500_000), "1.5mbit"),
            (Rate::from_mbps(1_000), "1gbit"),
            (Rate::ZERO, "0bit"),
            (Rate::UNLIMITED, "unlimited"),
        ] {
            assert_eq!(rate.to_string(), text);
        }
    }
}
