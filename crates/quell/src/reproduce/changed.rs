//! `--changed`: what was judged with the same inputs before does not run again.
//!
//! A full run leaves a line for each experiment whose judgement is complete: the hash of its inputs, how many of its statements are
//! reproduced, differ and cannot be judged, and its ID. The lines of own experiments lie beside their files, the others in the store. A line
//! that is not there, or wrong in any way, is one of other inputs.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use quell_experiment::{Experiment, Findings, Outcome, Verdict, inputs};
use quell_lab::World;
use quell_lab::results::read;
use quell_lab::sweep::{Identity, Plan, Report};

use crate::failure::Failure;
use crate::output::files::write;

/// Bytes of a file of lines at most.
const LONGEST: u64 = 1 << 20;

/// Statements that are reproduced, differ, and cannot be judged.
pub(super) type Counts = [usize; 3];

/// An experiment that need not run, and how its last run ended.
pub(super) struct Unchanged<'a> {
    pub(super) experiment: &'a Experiment,
    pub(super) counts: Counts,
}

/// How many of its statements have which verdict, if they were judged.
pub(super) fn counts(findings: &Findings<'_>) -> Option<Counts> {
    let mut counts = Counts::default();
    for judged in findings.judged() {
        counts[match judged.verdict {
            Verdict::Reproduced => 0,
            Verdict::Differs(_) => 1,
            Verdict::CannotBeJudged(_) => 2,
            Verdict::Quick => return None,
        }] += 1;
    }
    Some(counts)
}

/// The experiments that need not run, and the others.
pub(super) fn divide<'a>(
    experiments: Vec<&'a Experiment>,
    world: World,
    identity: &Identity,
    store: &Path,
) -> (Vec<Unchanged<'a>>, Vec<&'a Experiment>) {
    let (mut unchanged, mut changed) = (Vec::new(), Vec::new());
    for experiment in experiments {
        let lines = read::text(&place(experiment, store), LONGEST).unwrap_or_default();
        let line = lines.lines().find(|line| is_of(line, experiment));
        let counts = line.and_then(|line| {
            let inputs = inputs::of(experiment, world, identity)?;
            parse(line, &inputs, experiment.statements.len())
        });
        match counts {
            Some(counts) => unchanged.push(Unchanged { experiment, counts }),
            None => changed.push(experiment),
        }
    }
    (unchanged, changed)
}

/// Writes a line for each of these experiments, which ran in full; of one that is not complete no line stays.
pub(super) fn keep(
    outcomes: &[Outcome<'_>],
    ran: &Report,
    plan: &Plan,
    store: &Path,
) -> Result<(), Failure> {
    let mut files: BTreeMap<PathBuf, Vec<(&Experiment, String)>> = BTreeMap::new();
    for outcome in outcomes {
        let experiment = outcome.experiment();
        let is_sound = |one: &&Findings<'_>| one.is_complete() && ran.conflicts.is_empty();
        let found = outcome.findings().filter(is_sound);
        let line = found.and_then(counts).and_then(|counts| {
            let inputs = inputs::of(experiment, plan.world, &plan.identity)?;
            let [reproduced, differ, open] = counts;
            Some(format!(
                "{inputs} {reproduced} {differ} {open} {}\n",
                experiment.id
            ))
        });
        let lines = files.entry(place(experiment, store)).or_default();
        lines.push((experiment, line.unwrap_or_default()));
    }
    for (path, own) in files {
        let known = match read::text(&path, LONGEST) {
            Err(why) if why.kind() != ErrorKind::NotFound => {
                let path = path.display();
                return Err(Failure::failed(format!("{path}: {why}")));
            }
            known => known.unwrap_or_default(),
        };
        let is_other = |line: &&str| !own.iter().any(|(experiment, _)| is_of(line, experiment));
        let others = known.lines().filter(is_other);
        let mut text: String = others.flat_map(|line| [line, "\n"]).collect();
        text.extend(own.iter().map(|(_, line)| line.as_str()));
        if text != known {
            write(&path, text.as_bytes())?;
        }
    }
    Ok(())
}

/// The file of an experiment's line.
fn place(experiment: &Experiment, store: &Path) -> PathBuf {
    match experiment.chapter() {
        "" => experiment
            .folder()
            .join(format!("{}.checked", experiment.id)),
        _ => store.join("reproduce.checked"),
    }
}

fn is_of(line: &str, experiment: &Experiment) -> bool {
    line.splitn(5, ' ').nth(4) == Some(&experiment.id)
}

/// The verdicts of a line with these inputs about so many statements.
fn parse(line: &str, inputs: &str, statements: usize) -> Option<Counts> {
    let words: Vec<&str> = line.splitn(5, ' ').collect();
    let [found, reproduced, differ, open, _] = words[..] else {
        return None;
    };
    let number = |word: &str| word.parse::<usize>().ok().filter(|one| *one <= statements);
    let counts = [number(reproduced)?, number(differ)?, number(open)?];
    (found == inputs && counts.iter().sum::<usize>() == statements).then_some(counts)
}
