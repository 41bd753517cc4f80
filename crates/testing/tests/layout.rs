//! Where code and tests stand, as CONTRIBUTING.md says: unit tests at the end of their file or in `foo/tests.rs`, files that a
//! person reads in one go, `unsafe` in four crates.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

/// The longest unit tests that stand at the end of their file, in lines; longer ones are in `foo/tests.rs`.
const INLINE_TESTS: usize = 250;
/// The longest file, in lines.
const LONGEST: usize = 600;
/// The crates that talk to the system or to C. Every other one forbids `unsafe`.
const UNSAFE: [&str; 5] = ["aqm-c", "cc-core", "hosts", "link", "wasm"];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The Rust files of every crate's `src`, by their paths below `crates`, with their text.
fn sources() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = entries(&crates()).map(|path| path.join("src")).collect();
    while let Some(folder) = folders.pop() {
        for path in entries(&folder) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let name = path.strip_prefix(crates()).unwrap().to_str().unwrap();
                found.push((name.to_owned(), fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    assert!(found.len() > 300, "{} files", found.len());
    found
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path())
}

/// What is wrong with where the unit tests of a file stand, if anything.
fn misplaced(name: &str, text: &str) -> Option<String> {
    if name.ends_with("_tests.rs") {
        return Some(format!("{name}: unit tests of foo.rs are in foo/tests.rs"));
    }
    if text.lines().any(|line| line.starts_with("#[path")) {
        return Some(format!("{name}: a module has the path of its name"));
    }
    let lines = text.lines().count();
    let inline = text.lines().position(|line| line.ends_with("mod tests {"));
    let tests = inline.map_or(0, |first| lines - first);
    (tests > INLINE_TESTS).then(|| {
        format!("{name}: {tests} lines of unit tests; more than {INLINE_TESTS} are in foo/tests.rs")
    })
}

#[test]
fn unit_tests_stand_at_the_end_of_their_file_or_in_a_file_of_their_own() {
    let sources = sources();
    let wrong = sources
        .iter()
        .filter_map(|(name, text)| misplaced(name, text));
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_misplaced_test_is_found() {
    let inline = |lines: usize| format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "x\n".repeat(lines));
    for (name, text, is_wrong) in [
        ("a/src/b.rs", inline(INLINE_TESTS - 2), false),
        ("a/src/b.rs", inline(INLINE_TESTS - 1), true),
        ("a/src/b.rs", "#[cfg(test)]\nmod tests;\n".to_owned(), false),
        (
            "a/src/b/tests.rs",
            inline(1_000).replace("mod tests", "mod"),
            false,
        ),
        ("a/src/b_tests.rs", String::new(), true),
        (
            "a/src/b.rs",
            "#[path = \"c.rs\"]\nmod tests;\n".to_owned(),
            true,
        ),
    ] {
        assert_eq!(misplaced(name, &text).is_some(), is_wrong, "{name}: {text}");
    }
}

#[test]
fn a_file_is_read_in_one_go() {
    let long: Vec<String> = sources()
        .iter()
        .map(|(name, text)| (name, text.lines().count()))
        .filter(|(_, lines)| *lines > LONGEST)
        .map(|(name, lines)| format!("{name}: {lines} lines, more than {LONGEST}"))
        .collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn every_crate_forbids_unsafe_code_but_those_that_talk_to_the_system_or_to_c() {
    for (name, text) in sources() {
        let mut parts = name.split('/');
        let (folder, root) = (parts.next().unwrap(), parts.nth(1).unwrap());
        let is_root = ["lib.rs", "main.rs"].contains(&root);
        if is_root && !UNSAFE.contains(&folder) {
            assert!(text.contains("#![forbid(unsafe_code)]"), "{name}");
        }
    }
}

/// Why a library without a test program has tests all the same.
const TESTED_ELSEWHERE: [(&str, &str); 2] = [
    ("laws", "its macros make tests for others"),
    ("wasm", "crates/lab/tests/all runs them"),
];

/// A target with `test = false` or `doctest = false` is not looked at by `cargo test`: nothing may hide in it.
#[test]
fn what_no_test_program_is_made_for_has_no_tests() {
    let sources = sources();
    for folder in entries(&crates()).filter(|path| path.join("Cargo.toml").is_file()) {
        let name = folder.file_name().unwrap().to_str().unwrap();
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let says = |section: &str, line: &str| {
            let sections = manifest
                .split("\n[")
                .filter(|text| text.starts_with(section));
            sections.flat_map(str::lines).any(|found| found == line)
        };
        let files = sources
            .iter()
            .filter(|(path, _)| path.starts_with(&format!("{name}/src/")));
        let has_test = |text: &str| text.lines().any(|line| line.trim() == "#[test]");
        for (path, text) in files {
            let is_program = path.ends_with("src/main.rs") && says("[bin]", "test = false");
            let is_library = says("lib]", "test = false");
            let is_known = TESTED_ELSEWHERE.iter().any(|(known, _)| *known == name);
            let is_hidden = (is_program || is_library && !is_known) && has_test(text);
            assert!(!is_hidden, "{path}: Cargo.toml says test = false");
            let hidden = says("lib]", "doctest = false")
                .then(|| example(text))
                .flatten();
            assert_eq!(hidden, None, "{path}: Cargo.toml says doctest = false");
        }
    }
}

/// The first line of an example in the documentation that rustdoc would compile.
fn example(text: &str) -> Option<&str> {
    let fences = text.lines().map(str::trim).filter_map(|line| {
        let comment = line
            .strip_prefix("//!")
            .or_else(|| line.strip_prefix("///"))?;
        Some((line, comment.trim().strip_prefix("```")?))
    });
    let mut opening = fences.step_by(2);
    let is_other = |language: &str| ["text", "toml", "json", "ignore"].contains(&language);
    opening
        .find(|(_, language)| !is_other(language))
        .map(|(line, _)| line)
}
