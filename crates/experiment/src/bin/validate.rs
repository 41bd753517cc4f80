//! `make validate` and `make validate-grid`: see [`quell_experiment::validate::worlds`].

use std::process::ExitCode;

fn main() -> ExitCode {
    quell_experiment::validate::worlds::main()
}
