//! Every test of quell-kernel that needs no program of its own, in one: it is linked once.
#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

#[path = "../build.rs"]
mod build;
// Parts of quell-testing: to depend on it would change Cargo.lock, whose hash names the results that are kept.
#[path = "../../../testing/src/fake_kernel.rs"]
#[allow(dead_code, unreachable_pub, reason = "public in its own crate")]
mod fake;
#[path = "../../../testing/src/program.rs"]
#[allow(dead_code, unreachable_pub, reason = "public in its own crate")]
mod program;
#[path = "../store.rs"]
mod store;
