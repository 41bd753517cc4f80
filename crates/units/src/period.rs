//! Lengths of time that vary: what they are on average, and how single ones deviate from it.
//!
//! A fixed period prints as a time, everything else as an inline table of a scenario file.

use core::fmt;

use crate::Time;

/// How the lengths of a period vary.
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
    /// How single lengths deviate from it.
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

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mean, stddev } = self;
        write!(f, "{{ mean = \"{mean}\", stddev = \"{stddev}\" }}")
    }
}
