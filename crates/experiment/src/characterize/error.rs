//! Errors of a request for a card, and of the file of a profile.

use std::error;
use std::fmt;

use quell_lab::RunError;
use quell_lab::scenario::Problems;
use quell_units::ParameterError;

use crate::evaluate::Fault;

/// The reason why a card cannot be made as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The file of a profile is not TOML.
    Toml(Problems),
    /// The file of a profile is TOML, but no profile.
    Profile {
        /// The name of the file.
        file: String,
        /// The line, where one is at fault.
        line: Option<usize>,
        /// What is wrong.
        fault: ProfileFault,
    },
    /// The suite has no test case that `--only` could mean.
    NoTestCase {
        /// The word after `--only`.
        word: String,
        /// The name of the suite.
        suite: String,
        /// The test cases that it has.
        known: Vec<String>,
        /// The one that was probably meant.
        meant: Option<String>,
    },
    /// There is no queue of this kind.
    NoQueue {
        /// The kind as given.
        kind: String,
        /// The refusal, which lists the kinds.
        source: ParameterError,
        /// The one that was probably meant.
        meant: Option<String>,
    },
    /// A queue does not take a parameter.
    Parameter(ParameterError),
    /// A queue cannot be set in a scenario as it is written.
    Override(String),
    /// A scenario cannot run.
    Scenario(Problems),
    /// A plain scenario cannot run with a queue.
    Queue(Box<Self>),
    /// A plain scenario cannot run with a congestion control.
    Control {
        /// The control as given.
        control: String,
        /// The reason.
        source: Box<Self>,
    },
    /// A test case cannot run with the queues of the card.
    TestCase {
        /// The name of the test case, with its place in a user's file.
        id: String,
        /// The reason.
        source: Box<Self>,
    },
    /// A value of a test case cannot be evaluated.
    Value(String),
}

/// What is wrong with the file of a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProfileFault {
    /// The file holds no table.
    NoTable,
    /// The key is none of a profile.
    UnknownKey {
        /// The key.
        key: String,
        /// The keys of a profile.
        known: &'static [&'static str],
    },
    /// The value of this key is no text.
    NotText(String),
    /// There is no rate.
    NoRate,
    /// The value is no time or rate, or too small or too large.
    OutOfRange {
        /// The key.
        key: &'static str,
        /// The value as written.
        found: String,
        /// What it may be.
        allowed: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Toml(problems) | Self::Scenario(problems) => write!(f, "{problems}"),
            Self::Profile { file, line, fault } => match line {
                Some(line) => write!(f, "{file}:{line}: {fault}"),
                None => write!(f, "{file}: {fault}"),
            },
            Self::NoTestCase {
                word,
                suite,
                known,
                meant,
            } => {
                let known = known.join(", ");
                write!(f, "--only {word}: the suite {suite} has {known}")?;
                ask(f, meant.as_ref())
            }
            Self::NoQueue {
                kind,
                source,
                meant,
            } => {
                write!(f, "there is no queue {kind}: {}", source.allowed)?;
                ask(f, meant.as_ref())
            }
            Self::Parameter(error) => write!(f, "{error}"),
            Self::Override(why) | Self::Value(why) => f.write_str(why),
            Self::Queue(source) => {
                // A queue of a card is no argument of that name.
                f.write_str(source.to_string().trim_start_matches("--queue "))
            }
            Self::Control { control, source } => {
                // The reason begins with a place in a file that nobody has written.
                let why = source.to_string();
                let why = why.split_once(": ").map_or(why.as_str(), |(_, why)| why);
                write!(f, "--cc {control}: {why}")
            }
            Self::TestCase { id, source } => write!(f, "{id}: {source}"),
        }
    }
}

fn ask(f: &mut fmt::Formatter<'_>, meant: Option<&String>) -> fmt::Result {
    meant.map_or(Ok(()), |meant| write!(f, "; did you mean {meant}?"))
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Toml(problems) | Self::Scenario(problems) => Some(problems),
            Self::NoQueue { source, .. } | Self::Parameter(source) => Some(source),
            Self::Queue(source) | Self::Control { source, .. } | Self::TestCase { source, .. } => {
                Some(source)
            }
            Self::Profile { .. } | Self::NoTestCase { .. } | Self::Override(_) | Self::Value(_) => {
                None
            }
        }
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self::Value(fault.why)
    }
}

impl From<Error> for RunError {
    fn from(error: Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl fmt::Display for ProfileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTable => f.write_str("must be a table"),
            Self::UnknownKey { key, known } => {
                write!(f, "{key}: unknown key; a profile has {}", known.join(", "))
            }
            Self::NotText(key) => write!(f, "{key}: must be in quotes"),
            Self::NoRate => {
                f.write_str("rate is missing; give the link's, such as rate = \"50mbit\"")
            }
            Self::OutOfRange {
                key,
                found,
                allowed,
            } => write!(f, "{key} = \"{found}\": must be {allowed}"),
        }
    }
}
