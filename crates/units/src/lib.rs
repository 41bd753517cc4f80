//! Basic types of every other crate: quantities with their units in the type, the notation people write them in, parameter
//! tables, the ECN field of a packet, and seeded randomness.
//!
//! * [`Time`], [`Rate`], [`Bytes`], [`Frequency`], [`Probability`]: integers with a unit; [`notation`] reads and prints them.
//! * [`parameter`]: the tables from which checks, schema, command line and documentation come.
//! * [`Period`], [`Interval`]: lengths of time that vary; [`Sizes`]: laws of random sizes; [`Rates`]:
//!   rising rates; [`CommandLine`]: a program and its arguments.
//! * [`Random`]: one stream per seed and component, the same on every machine.
//! * [`Origin`]: the crate that a kind comes from, where that is another project.
//! * [`Ecn`]: the two bits that end hosts and queues exchange.
//!
//! Nothing here knows about queues, connections or applications. There is no clock, no I/O, and no standard library.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod bytes;
mod command_line;
mod ecn;
mod format;
mod frequency;
mod inline;
pub mod notation;
pub mod origin;
pub mod parameter;
mod period;
mod probability;
pub mod random;
mod rate;
mod rates;
mod sizes;
mod time;

pub use bytes::Bytes;
pub use command_line::CommandLine;
pub use ecn::Ecn;
pub use frequency::Frequency;
pub use origin::{Origin, OriginError};
pub use parameter::{Parameter, ParameterError, Settings};
pub use period::{Distribution, Interval, Period};
pub use probability::Probability;
pub use random::Random;
pub use rate::Rate;
pub use rates::Rates;
pub use sizes::{Sizes, Spread, Steps};
pub use time::Time;
