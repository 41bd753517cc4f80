//! Every script of `scripts/`, answered by quell's TCP and by each kernel that there is.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use quell_kernel::store::{Kernel, Store};
use quell_replay::script::Subject;
use quell_replay::{Script, Transcript, judge::judge, kernel, model};
use quell_testing::not_run;

/// Names and texts of all scripts, in the order of names.
fn scripts() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let mut scripts: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "tcp"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    scripts.sort();
    assert!(scripts.len() >= 10, "{} scripts", scripts.len());
    scripts
}

/// What differs, with the whole transcript.
fn differences(
    name: &str,
    script: &Script,
    transcript: &Transcript,
    subject: &Subject,
) -> Option<String> {
    let differences = judge(script, transcript, subject);
    (!differences.is_empty()).then(|| {
        format!(
            "{name}, {subject}:\n{}\n{transcript}",
            differences.join("\n")
        )
    })
}

#[test]
fn the_model_keeps_every_script() {
    let wrong = scripts().into_iter().filter_map(|(name, text)| {
        let script = Script::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let transcript = model::replay(&script).unwrap();
        differences(&name, &script, &transcript, &Subject::Model)
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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
        for (name, text) in scripts() {
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
