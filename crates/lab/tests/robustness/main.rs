//! Whatever the checker accepts runs to its end, within the memory that the checker reckons with.
#![allow(clippy::unwrap_used)]

mod any;
mod changes;
mod measured;
mod space;
