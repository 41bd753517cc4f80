//! The scripts around the project, run in a copy of it with programs that only look like apt, rustc and the rest.
//!
//! PATH holds nothing but those and the ordinary tools of a shell, so that nothing is installed or fetched, whatever goes wrong.
#![allow(clippy::unwrap_used)]

mod advisories;
mod kernel;
mod live_repeat;
mod portable;
mod setup;
mod skips;
mod sources;
mod test_program;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use quell_testing::program::write_program;

/// What a shell script may expect on any machine.
const TOOLS: &str = "awk basename bash cat chmod chown comm cp cut date df dirname env find grep head ln ls mkdir mktemp mv paste \
                     printf rm sed setpriv sha256sum sleep sort tail tar tee test timeout touch tr true uniq wc xz";

fn project() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// A copy of the scripts, and a PATH.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        for folder in ["bin", "scripts", ".ci", "crates/quell"] {
            fs::create_dir_all(place.path(folder)).unwrap();
        }
        let files = ["scripts", ".ci"]
            .map(|folder| fs::read_dir(project().join(folder)).unwrap())
            .into_iter()
            .flatten()
            .map(|entry| entry.unwrap().path())
            .chain(
                ["Cargo.toml", "crates/quell/Cargo.toml", "Makefile"].map(|n| project().join(n)),
            );
        for file in files {
            let name = file.strip_prefix(project()).unwrap();
            fs::copy(&file, place.0.path().join(name)).unwrap();
        }
        for tool in TOOLS.split_whitespace() {
            let found = ["/usr/bin", "/bin", "/usr/sbin"]
                .map(|folder| Path::new(folder).join(tool))
                .into_iter()
                .find(|path| path.exists());
            if let Some(found) = found {
                symlink(found, place.path("bin").join(tool)).unwrap();
            }
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A program on PATH that is this script of the shell. `$RECORD` is a file to note things in.
    fn program(&self, name: &str, script: &str) {
        let path = self.path("bin").join(name);
        let _ = fs::remove_file(&path);
        write_program(&path, &format!("#!/bin/bash\n{script}\n"));
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Runs a script with this environment and no other.
    fn run(&self, script: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
        // A program just written may be open for writing in a child of another thread: it is the shell that starts it.
        Command::new(self.path("bin").join("bash"))
            .arg(self.path(script))
            .args(arguments)
            .env_clear()
            .env("PATH", self.path("bin"))
            .env("HOME", self.0.path())
            .env("RECORD", self.path("record"))
            .envs(environment.iter().copied())
            .output()
            .unwrap()
    }

    fn record(&self) -> String {
        self.read("record")
    }
}

fn said(output: &Output) -> String {
    let parts = [&output.stdout, &output.stderr];
    parts.map(|part| String::from_utf8_lossy(part)).concat()
}

#[test]
fn commands_without_privileges_keep_the_ways_to_the_network() {
    let place = Place::new();
    let proxies = [
        ("http_proxy", "http://proxy:3128"),
        ("https_proxy", "http://proxy:3129"),
        ("no_proxy", "localhost"),
    ];
    let id = format!("echo {}", if is_root() { 0 } else { 1000 });
    place.program("id", &id);
    let output = place.run("scripts/unprivileged", &["env"], &proxies);
    assert!(output.status.success(), "{}", said(&output));
    for (name, value) in proxies {
        assert!(said(&output).contains(&format!("{name}={value}\n")));
    }
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata("/proc/self").unwrap().uid() == 0
}

#[test]
fn the_pinned_compiler_is_the_oldest_that_is_supported() {
    let line = |file: &str, key: &str| {
        let text = fs::read_to_string(project().join(file)).unwrap();
        let line = text.lines().find(|line| line.starts_with(key)).unwrap();
        line.split('"').nth(1).unwrap().to_owned()
    };
    let (pinned, oldest) = (
        line("rust-toolchain.toml", "channel"),
        line("Cargo.toml", "rust-version"),
    );
    assert!(pinned.starts_with(&format!("{oldest}.")), "{pinned}");
}
