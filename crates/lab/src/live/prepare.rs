//! The rights that a process without root needs.

use quell_hosts::confine::threads;
use quell_kernel::Reason;

use super::error::LiveError;

/// Makes this process able to run the live world without root: moves it into a user namespace of
/// its own. As root it changes nothing.
///
/// # Errors
///
/// The process has several threads, whoever it belongs to; or the system allows no user namespaces.
pub fn prepare() -> Result<(), LiveError> {
    threads::require_one()?;
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    quell_hosts::user_namespace::enter().map_err(|error| {
        LiveError::Environment(Reason {
            fix: error.fix(),
            what: error.to_string(),
        })
    })
}
