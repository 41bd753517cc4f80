//! Which application a group of flows runs.

use std::fmt;

use quell_aqm::{Bytes, Random, Time};

use crate::{App, Transport};

/// IPv4 header, UDP header and one byte: the shortest datagram that says anything.
pub const MIN_DATAGRAM: Bytes = Bytes::new(20 + 8 + 1);

/// The spacing of datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// Mean; longer than zero.
    pub mean: Time,
    /// Standard deviation of the normal distribution; zero for exact spacing.
    pub stddev: Time,
}

/// An application and its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AppConfig {
    /// Sends without end, as fast as its transport lets it.
    Bulk,
    /// Datagrams of one size at a constant mean rate, like voice.
    Cbr {
        /// IP length, from [`MIN_DATAGRAM`] to the MTU.
        size: Bytes,
        /// Time between two datagrams.
        interval: Interval,
    },
}

/// A parameter that no application can run with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigError {
    /// The size of a datagram.
    Size {
        /// What was asked for.
        found: Bytes,
        /// The largest possible.
        mtu: Bytes,
    },
    /// A mean interval of zero: infinitely many datagrams at once.
    NoInterval,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size { found, mtu } => {
                write!(
                    f,
                    "size is {found}, must be from {MIN_DATAGRAM} to the MTU of {mtu}"
                )
            }
            Self::NoInterval => f.write_str("interval.mean is zero, must be longer"),
        }
    }
}

impl std::error::Error for ConfigError {}

impl AppConfig {
    /// The name in scenarios and results.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Bulk => "bulk",
            Self::Cbr { .. } => "cbr",
        }
    }
    /// What carries its data.
    pub const fn transport(&self) -> Transport {
        match self {
            Self::Bulk => Transport::Stream,
            Self::Cbr { .. } => Transport::Datagram,
        }
    }
    /// Whether it can run where the largest IP packet is `mtu`.
    pub fn check(&self, mtu: Bytes) -> Result<(), ConfigError> {
        match *self {
            Self::Bulk => Ok(()),
            Self::Cbr { size, .. } if size < MIN_DATAGRAM || size > mtu => {
                Err(ConfigError::Size { found: size, mtu })
            }
            Self::Cbr { interval, .. } if interval.mean.is_zero() => Err(ConfigError::NoInterval),
            Self::Cbr { .. } => Ok(()),
        }
    }
    /// The end that sends. Its randomness is drawn from `random` alone.
    pub fn sender(&self, random: Random) -> App {
        App::sender(self, random)
    }
    /// The end that receives.
    pub fn receiver(&self) -> App {
        App::receiver(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_cannot_run() {
        let cbr = |size, mean| AppConfig::Cbr {
            size: Bytes::new(size),
            interval: Interval {
                mean,
                stddev: Time::ZERO,
            },
        };
        let mtu = Bytes::new(1_500);
        let mean = Time::from_millis(20);
        for size in [29, 186, 1_500] {
            assert_eq!(cbr(size, mean).check(mtu), Ok(()));
        }
        for size in [0, 28, 1_501] {
            let found = Bytes::new(size);
            assert_eq!(
                cbr(size, mean).check(mtu),
                Err(ConfigError::Size { found, mtu })
            );
        }
        let error = cbr(186, Time::ZERO).check(mtu).unwrap_err();
        assert_eq!(error.to_string(), "interval.mean is zero, must be longer");
        assert_eq!(AppConfig::Bulk.check(mtu), Ok(()));
    }
}
