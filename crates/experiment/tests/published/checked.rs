//! Which sections were checked with the present sources, and found as the pages have them: those need not run again.
//!
//! `checked.txt` beside this file has a line for each section: a hash of what decides its results (the simulator's sources with the
//! versions of what they use, those of the experiments and of what writes the pages, the scenarios), one of what the files of data have
//! of it, one of its text in the book, and its title. The simulator repeats to the bit, so equal inputs have equal results. What does not run is listed. `QUELL_BLESS=1` writes a
//! line after its section has run; `QUELL_REPRODUCE=all` runs every section whatever the lines say.

use std::path::PathBuf;

use quell_experiment::registry::sections;
use quell_experiment::{Section, shipped};
use quell_lab::sweep::Identity;
use quell_lab::{GuestOptions, World};
use sha2::{Digest as _, Sha256};

use crate::{data, page, verdicts};

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/published/checked.txt")
}

/// Of texts, each with its length, so that none runs into the next.
fn hash<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    let hash = hash.finalize();
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What decides the results of a section: the simulator, the engine, its files and what they name.
fn inputs(section: &Section) -> String {
    let simulator = Identity::here(World::Sim, &GuestOptions::default()).unwrap();
    let mut texts = vec![
        simulator.code.as_str(),
        env!("QUELL_ENGINE_SOURCES"),
        // What writes the pages.
        include_str!("data.rs"),
        include_str!("definitions.rs"),
        include_str!("page.rs"),
        include_str!("verdicts.rs"),
    ];
    for experiment in &section.experiments {
        for path in experiment.files() {
            texts.extend([path, shipped::experiment(path).unwrap()]);
        }
        let has_measurement = experiment
            .cells()
            .iter()
            .any(|cell| cell.measurement().is_some());
        if has_measurement || experiment.names_functions() {
            texts.extend([env!("QUELL_PROBE_SOURCES"), env!("QUELL_FUNCTION_SOURCES")]);
        }
        for file in experiment.scenarios() {
            texts.extend([file, shipped::scenario(file).unwrap()]);
        }
    }
    hash(texts)
}

/// What the files of data have of a section.
fn outputs(section: &Section) -> String {
    let mut texts = page::written(section);
    for experiment in &section.experiments {
        texts.push(verdicts::written(&experiment.id).join("\n"));
    }
    hash(texts.iter().map(String::as_str))
}

/// A section's line without the hash of its text.
fn begin(section: &Section) -> String {
    format!("{} {} ", inputs(section), outputs(section))
}

fn known() -> String {
    std::fs::read_to_string(path()).unwrap_or_default()
}

/// The line of a section in a text of such lines.
fn line_of<'a>(known: &'a str, section: &Section) -> Option<&'a str> {
    let mut lines = known.lines();
    lines.find(|line| line.splitn(4, ' ').nth(3) == Some(section.title.as_str()))
}

/// Whether the section has run with these sources, and the files say what came out.
pub(crate) fn holds(section: &Section) -> bool {
    let anew = ["QUELL_BLESS", "QUELL_REPRODUCE"];
    if anew.iter().any(|name| std::env::var_os(name).is_some()) {
        return false;
    }
    line_of(&known(), section).is_some_and(|line| line.starts_with(&begin(section)))
}

/// The section has run and its files were compared: is its text that of the last time? With `QUELL_BLESS=1` it is from now on.
pub(crate) fn check_text(section: &Section, body: &str) {
    let text = hash([body]);
    let _lock = data::lock();
    if !data::blesses() {
        let line = known();
        let line = line_of(&line, section).unwrap_or_default();
        let title = &section.title;
        assert!(
            line.split(' ').nth(2) == Some(text.as_str()),
            "the text of {title:?} has changed: {}",
            data::OUTDATED
        );
        return;
    }
    let known = known();
    let lines = sections()
        .iter()
        .filter_map(|one| match one.title == section.title {
            true => Some(format!("{}{text} {}", begin(one), one.title)),
            false => line_of(&known, one).map(str::to_owned),
        });
    let lines: String = lines.map(|line| line + "\n").collect();
    std::fs::write(path(), lines).unwrap();
}

#[test]
fn texts_do_not_run_into_each_other() {
    assert_ne!(hash(["ab", "c"]), hash(["a", "bc"]));
    assert_eq!(hash(["ab", "c"]), hash(["ab", "c"]));
}

#[test]
fn a_section_depends_on_its_scenarios_and_on_every_word_of_the_pages() {
    let [first, second, ..] = sections() else {
        panic!("there are sections")
    };
    assert_ne!(inputs(first), inputs(second));
    assert_ne!(outputs(first), outputs(second));
    // Some sections have files of their own.
    let files = |section: &Section| page::written(section).len() - section.experiments.len();
    assert!(sections().iter().any(|one| files(one) > 0));
    let verdicts = |section: &Section| {
        let rows = section.experiments.iter();
        rows.filter(|one| !verdicts::written(&one.id).is_empty())
            .count()
    };
    assert!(
        sections()
            .iter()
            .all(|one| verdicts(one) == one.experiments.len())
    );
}
