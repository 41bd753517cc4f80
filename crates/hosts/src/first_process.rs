//! What the first process of a user-mode kernel does, whatever runs in it.

use std::io;
use std::path::Path;

use rustix::mount::{MountFlags, mount, mount_bind, mount_remount};
use rustix::system::{RebootCommand, reboot};

/// The file system of the host's files (`HOSTFS_SUPER_MAGIC`, `fs/hostfs/hostfs_kern.c`).
const HOSTFS: rustix::fs::FsWord = 0x00c0_ffee;

/// Whether this is the first process of a user-mode kernel, whose root is the host's files, by a file system that no other kernel has.
///
/// That needs nothing to be mounted, so a machine or a container in which this is the first process by chance stays as it is.
pub fn is_guest() -> bool {
    rustix::process::getpid().is_init() && is_in_guest()
}

/// Whether this process runs in a user-mode kernel whose root is the host's files.
pub fn is_in_guest() -> bool {
    rustix::fs::statfs("/").is_ok_and(|root| root.f_type == HOSTFS)
}

/// Mounts `/proc` and `/sys`, and makes the host's files read-only but for these folders.
///
/// # Errors
///
/// The kernel refuses a mount: [`is_guest`] is false, most likely.
pub fn mount_files(writable: &[&Path]) -> io::Result<()> {
    mount("proc", "/proc", "proc", MountFlags::empty(), None)?;
    mount("sysfs", "/sys", "sysfs", MountFlags::empty(), None)?;
    for folder in writable {
        mount_bind(*folder, *folder)?;
    }
    mount_remount("/", MountFlags::BIND | MountFlags::RDONLY, "")?;
    Ok(())
}

/// Turns the guest off. Returns only where that fails; the kernel then panics when its first process ends.
pub fn power_off() -> io::Error {
    match reboot(RebootCommand::PowerOff) {
        Ok(()) => io::Error::other("the machine goes on"),
        Err(error) => error.into(),
    }
}
