//! Every test of quell-testing that needs no program of its own, in one: it is linked once.
#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

#[path = "../bless.rs"]
mod bless;
#[path = "../house/main.rs"]
mod house;
#[path = "../judge.rs"]
mod judge;
#[path = "../layout.rs"]
mod layout;
#[path = "../scripts/main.rs"]
mod scripts;
#[path = "../turn.rs"]
mod turn;
