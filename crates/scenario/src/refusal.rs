//! Why a value is refused, in words that finish "KEY = VALUE: …".

use quell_units::{ParameterError, Time};

use crate::domain::MOST_SEEDS;

/// Why a value of a scenario is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("must be {allowed}{hint}")]
    Must { allowed: String, hint: String },
    #[error("must be {allowed}, or 0bit for an outage{hint}")]
    NoRate { allowed: String, hint: String },
    #[error("has {0} seeds; at most {MOST_SEEDS} are allowed")]
    ManySeeds(usize),
    #[error("{0} is not a seed; a seed is a whole number from 0 to {max}", max = i64::MAX)]
    NoSeed(String),
    #[error("has {0} twice; each seed is a separate run")]
    SeedTwice(u64),
    #[error("is empty; give at least one seed, such as [1]")]
    NoSeeds,
    /// The parameters that `of` has are known.
    #[error("unknown key{meant}; \"{of}\" has {known}")]
    NoParameter {
        meant: String,
        of: String,
        known: String,
    },
    #[error(
        "unknown key; {name} is not one of quell's own controls ({own}), and the options of a kernel's are its own"
    )]
    KernelControl { name: String, own: String },
    #[error("is the same switch as {0}; give only one of them")]
    SameSwitch(&'static str),
    #[error("{allowed}{hint}")]
    Parameter { allowed: String, hint: String },
    #[error("does not suit the queue: {0}")]
    Queue(ParameterError),
    #[error("is of no kind")]
    NoKind,
    #[error("is set twice")]
    SetTwice,
    #[error("cannot be set: the link follows a trace")]
    Traced,
    #[error("cannot stand beside the other of jitter and spread: set the other one to 0s first")]
    ScattersTwice,
    #[error("has an effect only beside {0}")]
    Beside(&'static str),
    /// What the links of a group's path delay, there and back.
    #[error("must be at least {0}, what the links of its path delay, there and back")]
    ShortRtt(Time),
    #[error("cannot change during a run; what can: {0}")]
    Fixed(String),
    #[error("there is no link")]
    NoLink,
    #[error("there are {} links, so the key must name one: link.{}", .0.len(), .0.join(", link."))]
    SeveralLinks(Vec<String>),
    #[error("there is no group {name}{meant}; groups are: {known}")]
    NoGroup {
        name: String,
        meant: String,
        known: String,
    },
    #[error("{part} is {found} here, not a table")]
    NoTable { part: String, found: String },
}

impl From<ParameterError> for Refusal {
    /// Without the key and the value, which stand in front.
    fn from(error: ParameterError) -> Self {
        let (allowed, hint) = (error.allowed, String::new());
        Self::Parameter { allowed, hint }
    }
}
