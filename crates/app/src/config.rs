//! Which application a group of flows runs.

use std::fmt;

use quell_units::{Bytes, Random, Time};

use crate::{App, Period, Transport};

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
    /// A finite transfer on a connection of its own, once or again and again.
    Transfer {
        /// Payload; at least 1 byte.
        size: Bytes,
        /// From the end of one connection to the opening of the next; `None` for a single transfer.
        repeat: Option<Period>,
    },
    /// Data during on-times, none during off-times.
    OnOff {
        /// Longer than zero.
        on: Period,
        /// Longer than zero.
        off: Period,
        /// What is sent while on; `None` for as much as TCP takes.
        datagrams: Option<Datagrams>,
    },
}

/// Datagrams of one size at intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagrams {
    /// IP length, from [`MIN_DATAGRAM`] to the MTU.
    pub size: Bytes,
    /// Time between two datagrams.
    pub interval: Interval,
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
    /// A transfer of nothing.
    Nothing,
    /// This time, `on` or `off`, is never: nothing is sent, or nothing interrupts.
    Never(&'static str),
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
            Self::Nothing => f.write_str("size is 0B, must be at least 1B"),
            Self::Never(time) => write!(f, "{time} is zero, must be longer"),
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
            Self::Transfer { .. } => "transfer",
            Self::OnOff { .. } => "on-off",
        }
    }
    /// The datagrams that it sends; `None` over TCP.
    pub const fn datagrams(&self) -> Option<Datagrams> {
        match *self {
            Self::Cbr { size, interval } => Some(Datagrams { size, interval }),
            Self::OnOff { datagrams, .. } => datagrams,
            Self::Bulk | Self::Transfer { .. } => None,
        }
    }
    /// The mean time between two datagrams, or less; `None` over TCP. Each on-time begins with a datagram, so where on and off follow
    /// each other quickly they set the pace, and not the interval.
    pub fn datagram_gap(&self) -> Option<Time> {
        let interval = self.datagrams()?.interval.mean.max(Time::from_nanos(1));
        let Self::OnOff { on, off, .. } = self else {
            return Some(interval);
        };
        let (interval, cycle) = (interval.as_nanos(), (on.mean + off.mean).as_nanos().max(1));
        // One at each beginning, and one for each interval.
        let gap =
            u128::from(interval) * u128::from(cycle) / (u128::from(interval) + u128::from(cycle));
        // Not above the smaller of the two.
        Some(Time::from_nanos((gap as u64).max(1)))
    }
    /// What carries its data.
    pub const fn transport(&self) -> Transport {
        match self.datagrams() {
            Some(_) => Transport::Datagram,
            None => Transport::Stream,
        }
    }
    /// Whether it takes all that it can get, for as long as it lives.
    pub const fn is_greedy(&self) -> bool {
        matches!(self, Self::Bulk)
    }
    /// Whether its flow may open one connection after another.
    pub const fn renews(&self) -> bool {
        matches!(
            self,
            Self::Transfer {
                repeat: Some(_),
                ..
            }
        )
    }
    /// Whether it can run where the largest IP packet is `mtu`.
    pub fn check(&self, mtu: Bytes) -> Result<(), ConfigError> {
        if let Some(Datagrams { size, interval }) = self.datagrams() {
            if size < MIN_DATAGRAM || size > mtu {
                return Err(ConfigError::Size { found: size, mtu });
            }
            if interval.mean.is_zero() {
                return Err(ConfigError::NoInterval);
            }
        }
        match *self {
            Self::Transfer { size, .. } if size == Bytes::ZERO => Err(ConfigError::Nothing),
            Self::OnOff { on, .. } if on.mean.is_zero() => Err(ConfigError::Never("on")),
            Self::OnOff { off, .. } if off.mean.is_zero() => Err(ConfigError::Never("off")),
            _ => Ok(()),
        }
    }
    /// The end that sends. Its randomness is drawn from `random` alone.
    pub fn sender(&self, random: Random) -> App {
        App::sender(self, random)
    }
    /// The end that receives; `random` is the same stream as the sender's.
    pub fn receiver(&self, random: Random) -> App {
        App::receiver(self, random)
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
        let transfer = |size| AppConfig::Transfer {
            size: Bytes::new(size),
            repeat: None,
        };
        assert_eq!(transfer(1).check(mtu), Ok(()));
        assert_eq!(transfer(0).check(mtu), Err(ConfigError::Nothing));
        let on_off = |on, off, datagrams| AppConfig::OnOff {
            on: Period::fixed(on),
            off: Period::fixed(off),
            datagrams,
        };
        let datagrams = |size| {
            let stddev = Time::ZERO;
            Some(Datagrams {
                size: Bytes::new(size),
                interval: Interval { mean, stddev },
            })
        };
        assert_eq!(on_off(mean, mean, None).check(mtu), Ok(()));
        assert_eq!(on_off(mean, mean, datagrams(1_500)).check(mtu), Ok(()));
        let found = Bytes::new(1_501);
        for (app, error) in [
            (on_off(Time::ZERO, mean, None), ConfigError::Never("on")),
            (on_off(mean, Time::ZERO, None), ConfigError::Never("off")),
            (
                on_off(mean, mean, datagrams(1_501)),
                ConfigError::Size { found, mtu },
            ),
        ] {
            assert_eq!(app.check(mtu), Err(error));
        }
    }

    #[test]
    fn short_on_times_set_the_pace_of_datagrams() {
        let datagrams = Datagrams {
            size: Bytes::new(200),
            interval: Interval {
                mean: Time::from_millis(20),
                stddev: Time::ZERO,
            },
        };
        let on_off = |on, off| AppConfig::OnOff {
            on: Period::fixed(on),
            off: Period::fixed(off),
            datagrams: Some(datagrams),
        };
        for (on, off, gap) in [
            (
                Time::from_millis(30),
                Time::from_millis(30),
                Time::from_millis(15),
            ),
            (
                Time::from_nanos(1),
                Time::from_nanos(1),
                Time::from_nanos(1),
            ),
            (Time::ZERO, Time::from_nanos(99), Time::from_nanos(98)),
        ] {
            assert_eq!(on_off(on, off).datagram_gap(), Some(gap));
        }
        assert_eq!(AppConfig::Bulk.datagram_gap(), None);
    }

    #[test]
    fn datagrams_make_the_transport() {
        let (on, off) = (
            Period::fixed(Time::from_secs(1)),
            Period::fixed(Time::from_secs(2)),
        );
        let interval = Interval {
            mean: Time::from_millis(20),
            stddev: Time::ZERO,
        };
        let size = Bytes::new(186);
        let datagrams = Datagrams { size, interval };
        let repeat = Some(on);
        for (app, kind, transport) in [
            (AppConfig::Bulk, "bulk", Transport::Stream),
            (
                AppConfig::Cbr { size, interval },
                "cbr",
                Transport::Datagram,
            ),
            (
                AppConfig::Transfer { size, repeat },
                "transfer",
                Transport::Stream,
            ),
            (
                AppConfig::OnOff {
                    on,
                    off,
                    datagrams: None,
                },
                "on-off",
                Transport::Stream,
            ),
            (
                AppConfig::OnOff {
                    on,
                    off,
                    datagrams: Some(datagrams),
                },
                "on-off",
                Transport::Datagram,
            ),
        ] {
            assert_eq!((app.kind(), app.transport()), (kind, transport));
            assert_eq!(app.is_greedy(), kind == "bulk");
            assert_eq!(app.renews(), kind == "transfer");
        }
    }
}
