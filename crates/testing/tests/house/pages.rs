//! How much there is to read: the words of all Markdown in git, and of its reader's part, as `wc -w` counts them.

use std::process::Command;

use crate::house::{project, read};

/// May only shrink. What a program can print, it prints; evidence is a file of data.
const ALL: usize = 60_000;
/// May only shrink: README, the tutorial, the guides, the glossary, the FAQ.
const READERS: usize = 25_000;

fn is_for_readers(name: &str) -> bool {
    let pages = [
        "README.md",
        "docs/tutorial.md",
        "docs/glossary.md",
        "docs/faq.md",
    ];
    pages.contains(&name) || name.starts_with("docs/guides/")
}

/// Names and words of the Markdown files of the project; nothing where it is no git repository.
fn pages() -> Vec<(String, usize)> {
    let list = Command::new("git")
        .args([
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
            "*.md",
        ])
        .current_dir(project())
        .output();
    let names = list.map(|list| list.stdout).unwrap_or_default();
    let names = String::from_utf8(names).unwrap();
    let names = names.lines().filter(|name| project().join(name).exists());
    names
        .map(|name| (name.to_owned(), read(name).split_whitespace().count()))
        .collect()
}

#[test]
fn nobody_has_to_read_more_than_before() {
    let pages = pages();
    if pages.is_empty() {
        quell_testing::not_run("words of all pages", "this is no git repository");
        return;
    }
    let sum = |wanted: fn(&str) -> bool| -> usize {
        let wanted = pages.iter().filter(|(name, _)| wanted(name));
        wanted.map(|(_, words)| words).sum()
    };
    let (all, readers) = (sum(|_| true), sum(is_for_readers));
    assert!(all <= ALL, "{all} words of Markdown; at most {ALL}");
    assert!(
        readers <= READERS,
        "{readers} words for readers; at most {READERS}"
    );
}
