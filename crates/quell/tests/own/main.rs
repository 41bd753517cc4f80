//! Kinds of other crates: those of `examples`, in quell's own build. What they are in a workspace of their own is in [`outside`].

#[path = "../../../../examples/own-queue/src/blue.rs"]
#[allow(unreachable_pub, dead_code, reason = "public in its own crate")]
mod blue;
#[path = "../../../../examples/own-control/src/gaimd.rs"]
#[allow(unreachable_pub, dead_code, reason = "public in its own crate")]
mod gaimd;

mod commands;
mod outside;
mod refused;

mod queue {
    quell_laws::queue_laws!(crate::own::blue::Blue);
}
mod control {
    quell_laws::control_laws!(crate::own::gaimd::Gaimd);
}

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The repository.
fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Set in the process that registers.
const REGISTERS: &str = "QUELL_TEST_REGISTERS";

/// Kinds are registered once, before anything asks for one: that is a process of its own, which runs this test alone.
#[test]
fn a_registered_control_keeps_its_scripts() {
    if env::var_os(REGISTERS).is_some() {
        return registers();
    }
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", "own::a_registered_control_keeps_its_scripts"])
        .env(REGISTERS, "")
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    let passed = output.status.success() && printed.contains("1 passed");
    assert!(
        passed,
        "{printed}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn registers() {
    let extensions = quell::extensions!().control::<gaimd::Gaimd>();
    extensions.install().unwrap();
    quell_replay::model_keeps(&project().join("examples/own-control/scripts"));
    let again = quell::extensions!().install();
    assert_eq!(again, Err(quell_units::OriginError::Late));
}
