//! What a kind says of itself: a row for listings, and what the shared tests need to know of a discipline.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::observer::DropReason;
use crate::packet::Ecn;
use crate::parameter::{Parameter, ParameterError};

/// A kind of discipline, marker or value function in listings.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Name in scenarios and on the command line.
    pub name: &'static str,
    /// One sentence for listings.
    pub summary: &'static str,
    /// Where the algorithm is defined.
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
    /// What the shared tests need to know of it.
    const TRIALS: Trials;
}

/// Parameters and their values.
pub type Given = &'static [(&'static str, &'static str)];

/// What the shared tests try with a kind of discipline, and which drops they accept.
#[derive(Debug, Clone, Copy)]
pub struct Trials {
    /// Starting points worth a run of their own.
    pub forms: &'static [Given],
    /// Whether the source allows this drop of a packet that was offered with this code point; `queued` if it had been accepted. Drops by
    /// [`Qdisc::drain`](crate::Qdisc::drain) are not asked for.
    pub allows: fn(reason: DropReason, queued: bool, ecn: Ecn) -> bool,
    /// For each parameter: what else is given, the parameter, and two values that must lead to different fates.
    pub knobs: &'static [(Given, &'static str, &'static str, &'static str)],
}
