//! Arguments that several commands have.

mod error;
pub(crate) mod examples;
mod guest;
pub(crate) mod queue_lists;
mod running;
mod scenario;
mod several;
pub(crate) mod strict;
mod world;

pub(crate) use error::{ArgumentError, Cause, TimeBounds};
pub(crate) use guest::{Guest, GuestPlace, Patience};
pub(crate) use running::{Jobs, Realtime, Verbosity};
pub(crate) use scenario::{Changes, Consent, QueueChoice};
pub(crate) use several::{Several, level};
pub(crate) use strict::Strict;
pub(crate) use world::{LIVE, VIRTUAL, Where};
