//! Anonymous network namespaces, held by a file descriptor and by nothing else.
//!
//! From namespaces(7) and setns(2). `ip netns` pins its namespaces by bind mounts, which outlive their maker; here no name is
//! made, so the kernel takes a namespace with everything in it as soon as its last descriptor, thread and socket are gone:
//! also after kill -9. Descriptors are close-on-exec: a program started by us does not keep a namespace alive by accident.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::panic::resume_unwind;
use std::path::Path;
use std::thread;

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

/// Gives the process mounts of its own: what it mounts from now on, once it has made them private, nobody else sees.
///
/// Needs CAP_SYS_ADMIN.
pub fn own_mounts() -> io::Result<()> {
    // SAFETY: NEWNS changes which mounts this thread sees, and its own working folder; its table of file descriptors stays shared.
    Ok(unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?)
}

/// A network namespace.
#[derive(Debug)]
pub struct Namespace {
    fd: OwnedFd,
}

impl Namespace {
    /// Makes an empty namespace; the calling thread stays where it is.
    ///
    /// Fails with `PermissionDenied` without CAP_SYS_ADMIN: see [`crate::user_namespace::enter`].
    pub fn new() -> io::Result<Self> {
        on_a_fresh_thread(|| {
            // SAFETY: NEWNET changes only which network this thread sees; its table of file descriptors stays shared.
            unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?;
            Self::current()
        })?
    }

    /// The namespace of the calling thread.
    pub fn current() -> io::Result<Self> {
        Ok(Self {
            fd: File::open("/proc/thread-self/ns/net")?.into(),
        })
    }

    /// The namespace of the first thread of another process, which belongs to the caller.
    pub fn of_process(process: rustix::process::Pid) -> io::Result<Self> {
        let path = format!("/proc/{}/ns/net", process.as_raw_nonzero());
        Ok(Self {
            fd: File::open(path)?.into(),
        })
    }

    /// The namespace that a file leads to, such as `/run/netns/NAME`. A file of something else cannot be entered.
    pub fn at(path: &Path) -> io::Result<Self> {
        Ok(Self {
            fd: File::open(path)?.into(),
        })
    }

    /// Another descriptor of the same namespace.
    pub fn clone_of(other: &Self) -> io::Result<Self> {
        let fd = other.fd.try_clone()?;
        Ok(Self { fd })
    }

    /// Moves the calling thread into this namespace, for good. Sockets opened before stay in theirs.
    ///
    /// Needs CAP_SYS_ADMIN, so it comes before [`crate::confine::capabilities::drop_to_network`].
    pub fn enter(&self) -> io::Result<()> {
        Ok(move_into_link_name_space(
            self.fd.as_fd(),
            Some(LinkNameSpaceType::Network),
        )?)
    }

    /// Runs `f` on a fresh thread inside this namespace and returns its result; a panic of `f` is passed on.
    ///
    /// A thread of its own, because a thread that came back would need the right to return to where it was.
    pub fn run<R: Send>(&self, f: impl FnOnce() -> R + Send) -> io::Result<R> {
        on_a_fresh_thread(|| {
            self.enter()?;
            Ok(f())
        })?
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn on_a_fresh_thread<R: Send>(f: impl FnOnce() -> R + Send) -> io::Result<R> {
    thread::scope(|scope| {
        let thread = thread::Builder::new()
            .name("quell-netns".into())
            .spawn_scoped(scope, f)?;
        Ok(thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}
