//! Turns a process of ours into the kernel: the settings that only the process itself can make.
//!
//! Runs between fork and the kernel, as a program of its own, so that nothing unsafe is needed. In this order:
//!
//! 1. The image is opened, compared with its SHA-256, and started from the same open file at the end.
//! 2. If root starts it: mounts of its own, through which it reaches what it needs, and a user of its own ([`GuestUser`]).
//! 3. No capability, in any set; no_new_privs; Landlock, so that it writes in its folders only and talks to nobody outside.
//! 4. A process group of its own (setpgid(2)), death with the parent (prctl(2), PR_SET_PDEATHSIG; it survives execve(2), but no
//!    change of the user), no core dumps.
//! 5. A seccomp filter that answers getrandom(2) with ENOSYS. The kernel stirs the host's random bytes into its own pool at
//!    start (arch/um/include/asm/archrandom.h); without them it begins with an empty pool, and what its first process adds
//!    decides everything random inside. C libraries fall back to the clock and addresses where they only wanted to be hard to
//!    guess.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use quell_hosts::confine::capabilities::{CapabilitySet, keep_only};
use quell_hosts::confine::landlock::{Enforced, Outside, write_only_beneath};
use quell_hosts::confine::user::become_user;
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::mount::{MountFlags, MountPropagationFlags, mount_bind, mount_change, mount_remount};
use rustix::process::{
    Resource, Rlimit, Signal, getppid, set_parent_process_death_signal, setpgid, setrlimit,
};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, apply_filter,
};
use serde::{Deserialize, Serialize};

use super::processor;
use crate::hash;
use crate::held::{Held, Identity};

/// A user for a kernel that root starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestUser {
    /// User and group id.
    pub id: u32,
    /// A file that it may read, and the existing path over which it is mounted: only root may be able to reach the first.
    pub file: (PathBuf, PathBuf),
    /// The same for a folder, which must be the one of this identity.
    pub folder: (PathBuf, PathBuf),
    /// Of the folder.
    pub identity: Identity,
}

/// The order for the program that becomes the kernel, as JSON in its first word.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Launch {
    pub(super) kernel: PathBuf,
    /// SHA-256 of the image; empty if it is not known.
    pub(super) sha256: String,
    /// The process that starts it.
    pub(super) parent: u32,
    /// The only processor that it runs on.
    pub(super) processor: Option<usize>,
    /// Whether it gets [narrow registers](super::registers).
    pub(super) narrow: bool,
    pub(super) user: Option<GuestUser>,
    /// The folders that it may write in, and what they must be.
    pub(super) writable: Vec<(PathBuf, Identity)>,
}

/// `PTRACE_GETREGSET` of include/uapi/linux/ptrace.h and `NT_X86_XSTATE` of include/uapi/linux/elf.h.
const GET_REGISTER_SET: u64 = 0x4204;
const EXTENDED_STATE: u64 = 0x202;

/// Why this process did not become a kernel.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The first word does not say which kernel and how.
    #[error("the first argument does not say which kernel")]
    WhichKernel,
    /// The system refused something.
    #[error("cannot {doing}: {source}")]
    System {
        /// What was asked, as the end of "cannot …".
        doing: &'static str,
        /// The answer.
        source: io::Error,
    },
    /// The image is not the one that is in the store.
    #[error("the image has changed since it was put into the store")]
    Changed,
    /// The process that started this one has ended.
    #[error("the process that started this kernel is gone")]
    Orphaned,
    /// A right could not be given away.
    #[error(transparent)]
    Rights(#[from] quell_hosts::confine::Error),
    /// The filter of system calls could not be made or applied.
    #[error("cannot filter system calls: {0}")]
    Filter(#[from] seccompiler::Error),
}

fn cannot<E: Into<io::Error>>(doing: &'static str) -> impl FnOnce(E) -> LaunchError {
    move |source| LaunchError::System {
        doing,
        source: source.into(),
    }
}

/// Becomes the kernel that `words` describe: how to start it, then its arguments. Returns only if that failed. `own_mounts`
/// gives this process a mount namespace of its own (unshare(2), CLONE_NEWNS).
pub fn become_kernel(
    mut words: impl Iterator<Item = OsString>,
    own_mounts: impl FnOnce() -> io::Result<()>,
) -> LaunchError {
    let launch: Option<Launch> = words
        .next()
        .and_then(|word| serde_json::from_str(word.to_str()?).ok());
    let Some(launch) = launch else {
        return LaunchError::WhichKernel;
    };
    match prepare(&launch, own_mounts) {
        Err(error) => error,
        // Not by its path: that leads where its user may not come, and to another file by now perhaps.
        Ok(image) => {
            let refused = Command::new(by_descriptor(&image))
                .arg0(&launch.kernel)
                .args(words)
                .exec();
            cannot("start the image")(refused)
        }
    }
}

/// The path by which this process, and what it becomes, reaches an open file.
pub(crate) fn by_descriptor(file: &File) -> PathBuf {
    Path::new("/proc/self/fd").join(file.as_raw_fd().to_string())
}

fn prepare(
    launch: &Launch,
    own_mounts: impl FnOnce() -> io::Result<()>,
) -> Result<File, LaunchError> {
    if let Some(processor) = launch.processor {
        // Slower without, and as right.
        let _ = processor::keep_to(processor);
    }
    let image = open(&launch.kernel, &launch.sha256)?;
    if let Some(user) = &launch.user {
        own_mounts().map_err(cannot("make a mount namespace"))?;
        mount_change(
            "/",
            MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
        )
        .map_err(cannot("keep mounts private"))?;
        let (from, to) = &user.file;
        mount_bind(from, to).map_err(cannot("mount"))?;
        // A program is there to be run.
        let only_read = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID;
        mount_remount(to, only_read, "").map_err(cannot("mount read-only"))?;
        let (from, to) = &user.folder;
        let from = Held::open_same(from, user.identity).map_err(cannot("open the result"))?;
        mount_bind(from.path(), to).map_err(cannot("mount"))?;
        become_user(user.id, user.id, true)?;
    }
    keep_only(CapabilitySet::empty())?;
    confine(&launch.writable)?;
    setpgid(None, None).map_err(cannot("make a process group"))?;
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(cannot("die with the parent"))?;
    // A parent that died before the line above sends no signal any more; whoever takes in orphans is our parent then. Only the
    // one that started us has this number: if it is the first process, that is 1.
    let parent = getppid().map_or(0, |parent| parent.as_raw_nonzero().get().unsigned_abs());
    if parent != launch.parent {
        return Err(LaunchError::Orphaned);
    }
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    setrlimit(Resource::Core, none).map_err(cannot("forbid core dumps"))?;
    let filter = filter(launch.narrow).map_err(seccompiler::Error::from)?;
    apply_filter(&filter)?;
    Ok(image)
}

/// The image, if it is the one that it should be. It stays open in what this process becomes: a script is read by its path.
fn open(kernel: &Path, sha256: &str) -> Result<File, LaunchError> {
    let image = File::open(kernel).map_err(cannot("open the image"))?;
    if !sha256.is_empty() && hash::of(&image).map_err(cannot("read the image"))? != sha256 {
        return Err(LaunchError::Changed);
    }
    fcntl_setfd(image.as_fd(), FdFlags::empty()).map_err(cannot("keep the image open"))?;
    Ok(image)
}

fn confine(writable: &[(PathBuf, Identity)]) -> Result<(), LaunchError> {
    let open = |(path, identity): &(PathBuf, Identity)| Held::open_same(path, *identity);
    let held: io::Result<Vec<Held>> = writable.iter().map(open).collect();
    let held = held.map_err(cannot("open what it may write"))?;
    let mut paths: Vec<PathBuf> = held.iter().map(Held::path).collect();
    // Consoles that lead nowhere open it for writing.
    paths.push("/dev/null".into());
    let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
    let enforced = write_only_beneath(&paths, Outside::Refused)?;
    if enforced == Enforced::Not {
        // Into the kernel's messages.
        eprintln!("quell: this host has no Landlock: the kernel may write what its user may");
    }
    Ok(())
}

/// getrandom(2) does not exist; nor does, with narrow registers, the request for all of a process's registers. Everything
/// else does.
fn filter(narrow: bool) -> Result<BpfProgram, BackendError> {
    let mut absent = BTreeMap::from([(libc::SYS_getrandom, Vec::new())]);
    if narrow {
        let is = |argument, value| {
            let whole = SeccompCmpArgLen::Qword;
            SeccompCondition::new(argument, whole, SeccompCmpOp::Eq, value)
        };
        let rule = SeccompRule::new(vec![is(0, GET_REGISTER_SET)?, is(2, EXTENDED_STATE)?])?;
        absent.insert(libc::SYS_ptrace, vec![rule]);
    }
    let filter = SeccompFilter::new(
        absent,
        SeccompAction::Allow,
        SeccompAction::Errno(libc::ENOSYS as u32),
        std::env::consts::ARCH.try_into()?,
    )?;
    filter.try_into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_can_be_built_either_way_and_is_longer_with_narrow_registers() {
        let lengths = [false, true].map(|narrow| filter(narrow).unwrap().len());
        assert!(lengths[0] > 3 && lengths[1] > lengths[0], "{lengths:?}");
    }
}
