//! Rights that a thread or a process gives away, for good.
//!
//! - [`capabilities`]: everything but what is named, out of every set, with no_new_privs;
//! - [`user`]: another user, who is nobody else's;
//! - [`landlock`]: no file outside of some folders is written, no TCP port opened, no stranger signalled.
//!
//! Each of them holds for the calling thread, and for the threads and programs that it starts afterwards. Threads that run
//! already keep what they have, so a process gives its rights away while it has one thread ([`threads::require_one`]), or in
//! each.
#![forbid(unsafe_code)]

pub mod capabilities;
mod error;
pub mod landlock;
pub mod threads;
pub mod user;

pub use error::{Error, SeveralThreads};
