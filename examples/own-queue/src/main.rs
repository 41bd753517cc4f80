//! The command line of quell, with BLUE among its queues.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use own_queue::Blue;

fn main() -> ExitCode {
    quell::main_with(quell::extensions!().queue::<Blue>())
}
