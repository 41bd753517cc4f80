//! Runs and checks of tests that are no published experiment.

use std::sync::atomic::AtomicBool;

use quell_lab::sim;
use quell_measure::{GroupSummary, Summary};

use crate::experiment::scenario;

/// The summaries of the file of `scenarios/` with `sets` as by `--set`, and these seeds.
pub(crate) fn summaries(file: &str, sets: &[String], seeds: &[u64]) -> Vec<Summary> {
    let scenario = scenario(file, sets);
    let summary = |&seed: &u64| {
        let measured = sim::run(&scenario, seed, &AtomicBool::new(false), &mut ());
        measured.unwrap().summary
    };
    seeds.iter().map(summary).collect()
}

/// The group of this name.
pub(crate) fn group<'a>(run: &'a Summary, name: &str) -> Option<&'a GroupSummary> {
    run.figures.groups.iter().find(|group| group.name == name)
}

/// What is outside its band.
#[derive(Debug, Default)]
pub(crate) struct Misses(Vec<String>);

impl Misses {
    /// `ours` is to lie within `percent` of `published`.
    pub(crate) fn within(&mut self, what: String, ours: f64, published: f64, percent: f64) {
        let off = 100.0 * (ours / published - 1.0);
        self.unless(
            off.abs() <= percent,
            format!("{what}: {ours:.4}, published {published:.4}: {off:+.1} %, band {percent} %"),
        );
    }
    /// `holds` is to hold.
    pub(crate) fn unless(&mut self, holds: bool, what: String) {
        if !holds {
            self.0.push(what);
        }
    }
    /// Fails if there were any, after showing `tables`.
    pub(crate) fn assert_none(&self, tables: &str) {
        assert!(self.0.is_empty(), "{tables}\n{}", self.0.join("\n"));
    }
}
