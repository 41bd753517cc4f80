//! What the program sees of this host's files: mounts of its own, which go with it. From mount_namespaces(7) and proc(5).
//!
//! * resolv.conf, where its name servers are behind the link ([`resolver`]);
//! * `/proc` of its own process ids: with the host's, ps(1) would list processes that it cannot signal, under other numbers than its own.
//!
//! Deviation: where parts of the caller's `/proc` are hidden, as in most containers, the kernel gives a user without rights no other one. The
//! program then sees the caller's.

use std::io;

use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, mount_remount, unmount};

use crate::mounts::own_mounts;
use crate::resolver;

/// Parts of `/proc` that root may write without any right, as their owner, and by which it would act on the whole host: core_pattern(5) names
/// a program that the kernel starts with all rights.
const WRITTEN_BY_ROOT: [&str; 2] = ["/proc/sys", "/proc/sysrq-trigger"];
/// The settings of the program's own network.
const OWN_SETTINGS: &str = "/proc/sys/net";

/// Gives the calling process mounts of its own, with these name servers, for a program that is root or not. Needs CAP_SYS_ADMIN.
///
/// # Errors
///
/// A mount that name servers need is refused.
pub(crate) fn prepare(names: Option<&str>, own_ids: bool, is_root: bool) -> io::Result<()> {
    if names.is_none() && !own_ids {
        return Ok(());
    }
    if let Err(error) = own_mounts() {
        return names.map_or(Ok(()), |_| Err(error));
    }
    if let Some(text) = names {
        resolver::write(text)?;
    }
    let is_new = own_ids && mount("proc", "/proc", "proc", FLAGS, None).is_ok();
    if is_new && is_root && protect().is_err() {
        // Better the caller's than one that opens what a container has closed.
        unmount("/proc", UnmountFlags::DETACH)?;
    }
    Ok(())
}

const FLAGS: MountFlags = MountFlags::NOSUID
    .union(MountFlags::NODEV)
    .union(MountFlags::NOEXEC);

/// For root alone: nobody else may write there anyway, and a `/proc` in which something is mounted would keep a link inside of this one from
/// having its own.
fn protect() -> rustix::io::Result<()> {
    let bound = FLAGS.union(MountFlags::BIND);
    for place in WRITTEN_BY_ROOT {
        match mount_bind(place, place) {
            Ok(()) => mount_remount(place, bound | MountFlags::RDONLY, "")?,
            // Not every kernel has all of them.
            Err(rustix::io::Errno::NOENT) => {}
            Err(errno) => return Err(errno),
        }
    }
    mount_bind(OWN_SETTINGS, OWN_SETTINGS)?;
    mount_remount(OWN_SETTINGS, bound, "")
}
