//! The live world without root: a user namespace in which the caller owns the networks that it makes.
//!
//! From user_namespaces(7). The caller keeps its user and group ids (identity mapping), so the files that it writes are its own.
//! Inside, it has every capability over what is made inside, and none over the host. Only a process with a single thread may
//! do this (unshare(2)): call [`enter`] at the start of `main`. Distributions forbid it in four ways; each has its own error,
//! which names the command that fixes it.

use std::fs;
use std::io;

use crate::confine::threads;
use rustix::io::Errno;
use rustix::process::{getegid, geteuid};
use rustix::thread::{UnshareFlags, unshare_unsafe};

/// Why a user namespace cannot be entered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UserNamespaceError {
    /// The process has several threads.
    #[error("no user namespace: {0}")]
    Threads(#[from] crate::confine::Error),
    /// As many namespaces exist as `user.max_user_namespaces` allows.
    #[error("no user namespace left: user.max_user_namespaces is {limit}")]
    Limit {
        /// The limit in force.
        limit: String,
    },
    /// Debian's switch `kernel.unprivileged_userns_clone` is 0.
    #[error("user namespaces are reserved to root by kernel.unprivileged_userns_clone = 0")]
    CloneSwitch,
    /// AppArmor gives unprivileged user namespaces no capabilities (Ubuntu since 23.10).
    #[error(
        "AppArmor takes the capabilities of user namespaces: kernel.apparmor_restrict_unprivileged_userns = 1"
    )]
    AppArmor,
    /// Refused for another reason: a container's seccomp filter, a chroot, a security module.
    #[error(
        "user namespaces are refused here (a container's seccomp filter or a security module?): {0}; --world virtual needs none"
    )]
    Refused(#[source] io::Error),
    /// This kernel is built without CONFIG_USER_NS.
    #[error("this kernel has no user namespaces")]
    Missing,
    /// The namespace was made, but its id maps could not be written.
    #[error("cannot write {path}: {source}")]
    Map {
        /// The file under `/proc/self`.
        path: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
}

impl UserNamespaceError {
    /// The command that fixes it, to be run as root.
    pub fn fix(&self) -> Option<String> {
        let command = match self {
            Self::Limit { .. } => "sysctl -w user.max_user_namespaces=15000",
            Self::CloneSwitch => "sysctl -w kernel.unprivileged_userns_clone=1",
            Self::AppArmor => "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
            // Root that comes here lacks a capability.
            Self::Refused(_) | Self::Missing if geteuid().is_root() => {
                "run outside the container, or give it CAP_SYS_ADMIN and CAP_NET_ADMIN, or --security-opt seccomp=unconfined"
            }
            Self::Refused(_) | Self::Missing => {
                "run as root, outside the container, or start it with --security-opt seccomp=unconfined"
            }
            Self::Threads(_) | Self::Map { .. } => return None,
        };
        Some(command.to_owned())
    }
}

/// Moves the process into a new user namespace, with the caller's own ids.
///
/// Root does not need it.
///
/// # Errors
///
/// The process has several threads, or this system does not let the caller do it.
pub fn enter() -> Result<(), UserNamespaceError> {
    threads::require_one()?;
    let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
    // SAFETY: NEWUSER changes credentials only; the table of file descriptors is not unshared.
    unsafe { unshare_unsafe(UnshareFlags::NEWUSER) }
        .map_err(|errno| explain(errno, &Switches::of_this_kernel()))?;
    // An unprivileged writer must give up setgroups(2) before it may map a group.
    write_map("/proc/self/setgroups", "deny")?;
    write_map("/proc/self/uid_map", &format!("{uid} {uid} 1"))?;
    write_map("/proc/self/gid_map", &format!("{gid} {gid} 1"))
}

/// Whether [`enter`] would work and give rights over a network, tried in a child process that ends at once.
pub fn check() -> Result<(), UserNamespaceError> {
    /// What the child answers when only its second step was refused; above every errno that unshare(2) gives.
    const NO_RIGHTS_INSIDE: i32 = 200;
    // SAFETY: the child of a possibly threaded process calls nothing but unshare and _exit, both async-signal-safe.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: as above; *__errno_location is this thread's own.
        unsafe {
            let answer = if libc::unshare(libc::CLONE_NEWUSER) != 0 {
                *libc::__errno_location()
            } else if libc::unshare(libc::CLONE_NEWNET) != 0 {
                NO_RIGHTS_INSIDE
            } else {
                0
            };
            libc::_exit(answer)
        }
    }
    if child < 0 {
        return Err(UserNamespaceError::Refused(io::Error::last_os_error()));
    }
    let mut status = 0;
    // SAFETY: waits for the child made above, into a local variable.
    while unsafe { libc::waitpid(child, &mut status, 0) } < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(UserNamespaceError::Refused(error));
        }
    }
    match (libc::WIFEXITED(status), libc::WEXITSTATUS(status)) {
        (true, 0) => Ok(()),
        (true, NO_RIGHTS_INSIDE) | (false, _) => {
            Err(explain(Errno::PERM, &Switches::of_this_kernel()))
        }
        (true, errno) => Err(explain(
            Errno::from_raw_os_error(errno),
            &Switches::of_this_kernel(),
        )),
    }
}

fn write_map(path: &'static str, text: &str) -> Result<(), UserNamespaceError> {
    fs::write(path, text).map_err(
        |source| match Switches::of_this_kernel().apparmor.as_str() {
            "1" if source.kind() == io::ErrorKind::PermissionDenied => UserNamespaceError::AppArmor,
            _ => UserNamespaceError::Map { path, source },
        },
    )
}

/// The switches that forbid user namespaces; empty where the kernel has no such switch.
struct Switches {
    limit: String,
    clone: String,
    apparmor: String,
}

impl Switches {
    fn of_this_kernel() -> Self {
        let read = |path| {
            fs::read_to_string(path)
                .map(|text| text.trim().to_owned())
                .unwrap_or_default()
        };
        Self {
            limit: read("/proc/sys/user/max_user_namespaces"),
            clone: read("/proc/sys/kernel/unprivileged_userns_clone"),
            apparmor: read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
        }
    }
}

fn explain(errno: Errno, switches: &Switches) -> UserNamespaceError {
    match errno {
        Errno::NOSPC | Errno::USERS => UserNamespaceError::Limit {
            limit: switches.limit.clone(),
        },
        Errno::PERM | Errno::ACCESS if switches.clone == "0" => UserNamespaceError::CloneSwitch,
        Errno::PERM | Errno::ACCESS if switches.apparmor == "1" => UserNamespaceError::AppArmor,
        Errno::INVAL | Errno::NOSYS => UserNamespaceError::Missing,
        errno => UserNamespaceError::Refused(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn switches(clone: &str, apparmor: &str) -> Switches {
        Switches {
            limit: "0".into(),
            clone: clone.into(),
            apparmor: apparmor.into(),
        }
    }

    #[test]
    fn each_way_of_forbidding_names_its_own_command() {
        let cases = [
            (Errno::NOSPC, switches("", ""), "user.max_user_namespaces="),
            (
                Errno::PERM,
                switches("0", ""),
                "kernel.unprivileged_userns_clone=1",
            ),
            (
                Errno::PERM,
                switches("1", "1"),
                "kernel.apparmor_restrict_unprivileged_userns=0",
            ),
            (Errno::PERM, switches("", ""), "outside the container"),
        ];
        for (errno, switches, command) in cases {
            let error = explain(errno, &switches);
            assert!(error.fix().unwrap().contains(command), "{error}");
        }
        // Nobody who is root is told to become root.
        let fix = explain(Errno::PERM, &switches("", "")).fix().unwrap();
        assert_eq!(fix.contains("as root"), !geteuid().is_root(), "{fix}");
    }

    #[test]
    fn a_process_with_several_threads_is_refused() {
        // The test runs beside the harness's own thread.
        let here = std::thread::spawn(enter).join().unwrap();
        assert!(
            matches!(
                here,
                Err(UserNamespaceError::Threads(crate::confine::Error::Threads(
                    _
                )))
            ),
            "{here:?}"
        );
    }
}
