//! The examples where a researcher has them: in a folder of their own, each a workspace with its own lock.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::own::project;

/// Copies a folder without what was built in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (path, name) = (entry.path(), entry.file_name());
        match path.is_dir() {
            true if name == "target" => {}
            true => copy(&path, &to.join(name)),
            false => drop(fs::copy(&path, to.join(name)).unwrap()),
        }
    }
}

/// The program and the tests of an example compile in a folder elsewhere, with the lock that it has. What they do is tested in
/// quell's own build, of the same sources.
fn compiles(name: &str) {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join(name);
    copy(&project().join("examples").join(name), &own);
    let crates = project().join("crates").canonicalize().unwrap();
    let manifest = own.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    let elsewhere = text.replace("../../crates", crates.to_str().unwrap());
    assert_ne!(text, elsewhere);
    fs::write(&manifest, elsewhere).unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["check", "--locked", "--all-targets"])
        .current_dir(&own)
        // What is built once serves both examples.
        .env("CARGO_TARGET_DIR", project().join("target/examples"))
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {errors}");
}

#[test]
#[ignore = "takes long: make test-all"]
fn the_examples_compile_in_folders_of_their_own_takes_10_minutes() {
    compiles("own-queue");
    compiles("own-control");
}
