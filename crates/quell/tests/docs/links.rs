//! Links between pages: every relative target exists, and every anchor is a heading of its page.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::docs::markdown::Page;

/// The anchors of a page, as GitHub makes them from its headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let mut code = false;
    for line in text.lines() {
        code ^= line.trim_start().starts_with("```");
        let heading = line.trim_start_matches('#');
        if code || heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let anchor: String = heading
            .trim()
            .to_lowercase()
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect();
        let mut unique = anchor.clone();
        let mut number = 0;
        while anchors.contains(&unique) {
            number += 1;
            unique = format!("{anchor}-{number}");
        }
        anchors.insert(unique);
    }
    anchors
}

/// The targets of the links of a page, each with its line. Code is no link.
fn targets(text: &str) -> Vec<(usize, &str)> {
    let mut targets = Vec::new();
    let mut code = false;
    for (index, line) in text.lines().enumerate() {
        code ^= line.trim_start().starts_with("```");
        if code {
            continue;
        }
        for (at, _) in line.match_indices("](") {
            // An odd number of backticks before it: inside of `code`.
            if line[..at].matches('`').count() % 2 == 1 {
                continue;
            }
            let rest = &line[at + 2..];
            let end = rest.find(')').unwrap_or(rest.len());
            targets.push((index + 1, &rest[..end]));
        }
    }
    targets
}

/// What a link of `page` points at that does not exist.
fn broken(page: &Page, root: &Path) -> Vec<String> {
    let folder = root.join(&page.name);
    let folder = folder.parent().unwrap();
    let mut broken = Vec::new();
    for (line, target) in targets(&page.text) {
        if target.contains("://") || target.starts_with("mailto:") {
            continue;
        }
        let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
        let file = folder.join(path);
        let found = match (path, anchor) {
            ("", anchor) => anchors(&page.text).contains(anchor),
            (_, "") => file.exists(),
            (_, anchor) => {
                fs::read_to_string(&file).is_ok_and(|text| anchors(&text).contains(anchor))
            }
        };
        if !found {
            broken.push(format!("{}:{line}: {target}", page.name));
        }
    }
    broken
}

#[test]
fn every_relative_link_and_anchor_resolves() {
    let pages = crate::docs::pages();
    let broken: Vec<String> = pages
        .iter()
        .flat_map(|page| broken(page, &crate::docs::root()))
        .collect();
    assert!(broken.is_empty(), "broken links:\n{}", broken.join("\n"));
}

/// A page that no other page links to is found by nobody.
#[test]
fn every_page_is_reached_from_the_index() {
    let root = crate::docs::root();
    let index = fs::read_to_string(root.join("docs/README.md")).unwrap();
    let listed: BTreeSet<String> = targets(&index)
        .into_iter()
        .map(|(_, target)| target.to_owned())
        .collect();
    for page in crate::docs::pages() {
        let Some(path) = page.name.strip_prefix("docs/") else {
            continue;
        };
        assert!(
            path == "README.md" || listed.contains(path),
            "docs/README.md does not list {path}"
        );
    }
}

#[test]
fn a_link_to_nothing_is_found() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("docs")).unwrap();
    fs::write(
        folder.path().join("docs/b.md"),
        "# B\n\n## The queue's `limit`, in ms\n\n## Twice\n\n## Twice\n\n```text\n# no heading\n```\n",
    )
    .unwrap();
    let broken = |text: &str| {
        let page = Page::new("docs/a.md".to_owned(), text.to_owned());
        broken(&page, folder.path())
    };
    let right = "# A\n[b](b.md) [c](b.md#the-queues-limit-in-ms) [d](#a) [e](b.md#twice-1) \
                 [f](https://quell.example/x) [folder](../docs/) `[g](h)`\n";
    assert_eq!(broken(right), [""; 0]);
    for wrong in ["b.txt", "b.md#nothing", "#b", "b.md#no-heading", "../b.md"] {
        assert_eq!(
            broken(&format!("# A\n\n[x]({wrong})\n")),
            [format!("docs/a.md:3: {wrong}")]
        );
    }
}
