//! From a process of ours to the kernel: what can only be asked for by the process itself.
//!
//! Runs between fork and the kernel, as a program of its own, so that nothing unsafe is needed: a process group of its own
//! (setpgid(2)), death with the parent (prctl(2), PR_SET_PDEATHSIG; it survives execve(2)), no core dumps, and a seccomp filter
//! that answers getrandom(2) with ENOSYS. The kernel stirs the host's random bytes into its own pool at start
//! (arch/um/include/asm/archrandom.h); without them it begins with an empty pool, and what its first process adds decides
//! everything random inside. C libraries fall back to the clock and addresses where they only wanted to be hard to guess.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::process::{
    Resource, Rlimit, Signal, getppid, set_parent_process_death_signal, setpgid, setrlimit,
};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};

/// Becomes the kernel `words` says: its path, then its arguments. Returns only if that failed.
pub fn become_kernel(mut words: impl Iterator<Item = OsString>) -> io::Error {
    let Some(kernel) = words.next() else {
        return io::Error::new(io::ErrorKind::InvalidInput, "which kernel?");
    };
    if let Err(error) = prepare() {
        return error;
    }
    Command::new(kernel).args(words).exec()
}

fn prepare() -> io::Result<()> {
    setpgid(None, None)?;
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // Whoever died before the line above cannot tell us any more.
    if getppid().is_none_or(|parent| parent.is_init()) {
        return Err(io::Error::other("who started this kernel is gone"));
    }
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    setrlimit(Resource::Core, none)?;
    apply_filter(&without_host_randomness()?).map_err(io::Error::other)
}

/// getrandom(2) does not exist, everything else does.
fn without_host_randomness() -> io::Result<BpfProgram> {
    let architecture = std::env::consts::ARCH
        .try_into()
        .map_err(io::Error::other)?;
    let number = libc::SYS_getrandom;
    let filter = SeccompFilter::new(
        [(number, Vec::new())].into_iter().collect(),
        SeccompAction::Allow,
        SeccompAction::Errno(libc::ENOSYS as u32),
        architecture,
    );
    filter.and_then(TryInto::try_into).map_err(io::Error::other)
}
