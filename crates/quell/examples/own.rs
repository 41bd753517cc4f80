//! quell with the kinds of `examples/own-queue` and `examples/own-control`, for the tests of this crate.
#![forbid(unsafe_code)]

#[path = "../../../examples/own-queue/src/blue.rs"]
#[allow(unreachable_pub, reason = "public in its own crate")]
mod blue;
#[path = "../../../examples/own-control/src/gaimd.rs"]
#[allow(unreachable_pub, reason = "public in its own crate")]
mod gaimd;

use std::process::ExitCode;

fn main() -> ExitCode {
    let extensions = quell::extensions!();
    quell::main_with(extensions.queue::<blue::Blue>().control::<gaimd::Gaimd>())
}
