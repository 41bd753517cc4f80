//! Signals that do not end a run; [`crate::interrupt`] has those that do.
//!
//! A file that may not grow (`ulimit -f`) becomes a write error instead of the end of the process.

use std::fs;
use std::io;
use std::sync::Arc;

use signal_hook::consts::SIGXFSZ;
use signal_hook::flag;

/// A write to a file that has reached its limit fails with EFBIG (write(2)), once the signal has a handler.
pub(crate) fn let_limits_be_errors() -> io::Result<()> {
    flag::register(SIGXFSZ, Arc::default()).map(drop)
}

/// Whether this process was started with `signal` ignored: `SigIgn` of proc_pid_status(5), a mask in hexadecimal digits whose lowest
/// bit is signal 1.
pub(crate) fn is_ignored(signal: i32) -> bool {
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
