//! The clauses that are there.

use std::fmt;

use quell_lab::scenario::{Problems, closest};

use super::stack::Stack;
use crate::experiment::Experiment;
use crate::ruling::Level;
use crate::shipped;

/// Name of the file with what all clauses share; each begins with `like = "stack"`.
const SHARED: &str = "stack";
/// The group with several groups of the stack in its bed, `stack` and `stack2` and so on.
const SEVERAL: (&str, u64) = ("small-windows", 10);

/// What a standard asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clause {
    /// Its name, as `law-scalable`.
    pub id: String,
    /// The file in `clauses/` that it stands in, without its end.
    pub group: String,
    /// Document and section.
    pub by: String,
    /// How strongly.
    pub level: Level,
    /// What is asked, in our words.
    pub text: String,
    /// What is measured, the bound and where it comes from.
    pub bound: String,
    /// Reasons for which it does not apply, and for which nobody can say.
    pub not_applicable: Vec<String>,
    /// The second kind.
    pub open: Vec<String>,
    /// Whether a quick look judges it.
    pub is_quick: bool,
    /// The beds and what they set, in the words of `clauses/`.
    pub bed: String,
}

/// Which clauses are judged.
#[derive(Debug, Clone)]
pub enum Wanted {
    /// Those of a quick look.
    Quick,
    /// All.
    All,
    /// These, by the name of a clause or of a group.
    Named(Vec<String>),
}

impl Wanted {
    /// Whether a clause is among them.
    pub(super) fn has(&self, clause: &Clause) -> bool {
        match self {
            Self::Quick => clause.is_quick,
            Self::All => true,
            Self::Named(names) => names
                .iter()
                .any(|name| *name == clause.id || *name == clause.group),
        }
    }
}

/// There is no clause of this name.
#[derive(Debug)]
pub struct NoClause(String, Option<String>);

impl fmt::Display for NoClause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no clause {}; ", self.0)?;
        match &self.1 {
            Some(meant) => write!(f, "did you mean {meant}?"),
            None => f.write_str("quell judge list has them"),
        }
    }
}

impl std::error::Error for NoClause {}

impl Wanted {
    /// Those of these names.
    ///
    /// # Errors
    ///
    /// There is none of a name.
    pub fn named(names: &[String]) -> Result<Self, NoClause> {
        let all = clauses();
        let known = || {
            all.iter()
                .flat_map(|one| [one.id.as_str(), one.group.as_str()])
        };
        match names.iter().find(|name| known().all(|one| one != *name)) {
            None => Ok(Self::Named(names.to_vec())),
            Some(name) => Err(NoClause(
                name.clone(),
                closest(name, known()).map(str::to_owned),
            )),
        }
    }
}

/// All clauses, in the order of `clauses/`.
pub fn clauses() -> Vec<Clause> {
    let all = groups().filter_map(|group| Some((experiment(group, None, 1).ok()?, group)));
    all.flat_map(|(experiment, group)| of(&experiment, group))
        .collect()
}

/// The files with clauses.
pub(super) fn groups() -> impl Iterator<Item = &'static str> {
    let files = shipped::clauses().filter(|name| !name.contains('/'));
    let names = files.filter_map(|name| name.strip_suffix(".toml"));
    names.filter(|name| *name != SHARED)
}

/// The clauses of a group's experiment.
pub(super) fn of(experiment: &Experiment, group: &str) -> Vec<Clause> {
    let all = experiment.definition().statements.iter();
    let clauses = all.filter_map(|one| {
        let clause = one.clause.as_ref()?;
        let reasons = |of: &[(String, _)]| of.iter().map(|(why, _)| why.clone()).collect();
        Some(Clause {
            id: one.id.clone(),
            group: group.to_owned(),
            by: clause.by.clone(),
            level: clause.level,
            text: one.published.clone(),
            bound: one.checked.clone(),
            not_applicable: reasons(&clause.not_applicable),
            open: reasons(&clause.open),
            is_quick: clause.is_quick,
            bed: experiment.source.clone(),
        })
    });
    clauses.collect()
}

/// The experiment of a group for a stack: without one, that of the shared file alone.
///
/// # Errors
///
/// Everything that is wrong with it: what a stack says is too long.
pub(super) fn experiment(
    group: &str,
    stack: Option<&Stack>,
    seeds: u64,
) -> Result<Experiment, Problems> {
    let unknown = Stack::unknown();
    let groups = if group == SEVERAL.0 { SEVERAL.1 } else { 1 };
    let stack = stack.unwrap_or(&unknown);
    let stack = stack.keys(group, groups);
    let files = |name: &str| match name.strip_suffix(".toml") == Some(SHARED) {
        true => Some(format!(
            "seeds = {seeds}\n{}{stack}",
            shipped::clause(name)?
        )),
        false => shipped::clause(name).map(str::to_owned),
    };
    let name = format!("{group}.toml");
    let text = shipped::clause(&name).unwrap_or_default();
    Experiment::read(group, text, &files)
}
