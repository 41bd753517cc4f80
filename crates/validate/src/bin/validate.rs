//! `make validate` and `make validate-grid`: see [`quell_validate::worlds`].

use std::process::ExitCode;

fn main() -> ExitCode {
    quell_validate::worlds::main()
}
