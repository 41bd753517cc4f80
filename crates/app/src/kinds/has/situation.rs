//! The values that a rule decides from, and its decision.

use quell_units::Time;

use super::estimator::Estimate;
use super::ladder::Ladder;

/// The situation in which a rule decides.
#[derive(Debug)]
pub(super) struct Situation<'a> {
    pub ladder: &'a Ladder,
    /// Playing time in the buffer.
    pub buffer: Time,
    /// The most that it may hold.
    pub most: Time,
    /// `None` before the first download.
    pub estimate: Option<Estimate>,
    /// Level of the last download.
    pub last: usize,
    /// Segments that are still to be asked for; `None` without an end.
    pub left: Option<u64>,
}

/// A level, and how long to wait before asking for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Choice {
    pub quality: usize,
    pub wait: Time,
}

impl Choice {
    pub(super) const fn at_once(quality: usize) -> Self {
        Self {
            quality,
            wait: Time::ZERO,
        }
    }
}

/// A download that is complete.
#[derive(Debug, Clone, Copy)]
pub(super) struct Download {
    pub quality: usize,
    pub bytes: u64,
    /// Time from the request to the last byte.
    pub took: Time,
    /// Time from the first to the last byte.
    pub span: Time,
    /// Playing time in the buffer, with it.
    pub buffer: Time,
}

/// A download that goes on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Progress {
    pub quality: usize,
    /// All of its bytes.
    pub size: u64,
    /// Those that have arrived; fewer than all.
    pub arrived: u64,
    /// Since the request.
    pub elapsed: Time,
    /// Time from the request to the first byte.
    pub first_byte: Time,
    /// Playing time in the buffer.
    pub buffer: Time,
    pub estimate: Option<Estimate>,
}
