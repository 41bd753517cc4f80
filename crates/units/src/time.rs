//! Nanoseconds since an origin that the caller chooses, or between two such instants.

use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Sub};

/// An instant or a span, in whole nanoseconds (584 years fit).
///
/// Subtraction saturates at zero: a sojourn time or a remaining wait is never negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

impl Time {
    /// The origin, and the empty span.
    pub const ZERO: Self = Self(0);
    /// Later than anything that happens.
    pub const MAX: Self = Self(u64::MAX);

    /// A time in nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }
    /// A time in microseconds; saturates at [`Time::MAX`], "never".
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(1_000))
    }
    /// A time in milliseconds; saturates at [`Time::MAX`], "never".
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }
    /// A time in seconds; saturates at [`Time::MAX`], "never".
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }
    /// The time in nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Whether this is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
    /// The next longer time of at most two digits, for advice that a person types: 1.714286 ms becomes 1.8 ms.
    pub const fn rounded_up(self) -> Self {
        let mut unit = 1_u64;
        while self.0 / unit > 99 {
            unit *= 10;
        }
        Self(self.0.div_ceil(unit).saturating_mul(unit))
    }
    /// `self − earlier`, in nanoseconds with its sign; saturates at ±292 years.
    pub const fn signed_since(self, earlier: Self) -> i64 {
        let difference = self.0 as i128 - earlier.0 as i128;
        if difference > i64::MAX as i128 {
            i64::MAX
        } else if difference < i64::MIN as i128 {
            i64::MIN
        } else {
            difference as i64
        }
    }
}

impl Add for Time {
    type Output = Self;
    /// Saturates at [`Time::MAX`], which stays "never".
    fn add(self, span: Self) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, span: Self) {
        *self = *self + span;
    }
}

impl Sub for Time {
    type Output = Self;
    fn sub(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl Mul<u64> for Time {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl Div<u64> for Time {
    type Output = Self;
    fn div(self, divisor: u64) -> Self {
        Self(self.0 / divisor)
    }
}

impl fmt::Display for Time {
    /// The shortest exact form: `15ms`, `1.5s`, `250us`; `{:.3}` rounds to three significant digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [
            ("s", 1_000_000_000),
            ("ms", 1_000_000),
            ("us", 1_000),
            ("ns", 1),
        ];
        crate::format::format_in(f, self.0, &units)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn prints_the_shortest_exact_form() {
        for (time, text) in [
            (Time::ZERO, "0s"),
            (Time::from_millis(15), "15ms"),
            (Time::from_millis(1_500), "1.5s"),
            (Time::from_micros(250), "250us"),
            (Time::from_nanos(1_000_001), "1.000001ms"),
        ] {
            assert_eq!(time.to_string(), text);
        }
    }

    #[test]
    fn advice_has_two_digits_and_is_never_too_short() {
        for (time, text) in [
            (Time::from_micros(1_714), "1.8ms"),
            (Time::from_millis(120), "120ms"),
            (Time::from_nanos(995_000_001), "1s"),
            (Time::from_nanos(7), "7ns"),
            (Time::ZERO, "0s"),
        ] {
            assert_eq!(time.rounded_up().to_string(), text);
        }
        assert_eq!(Time::MAX.rounded_up(), Time::MAX);
    }

    #[test]
    fn a_precision_is_that_of_significant_digits() {
        for (nanos, text) in [
            (127_401_983, "127ms"),
            (1_234_567_890, "1.23s"),
            (999_600, "1ms"),
            (20_000_000, "20ms"),
            (1_500, "1.5us"),
            (7, "7ns"),
            (0, "0s"),
            (u64::MAX, "18400000000s"),
        ] {
            assert_eq!(std::format!("{:.3}", Time::from_nanos(nanos)), text);
        }
    }

    #[test]
    fn what_does_not_fit_is_never() {
        for (from, most) in [
            (Time::from_micros as fn(u64) -> Time, u64::MAX / 1_000),
            (Time::from_millis, u64::MAX / 1_000_000),
            (Time::from_secs, u64::MAX / 1_000_000_000),
        ] {
            assert!(from(most) < Time::MAX);
            assert_eq!(from(most + 1), Time::MAX);
            assert_eq!(from(u64::MAX), Time::MAX);
        }
    }

    #[test]
    fn spans_never_become_negative() {
        assert_eq!(Time::from_millis(1) - Time::from_millis(2), Time::ZERO);
        assert_eq!(Time::from_nanos(1).signed_since(Time::from_nanos(3)), -2);
        assert_eq!(Time::MAX.signed_since(Time::ZERO), i64::MAX);
        assert_eq!(Time::MAX + Time::from_secs(1), Time::MAX);
    }
}
