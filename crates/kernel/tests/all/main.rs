//! Every test of quell-kernel that needs no program of its own, in one: it is linked once.
#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

#[path = "../build.rs"]
mod build;
#[path = "../fake/mod.rs"]
mod fake;
#[path = "../store.rs"]
mod store;
