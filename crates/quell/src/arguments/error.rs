//! Why arguments cannot be carried out.

use std::error::Error;
use std::fmt;

use quell_lab::World;
use quell_units::Time;

use super::queue_lists::ListError;
use crate::failure::Failure;

/// What another crate says of a value.
pub(crate) type Cause = Box<dyn Error + Send + Sync>;

/// Why arguments cannot be carried out; as text it names the option.
#[derive(Debug)]
pub(crate) enum ArgumentError {
    /// The value of `option` cannot be read. The option stands as the message begins.
    Value { option: String, source: Cause },
    /// The time of `option` is outside its bounds, which `allowed` names.
    Time {
        option: &'static str,
        text: String,
        allowed: TimeBounds,
    },
    /// A list of queues.
    List(ListError),
    /// The option has an effect on several seeds only.
    OneSeed(&'static str),
    /// The options, with their verb, have an effect in one world only.
    OnlyIn(&'static str, World),
    /// `--jobs` with the live world.
    JobsOfLive,
    /// Two places of a comparison are the same.
    PlaceTwice(String),
    /// A report card of the live world.
    CardOfLive,
    /// `--profile` or `--suite` is neither a name nor a file that can be read.
    NoFile {
        option: &'static str,
        name: String,
        known: String,
        source: std::io::Error,
    },
    /// The file of `--profile` is too long.
    LongProfile(String),
    /// The profile or queue is refused; `source` says it all.
    Refused(Cause),
}

/// Which times an option may have.
#[derive(Debug)]
pub(crate) enum TimeBounds {
    /// As long as a guest needs to begin.
    GuestStart(Time),
    /// From the first to the second.
    Within(Time, Time),
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value { option, source } => write!(f, "{option} {source}"),
            Self::Time {
                option,
                text,
                allowed: TimeBounds::GuestStart(least),
            } => write!(
                f,
                "{option} {text}: must be at least {least}; a guest needs about that to begin"
            ),
            Self::Time {
                option,
                text,
                allowed: TimeBounds::Within(low, high),
            } => write!(f, "{option} {text}: must be from {low} to {high}"),
            Self::List(error) => error.fmt(f),
            Self::OneSeed(option) => write!(
                f,
                "{option} needs several seeds, such as --set run.seeds=[1,2,3]"
            ),
            Self::OnlyIn(options, world) => {
                write!(f, "{options} an effect only with --world {}", world.name())
            }
            Self::JobsOfLive => f.write_str("--jobs has no effect with --world live"),
            Self::PlaceTwice(place) => write!(f, "{place} is there twice"),
            Self::CardOfLive => f.write_str(
                "--world live: a card repeats, and the live world does not; use sim or virtual",
            ),
            Self::NoFile {
                option,
                name,
                known,
                source,
            } => write!(
                f,
                "{option} {name}: must be one of {known}, or a file: {source}"
            ),
            Self::LongProfile(name) => {
                write!(f, "--profile {name}: is too long for a profile")
            }
            Self::Refused(source) => source.fmt(f),
        }
    }
}

impl Error for ArgumentError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Value { source, .. } => Some(&**source),
            Self::NoFile { source, .. } => Some(source),
            // They are the message already.
            Self::List(error) => error.source(),
            Self::Refused(source) => source.source(),
            _ => None,
        }
    }
}

impl From<ListError> for ArgumentError {
    fn from(error: ListError) -> Self {
        Self::List(error)
    }
}

impl From<ArgumentError> for Failure {
    fn from(error: ArgumentError) -> Self {
        Self::input(error)
    }
}

/// A word of the command line that its option cannot have.
#[derive(Debug)]
pub(crate) struct NotAllowed {
    /// What it may have, as a sentence goes on.
    allowed: &'static str,
}

impl NotAllowed {
    pub(crate) const fn but(allowed: &'static str) -> Self {
        Self { allowed }
    }
}

impl fmt::Display for NotAllowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "must be {}", self.allowed)
    }
}

impl Error for NotAllowed {}
