//! Mounts of a process's own, from mount_namespaces(7).

use std::io;

use quell_hosts::namespace;
use rustix::mount::{MountPropagationFlags, mount_change};

/// Gives this process mounts of its own: what it mounts nobody else sees, and what the host mounts it does.
pub(crate) fn own_mounts() -> io::Result<()> {
    namespace::own_mounts()?;
    Ok(mount_change(
        "/",
        MountPropagationFlags::REC | MountPropagationFlags::DOWNSTREAM,
    )?)
}
