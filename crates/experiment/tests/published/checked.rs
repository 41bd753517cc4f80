//! Which sections were checked with the present sources, and found as the pages have them: those need not run again.
//!
//! `checked.txt` beside this file has a line for each section: a hash of what decides its results (the simulator's sources with the
//! versions of what they use, those of the experiments and of what writes the pages, the scenarios), one of what the pages say of it, and
//! its title. The simulator repeats to the bit, so equal inputs have equal results. What does not run is listed. `QUELL_BLESS=1` writes a
//! line after its section has run; `QUELL_REPRODUCE=all` runs every section whatever the lines say.

use std::path::PathBuf;
use std::sync::Mutex;

use quell_experiment::registry::sections;
use quell_experiment::{Section, shipped};
use quell_lab::sweep::Identity;
use quell_lab::{GuestOptions, World};
use sha2::{Digest as _, Sha256};

use crate::{page, verdicts};

/// One writer at a time: the tests of a binary are threads.
static WRITING: Mutex<()> = Mutex::new(());

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

/// What the pages say of a section.
fn outputs(section: &Section) -> String {
    let mut texts = page::written(&section.title);
    for experiment in &section.experiments {
        texts.push(verdicts::written(&experiment.id).unwrap_or_default());
    }
    hash(texts.iter().map(String::as_str))
}

fn line(section: &Section) -> String {
    format!("{} {} {}", inputs(section), outputs(section), section.title)
}

/// Whether the section has run with these sources, and the pages say what came out.
pub(crate) fn holds(section: &Section) -> bool {
    let anew = ["QUELL_BLESS", "QUELL_REPRODUCE"];
    if anew.iter().any(|name| std::env::var_os(name).is_some()) {
        return false;
    }
    let known = std::fs::read_to_string(path()).unwrap_or_default();
    known.lines().any(|known| known == line(section))
}

/// The section has run, and the pages say what came out.
pub(crate) fn record(section: &Section) {
    let _lock = WRITING.lock().unwrap();
    let known = std::fs::read_to_string(path()).unwrap_or_default();
    let lines = sections().iter().filter_map(|one| {
        if one.title == section.title {
            return Some(line(one));
        }
        let mut known = known.lines();
        let known = known.find(|line| line.splitn(3, ' ').nth(2) == Some(one.title.as_str()));
        known.map(str::to_owned)
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
    // The sections, and the files that some of them link to.
    let texts: Vec<_> = sections()
        .iter()
        .map(|one| page::written(&one.title))
        .collect();
    assert!(texts.iter().any(|of_section| of_section.len() > 1));
    assert!(texts.iter().flatten().all(|text| !text.is_empty()));
    let verdicts = |section: &Section| {
        let blocks = section.experiments.iter();
        blocks.filter_map(|one| verdicts::written(&one.id)).count()
    };
    assert!(
        sections()
            .iter()
            .all(|one| verdicts(one) == one.experiments.len())
    );
}
