//! Asks an executable file whether it is a user-mode kernel, and what it supports.
//!
//! Every user-mode kernel answers `--version`, `--showconfig` and `--help` and ends (arch/um/kernel/um_arch.c, config.c.in).
//! Anything else is not started: a kernel carries the sentence of its `--help`. It is still a program of
//! somebody else, so it is asked without any right: no capability, no file to write, no network, and as another user if root
//! asks.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::panic::resume_unwind;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use quell_hosts::confine::capabilities::{CapabilitySet, effective, keep_only};
use quell_hosts::confine::landlock::{Outside, write_only_beneath};
use quell_hosts::confine::user::{NOBODY, become_user};
use rustix::fs::Access;
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::geteuid;

use crate::machine::launch::by_descriptor;
use crate::process::{self, command, output};
use crate::{Error, Reason, Result};

/// In every user-mode kernel (arch/um/kernel/um_arch.c, `usage_string`).
const SIGN: &[u8] = b"User Mode Linux v";
/// How long a kernel may take to answer.
const LIMIT: Duration = Duration::from_secs(20);

/// The answers of a user-mode kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Inspected {
    /// `7.2.13`.
    pub(crate) version: String,
    /// The whole configuration.
    pub(crate) config: String,
    /// Whether its clock can be simulated.
    pub(crate) time_travel: bool,
    /// Whether it can run processes under seccomp.
    pub(crate) seccomp: bool,
}

/// Asks the kernel at `path`.
///
/// # Errors
///
/// There is none, it is no user-mode kernel, or it does not run here.
pub(crate) fn inspect(path: &Path) -> Result<Inspected> {
    let shown = path.display();
    let refused = |why: Reason| {
        Err(Error::Refused(Reason {
            what: format!("{shown} {}", why.what),
            fix: why.fix,
        }))
    };
    let mut file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return refused("does not exist".into());
        }
        other => other.map_err(Error::at("read", path))?,
    };
    let metadata = file.metadata().map_err(Error::at("read", path))?;
    if metadata.is_dir() {
        return refused(Reason::with_fix(
            format!("is a folder; a kernel is one file: {shown}/linux?"),
            format!("quell kernel build --source {shown}, to build a source tree"),
        ));
    }
    if !metadata.is_file() || !contains(&mut file, SIGN).map_err(Error::at("read", path))? {
        return refused(Reason::with_fix(
            "is no user-mode kernel; that is the file `linux` of a build with ARCH=um (a bzImage or vmlinuz is for real \
             machines)",
            "quell kernel build",
        ));
    }
    if rustix::fs::access(path, Access::EXEC_OK).is_err() {
        return refused(Reason::with_fix(
            "is not executable",
            format!("chmod +x {shown}"),
        ));
    }
    // A script is read by the path that it is started by, so its descriptor stays open.
    fcntl_setfd(&file, FdFlags::empty()).map_err(|errno| Error::at("read", path)(errno.into()))?;
    let user = stranger(metadata.mode());
    let ask = |argument: &str| {
        let mut question = command(by_descriptor(&file));
        question.arg0(path).arg(argument);
        confined(&mut question, user).map_err(|error| {
            Error::failed(format!(
                "{shown} does not answer {argument}: {error}; it may have been built for another machine, or need libraries that \
                 this one lacks (ldd {shown})"
            ))
        })
    };
    let version = ask("--version")?;
    let config = ask("--showconfig")?;
    let help = ask("--help")?;
    let has = |line: &str| config.lines().any(|other| other == line);
    Ok(Inspected {
        version: version.trim().to_owned(),
        time_travel: has("CONFIG_UML_TIME_TRAVEL_SUPPORT=y"),
        seccomp: help.lines().any(|line| line.starts_with("seccomp=")),
        config,
    })
}

/// The user that a program of this mode is run as by root: one that has nothing, if that one may read and run it.
fn stranger(mode: u32) -> Option<u32> {
    let needed = CapabilitySet::SETUID | CapabilitySet::SETGID;
    let can_change = geteuid().is_root() && effective().is_ok_and(|has| has.contains(needed));
    (can_change && mode & 0o005 == 0o005).then_some(NOBODY)
}

/// The answer of `question`, which runs without any right.
fn confined(question: &mut Command, user: Option<u32>) -> Result<String> {
    let refused = |error: quell_hosts::confine::Error| {
        Error::failed(format!("cannot give up rights: {error}"))
    };
    // What this thread gives away is gone for what it starts, and for nobody else. It changes the user itself: a program that is
    // asked to change it on its way is handed to a shell where it is none (execvp(3)).
    let asking = || {
        if let Some(user) = user {
            become_user(user, user, true).map_err(refused)?;
        }
        keep_only(CapabilitySet::empty()).map_err(refused)?;
        write_only_beneath(&[Path::new("/dev/null")], Outside::Refused).map_err(refused)?;
        output(question, LIMIT)
    };
    thread::scope(|scope| {
        let thread = thread::Builder::new().spawn_scoped(scope, asking);
        let answer = thread.map_err(process::no_thread)?.join();
        answer.unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// Whether `sign` is anywhere in what `file` holds.
fn contains(file: &mut File, sign: &[u8]) -> std::io::Result<bool> {
    let mut window = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(false);
        }
        window.extend_from_slice(&buffer[..read]);
        if window.windows(sign.len()).any(|bytes| bytes == sign) {
            return Ok(true);
        }
        // The sign may lie across two reads.
        window.drain(..window.len().saturating_sub(sign.len() - 1));
    }
}
