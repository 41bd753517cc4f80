//! What pages offer to type: scenarios that `quell check` accepts, and options that the commands have.

use std::collections::HashMap;
use std::fs;
use std::process::Command;

use crate::docs::markdown::Page;

/// The code blocks of a page in `language`, each with its line.
fn blocks<'a>(page: &'a Page, language: &str) -> Vec<(usize, &'a str)> {
    let fence = format!("\n```{language}\n");
    let mut found = Vec::new();
    for (at, _) in page.text.match_indices(&fence) {
        let begin = at + fence.len();
        let length = page.text[begin..].find("```").unwrap_or(0);
        let line = page.text[..begin].matches('\n').count() + 1;
        found.push((line, &page.text[begin..begin + length]));
    }
    found
}

fn quell(arguments: &[&str]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_quell"))
        .args(arguments)
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

#[test]
fn whole_scenarios_on_a_page_are_right() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("scenario.toml");
    let mut checked = 0;
    for page in crate::docs::pages() {
        for (line, text) in blocks(&page, "toml") {
            let whole = ["schema = ", "[link]", "[run]"]
                .iter()
                .all(|part| text.contains(part));
            if whole {
                fs::write(&file, text).unwrap();
                let (right, said) = quell(&["check", file.to_str().unwrap()]);
                // Only a host with a kernel can judge the rest of one with programs.
                let refused = said.contains("has 1 error") && said.contains("run no programs");
                let only_programs = text.contains("kind = \"program\"") && refused;
                assert!(right || only_programs, "{}:{line}: {said}", page.name);
                checked += 1;
            }
        }
    }
    assert!(checked > 0, "README has one");
}

#[test]
fn options_on_a_page_are_those_of_the_command() {
    let mut helps: HashMap<Vec<&str>, String> = HashMap::new();
    let pages = crate::docs::pages();
    for page in &pages {
        for (line, text) in blocks(page, "sh") {
            for command in text.lines().filter(|line| line.starts_with("quell ")) {
                let command = command.split(" #").next().unwrap_or_default();
                // What is quoted is for others.
                let own: Vec<&str> = command.split('\'').step_by(2).collect();
                let own: Vec<&str> = own
                    .iter()
                    .flat_map(|part| part.split_whitespace())
                    .collect();
                let depth = match (own.get(1), own.get(2)) {
                    (Some(&("kernel" | "cc" | "link")), _) => 2,
                    (Some(&"sweep"), Some(&("table" | "merge" | "check"))) => 2,
                    _ => 1,
                };
                let words: Vec<&str> = own.iter().skip(1).take(depth).copied().collect();
                let help = helps.entry(words.clone()).or_insert_with(|| {
                    let (right, help) = quell(&[&words[..], &["--help"]].concat());
                    assert!(right, "{}:{line}: {command}: {help}", page.name);
                    help
                });
                for option in own.iter().filter(|word| word.starts_with("--")) {
                    let option = option.split('=').next().unwrap_or_default();
                    assert!(
                        help.contains(option),
                        "{}:{line}: {command}: there is no {option}",
                        page.name
                    );
                }
            }
        }
    }
    assert!(helps.len() > 4, "{:?}", helps.keys());
}
