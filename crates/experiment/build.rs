//! Puts the shipped scenarios and experiments into the program, and tells the crate the hash of each of its sources.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// What is recorded of Linux, for the experiments in `experiments/validation`: it lies among the data of the documentation.
const RECORDS: [&str; 5] = [
    "applications.csv",
    "controls.csv",
    "grid.csv",
    "recovery.csv",
    "three-worlds.csv",
];

/// Sources that decide what is kept of a run of a report card, besides the simulator.
const OF_CARD: [&str; 5] = [
    "directions.rs",
    "losses.rs",
    "packet_log.rs",
    "rates.rs",
    "run_figures.rs",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let own = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where the crate is");
    let own = Path::new(&own);
    let out = std::env::var_os("OUT_DIR").expect("cargo says where to write");
    for folder in ["scenarios", "profiles", "clauses"] {
        let around = own.join("../..").join(folder);
        let around = around.canonicalize().expect("the project has the folder");
        let mut list = String::from("&[\n");
        for path in files(&around, "toml") {
            let name = path.strip_prefix(&around).expect("it is below");
            let name = name.to_str().expect("a name in UTF-8");
            let path = path.to_str().expect("a path in UTF-8");
            list.push_str(&format!("    ({name:?}, include_str!({path:?})),\n"));
        }
        list.push_str("]\n");
        let list_file = Path::new(&out).join(format!("{folder}.rs"));
        fs::write(list_file, list).expect("OUT_DIR can be written");
    }

    let experiments = own.join("../../experiments");
    let experiments = experiments
        .canonicalize()
        .expect("the project has experiments");
    let mut list = String::from("&[\n");
    let mut all = files(&experiments, "toml");
    all.extend(files(&experiments, "csv"));
    let name = |path: PathBuf| {
        let name = path.strip_prefix(&experiments).expect("it is below");
        (name.to_str().expect("a name in UTF-8").to_owned(), path)
    };
    let mut all: Vec<(String, PathBuf)> = all.into_iter().map(name).collect();
    let data = own.join("../../docs/evidence/data");
    let data = data.canonicalize().expect("the project has data");
    for name in RECORDS {
        let path = data.join(name);
        println!("cargo::rerun-if-changed={}", path.display());
        all.push((format!("validation/{name}"), path));
    }
    all.sort();
    for (name, path) in all {
        let path = path.to_str().expect("a path in UTF-8");
        list.push_str(&format!("    ({name:?}, include_str!({path:?})),\n"));
    }
    list.push_str("]\n");
    fs::write(Path::new(&out).join("experiments.rs"), list).expect("OUT_DIR can be written");

    let sources = own.join("src");
    let below = |path: &Path| {
        let name = path.strip_prefix(&sources).expect("it is below");
        name.to_str().expect("a name in UTF-8").to_owned()
    };
    // Tests decide nothing.
    let is_test = |path: &PathBuf| {
        let name = below(path);
        name.split('/')
            .any(|part| part == "tests" || part == "tests.rs")
    };
    let mut all = files(&sources, "rs");
    all.retain(|path| !is_test(path));
    let mut list = String::from("&[\n");
    for path in &all {
        let code = hash(own, std::slice::from_ref(path));
        list.push_str(&format!("    ({:?}, {code:?}),\n", below(path)));
    }
    list.push_str("]\n");
    fs::write(Path::new(&out).join("sources.rs"), list).expect("OUT_DIR can be written");
    let own_card = |name: &str| sources.join("characterize").join(name);
    let card = OF_CARD.map(own_card);
    println!("cargo::rustc-env=QUELL_CARD_SOURCES={}", hash(own, &card));
    all.retain(|path| path.starts_with(sources.join("probe")));
    println!("cargo::rustc-env=QUELL_PROBE_SOURCES={}", hash(own, &all));
}

/// Of the names and the content of these files below `own`.
fn hash(own: &Path, files: &[PathBuf]) -> String {
    let mut hash = Sha256::new();
    for path in files {
        let text = fs::read(path).expect("a source can be read");
        let name = path.strip_prefix(own).expect("it is below");
        let name = name.to_string_lossy();
        hash.update((name.len() as u64).to_le_bytes());
        hash.update(name.as_bytes());
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(&text);
    }
    let hash = hash.finalize();
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Every file of this kind in a folder and below, by name.
fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut found = Vec::new();
    let entries = fs::read_dir(folder).expect("a folder can be read");
    for entry in entries {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path, end));
        } else if path.extension().is_some_and(|extension| extension == end) {
            println!("cargo::rerun-if-changed={}", path.display());
            found.push(path);
        }
    }
    found.sort();
    found
}
