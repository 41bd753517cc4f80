//! `scripts/portable`: the portable crates are compiled with the library that there is, and left out with the reason where there is none.

use std::process::Command;

use crate::scripts::{Place, said};

/// A machine with Rust `version`, whose cargo notes what it was asked.
fn machine(version: &str) -> Place {
    let place = Place::new();
    place.program(
        "rustc",
        &format!("case $* in --version) echo rustc {version} ;; *sysroot) echo $HOME/sysroot ;; *) echo $HOME/libdir ;; esac"),
    );
    place.program(
        "cargo",
        "echo \"${__CARGO_TESTS_ONLY_SRC_ROOT:-installed} $*\" >>\"$RECORD\"",
    );
    place
}

fn run(place: &Place) -> (bool, String) {
    let archives = place.path("");
    let output = place.run(
        "scripts/portable",
        &[],
        &[("ARCHIVES", archives.to_str().unwrap())],
    );
    (output.status.success(), said(&output))
}

#[test]
fn the_library_of_the_toolchain_comes_first() {
    let place = machine("1.95.0");
    place.write("libdir/libstd-0123.rlib", "");
    let (passed, said) = run(&place);
    assert!(passed, "{said}");
    let record = place.record();
    assert!(
        record.starts_with("installed check --locked") && !record.contains("build-std"),
        "{record}"
    );
    assert!(record.contains("--package quell-scenario"), "{record}");
    assert_eq!(place.read("target/setup/not-run-check"), "");
}

#[test]
fn else_it_is_built_from_the_source_in_the_toolchain() {
    let place = machine("1.95.0");
    place.write("sysroot/lib/rustlib/src/rust/library/std/Cargo.toml", "");
    let (passed, said) = run(&place);
    assert!(passed, "{said}");
    let record = place.record();
    let source = place.path("sysroot/lib/rustlib/src/rust/library");
    assert!(
        record.contains(source.to_str().unwrap()) && record.contains("-Zbuild-std"),
        "{record}"
    );
}

#[test]
fn else_from_the_package_that_is_pinned_and_no_other() {
    let place = machine("1.95.0");
    let script = format!(
        "set -e; cd {root}; mkdir -p usr/src/rustc-1.95.0/library/std mirror
         tar -cf mirror/rust-src_1.95.0.deb ./usr; rm -rf usr; sha256sum <mirror/rust-src_1.95.0.deb | cut -d' ' -f1",
        root = place.path("").display(),
    );
    let output = Command::new("bash").args(["-c", &script]).output().unwrap();
    let hash = said(&output).trim().to_owned();
    place.program("dpkg-deb", "cat \"$2\"");
    place.program(
        "apt-get",
        "[ \"$1\" != indextargets ] || echo 'Debian http://mirror/debian/'",
    );
    place.program(
        "apt-helper",
        "url=${@: -2:1} file=${@: -1}; url=${url#http://}; cp \"$ARCHIVES/${url%%/*}/${url##*/}\" \"$file\"",
    );
    let text = place.read("scripts/wasm-library");
    let line = |key: &str| text.lines().find(|line| line.starts_with(key)).unwrap();
    let pinned = text.replace(line("PACKAGE="), "PACKAGE=pool/rust-src_1.95.0.deb");

    // What the archive has is not what is pinned.
    place.write("scripts/wasm-library", &pinned);
    let (passed, said) = run(&place);
    assert!(passed, "{said}");
    let lines = place.read("target/setup/not-run-check");
    assert!(
        lines.starts_with("not run: portable: the standard library for wasm32-unknown-unknown cannot be had: what http://mirror"),
        "{lines}"
    );
    assert_eq!(place.record(), "");

    place.write(
        "scripts/wasm-library",
        &pinned.replace(line("HASH="), &format!("HASH={hash}")),
    );
    let (passed, said) = run(&place);
    assert!(passed, "{said}");
    let record = place.record();
    assert!(
        record.contains("target/portable/source/usr/src/rustc-1.95.0/library check"),
        "{record}"
    );
}

#[test]
fn without_any_the_reason_is_listed() {
    for (version, reason) in [
        (
            "1.96.0",
            "this is Rust 1.96.0, and the source that is pinned is of 1.95.0",
        ),
        ("1.95.0", "needs dpkg-deb"),
    ] {
        let place = machine(version);
        let (passed, said) = run(&place);
        assert!(passed, "{said}");
        let lines = place.read("target/setup/not-run-check");
        assert!(
            lines.starts_with("not run: portable: ") && lines.contains(reason),
            "{lines}"
        );
        assert!(said.contains(&lines), "{said}");
    }
}
