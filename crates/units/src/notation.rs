//! How quantities are written: a decimal number and a unit, `40mbit`, `1.5ms`, `64kB`, `100p`.
//!
//! Decimal arithmetic throughout, so `0.1ms` is exactly 100 000 ns. Data and rate prefixes are
//! decimal (`kB` = 1000 B, `kbit` = 1000 bit/s) and `KiB`, `MiB`, `GiB` are binary; `tc` reads `kb`
//! as 1024, which is why the ambiguous `kb`, `k`, `bps` are refused with a hint.

use alloc::format;
use alloc::string::String;
use core::fmt;

use crate::format::Unit;
use crate::{Bytes, Frequency, Rate, Time};

/// The error for a quantity that cannot be read; `allowed` has the right notation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotationError {
    /// The notation that is allowed here.
    pub allowed: String,
}

impl fmt::Display for NotationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.allowed)
    }
}

impl core::error::Error for NotationError {}

const TIME: &[Unit] = &[
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("µs", 1_000),
    ("ns", 1),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];
const RATE: &[Unit] = &[
    ("bit", 1),
    ("kbit", 1_000),
    ("mbit", 1_000_000),
    ("gbit", 1_000_000_000),
    ("tbit", 1_000_000_000_000),
];
const BYTES: &[Unit] = &[
    ("B", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];
const PACKETS: &[Unit] = &[("p", 1), ("pkt", 1), ("packet", 1), ("packets", 1)];

/// Reads a time such as `15ms`.
pub fn time(text: &str) -> Result<Time, NotationError> {
    quantity(text, TIME)
        .map(Time::from_nanos)
        .ok_or_else(|| allowed("a time with its unit, such as 15ms (s, ms, us, ns, min, h)"))
}

/// Reads a rate such as `40mbit`, or `unlimited`.
pub fn rate(text: &str) -> Result<Rate, NotationError> {
    if text == "unlimited" {
        return Ok(Rate::UNLIMITED);
    }
    quantity(&text.to_ascii_lowercase(), RATE)
        .filter(|&bps| bps != u64::MAX)
        .map(Rate::from_bps)
        .ok_or_else(|| {
            allowed("a rate with its unit, such as 40mbit (bit, kbit, mbit, gbit, tbit per second)")
        })
}

/// Reads an amount of data such as `64kB`.
pub fn bytes(text: &str) -> Result<Bytes, NotationError> {
    quantity(text, BYTES)
        .map(Bytes::new)
        .ok_or_else(|| {
            allowed("an amount of data with its unit, such as 1500B (B; kB, MB, GB of 1000; KiB, MiB, GiB of 1024)")
        })
}

/// Reads a number of packets: `100p`, `100 packets`.
pub fn packets(text: &str) -> Result<u64, NotationError> {
    quantity(text, PACKETS).ok_or_else(|| allowed("a number of packets, such as 100p"))
}

/// Reads a plain whole number.
pub fn integer(text: &str) -> Result<u64, NotationError> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    digits
        .then(|| text.replace('_', "").parse().ok())
        .flatten()
        .ok_or_else(|| allowed("a whole number"))
}

/// Reads a gain in Hz; the unit may be left out.
pub fn frequency(text: &str) -> Result<Frequency, NotationError> {
    decimal(
        text.strip_suffix("Hz").unwrap_or(text).trim_end(),
        1_000_000_000,
    )
    .map(Frequency::from_nanohertz)
    .ok_or_else(|| allowed("a number of Hz, such as 0.16"))
}

/// Reads a fraction as a decimal such as `0.8`, in parts of which `of` make 1: the nearest number of
/// parts, halves up. A fraction above 1 is refused.
pub fn fraction(text: &str, of: u64) -> Result<u64, NotationError> {
    decimal(text, ONE)
        .filter(|&value| value <= ONE)
        .and_then(|value| nearest(value, of, ONE))
        .ok_or_else(|| allowed("a fraction, such as 0.8"))
}

/// Reads what [`fraction`] reads, but also numbers above 1: up to 18.4 with 18 digits after the point, up to 18·10⁹ with nine.
pub fn multiple(text: &str, of: u64) -> Result<u64, NotationError> {
    [ONE, LARGE_ONE]
        .into_iter()
        .find_map(|one| nearest(decimal(text, one)?, of, one))
        .ok_or_else(|| allowed("a number, such as 1.5"))
}

/// The unit in which decimals are read: 18 digits after the point.
const ONE: u64 = 1_000_000_000_000_000_000;
/// And those that do not fit.
const LARGE_ONE: u64 = 1_000_000_000;

/// `value` units, of which `one` make 1, in parts of which `of` make 1.
fn nearest(value: u64, of: u64, one: u64) -> Option<u64> {
    // The product of two numbers of 64 bits, and half a unit, fit 128 bits.
    let parts = u128::from(value) * u128::from(of) + u128::from(one / 2);
    u64::try_from(parts / u128::from(one)).ok()
}

/// The shortest decimal that [`multiple`] reads as `parts` of `of`.
pub fn write_fraction(parts: u64, of: u64) -> String {
    for digits in 0..18 {
        let scale = 10_u128.pow(digits);
        let of_wide = u128::from(of.max(1));
        let scaled = (u128::from(parts) * scale + of_wide / 2) / of_wide;
        let (whole, rest) = (scaled / scale, scaled % scale);
        let text = match digits as usize {
            0 => format!("{whole}"),
            width => format!("{whole}.{rest:0width$}"),
        };
        if multiple(&text, of) == Ok(parts) {
            return text;
        }
    }
    // Parts finer than 10⁻¹⁷, or above 18.4 and finer than 10⁻⁹, which no table has.
    format!("{parts}/{of}")
}

fn allowed(what: &str) -> NotationError {
    NotationError {
        allowed: String::from(what),
    }
}

fn quantity(text: &str, units: &[Unit]) -> Option<u64> {
    let start_of_unit = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))?;
    let (number, unit) = text.split_at(start_of_unit);
    let unit = unit.trim_start();
    let (_, size) = units.iter().find(|(name, _)| *name == unit)?;
    decimal(number, *size)
}

/// `number · size` where `number` is a plain decimal; `None` if it is malformed, does not come out
/// whole, or does not fit.
fn decimal(number: &str, size: u64) -> Option<u64> {
    // Most are a few digits; a plan of many runs reads very many.
    if number.len() < 20 && number.bytes().all(|byte| byte.is_ascii_digit()) {
        return number.parse::<u64>().ok()?.checked_mul(size);
    }
    let number = number.replace('_', "");
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !digits(whole) || !digits(fraction) {
        return None;
    }
    if whole.len() > 20 || fraction.len() > 18 {
        return None;
    }
    let whole: u128 = if whole.is_empty() {
        0
    } else {
        whole.parse().ok()?
    };
    let scale = 10_u128.pow(fraction.len() as u32);
    let fraction: u128 = if fraction.is_empty() {
        0
    } else {
        fraction.parse().ok()?
    };
    // whole < 10²⁰ and scale ≤ 10¹⁸ together pass 2¹²⁸ only where the result would not fit anyway.
    let scaled = whole
        .checked_mul(scale)?
        .checked_add(fraction)?
        .checked_mul(size as u128)?;
    if scaled % scale != 0 {
        return None;
    }
    u64::try_from(scaled / scale).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        assert_eq!(time("15ms"), Ok(Time::from_millis(15)));
        assert_eq!(time("0.1 ms"), Ok(Time::from_micros(100)));
        assert_eq!(time("1.5s"), Ok(Time::from_millis(1_500)));
        assert_eq!(rate("40mbit"), Ok(Rate::from_mbps(40)));
        assert_eq!(rate("1.5Mbit"), Ok(Rate::from_bps(1_500_000)));
        assert_eq!(rate("unlimited"), Ok(Rate::UNLIMITED));
        assert_eq!(bytes("186B"), Ok(Bytes::new(186)));
        assert_eq!(bytes("32MiB"), Ok(Bytes::new(32 << 20)));
        assert_eq!(packets("100p"), Ok(100));
        assert_eq!(packets("100 packets"), Ok(100));
        assert_eq!(integer("10_000"), Ok(10_000));
        assert_eq!(
            frequency("0.16"),
            Ok(Frequency::from_nanohertz(160_000_000))
        );
    }

    /// Linux writes beta as 717 of 1024 and the papers as 0.7.
    #[test]
    fn fractions_are_rounded_to_the_nearest_part_and_written_as_short_as_they_can_be() {
        for (text, of, parts) in [
            ("0.7", 1_024, 717),
            ("0.8", 1_024, 819),
            (".5", 1_024, 512),
            ("1", 1_024, 1_024),
            ("0", 1_024, 0),
            ("0.00048828125", 1_024, 1),
            ("0.33", 3, 1),
        ] {
            assert_eq!(fraction(text, of), Ok(parts), "{text}");
            assert_eq!(multiple(text, of), Ok(parts), "{text}");
        }
        for text in ["", "-0.1", "1.0001", "2", "0,8", "8e-1", "80%"] {
            assert!(fraction(text, 1_024).is_err(), "{text}");
        }
        assert_eq!(multiple("2.5", 1_000), Ok(2_500));
        assert_eq!(multiple("18", u64::MAX / 18), Ok(u64::MAX / 18 * 18));
        assert_eq!(multiple("19", 1_000), Ok(19_000));
        assert_eq!(multiple("1000.123456789", 1_000_000), Ok(1_000_123_457));
        assert_eq!(write_fraction(1_000_000, 1_000), "1000");
        for text in [
            "",
            "-0.1",
            "19000000000",
            "19.0123456789",
            "0,8",
            "8e-1",
            "80%",
        ] {
            assert!(multiple(text, 1_024).is_err(), "{text}");
        }
        assert_eq!(write_fraction(717, 1_024), "0.7");
        assert_eq!(write_fraction(1_023, 1_024), "0.999");
        assert_eq!(write_fraction(1_024, 1_024), "1");
        for of in [1, 3, 256, 1_024, 65_536] {
            for parts in 0..=2 * of {
                assert_eq!(multiple(&write_fraction(parts, of), of), Ok(parts));
            }
        }
    }

    #[test]
    fn refuses_the_malformed_the_ambiguous_and_the_too_large() {
        for text in [
            "",
            "ms",
            "15",
            "-1ms",
            "1e3ms",
            "1.2.3ms",
            "15 mss",
            "0.5ns",
            "99999999999999999999h",
            ".ms",
        ] {
            assert!(time(text).is_err(), "{text}");
        }
        for text in ["40", "40mbps", "40m", "18446744073709551615bit"] {
            assert!(rate(text).is_err(), "{text}");
        }
        for text in ["64k", "64", "1.5B", "64kbit", "64kb", "64KB"] {
            assert!(bytes(text).is_err(), "{text}");
        }
        for text in ["", "1.0", "-1", "0x10"] {
            assert!(integer(text).is_err(), "{text}");
        }
    }
}
