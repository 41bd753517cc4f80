//! User-mode Linux kernels for the virtual world.
//!
//! - [`build`](mod@build): builds a kernel from source: from a package of the distribution, or from a developer's own tree;
//! - [`source`]: where the source comes from; [`config`]: what it is configured with;
//! - [`store`]: the kernels of this user, by name, with the facts of each;
//! - [`machine`]: a kernel that runs;
//! - [`durable`]: files that survive a loss of power; [`held`]: folders that nobody can replace.
//!
//! Nothing here runs inside of a guest, and nothing here needs root.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod build;
pub mod config;
pub mod durable;
mod error;
pub mod hash;
pub mod held;
pub mod machine;
mod own_controls;
mod process;
mod progress;
pub mod source;
pub mod store;
mod version;

pub use error::{Error, Reason, Result};
