//! `judge.json` for readers of JUnit XML: what is no MUST, and what is open, is skipped there.

use std::path::Path;

use quell_experiment::expectation::Judged as Expected;
use quell_experiment::judge::{Judgement, Record, Ruling};

use crate::expectations::Suite;
use crate::output::files::folder as folder_name;

/// A suite for each stack, whose runs are in `out`.
pub(super) fn suites(record: &Record, out: &Path) -> Vec<Suite> {
    let suite = |stack: &Judgement| Suite {
        name: stack.name.clone(),
        label: String::new(),
        seconds: 0.0,
        folder: Some(out.join(folder_name(&stack.name))),
        judged: stack
            .clauses
            .iter()
            .filter(|one| one.verdict != "n/a" && one.verdict != "note")
            .map(expected)
            .collect(),
    };
    record.stacks.iter().map(suite).collect()
}

fn expected(one: &Ruling) -> Expected {
    Expected {
        text: format!("{}: {}", one.id, one.text),
        why: one.by.clone(),
        is_error: one.level == "MUST" && one.verdict == "FAIL",
        is_met: one.verdict == "pass",
        found: one.found(),
    }
}
