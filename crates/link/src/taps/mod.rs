//! Measuring a queue from outside: a tap on each side of it, and what became of the packets between
//! them.
//!
//! It serves to compare queues of quell with those of the kernel, which report less of themselves.

mod crossing;
mod tap;

pub use crossing::{Crossed, Crossing, CrossingConfig};
pub use tap::{Identity, Seen, Tap};
