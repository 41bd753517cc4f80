//! Lists of rising rates: what the levels of a stream take.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::{Rate, notation};

/// A list of 1 to [`Rates::MOST`] rates, each higher than the one before.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    /// The rates in bit/s, then zeros.
    rates: [u32; Self::MOST],
    count: u8,
}

impl Rates {
    /// The most rates.
    pub const MOST: usize = 16;
    /// The lowest rate that a list may have.
    pub const LOWEST: Rate = Rate::from_bps(1_000);
    /// The highest.
    pub const HIGHEST: Rate = Rate::from_mbps(4_000);

    /// A list in kbit/s.
    ///
    /// # Panics
    /// If it is empty, too long or does not rise, or a rate is out of range: it is for constants.
    pub const fn of_kilobits(kilobits: &[u32]) -> Self {
        assert!(!kilobits.is_empty() && kilobits.len() <= Self::MOST);
        let (mut rates, mut index) = ([0; Self::MOST], 0);
        while index < kilobits.len() {
            assert!(kilobits[index] >= 1 && kilobits[index] <= 4_000_000);
            assert!(index == 0 || kilobits[index - 1] < kilobits[index]);
            rates[index] = kilobits[index] * 1_000;
            index += 1;
        }
        Self {
            rates,
            count: kilobits.len() as u8,
        }
    }

    /// Reads `["300kbit", "750kbit"]`, or the same without brackets or quotes; `None` if it is no list
    /// of rising rates from [`Rates::LOWEST`] to [`Rates::HIGHEST`].
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let inner = text.strip_prefix('[').map_or(Some(text), |rest| {
            let inner = rest.strip_suffix(']')?.trim_end();
            Some(inner.strip_suffix(',').unwrap_or(inner))
        })?;
        let (mut rates, mut count) = ([0; Self::MOST], 0);
        for item in inner.split(',') {
            let item = item.trim();
            let bare = item
                .strip_prefix('"')
                .map_or(Some(item), |rest| rest.strip_suffix('"'))?;
            let rate = notation::rate(bare).ok()?;
            let is_higher = count == 0 || rate.as_bps() > u64::from(rates[count - 1]);
            if count == Self::MOST || !is_higher || !(Self::LOWEST..=Self::HIGHEST).contains(&rate)
            {
                return None;
            }
            rates[count] = u32::try_from(rate.as_bps()).ok()?;
            count += 1;
        }
        let count = u8::try_from(count).ok()?;
        Some(Self { rates, count })
    }

    /// Prints the notation of rates, and the names of lists that are allowed as well.
    pub(crate) fn allowed(
        f: &mut fmt::Formatter<'_>,
        named: &[(&'static str, Self)],
    ) -> fmt::Result {
        for (name, _) in named {
            write!(f, "\"{name}\" or ")?;
        }
        let (low, high, most) = (Self::LOWEST, Self::HIGHEST, Self::MOST);
        write!(
            f,
            "a list of 1 to {most} rising rates from {low} to {high}, such as [\"1mbit\", \"3mbit\"]"
        )
    }

    /// The rates in bit/s, the lowest first.
    pub fn bits_per_second(&self) -> &[u32] {
        &self.rates[..usize::from(self.count)]
    }
}

impl fmt::Debug for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Rates {
    /// Prints an array of a scenario file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = |&bits: &u32| format!("\"{}\"", Rate::from_bps(bits.into()));
        let all: Vec<String> = self.bits_per_second().iter().map(rate).collect();
        f.pad(&format!("[{}]", all.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_list_is_read_with_and_without_brackets_and_printed_with_them() {
        let rates = Rates::of_kilobits(&[300, 750, 4_300]);
        let written = r#"["300kbit", "750kbit", "4.3mbit"]"#;
        assert_eq!(rates.to_string(), written);
        for text in [
            written,
            "300kbit, 750kbit, 4300kbit",
            " [ 300kbit,750kbit , 4.3mbit, ] ",
        ] {
            assert_eq!(Rates::parse(text), Some(rates), "{text}");
        }
        assert_eq!(rates.bits_per_second(), [300_000, 750_000, 4_300_000]);
    }

    #[test]
    fn a_list_that_is_empty_too_long_or_does_not_rise_is_none() {
        let long = |count: u64| {
            let all: Vec<String> = (1..=count).map(|n| format!("{n}mbit")).collect();
            all.join(",")
        };
        assert!(Rates::parse(&long(16)).is_some());
        for text in [
            "",
            "[]",
            "1mbit, 1mbit",
            "2mbit, 1mbit",
            "999bit",
            "5gbit",
            "unlimited",
            "[1mbit",
            "\"1mbit",
            "1mbit,,2mbit",
            &long(17),
        ] {
            assert_eq!(Rates::parse(text), None, "{text}");
        }
    }
}
