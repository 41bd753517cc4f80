//! The common part of interactive video: a user acts, a server renders what the user wants to
//! see, frame by frame, and the user waits for the first frame that shows it.
//!
//! * [`inputs`]: what the user does, at the user's end.
//! * [`frames`]: when frames are due and how long they are, at the server's; [`source`]: the models of
//!   encoders.
//! * [`viewer`]: what the user sees of it; [`report`]: its figures.
//! * [`prague`] and [`scream`]: controls of its rate.
//!
//! # The life of an input
//!
//! Input k happens at the user's end at t(k) and arrives at the server at a(k). At the next tick of the
//! frame clock the server begins to render a frame that shows the newest input of then. It is ready after
//! the residence (render and encode), and is handed to the transport at h. Its first byte is at the user
//! at f and its last at l; it is shown at s, after decoding, and with a display that refreshes at
//! intervals at the next refresh.
//!
//! | figure | is | of |
//! | --- | --- | --- |
//! | network latency | f − t(k) − (h − a(k)) | the newest input of each frame, if no frame showed it before |
//! | view latency | l − t(k) − (h − a(k)) | the same |
//! | interaction latency | s − t(k) | every input, by the first frame that shows it or a later one |
//! | frame delay | l − ready | every frame that is complete |
//!
//! Times are those of the run, which both ends have in common. What only the server knows travels with
//! the frame.

pub mod frames;
pub mod inputs;
pub(crate) mod packets;
pub mod prague;
pub mod report;
pub mod scream;
pub mod source;
pub mod viewer;

use quell_units::Time;

/// Nanoseconds in a second.
const SECOND: u64 = 1_000_000_000;

/// Beginning of interval `number` of those that a second has `per_second` of: exact, without drift.
pub(crate) fn beat(number: u64, per_second: u32) -> Time {
    let nanos = u128::from(number) * u128::from(SECOND) / u128::from(per_second.max(1));
    Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}
