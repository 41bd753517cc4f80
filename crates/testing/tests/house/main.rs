//! The house as docs/architecture.md shows it: which crate depends on which, what the portable ones may name, and how long its pages are.
#![allow(clippy::unwrap_used)]

mod circles;
mod crates;
mod graph;
mod pages;
mod portable;

use std::fs;
use std::path::{Path, PathBuf};

fn project() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn read(path: &str) -> String {
    fs::read_to_string(project().join(path)).unwrap()
}

/// Every Rust file below a folder of the project, in the order of their names.
fn sources(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![project().join(folder)];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "{folder}");
    found
}

/// The paths that a source names, with groups of imports spelled out: `std::fs`, `std::sync::atomic` of
/// `use std::{fs, sync::atomic}`. Comments are left out.
fn names(source: &str) -> Vec<String> {
    let code: String = source
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .flat_map(|line| [line, "\n"])
        .collect();
    let mut names = Vec::new();
    let (mut path, mut before) = (String::new(), Vec::<String>::new());
    let mut chars = code.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            c if c.is_alphanumeric() || c == '_' => path.push(c),
            ':' if chars.peek() == Some(&':') => {
                chars.next();
                path.push_str("::");
            }
            // A group of a path; any other brace opens a group of nothing.
            '{' => {
                let group = path.ends_with("::");
                let base = before.last().filter(|_| group).cloned();
                before.push(match group {
                    true => base.unwrap_or_default() + &path,
                    false => String::new(),
                });
                path.clear();
            }
            c => {
                if !path.is_empty() {
                    let name = before.last().cloned().unwrap_or_default() + &path;
                    names.push(name.trim_start_matches("::").to_owned());
                    path.clear();
                }
                if c == '}' {
                    before.pop();
                }
            }
        }
    }
    names
}

#[test]
fn groups_of_imports_are_spelled_out() {
    let names =
        names("use std::{fs, sync::{Arc, mpsc}};\nfn f() { a::b(::c::D { e }); } // std::net");
    assert_eq!(
        names,
        [
            "use",
            "std::fs",
            "std::sync::Arc",
            "std::sync::mpsc",
            "fn",
            "f",
            "a::b",
            "c::D",
            "e"
        ]
    );
}
