//! The laws that every queue discipline and every congestion control keeps, as tests.
//!
//! quell's own kinds are tested with them, and a crate with a kind of its own tests it with one line in a file of its `tests`:
//!
//! ```ignore
//! quell_laws::queue_laws!(my_queue::MyQueue);
//! quell_laws::control_laws!(my_control::MyControl);
//! ```
//!
//! Each law is also a function, which panics where the law is broken: [`queue`], [`control`]. A case that a random test finds can be repeated:
//! [`queue::replay`] and [`control::replay`] take the bytes that it prints.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a broken law is a panic")]

#[doc(hidden)]
pub mod choices;
pub mod control;
pub mod queue;
