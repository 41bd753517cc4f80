//! The files of a crate do not name each other in a circle, and neither do its modules.

use std::collections::BTreeSet;
use std::fs;

use crate::house::graph::{Graph, circles, graph, graph_of};
use crate::house::project;

/// A circle: the crate, whether it is of `files` or `modules`, and its members.
type Circle = (String, BTreeSet<String>);

/// Every crate of the project.
fn crates() -> BTreeSet<String> {
    let entries = fs::read_dir(project().join("crates")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.join("Cargo.toml").is_file())
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect()
}

/// The modules below the root with the files that they have, in the manner of files.
fn modules(files: &Graph) -> Graph {
    let first = |path: &str| path.split('/').next().unwrap_or_default().to_owned();
    let mut modules = Graph::new();
    for (path, named) in files.iter().filter(|(path, _)| !path.is_empty()) {
        let module = first(path);
        let named = named.iter().map(|other| first(other));
        let others = named.filter(|other| *other != module && !other.is_empty());
        let others: BTreeSet<String> = others.collect();
        modules.entry(module).or_default().extend(others);
    }
    modules
}

fn found() -> Vec<Circle> {
    let mut found = Vec::new();
    for name in crates() {
        let files = graph(&name);
        for (what, graph) in [("modules", modules(&files)), ("files", files)] {
            let circles = circles(&graph).into_iter();
            found.extend(circles.map(|circle| (format!("{name}, {what}"), circle)));
        }
    }
    found
}

#[test]
fn modules_import_each_other_in_no_circle() {
    let found = found();
    assert!(found.is_empty(), "circles of imports: {found:#?}");
}

#[test]
fn every_crate_is_looked_at() {
    let crates = crates();
    assert!(crates.len() >= 20, "{crates:?}");
    for name in crates {
        let graph = graph(&name);
        assert!(graph.contains_key(""), "{name}: {graph:?}");
        // A crate whose files name none of its others would be one that is not understood.
        let named: usize = graph.values().map(BTreeSet::len).sum();
        assert!(
            graph.len() < 6 || named >= graph.len() / 2,
            "{name}: {graph:#?}"
        );
    }
}

fn texts(files: &[(&str, &str)]) -> Vec<(String, String)> {
    let files = files.iter();
    files
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect()
}

#[test]
fn a_circle_is_found() {
    for (files, circle) in [
        // A line.
        (
            texts(&[
                ("run.rs", "use crate::batch::B;\nuse super::job::J;"),
                ("batch.rs", "fn f() { crate::job::g(); }"),
                ("job.rs", ""),
            ]),
            "",
        ),
        // By a name of the root, and by one with another name.
        (
            texts(&[
                ("lib.rs", "mod run;\npub use batch::{Batch as B, b};"),
                ("run.rs", "use crate::{B, job};\nfn f() { job::g(); }"),
                ("batch.rs", "pub(crate) use crate::run::f as b;"),
                ("job.rs", "use std::{fs, io::{self, Read}};"),
            ]),
            "batch run",
        ),
        // What a folder's own file has is for the files in it; but that file may not name one that names another folder's.
        (
            texts(&[
                ("a/mod.rs", "use inner::I;\nfn f() {}"),
                ("a/inner.rs", "use super::f;\nuse crate::b::c::C;"),
                ("b.rs", "mod c;"),
                ("b/c.rs", "use crate::a::f;"),
            ]),
            "a a/inner b/c",
        ),
        // Tests may look at everything, wherever they stand in a file.
        (
            texts(&[
                ("a.rs", "#[cfg(test)]\nmod tests;\nuse crate::b::B;"),
                (
                    "b.rs",
                    "#[cfg(test)]\nimpl B {\n    fn f() { crate::a::f(); }\n}\n\nfn g() {}\n",
                ),
                ("b/tests.rs", "use crate::a::A;"),
            ]),
            "",
        ),
    ] {
        let mut files = files;
        if !files.iter().any(|(name, _)| name == "lib.rs") {
            files.push(("lib.rs".to_owned(), String::new()));
        }
        let graph = graph_of(&files);
        let found = circles(&graph).into_iter().flatten();
        assert_eq!(found.collect::<Vec<_>>().join(" "), circle, "{graph:#?}");
    }
}
