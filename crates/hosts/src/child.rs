//! A copy of this process that continues on its own: fork(2) without another program.
//!
//! Only a process with a single thread may be copied so: locks that other threads held would never be free again in the copy.
//! A user namespace can be entered under the same condition, so both come first in a program.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::confine::threads;
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, kill_process, pidfd_open,
    set_dumpable_behavior, waitpid,
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

/// The signals by which a terminal or a service manager ends a process.
const ENDING: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// What this process did about the signals that end it, before it left them to others.
#[derive(Debug, Clone, Copy)]
pub struct Answered([libc::sighandler_t; ENDING.len()]);

impl Answered {
    /// Does it again, in a copy that becomes a program: what is ignored stays so behind exec, as under nohup(1).
    pub fn again(&self) {
        for (signal, handler) in ENDING.into_iter().zip(self.0) {
            // SAFETY: the handler is one that this program had; behind exec, what is handled does what it does by default.
            unsafe { libc::signal(signal, handler) };
        }
    }
}

/// Ignores the signals by which a terminal or a service manager ends a process; other processes answer them.
pub fn leave_signals_to_others() -> Answered {
    // SAFETY: no handler runs: the signal is ignored.
    Answered(ENDING.map(|signal| unsafe { libc::signal(signal, libc::SIG_IGN) }))
}

/// Lets these signals do what they do by default, for a copy that becomes a program: what is ignored stays so behind exec.
pub fn heed_signals_again() {
    for signal in ENDING {
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

/// Closes every descriptor but these, the standard ones too, in a copy that goes on with them alone: no file, pipe or socket of the caller's must
/// seem open because of it.
pub fn close_all_but(kept: &[BorrowedFd<'_>]) {
    let mut kept: Vec<libc::c_uint> = kept.iter().map(|fd| fd.as_raw_fd() as _).collect();
    kept.sort_unstable();
    let mut first = 0;
    for last in kept.into_iter().map(Some).chain([None]) {
        let end = last.map_or(Some(libc::c_uint::MAX), |own| own.checked_sub(1));
        if let Some(end) = end.filter(|end| first <= *end) {
            // SAFETY: nothing that the copy still does uses a descriptor of this range.
            let _ = unsafe { libc::syscall(libc::SYS_close_range, first, end, 0) };
        }
        first = last.map_or(first, |own| own + 1);
    }
}

/// Lets no other process of this user trace this one or read its memory (PR_SET_DUMPABLE), for as long as it executes no other program.
pub fn keep_out_of_sight() {
    // Where it fails, others of the same user may, as with any process.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// A descriptor that can be read once a child has ended, in a process with one thread that makes no further copies: the signal is blocked.
///
/// # Errors
///
/// The system has no room for another descriptor.
pub fn watch_children() -> io::Result<OwnedFd> {
    // SAFETY: the set is filled before it is read, and the new descriptor is nobody else's.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGCHLD);
        libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
        match libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
            descriptor @ 0.. => Ok(OwnedFd::from_raw_fd(descriptor)),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Empties what [`watch_children`] gave, before the ends are taken.
pub fn forget_ends(children: &OwnedFd) {
    let mut record = [0; size_of::<libc::signalfd_siginfo>()];
    while matches!(rustix::io::read(children, &mut record), Ok(1..)) {}
}

/// Sends a signal to every process that this one may signal, but itself: for the first process of its ids, all others with such ids.
///
/// # Errors
///
/// There is nobody else, or none of them may be signalled.
pub fn signal_everybody(signal: Signal) -> rustix::io::Result<()> {
    if !rustix::process::getpid().is_init() {
        return Err(rustix::io::Errno::PERM);
    }
    // SAFETY: kill(2) touches no memory of this process.
    match unsafe { libc::kill(-1, signal.as_raw()) } {
        0 => Ok(()),
        _ => Err(rustix::io::Errno::SRCH),
    }
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
