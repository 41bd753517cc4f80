//! `make parity`: see [`quell_validate::queues`].

use std::process::ExitCode;

fn main() -> ExitCode {
    quell_validate::queues::main()
}
