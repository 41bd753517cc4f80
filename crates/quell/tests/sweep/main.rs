//! Sweeps by the program: the same store and the same table however the work was divided, interrupted or damaged.
#![allow(clippy::unwrap_used)]

mod damaged;
mod ends;
mod equal;
mod support;
mod table;
mod threads;
