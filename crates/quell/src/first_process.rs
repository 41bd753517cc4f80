//! quell as the first process of a container.
//!
//! The first process of a process-id namespace is special in three ways (pid_namespaces(7), signal(7)): signals without a handler
//! do nothing to it, so Ctrl-C and `docker stop` would have no effect before a run has begun; it inherits every process whose
//! parent has ended, and must wait for them; and when it ends, all others are killed. So there the work is done by a child, in a
//! process group of its own that owns the terminal, and the first process passes signals on to it, waits for whoever ends,
//! and ends as the child does.

use std::error::Error;
use std::io;

use quell_hosts::child::{self, Child};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, setpgid, wait};
use rustix::termios::{isatty, tcsetpgrp};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;

/// The signals that are passed on.
const PASSED_ON: [(i32, Signal); 6] = [
    (SIGHUP, Signal::HUP),
    (SIGINT, Signal::INT),
    (SIGQUIT, Signal::QUIT),
    (SIGTERM, Signal::TERM),
    (SIGUSR1, Signal::USR1),
    (SIGUSR2, Signal::USR2),
];

/// True in the first process of a container. A guest of the virtual world is handled earlier.
pub(crate) fn is_first() -> bool {
    rustix::process::getpid().is_init()
}

/// Does `work` in a child; returns its exit code.
pub(crate) fn look_after(work: impl FnOnce() -> u8) -> Result<u8, Box<dyn Error>> {
    let child = child::fork(|| {
        // Signals of the terminal reach it once, and not again from here.
        let _ = setpgid(None, None);
        work()
    })?;
    let _ = setpgid(Some(child.id()), Some(child.id()));
    let stdin = io::stdin();
    if isatty(&stdin) {
        // Without, the child could not read from it; it need not.
        let _ = tcsetpgrp(&stdin, child.id());
    }
    let mut signals = Signals::new(PASSED_ON.map(|(number, _)| number).iter().chain(&[SIGCHLD]))?;
    // One that ended before this line sent its signal to nobody.
    if let Some(code) = reap(&child)? {
        return Ok(code);
    }
    for signal in signals.forever() {
        if signal == SIGCHLD {
            if let Some(code) = reap(&child)? {
                return Ok(code);
            }
        } else if let Some((_, signal)) = PASSED_ON.into_iter().find(|one| one.0 == signal) {
            // It may be ending just now.
            let _ = kill_process(child.id(), signal);
        }
    }
    Ok(1)
}

/// Waits for all processes that have ended; returns the exit code of `child` if it is one of them.
fn reap(child: &Child) -> io::Result<Option<u8>> {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((id, status))) if is(id, child) => return Ok(Some(child::code(status))),
            Ok(Some(_)) => {}
            Ok(None) => return Ok(None),
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

fn is(id: Pid, child: &Child) -> bool {
    id == child.id()
}
