//! Every script of `scripts/`, answered by quell's TCP and by each kernel that there is.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use quell_kernel::store::{Kernel, Store};
use quell_replay::script::Subject;
use quell_replay::{Script, differences, kernel, model_keeps, scripts};
use quell_testing::not_run;

/// The folder of the scripts.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts")
}

#[test]
fn the_model_keeps_every_script() {
    assert!(scripts(&folder()).len() >= 10);
    model_keeps(&folder());
}

#[test]
fn linux_keeps_every_script() {
    let test = "linux_keeps_every_script";
    let kernels = Store::open()
        .and_then(|store| store.list())
        .map(|listing| listing.kernels);
    let can_be_asked = |kernel: &Kernel| kernel.facts.time_travel && kernel.check().is_ok();
    let kernels: Vec<Kernel> = kernels
        .unwrap_or_default()
        .into_iter()
        .filter(can_be_asked)
        .collect();
    if kernels.is_empty() {
        not_run(
            test,
            "no kernel is built: make kernel, or quell kernel build",
        );
        return;
    }
    let program = Path::new(env!("CARGO_BIN_EXE_quell-replay"));
    let mut wrong = Vec::new();
    for kernel in &kernels {
        let subject = Subject::Linux(kernel.facts.version.clone());
        for (name, text) in scripts(&folder()) {
            let script = Script::parse(&text).unwrap();
            if !script.suits(&subject) {
                not_run(
                    &format!("{test}: {name}, {subject}"),
                    "it is about what that kernel does not have",
                );
                continue;
            }
            let transcript = kernel::replay(kernel, program, &script, &text)
                .unwrap_or_else(|error| panic!("{name}, {subject}: {error}"));
            wrong.extend(differences(&name, &script, &transcript, &subject));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
