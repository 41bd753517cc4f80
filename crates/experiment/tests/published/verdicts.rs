//! `docs/reproduce.md`: every statement with what came out and the verdict, chapter by chapter.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;

use quell_experiment::registry::{Chapter, all, chapters};
use quell_experiment::{Experiment, Findings};

const HEAD: &str = "\
# Reproduction of published experiments

Every statement of the sources that quell repeats, what came out, and the verdict. This page is generated, and checked, by `cargo test
-p quell-experiment --test published`. `quell reproduce ID` runs an experiment again; [the guide](guides/reproducing.md) explains how to
read a verdict. [published.md](evidence/published.md) has the tables behind it, and
[reproduce-virtual.md](evidence/reproduce-virtual.md) what came out over real TCP.
";

/// One writer at a time: the tests of a binary are threads.
static WRITING: Mutex<()> = Mutex::new(());

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reproduce.md")
}

/// The blocks of the experiments, by ID: what follows `### ID` up to the next heading.
fn blocks(page: &str) -> BTreeMap<String, String> {
    let parts = page.split("\n### ").skip(1);
    let block = |part: &str| {
        let (id, rest) = part.split_once('\n')?;
        let rest = rest.split("\n## ").next()?;
        Some((id.to_owned(), rest.trim().to_owned()))
    };
    parts.filter_map(block).collect()
}

/// In a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn block(findings: &Findings<'_>) -> String {
    let experiment = findings.experiment();
    let scenarios: Vec<String> = experiment
        .scenarios()
        .iter()
        .map(|file| format!("`{file}`"))
        .collect();
    let mut text = format!(
        "{}. Source: {}. Scenarios: {}.\n\n| statement | published | quell | checked | verdict |\n| --- | --- | --- | --- | --- |\n",
        experiment.title,
        experiment.source,
        scenarios.join(", ")
    );
    for judged in findings.judged() {
        let (_, name) = judged.id.split_once('#').unwrap();
        let verdict = judged.verdict.to_string();
        let cells = [
            name,
            &judged.published,
            &judged.ours,
            &judged.bound,
            &verdict,
        ]
        .map(cell);
        writeln!(text, "| {} |", cells.join(" | ")).unwrap();
    }
    text.trim().to_owned()
}

/// The first words of the verdicts of a block.
fn verdicts(block: &str) -> impl Iterator<Item = &str> {
    let rows = block.lines().filter(|line| line.starts_with("| ")).skip(2);
    rows.filter_map(|row| row.trim_end_matches(" |").rsplit(" | ").next())
}

fn counts(chapter: &Chapter, blocks: &BTreeMap<String, String>) -> String {
    let own = chapter.experiments();
    let own: Vec<&String> = own.iter().filter_map(|one| blocks.get(&one.id)).collect();
    let count = |word: &str| {
        let all = own.iter().flat_map(|block| verdicts(block));
        all.filter(|verdict| verdict.starts_with(word)).count()
    };
    let [reproduced, differ, open] = ["reproduced", "differs", "cannot be judged"].map(count);
    let anchor = chapter.title.to_lowercase();
    let anchor: String = anchor
        .chars()
        .filter(|c| c.is_alphanumeric() || [' ', '-'].contains(c))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect();
    format!(
        "| [{}](#{anchor}) | {} | {} | {reproduced} | {differ} | {open} |\n",
        chapter.title,
        own.len(),
        reproduced + differ + open
    )
}

/// The page of these blocks; those of experiments that are no more are left out.
fn page(blocks: &BTreeMap<String, String>) -> String {
    let mut text = format!(
        "{HEAD}\n| chapter | experiments | statements | reproduced | differ | cannot be judged |\n| --- | --- | --- | --- | --- | --- |\n"
    );
    let with = |chapter: &&Chapter| !chapter.experiments().is_empty();
    for chapter in chapters().iter().filter(with) {
        text += &counts(chapter, blocks);
    }
    for chapter in chapters().iter().filter(with) {
        text += &format!("\n## {}\n\nSource: {}.\n", chapter.title, chapter.source);
        for experiment in chapter.experiments() {
            if let Some(block) = blocks.get(&experiment.id) {
                text += &format!("\n### {}\n\n{block}\n", experiment.id);
            }
        }
    }
    text
}

/// The block of an experiment as the page has it.
pub(crate) fn written(id: &str) -> Option<String> {
    let _lock = WRITING.lock().unwrap();
    let page = fs::read_to_string(path()).unwrap_or_default();
    blocks(&page).remove(id)
}

/// Checks that the page has these experiments as they were found; with `QUELL_BLESS=1` it writes them.
pub(crate) fn check(findings: &[Findings<'_>]) {
    let _lock = WRITING.lock().unwrap();
    let written = fs::read_to_string(path()).unwrap_or_default();
    let mut blocks = blocks(&written);
    if std::env::var_os("QUELL_BLESS").is_some() {
        let own = findings
            .iter()
            .map(|one| (one.experiment().id.clone(), block(one)));
        blocks.extend(own);
        fs::write(path(), page(&blocks)).unwrap();
        return;
    }
    for one in findings {
        let (id, block) = (&one.experiment().id, block(one));
        assert!(
            blocks.get(id) == Some(&block),
            "docs/reproduce.md, {id}, is not current: QUELL_BLESS=1 cargo test -p quell-experiment --test published -- --include-ignored\n{block}"
        );
    }
}

#[test]
fn the_page_of_verdicts_has_every_experiment_and_counts_them() {
    let _lock = WRITING.lock().unwrap();
    let written = fs::read_to_string(path()).unwrap_or_default();
    let blocks = blocks(&written);
    if std::env::var_os("QUELL_BLESS").is_some() {
        fs::write(path(), page(&blocks)).unwrap();
        return;
    }
    let missing = |one: &&&'static Experiment| !blocks.contains_key(&one.id);
    let all = all();
    let missing: Vec<_> = all.iter().filter(missing).collect();
    assert!(missing.is_empty(), "docs/reproduce.md lacks {missing:?}");
    assert!(written == page(&blocks), "docs/reproduce.md is not current");
}
