//! The report cards, in one program: it is linked once.
#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

#[path = "../cards/main.rs"]
mod cards;
#[path = "../suites.rs"]
mod suites;

#[path = "../validation.rs"]
mod validation;
