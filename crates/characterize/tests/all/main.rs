//! Every test of quell-characterize that needs no program of its own, in one: it is linked once.
#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

#[path = "../cards/main.rs"]
mod cards;
#[path = "../suites.rs"]
mod suites;
