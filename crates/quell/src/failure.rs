//! How a command ends early.

use quell_lab::scenario::Problems;

/// What ends a command early: an exit code and a message.
pub(crate) struct Failure {
    pub(crate) code: u8,
    pub(crate) message: String,
    /// The process ends by this signal rather than with a code.
    pub(crate) signal: Option<i32>,
    /// The errors of a scenario, if it is they.
    pub(crate) problems: Option<Problems>,
}

impl Failure {
    /// Wrong input: exit code 2.
    pub(crate) fn input(message: impl ToString) -> Self {
        Self {
            code: 2,
            message: message.to_string(),
            signal: None,
            problems: None,
        }
    }
    /// A run that gave no result.
    pub(crate) fn run(error: quell_lab::RunError) -> Self {
        Self {
            code: error.exit_code(),
            message: error.to_string(),
            signal: None,
            problems: None,
        }
    }
    /// A failure: exit code 1.
    pub(crate) fn failed(message: impl ToString) -> Self {
        Self {
            code: 1,
            message: message.to_string(),
            signal: None,
            problems: None,
        }
    }
    /// An interruption by `signal`.
    pub(crate) fn interrupted(signal: i32, message: String) -> Self {
        Self {
            code: u8::try_from(128 + signal).unwrap_or(u8::MAX),
            message,
            signal: Some(signal),
            problems: None,
        }
    }
}
