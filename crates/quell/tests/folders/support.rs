//! quell as a process of its own, in a folder of its own.

use std::fs;
use std::path::Path;
use std::process::{Child, Command};

use quell_testing::program::program;
pub(crate) use quell_testing::program::wait_until;

pub(crate) const QUELL: &str = env!("CARGO_BIN_EXE_quell");
pub(crate) const COEXISTENCE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../scenarios/dualq2015/coexistence.toml"
);
/// A run that would take minutes.
pub(crate) const LONG: [&str; 4] = ["--duration", "80000s", "--set", "link.rate=1mbit"];

/// quell in `folder`.
pub(crate) fn quell(folder: &Path, arguments: &[&str]) -> Command {
    program(QUELL, folder, arguments)
}

/// A long run in `folder` with the result `out`, once it has begun.
pub(crate) fn begun(folder: &Path, out: &str) -> Child {
    let mut command = quell(folder, &["run", COEXISTENCE, "--out", out]);
    let child = command.args(LONG).spawn().unwrap();
    let hidden = folder.join(format!(".{out}.unfinished"));
    wait_until("the run has begun", || hidden.join("result").exists());
    child
}

/// What is in the making in `folder`.
pub(crate) fn unfinished(folder: &Path) -> Vec<String> {
    let mut all = names(folder);
    all.retain(|name| name.ends_with(".unfinished"));
    all
}

/// What `folder` holds; nothing if it is not there.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// A JSON file.
pub(crate) fn json(path: &Path) -> serde_json::Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}
