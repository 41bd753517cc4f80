//! The row of a kind in listings.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::parameter::{Parameter, ParameterError};

/// A kind of discipline, marker or value function in listings.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Name in scenarios and on the command line.
    pub name: &'static str,
    /// One sentence for listings.
    pub summary: &'static str,
    /// Source of the algorithm.
    pub source: &'static str,
    /// Every parameter.
    pub parameters: &'static [Parameter],
}

impl Entry {
    /// The entry of `kind` among `entries`, or an error that lists all of them.
    pub(crate) fn find(
        entries: &'static [Self],
        kind: &str,
    ) -> Result<&'static Self, ParameterError> {
        let found = entries.iter().find(|entry| entry.name == kind);
        found.ok_or_else(|| Self::unknown(entries, kind))
    }
    /// The error for a kind that is not among `entries`.
    pub(crate) fn unknown<'a>(
        entries: impl IntoIterator<Item = &'a Self>,
        kind: &str,
    ) -> ParameterError {
        let known: Vec<String> = entries
            .into_iter()
            .map(|entry| format!("\"{}\"", entry.name))
            .collect();
        ParameterError::new("kind", kind, format!("must be one of {}", known.join(", ")))
    }
}

/// A kind of queue discipline: one with a line in [`disciplines`](crate::disciplines), or one of [another crate](crate::own).
pub trait QueueKind {
    /// Its row in listings.
    const ENTRY: Entry;
}
