//! The command line of quell, with GAIMD among its controls.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    quell::main_with(own_control::extensions())
}
