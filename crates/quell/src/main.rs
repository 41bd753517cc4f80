//! The program `quell`: the command line with the kinds of this project and no others.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    quell::main()
}
