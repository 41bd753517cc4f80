//! What became of a program.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use quell_app::kinds::program::{Ended, Part};
use quell_scenario::Group;
use quell_units::Time;

use crate::program_env::FOLDER;

/// What became of a program.
#[derive(Debug)]
pub(crate) enum Ran {
    /// It did not start.
    Not(NotRun),
    /// It ran for this time and ended by itself.
    Ended(ExitStatus, Time),
    /// It was ended with its group.
    WasEnded,
}

/// Why a program did not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotRun {
    #[error("cannot enter its namespace: {0}")]
    Namespace(#[source] io::Error),
    #[error(transparent)]
    Rights(#[from] quell_hosts::confine::Error),
    #[error(transparent)]
    System(#[from] io::Error),
    #[error("its server had ended")]
    NoServer,
    #[error("{name}: {source}")]
    NotStarted { name: String, source: io::Error },
    #[error("its thread failed")]
    Thread,
}

impl Ran {
    /// For the report of its group.
    pub(crate) fn ended(&self) -> Ended {
        match self {
            Self::Not(_) => Ended {
                failed: true,
                ..Ended::default()
            },
            Self::Ended(status, ran) => Ended {
                code: Some(code(*status)),
                ran: Some(*ran),
                failed: !status.success(),
            },
            Self::WasEnded => Ended::default(),
        }
    }

    /// Why the program did not do what was asked of it.
    pub(crate) fn warning(&self, group: &Group, part: Part) -> Option<String> {
        let (name, part) = (&group.name, part.name());
        match self {
            Self::Not(why) => Some(format!("group {name}: its {part} did not start: {why}")),
            Self::Ended(status, _) if !status.success() => Some(format!(
                "group {name}: its {part} failed with {}; see {FOLDER}/{name}-{part}.err",
                match (status.code(), status.signal()) {
                    (None, Some(signal)) => format!("signal {signal}"),
                    _ => format!("exit code {}", code(*status)),
                }
            )),
            Self::Ended(..) | Self::WasEnded => None,
        }
    }
}

/// The exit code, or 128 and the signal.
fn code(status: ExitStatus) -> u8 {
    let signal = || status.signal().map(|signal| 128 + signal);
    let code = status.code().or_else(signal);
    u8::try_from(code.unwrap_or(255)).unwrap_or(255)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_code_tells_a_signal_from_a_failure() {
        for (raw, expected) in [(0, 0), (7 << 8, 7), (9, 137)] {
            assert_eq!(code(ExitStatus::from_raw(raw)), expected);
        }
    }
}
