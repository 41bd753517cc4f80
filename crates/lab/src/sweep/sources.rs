// The hash of the project's sources. The build includes this file (`build.rs`); the crate has it for a test.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// What decides the result of a simulation.
const SIMULATOR: [&str; 7] = ["app", "aqm", "measure", "scenario", "sim", "tcp", "units"];
/// What the worlds of real packets add.
const REAL: [&str; 5] = ["hosts", "kernel", "lab", "link", "results"];

/// Of what decides the result of a simulation, and with what the worlds of real packets add.
pub(crate) fn hashes(root: &Path, crates: &Path) -> (String, String) {
    let mut hash = Sha256::new();
    // Versions of everything from elsewhere.
    add(&mut hash, root, Path::new("Cargo.lock"));
    for name in SIMULATOR {
        crate_of(&mut hash, crates, name);
    }
    let simulator = hex(hash.clone());
    for name in REAL {
        crate_of(&mut hash, crates, name);
    }
    folder(&mut hash, root, Path::new("bpf"));
    (simulator, hex(hash))
}

fn crate_of(hash: &mut Sha256, crates: &Path, name: &str) {
    add(hash, crates, &Path::new(name).join("Cargo.toml"));
    folder(hash, crates, &Path::new(name).join("src"));
}

/// Every file in a folder and below, by name.
fn folder(hash: &mut Sha256, root: &Path, name: &Path) {
    println!("cargo::rerun-if-changed={}", root.join(name).display());
    let entries = fs::read_dir(root.join(name));
    let entries = entries.unwrap_or_else(|error| panic!("{}: {error}", root.join(name).display()));
    let mut names: Vec<PathBuf> = entries
        .map(|entry| name.join(entry.expect("an entry").file_name()))
        .collect();
    names.sort();
    for name in names {
        if root.join(&name).is_dir() {
            folder(hash, root, &name);
        } else {
            add(hash, root, &name);
        }
    }
}

/// A file: its name and its content, each with its length.
fn add(hash: &mut Sha256, root: &Path, name: &Path) {
    let path = root.join(name);
    println!("cargo::rerun-if-changed={}", path.display());
    let text = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let name = name.to_string_lossy();
    hash.update((name.len() as u64).to_le_bytes());
    hash.update(name.as_bytes());
    hash.update((text.len() as u64).to_le_bytes());
    hash.update(&text);
}

fn hex(hash: Sha256) -> String {
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
