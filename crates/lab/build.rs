//! Tells the crate the hash of the project's sources, so that results of equal sources can be shared.
//!
//! It depends on nothing but the content and the names of files: not on a repository, a path, a time or a machine.

include!("src/sweep/sources.rs");

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let own = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where the crate is");
    let crates = Path::new(&own).join("..");
    let root = crates.join("..");
    let (simulator, everything) = hashes(&root, &crates);
    println!("cargo::rustc-env=QUELL_SIMULATOR_SOURCES={simulator}");
    println!("cargo::rustc-env=QUELL_SOURCES={everything}");
}
