//! `make parity`: see [`quell_experiment::validate::queues`].

use std::process::ExitCode;

fn main() -> ExitCode {
    quell_experiment::validate::queues::main()
}
