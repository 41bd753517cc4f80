//! Which experiments were checked with the present sources, and found as the pages have them: those need not run again.
//!
//! `checked.txt` beside this file has a line for each: its ID, a hash of what decides its results ([`inputs`] and what writes the pages),
//! one of what the files of data have of it, and one of its text in the book. Equal inputs have equal results. What does not run is listed.
//! `QUELL_BLESS=1` writes a line after its experiment has run; `QUELL_REPRODUCE=all` runs every one whatever the lines say.

use std::path::PathBuf;

use quell_experiment::inputs::{self, hash};
use quell_experiment::registry::{all, sections};
use quell_experiment::{Experiment, Findings, Section};
use quell_lab::sweep::Identity;
use quell_lab::{GuestOptions, World};

use crate::{data, page, verdicts};

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/published/checked.txt")
}

/// What decides the results of an experiment, and how the pages have them.
fn inputs(experiment: &Experiment) -> String {
    let identity = Identity::here(World::Sim, &GuestOptions::default()).unwrap();
    let inputs = inputs::of(experiment, World::Sim, &identity).unwrap();
    hash([&inputs, include_str!("data.rs"), include_str!("page.rs")])
}

/// What the files of data have of an experiment.
fn outputs(experiment: &Experiment) -> String {
    let mut texts = page::written(experiment);
    texts.push(verdicts::written(&experiment.id).join("\n"));
    hash(texts.iter().map(String::as_str))
}

/// An experiment's line without the hash of its text.
fn begin(experiment: &Experiment) -> String {
    let (inputs, outputs) = (inputs(experiment), outputs(experiment));
    format!("{} {inputs} {outputs} ", experiment.id)
}

fn known() -> String {
    std::fs::read_to_string(path()).unwrap_or_default()
}

/// The line of an experiment in a text of such lines.
fn line_of<'a>(known: &'a str, id: &str) -> Option<&'a str> {
    let mut lines = known.lines();
    lines.find(|line| line.split(' ').next() == Some(id))
}

/// The experiments of a section that have not run with these sources, or of which the files say something else than came out; with those
/// that write into the same file.
pub(crate) fn outdated(section: &Section) -> Vec<&Experiment> {
    let anew = ["QUELL_BLESS", "QUELL_REPRODUCE"];
    if anew.iter().any(|name| std::env::var_os(name).is_some()) {
        return section.experiments.iter().collect();
    }
    let known = known();
    let holds = |one: &Experiment| {
        let line = line_of(&known, &one.id);
        line.is_some_and(|line| line.starts_with(&begin(one)))
    };
    with_shared(section, |one| !holds(one))
}

/// The experiments of a section that are wanted, and those that write into a file of theirs.
fn with_shared(section: &Section, is_wanted: impl Fn(&Experiment) -> bool) -> Vec<&Experiment> {
    let all = || section.experiments.iter();
    let mut wanted: Vec<bool> = all().map(is_wanted).collect();
    loop {
        let chosen = all().zip(&wanted).filter(|(_, is)| **is);
        let files: Vec<&str> = chosen.flat_map(|(one, _)| one.tables()).collect();
        let shares = |one: &Experiment| one.tables().any(|name| files.contains(&name));
        let more: Vec<bool> = all()
            .zip(&wanted)
            .map(|(one, is)| *is || shares(one))
            .collect();
        if more == wanted {
            return all()
                .zip(more)
                .filter_map(|(one, is)| is.then_some(one))
                .collect();
        }
        wanted = more;
    }
}

/// The experiment has run and its files were compared: is its text that of the last time? With `QUELL_BLESS=1` it is from now on.
pub(crate) fn check_text(findings: &Findings<'_>) {
    let experiment = findings.experiment();
    let (id, text) = (&experiment.id, hash([findings.text.as_str()]));
    let _lock = data::lock();
    let known = known();
    if !data::blesses() {
        let line = line_of(&known, id).unwrap_or_default();
        assert!(
            line.split(' ').nth(3) == Some(text.as_str()),
            "the text of {id}, of which checked.txt has a hash, {}",
            data::OUTDATED
        );
        return;
    }
    let own = format!("{}{text}", begin(experiment));
    let lines = all().into_iter().filter_map(|one| match one.id == *id {
        true => Some(own.as_str()),
        false => line_of(&known, &one.id),
    });
    let lines: String = lines.flat_map(|line| [line, "\n"]).collect();
    std::fs::write(path(), lines).unwrap();
}

#[test]
fn every_experiment_has_inputs_and_outputs_of_its_own() {
    let of = |hash: fn(&Experiment) -> String| {
        let mut all: Vec<String> = all().into_iter().map(hash).collect();
        all.sort();
        all.dedup();
        all.len()
    };
    assert_eq!([of(inputs), of(outputs)], [all().len(); 2]);
    let has_rows = |one: &&Experiment| !verdicts::written(&one.id).is_empty();
    assert!(all().iter().all(has_rows));
}

#[test]
fn experiments_that_write_into_one_file_run_together() {
    let ids = |id: &str| {
        let mut sections = sections().iter();
        let has = |section: &&Section| section.experiments.iter().any(|one| one.id == id);
        let all = with_shared(sections.find(has).unwrap(), |one| one.id == id);
        all.into_iter()
            .map(|one| one.id.as_str())
            .collect::<Vec<_>>()
    };
    let of_bbr = ["m", "b", "c2", "d", "e"].map(|name| format!("vdq2020/{name}"));
    assert_eq!(ids("vdq2020/d"), of_bbr);
    assert_eq!(ids("gsp2014/e4"), ["gsp2014/e4"]);
}
