//! Kinds of other crates: those of `examples`, in quell's own build. What they are in a workspace of their own is in [`outside`].
#![allow(clippy::unwrap_used)]

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
    quell_laws::queue_laws!(crate::blue::Blue);
}
mod control {
    quell_laws::control_laws!(crate::gaimd::Gaimd);
}

use std::path::{Path, PathBuf};

/// The repository.
fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The only registration of this process: other tests do without.
#[test]
fn a_registered_control_keeps_its_scripts() {
    let extensions = quell::extensions!().control::<gaimd::Gaimd>();
    extensions.install().unwrap();
    quell_replay::model_keeps(&project().join("examples/own-control/scripts"));
    let again = quell::extensions!().install();
    assert_eq!(again, Err(quell_units::OriginError::Late));
}
