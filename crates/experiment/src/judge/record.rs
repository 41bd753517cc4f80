//! `judge.json`: the verdicts on some stacks.

use std::path::Path;

use quell_lab::World;
use serde::{Deserialize, Serialize};

use super::trial::{Judged, Trial};
use crate::experiment::text_of;

/// The file.
#[derive(Debug, Serialize, Deserialize)]
pub struct Record {
    /// Version of the format.
    schema: u32,
    /// That of quell.
    version: String,
    /// The world in which it ran.
    pub world: String,
    /// Seeds of each run.
    pub seeds: u64,
    /// The stacks.
    pub stacks: Vec<Judgement>,
}

/// A stack with its verdicts.
#[derive(Debug, Serialize, Deserialize)]
pub struct Judgement {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it is.
    pub about: String,
    /// What it claims.
    pub claims: String,
    /// Only clauses of a first look.
    pub quick: bool,
    /// The verdicts, the worst first.
    pub clauses: Vec<Ruling>,
}

/// A verdict.
#[derive(Debug, Serialize, Deserialize)]
pub struct Ruling {
    /// The clause.
    pub id: String,
    /// The file in `clauses/` that it stands in.
    pub group: String,
    /// Document and section.
    pub by: String,
    /// MUST, SHOULD, MAY or nothing.
    pub level: String,
    /// What is asked.
    pub text: String,
    /// What is measured, and the bound.
    pub bound: String,
    /// The link.
    pub bed: String,
    /// pass, FAIL, n/a, open or note.
    pub verdict: String,
    /// Why it does not apply, or is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The figure that decides, in words.
    pub figure: String,
}

impl Record {
    /// Without stacks.
    pub fn new(world: World, seeds: u64) -> Self {
        Self {
            schema: 1,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            world: world.name().to_owned(),
            seeds,
            stacks: Vec::new(),
        }
    }

    /// Reads one.
    ///
    /// # Errors
    ///
    /// It cannot be read, or is none.
    pub fn read(path: &Path) -> std::io::Result<Self> {
        let text = text_of(path)?;
        serde_json::from_str(&text).map_err(std::io::Error::other)
    }

    /// Whether a clause of a stack has this verdict.
    pub fn has(&self, stack: &str, id: &str, verdict: &str) -> bool {
        let own = self.stacks.iter().filter(|one| one.name == stack);
        own.flat_map(|one| &one.clauses)
            .any(|one| one.id == id && one.verdict == verdict)
    }

    /// Stacks of which nothing could be judged: what applies to them is open.
    pub fn dead(&self) -> impl Iterator<Item = &str> {
        let silent = |one: &&Judgement| {
            let verdicts = one.clauses.iter().map(|one| one.verdict.as_str());
            let mut verdicts = verdicts.filter(|verdict| *verdict != "n/a").peekable();
            verdicts.peek().is_some() && verdicts.all(|verdict| verdict == "open")
        };
        self.stacks
            .iter()
            .filter(silent)
            .map(|one| one.name.as_str())
    }
}

impl Judgement {
    /// The verdicts on a stack, the worst first.
    pub fn of(trial: &Trial, judged: Vec<Judged>, quick: bool) -> Self {
        let mut clauses: Vec<Ruling> = judged.into_iter().map(Ruling::of).collect();
        let order = ["FAIL", "open", "pass", "note", "n/a"];
        clauses.sort_by_key(|one| order.iter().position(|name| *name == one.verdict));
        let stack = &trial.stack;
        Self {
            name: stack.name.clone(),
            version: stack.version.clone(),
            about: stack.about.clone(),
            claims: stack.claims.name().to_owned(),
            quick,
            clauses,
        }
    }
}

impl Ruling {
    fn of(judged: Judged) -> Self {
        let clause = judged.clause;
        Self {
            verdict: judged.verdict.name().to_owned(),
            why: judged.verdict.why().map(str::to_owned),
            figure: judged.figure,
            level: clause.level.name().to_owned(),
            id: clause.id,
            group: clause.group,
            by: clause.by,
            text: clause.text,
            bound: clause.bound,
            bed: clause.bed,
        }
    }

    /// The figure, or why there is none.
    pub fn found(&self) -> String {
        match (&self.why, self.figure.as_str()) {
            (Some(why), "") => why.clone(),
            (Some(why), figure) => format!("{figure}: {why}"),
            (None, figure) => figure.to_owned(),
        }
    }
}
