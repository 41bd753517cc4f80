//! Every test of quell-lab that needs no program of its own, in one: it is linked once.
#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

// A part of quell-testing: to depend on it would change Cargo.lock, whose hash names the results that are kept.
#[path = "../../../testing/src/bless.rs"]
#[allow(unreachable_pub, reason = "public in its own crate")]
mod bless;
#[path = "../docs.rs"]
mod docs;
#[path = "../files/main.rs"]
mod files;
#[path = "../results.rs"]
mod results;
#[path = "../robustness/main.rs"]
mod robustness;
// With its unit test: a program for that one would have to be linked as well.
#[path = "../../../wasm/src/state.rs"]
#[allow(dead_code, reason = "the functions of the page call the rest")]
mod state_of_the_page;
#[path = "../watched.rs"]
mod watched;
