//! The terminal that this process stands in front of.
//!
//! A shell with job control makes its own group the one in front, and gives the terminal back at its end. One with process ids of its own cannot:
//! the group that it came from has no number there. From tcsetpgrp(3) and pid_namespaces(7).

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;

use rustix::process::{Pid, getpgrp, test_kill_process_group};

/// The terminal of this process's session, in front of which its group was.
#[derive(Debug)]
pub struct Front {
    terminal: File,
}

impl Front {
    /// Of this process, if it is in front of a terminal.
    pub fn now() -> Option<Self> {
        let mut open = OpenOptions::new();
        let open = open.read(true).write(true).custom_flags(libc::O_NOCTTY);
        let terminal = open.open("/dev/tty").ok()?;
        let front = Self { terminal };
        (front.group() == Some(getpgrp())).then_some(front)
    }

    /// The group in front.
    fn group(&self) -> Option<Pid> {
        // SAFETY: tcgetpgrp(3) touches no memory of this process.
        Pid::from_raw(unsafe { libc::tcgetpgrp(self.terminal.as_raw_fd()) }.max(0))
    }

    /// Puts this process's group in front again where the one in front is gone. Another one that is there stays: a shell may have put this
    /// process into the background meanwhile.
    pub fn take_back(&self) {
        let own = getpgrp();
        match self.group() {
            Some(front) if front != own && test_kill_process_group(front).is_err() => {}
            _ => return,
        }
        // SAFETY: no handler runs: the signal, which stops a group in the background that changes the terminal, is ignored meanwhile, and then
        // does what it did. tcsetpgrp(3) touches no memory of this process.
        unsafe {
            let before = libc::signal(libc::SIGTTOU, libc::SIG_IGN);
            libc::tcsetpgrp(self.terminal.as_raw_fd(), own.as_raw_nonzero().get());
            libc::signal(libc::SIGTTOU, before);
        }
    }
}
