//! Numbers of a page that nothing vouches for.

use std::ops::Range;
use std::path::Path;

use crate::docs::markdown::{Marker, Numbers, Page};

/// A number in front of one of these is the figure of something.
const UNITS: &[&str] = &[
    "ns",
    "µs",
    "us",
    "ms",
    "s",
    "min",
    "h",
    "minutes",
    "seconds",
    "hours",
    "bytes",
    "kB",
    "MB",
    "GB",
    "KiB",
    "MiB",
    "GiB",
    "kbit/s",
    "Mbit/s",
    "Gbit/s",
    "%",
    "times",
    "packets",
    "instructions",
    "million",
    "flows",
    "points",
    "Hz",
    "GHz",
];

/// The places of `page`, each with the text, in which a number has no origin; and origins that say too little.
pub(crate) fn missing(page: &Page, root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    // A page that a test writes whole says so at its head.
    if page
        .text
        .lines()
        .take(8)
        .map(str::to_lowercase)
        .any(|line| line.contains("generated from") || line.contains("generated, and checked"))
    {
        return found;
    }
    let mut covered: Vec<Range<usize>> = Vec::new();
    for marker in &page.markers {
        match marker {
            Marker::Output(output) => covered.push(output.begin..output.block.end),
            Marker::Figures(figures) => covered.push(figures.block.clone()),
            Marker::Numbers(numbers) => {
                if let Err(why) = check(numbers, page, root) {
                    found.push(format!("{}:{}: {why}", page.name, numbers.line));
                }
                covered.push(numbers.scope.clone());
            }
            Marker::File(file) => covered.push(file.block.clone()),
        }
    }
    for (block, code) in blocks(&page.text) {
        let text = &page.text[block.clone()];
        let inside = |range: &Range<usize>| range.start <= block.start && block.start < range.end;
        if covered.iter().any(inside) {
            continue;
        }
        // Of code, only what a program printed.
        let figure = match code {
            true if !text.starts_with("```text") => None,
            _ => figure(text),
        };
        if let Some(figure) = figure {
            let line = page.text[..block.start].matches('\n').count() + 1;
            found.push(format!("{}:{line}: {figure}", page.name));
        }
    }
    found
}

/// Whether an origin can be followed: a date and a machine, a file that exists, or a source by its name.
fn check(numbers: &Numbers, page: &Page, root: &Path) -> Result<(), String> {
    let origin = &numbers.origin;
    if let Some(rest) = origin.strip_prefix("measured ") {
        let date = rest.get(..10).filter(|date| {
            let mut parts = date.split('-').map(str::len);
            [parts.next(), parts.next(), parts.next()] == [Some(4), Some(2), Some(2)]
                && date
                    .bytes()
                    .all(|byte| byte == b'-' || byte.is_ascii_digit())
        });
        let date = date.ok_or("measured when? A date such as 2026-11-21 comes first")?;
        if !rest[10..].starts_with(" on ") || !rest.contains(": ") {
            return Err("measured DATE on MACHINE: COMMAND".to_owned());
        }
        if !without_comments(&page.text).contains(date) {
            return Err(format!("the page does not say {date} to those who read it"));
        }
        return Ok(());
    }
    let Some((_, source)) = ["defined by ", "tested by "].iter().find_map(|word| {
        let rest = origin.strip_prefix(word)?;
        Some((word, rest))
    }) else {
        return Err(
            "an origin is `measured DATE on MACHINE: COMMAND`, `defined by SOURCE` or `tested by PATH`"
                .to_owned(),
        );
    };
    let mut paths = source.split([' ', ',']).filter(|word| {
        ["crates/", "python/", "scenarios/", "scripts/", "suites/"]
            .iter()
            .any(|begin| word.starts_with(begin))
    });
    if origin.starts_with("tested") && paths.clone().next().is_none() {
        return Err("tested by which file?".to_owned());
    }
    match paths.find(|path| !root.join(path).exists()) {
        Some(path) => Err(format!("there is no {path}")),
        None => Ok(()),
    }
}

fn without_comments(text: &str) -> String {
    let mut out = String::new();
    for part in text.split("<!--") {
        out.push_str(part.split_once("-->").map_or(part, |(_, after)| after));
    }
    out
}

/// Paragraphs, list items, tables and code blocks (which are `true`).
fn blocks(text: &str) -> Vec<(Range<usize>, bool)> {
    let mut blocks: Vec<(Range<usize>, bool)> = Vec::new();
    let mut open: Option<(usize, bool)> = None;
    let mut offset = 0;
    let mut comment = false;
    for line in text.split_inclusive('\n') {
        let (begin, end) = (offset, offset + line.len());
        offset = end;
        let code = open.is_some_and(|(_, code)| code);
        comment |= !code && line.starts_with("<!--");
        let fence = line.trim_start().starts_with("```");
        let item = ["* ", "- "]
            .iter()
            .any(|bullet| line.trim_start().starts_with(bullet));
        let empty = line.trim().is_empty();
        let ends = !code && (comment || fence || item || empty || line.starts_with('#'));
        if let Some((start, _)) = open.filter(|_| ends) {
            blocks.push((start..begin, false));
            open = None;
        }
        if comment {
            comment = !line.contains("-->");
        } else if let Some((start, true)) = open {
            if fence {
                blocks.push((start..end, true));
                open = None;
            }
        } else if open.is_none() && !empty && !line.starts_with('#') {
            open = Some((begin, fence));
        }
    }
    if let Some((start, code)) = open {
        blocks.push((start..text.len(), code));
    }
    blocks
}

/// The first number with a unit, outside of `code`.
fn figure(text: &str) -> Option<String> {
    let plain: Vec<&str> = match text.starts_with("```") {
        true => vec![text],
        false => text.split('`').step_by(2).collect(),
    };
    let plain = plain.join(" ");
    let words: Vec<&str> = plain.split_whitespace().collect();
    let table = text.starts_with('|');
    for (index, word) in words.iter().enumerate() {
        let word = word.trim_matches(|c: char| "(),;:.*|".contains(c));
        if !word.starts_with(|c: char| c.is_ascii_digit()) {
            continue;
        }
        let unit = words.get(index + 1).map_or("", |next| {
            next.trim_matches(|c: char| "(),;:.*|".contains(c))
        });
        // In a table the unit stands at the head: a figure is what has decimals.
        if UNITS.contains(&unit) || (table && word.contains('.')) {
            return Some(format!("{word} {unit}").trim().to_owned());
        }
    }
    None
}

#[test]
fn a_number_with_a_unit_needs_an_origin() {
    let root = Path::new("/");
    let of = |text: &str| missing(&Page::new("p".to_owned(), text.to_owned()), root);
    assert_eq!(of("# T\n\nIt took 3 ms.\n"), ["p:3: 3 ms"]);
    assert_eq!(
        of("# T\n\nThree worlds, 4 queues, `rtt = 3 ms`.\n"),
        [""; 0]
    );
    assert_eq!(
        of("# T\n\n| a | b |\n| --- | --- |\n| x | 1.5 |\n"),
        ["p:3: 1.5"]
    );
    assert_eq!(of("# T\n\n```text\nwaited 5 ms\n```\n"), ["p:3: 5 ms"]);
    assert_eq!(of("# T\n\n```toml\nx = 5 ms\n```\n"), [""; 0]);
    let defined =
        "# T\n\n## A\n<!-- numbers: defined by RFC 1 -->\n3 ms\n\n### B\n\n4 ms\n\n## C\n\n5 ms\n";
    assert_eq!(of(defined), ["p:13: 5 ms"]);
    for (origin, why) in [
        ("measured yesterday", "measured when?"),
        ("measured 2026-11-21 somewhere", "measured DATE on MACHINE"),
        ("measured 2026-11-21 on x: y", "does not say 2026-11-21"),
        ("tested by hope", "tested by which file?"),
        ("tested by crates/none", "there is no crates/none"),
        ("guessed", "an origin is"),
    ] {
        let text = format!("# T\n<!-- numbers: {origin} -->\n");
        let found = of(&text);
        assert!(found.len() == 1 && found[0].contains(why), "{found:?}");
    }
    let measured =
        "# T\n<!-- numbers: measured 2026-11-21 on x: y -->\nOn 2026-11-21 it took 3 ms.\n";
    assert_eq!(of(measured), [""; 0]);
}
