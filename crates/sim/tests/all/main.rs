//! Every test of quell-sim that needs no program of its own, in one: it is linked once.
#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

#[path = "../access.rs"]
mod access;
#[path = "../applications.rs"]
mod applications;
#[path = "../calls.rs"]
mod calls;
#[path = "../changing.rs"]
mod changing;
#[path = "../datagrams.rs"]
mod datagrams;
#[path = "../memory.rs"]
mod memory;
#[path = "../remarking.rs"]
mod remarking;
#[path = "../sessions.rs"]
mod sessions;
#[path = "../several.rs"]
mod several;
#[path = "../streaming.rs"]
mod streaming;
#[path = "../streams.rs"]
mod streams;
#[path = "../support/mod.rs"]
mod support;
