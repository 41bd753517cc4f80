//! Commands of the user that run in the hosts' namespaces at given times of a run: `AT:NAMESPACE:COMMAND`.

use quell_units::notation::NotationError;
use quell_units::{Time, notation};
use serde::{Deserialize, Serialize};

/// The folder of a result that keeps the output of commands.
pub(crate) const FOLDER: &str = "guest-exec";
/// The most times at which one command runs.
const MOST: usize = 1_000;

/// Where a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Where {
    /// The host that sends in forward direction.
    Sender,
    /// The host that receives in forward direction.
    Receiver,
    /// Between them, where quell's link has its ports.
    Link,
}

impl Where {
    const ALL: [Self; 3] = [Self::Sender, Self::Receiver, Self::Link];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
            Self::Link => "link",
        }
    }
}

/// When a command runs, in nanoseconds of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum When {
    /// At these times, in their order.
    At(Vec<u64>),
    /// First at one time, and again and again until the run ends.
    Every { first: u64, interval: u64 },
}

/// Why a command cannot run as it was asked to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GuestCommandError {
    /// A part is missing.
    #[error("{0}: must be AT:NAMESPACE:COMMAND, such as 10s:sender:ss -tin")]
    Form(String),
    /// A time is none.
    #[error("{text}: {source}")]
    Time {
        /// What stands in its place.
        text: String,
        /// What would be right.
        source: NotationError,
    },
    /// It would run again at once, for ever.
    #[error("{0}: the interval must be longer than 0")]
    Interval(String),
    /// There is no such namespace.
    #[error("{0}: the namespaces are sender, receiver and link")]
    Namespace(String),
    /// Nothing would run.
    #[error("{0}: the command is empty")]
    Empty(String),
    /// A time comes after the end.
    #[error("{command}: {at} is not within the run of {duration}")]
    Late {
        /// The command.
        command: String,
        /// The time.
        at: Time,
        /// How long the run is.
        duration: Time,
    },
    /// It would run too often.
    #[error("{0}: at most {MOST} times")]
    Often(String),
}

/// A command with its times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestCommand {
    when: When,
    pub(crate) place: Where,
    pub(crate) command: String,
}

impl GuestCommand {
    /// Reads `AT:NAMESPACE:COMMAND`. AT is a time, several (`5s,10s`), or `FIRST/INTERVAL`; NAMESPACE is `sender`, `receiver` or `link`;
    /// all that follows is the shell's.
    ///
    /// # Errors
    ///
    /// A part is missing or wrong.
    pub fn parse(text: &str) -> Result<Self, GuestCommandError> {
        let mut parts = text.splitn(3, ':');
        let (Some(at), Some(place), Some(command)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(GuestCommandError::Form(text.to_owned()));
        };
        let time = |text: &str| {
            let time = notation::time(text.trim());
            time.map(Time::as_nanos)
                .map_err(|source| GuestCommandError::Time {
                    text: text.to_owned(),
                    source,
                })
        };
        let when = match at.split_once('/') {
            Some((first, interval)) => When::Every {
                first: time(first)?,
                interval: match time(interval)? {
                    0 => return Err(GuestCommandError::Interval(at.to_owned())),
                    interval => interval,
                },
            },
            None => {
                let mut times = at.split(',').map(time).collect::<Result<Vec<_>, _>>()?;
                times.sort_unstable();
                times.dedup();
                When::At(times)
            }
        };
        let Some(place) = Where::ALL
            .into_iter()
            .find(|one| one.name() == place.trim())
        else {
            return Err(GuestCommandError::Namespace(place.to_owned()));
        };
        if command.trim().is_empty() {
            return Err(GuestCommandError::Empty(text.to_owned()));
        }
        Ok(Self {
            when,
            place,
            command: command.trim().to_owned(),
        })
    }

    /// Its times in a run of `duration`.
    ///
    /// # Errors
    ///
    /// One is not within the run; there are too many.
    pub fn times(&self, duration: Time) -> Result<Vec<Time>, GuestCommandError> {
        let end = duration.as_nanos();
        let times: Vec<u64> = match &self.when {
            When::At(times) => times.clone(),
            When::Every { first, interval } => {
                // With the first, so that one that lies behind the end is noticed.
                let count = end.saturating_sub(*first).div_ceil(*interval).max(1);
                let count = usize::try_from(count).unwrap_or(usize::MAX);
                (0..count.min(MOST + 1) as u64)
                    .map(|index| first + index * interval)
                    .collect()
            }
        };
        if let Some(late) = times.iter().find(|&&at| at >= end) {
            return Err(GuestCommandError::Late {
                command: self.command.clone(),
                at: Time::from_nanos(*late),
                duration,
            });
        }
        if times.len() > MOST {
            return Err(GuestCommandError::Often(self.command.clone()));
        }
        Ok(times.into_iter().map(Time::from_nanos).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(text: &str) -> Result<Vec<u64>, GuestCommandError> {
        let times = GuestCommand::parse(text)?.times(Time::from_secs(20))?;
        Ok(times.iter().map(|at| at.as_nanos() / 1_000_000).collect())
    }

    #[test]
    fn a_command_has_times_a_namespace_and_the_rest_of_the_text() {
        let command = GuestCommand::parse("10s:sender:ss -tin 'dst :80' | head").unwrap();
        assert_eq!(command.command, "ss -tin 'dst :80' | head");
        assert_eq!(command.place, Where::Sender);
        assert_eq!(times("10s:link:x").unwrap(), vec![10_000]);
        assert_eq!(times("5s,1500ms,5s:link:x").unwrap(), vec![1_500, 5_000]);
        assert_eq!(
            times("1s/5s:receiver:x").unwrap(),
            vec![1_000, 6_000, 11_000, 16_000]
        );
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_would_be_right() {
        for (text, why) in [
            ("ss -tin", "must be AT:NAMESPACE:COMMAND"),
            ("10s:ss -tin", "must be AT:NAMESPACE:COMMAND"),
            ("10:sender:ss", "10: "),
            ("10s:host:ss", "sender, receiver and link"),
            ("10s:sender: ", "the command is empty"),
            ("0s/0s:sender:ss", "longer than 0"),
            ("20s:sender:ss", "is not within the run of 20s"),
            ("30s/1s:sender:ss", "is not within the run of 20s"),
            ("0s/1ms:sender:ss", "at most 1000 times"),
        ] {
            let error = times(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
