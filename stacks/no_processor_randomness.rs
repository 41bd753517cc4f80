//! Starts a program that uses aws-lc again without the processor's random numbers, so that a run in virtual time repeats.

use std::os::unix::process::CommandExt;
use std::{env, io, process::Command};

/// What aws-lc shall not use of the processor.
const CAPABILITIES: &str = "OPENSSL_ia32cap";

/// To be called first; comes back where the program has been started again.
pub fn start() -> io::Result<()> {
    if env::var_os(CAPABILITIES).is_some() {
        return Ok(());
    }
    let mut again = Command::new(env::current_exe()?);
    // RDRAND.
    again.env(CAPABILITIES, "~0x4000000000000000");
    Err(again.args(env::args_os().skip(1)).exec())
}
