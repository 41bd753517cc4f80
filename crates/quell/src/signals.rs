//! What ends a run early, and what does not.
//!
//! The first SIGINT, SIGTERM or SIGHUP (a terminal that was closed) asks a run to end and to keep what it measured; a second SIGINT
//! or SIGTERM ends the process. A shell passes a hangup on once more than the terminal does, so a second one of those does nothing. A
//! file that may not grow (`ulimit -f`) is an error of writing it, and not the end of the process.

use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;

/// Set by the first signal that asks for the end.
pub(crate) fn stop_when_asked() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the second signal finds the flag set by the first.
        flag::register_conditional_shutdown(signal, 128 + signal, stop.clone())?;
        flag::register(signal, stop.clone())?;
    }
    // nohup(1) starts a program with the signal ignored, and means it.
    if !is_ignored(SIGHUP) {
        flag::register(SIGHUP, stop.clone())?;
    }
    Ok(stop)
}

/// A write to a file that has reached its limit fails with EFBIG (write(2)), once the signal has a handler.
pub(crate) fn let_limits_be_errors() -> io::Result<()> {
    flag::register(SIGXFSZ, Arc::default()).map(drop)
}

/// `SigIgn` of proc_pid_status(5): a mask in hexadecimal digits, the lowest bit for signal 1.
fn is_ignored(signal: i32) -> bool {
    let ignored = || {
        let status = fs::read_to_string("/proc/self/status").ok()?;
        let mask = status
            .lines()
            .find_map(|line| line.strip_prefix("SigIgn:"))?;
        let mask = u64::from_str_radix(mask.trim(), 16).ok()?;
        Some(mask >> (signal - 1) & 1 == 1)
    };
    ignored().unwrap_or(false)
}
