//! Lengths of time that vary: what they are on average, and how single ones deviate from it.
//!
//! A fixed period prints as a time, everything else as an inline table of a scenario file.

use core::fmt;

use crate::inline::{self, unquoted};
use crate::{Time, notation};

/// The distribution of lengths around the mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Distribution {
    /// Each is the mean.
    #[default]
    Fixed,
    /// Exponential: a length says nothing about the next one.
    Exponential,
}

impl Distribution {
    /// Every distribution.
    pub const ALL: [Self; 2] = [Self::Fixed, Self::Exponential];

    /// The word in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Exponential => "exponential",
        }
    }
}

/// A length of time, such as a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    /// Mean length.
    pub mean: Time,
    /// Distribution of single lengths around the mean.
    pub distribution: Distribution,
}

impl Period {
    /// Always of this length.
    pub const fn fixed(length: Time) -> Self {
        Self {
            mean: length,
            distribution: Distribution::Fixed,
        }
    }
    /// Exponentially distributed.
    pub const fn exponential(mean: Time) -> Self {
        Self {
            mean,
            distribution: Distribution::Exponential,
        }
    }

    /// Reads a time, or an inline table such as `{ mean = "1s", distribution = "exponential" }`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if !text.starts_with('{') {
            return notation::time(text).ok().map(Self::fixed);
        }
        let entries = inline::entries(text)?;
        let distribution = match inline::value(&entries, "distribution") {
            Some(word) => {
                let word = unquoted(word)?;
                let mut all = Distribution::ALL.into_iter();
                all.find(|distribution| distribution.name() == word)?
            }
            None => Distribution::Fixed,
        };
        let known = |(key, _): &(&str, &str)| matches!(*key, "mean" | "distribution");
        let mean = notation::time(unquoted(inline::value(&entries, "mean")?)?).ok()?;
        entries
            .iter()
            .all(known)
            .then_some(Self { mean, distribution })
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mean, distribution } = self;
        match distribution {
            Distribution::Fixed => mean.fmt(f),
            Distribution::Exponential => {
                let distribution = distribution.name();
                write!(
                    f,
                    "{{ mean = \"{mean}\", distribution = \"{distribution}\" }}"
                )
            }
        }
    }
}

/// The time between two events of a regular series, such as datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// Mean; longer than zero.
    pub mean: Time,
    /// Standard deviation of the normal distribution; zero for exact spacing.
    pub stddev: Time,
}

impl Interval {
    /// Reads a time, or an inline table such as `{ mean = "20ms", stddev = "1ms" }`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let stddev = Time::ZERO;
        if !text.starts_with('{') {
            let mean = notation::time(text).ok()?;
            return Some(Self { mean, stddev });
        }
        let entries = inline::entries(text)?;
        let time = |text| notation::time(unquoted(text)?).ok();
        let known = |(key, _): &(&str, &str)| matches!(*key, "mean" | "stddev");
        let mean = time(inline::value(&entries, "mean")?)?;
        let stddev = inline::value(&entries, "stddev").map_or(Some(stddev), time)?;
        entries.iter().all(known).then_some(Self { mean, stddev })
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mean, stddev } = self;
        write!(f, "{{ mean = \"{mean}\", stddev = \"{stddev}\" }}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString as _;

    #[test]
    fn what_is_written_reads_back() {
        let second = Time::from_secs(1);
        for period in [Period::fixed(second), Period::exponential(second)] {
            assert_eq!(Period::parse(&period.to_string()), Some(period));
        }
        for text in [
            "",
            "1",
            "{}",
            r#"{ mean = "1s", distribution = "odd" }"#,
            r#"{ mean = "1s", stddev = "1s" }"#,
        ] {
            assert_eq!(Period::parse(text), None, "{text}");
        }
        let mean = Time::from_millis(20);
        for stddev in [Time::ZERO, Time::from_millis(1)] {
            let interval = Interval { mean, stddev };
            assert_eq!(Interval::parse(&interval.to_string()), Some(interval));
        }
        assert_eq!(
            Interval::parse("20ms"),
            Interval::parse(r#"{ mean = "20ms" }"#)
        );
        assert_eq!(Interval::parse(r#"{ stddev = "20ms" }"#), None);
    }
}
