//! A copy of this process that continues on its own: fork(2) without another program.
//!
//! Only a process with a single thread may be copied so: locks that other threads held would never be free again in the copy.
//! A user namespace can be entered under the same condition, so both come first in a program.

use std::io;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};

use quell_confine::threads;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, kill_process, pidfd_open, waitpid,
};

use crate::Result;
use crate::error::Doing as _;

/// A copy of this process. Nobody ends it when this value is dropped.
#[derive(Debug)]
pub struct Child {
    id: Pid,
}

/// Copies this process; the copy does `work` and exits with what it returns, or 101 if it panics, as programs do.
///
/// # Errors
///
/// There is another thread, or the system has no room for another process.
pub fn fork(work: impl FnOnce() -> u8) -> Result<Child> {
    threads::require_one()?;
    // SAFETY: this thread is the only one, and nobody but itself starts others; so in the copy too every lock is free, and all
    // memory is as this thread left it.
    match unsafe { libc::fork() } {
        0 => {
            let code = catch_unwind(AssertUnwindSafe(work)).unwrap_or(101);
            std::process::exit(i32::from(code))
        }
        id => match Pid::from_raw(id) {
            Some(id) if id.as_raw_nonzero().get() > 0 => Ok(Child { id }),
            _ => Err(io::Error::last_os_error()).doing(|| "copy this process"),
        },
    }
}

/// Ignores the signals by which a terminal or a service manager ends a process; other processes answer them.
pub fn leave_signals_to_others() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
        // SAFETY: no handler runs: the signal is ignored.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Undoes [`leave_signals_to_others`], for a copy that becomes a program: what is ignored stays so behind exec.
pub fn heed_signals_again() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
        // SAFETY: no handler runs: the signal does what it does by default.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Ignores the keys by which a terminal ends the program in front (Ctrl-C and Ctrl-backslash): another process of its group answers them.
pub fn leave_keys_to_others() {
    for signal in [libc::SIGINT, libc::SIGQUIT] {
        // SAFETY: no handler runs: the signal is ignored.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Closes every descriptor, the standard ones too, in a copy that goes on without any: no file, pipe or socket of the caller's must seem open
/// because of it.
pub fn close_everything() {
    // SAFETY: nothing that the copy still does uses a descriptor.
    let _ = unsafe { libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0) };
}

impl Child {
    /// Its process id.
    pub fn id(&self) -> Pid {
        self.id
    }

    /// A descriptor that can be read once it has ended.
    pub fn descriptor(&self) -> io::Result<OwnedFd> {
        Ok(pidfd_open(self.id, PidfdFlags::empty())?)
    }

    /// Ends it at once.
    pub fn kill(&self) {
        // It may have ended by itself, which is as good. Its number is nobody else's before it has been waited for.
        let _ = kill_process(self.id, Signal::KILL);
    }

    /// Waits for its end, once; gives its exit code, or 128 and the signal that ended it.
    pub fn wait(&self) -> io::Result<u8> {
        loop {
            match waitpid(Some(self.id), WaitOptions::empty()) {
                Ok(Some((_, status))) => return Ok(code(status)),
                Ok(None) | Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}

/// What a shell would report.
pub fn code(status: WaitStatus) -> u8 {
    let signal = status.terminating_signal().map(|signal| 128 + signal);
    status
        .exit_status()
        .or(signal)
        .and_then(|code| u8::try_from(code).ok())
        .unwrap_or(u8::MAX)
}
