//! User-mode Linux kernels for the virtual world.
//!
//! - [`store`]: the kernels of this user, by name, and what is known of each.
//! - [`machine`]: a kernel that runs.
//!
//! Nothing here runs inside of a guest, and nothing here needs root.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

mod error;
pub mod machine;
pub mod store;

pub use error::{Error, Result};
