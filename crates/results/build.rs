//! Tells the crate which state of the repository it was built from; "unknown" outside a repository. A program for tests says that it is
//! one: else each commit would build everything that records results anew.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        println!("cargo::rustc-env=QUELL_BUILD=debug");
        return;
    }
    for name in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", name]) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    let build =
        git(&["describe", "--always", "--dirty", "--tags"]).unwrap_or_else(|| "unknown".into());
    println!("cargo::rustc-env=QUELL_BUILD={build}");
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}
