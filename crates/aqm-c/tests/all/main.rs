//! Every test of quell-aqm-c that needs no program of its own, in one: it is linked once.
#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

#[path = "../c.rs"]
mod c;
#[path = "../fields.rs"]
mod fields;
#[path = "../header.rs"]
mod header;
#[path = "../interface.rs"]
mod interface;
