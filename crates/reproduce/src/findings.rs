//! What an experiment found: text, tables, checks and figures.

use crate::experiment::Experiment;
use crate::figure::Figure;
use crate::statement::{Checks, Judge, Judged};
use crate::table::Table;

/// What an experiment found.
#[derive(Debug)]
pub struct Findings<'a> {
    experiment: &'a Experiment,
    judge: Judge,
    /// One for each statement, in their order.
    pub(crate) checks: Vec<Checks>,
    /// What could not be evaluated.
    pub(crate) faults: Vec<String>,
    /// Markdown: its part of a section of `docs/evidence/published.md`.
    pub text: String,
    /// Files of `docs/evidence/data`.
    pub tables: Vec<(String, Table)>,
    /// For the book.
    pub figures: Vec<Figure>,
}

impl<'a> Findings<'a> {
    pub(crate) fn new(experiment: &'a Experiment, judge: Judge) -> Self {
        let checks = experiment.statements.iter().map(|_| Checks::default());
        Self {
            experiment,
            judge,
            checks: checks.collect(),
            faults: Vec::new(),
            text: String::new(),
            tables: Vec::new(),
            figures: Vec::new(),
        }
    }

    /// Adds Markdown.
    pub fn write(&mut self, markdown: impl AsRef<str>) {
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        self.text.push_str(markdown.as_ref().trim());
    }

    /// Adds a CSV file. Rows of several experiments of a section go into one file if they give it the same name and heads.
    pub fn csv(&mut self, name: impl Into<String>, table: Table) {
        self.tables.push((name.into(), table));
    }

    /// Adds a figure of the book.
    pub fn draw(&mut self, figure: Figure) {
        self.figures.push(figure);
    }

    /// The checks of the statement with this name.
    ///
    /// # Panics
    ///
    /// The definition has no such statement.
    pub fn on(&mut self, statement: &str) -> &mut Checks {
        let mut all = self.experiment.statements.iter();
        let place = all.position(|one| one.id == statement);
        let Some(place) = place else {
            panic!("{} has no statement {statement:?}", self.experiment.id);
        };
        &mut self.checks[place]
    }

    /// A key of the file could not be evaluated: why.
    pub(crate) fn fault(&mut self, key: &str, why: &str) {
        self.faults.push(format!("{key}: {why}"));
    }

    /// The experiment.
    pub fn experiment(&self) -> &'a Experiment {
        self.experiment
    }

    /// The statements with their verdicts, in the order of the definition.
    pub fn judged(&self) -> Vec<Judged> {
        let both = self.experiment.statements.iter().zip(&self.checks);
        both.map(|(statement, checks)| checks.judge(statement, &self.experiment.id, self.judge))
            .collect()
    }

    /// What a reader should know besides the verdicts: guards that do not hold, reasons without a miss, what could not be evaluated.
    pub fn notes(&self) -> Vec<String> {
        if self.judge == Judge::Quick {
            return self.faults.clone();
        }
        let both = self.experiment.statements.iter().zip(&self.checks);
        let notes = both.flat_map(|(statement, checks)| checks.notes(statement));
        notes.chain(self.faults.iter().cloned()).collect()
    }

    /// Where the definition and the outcome in the simulated world do not fit: a miss without a reason, a reason without a miss, a
    /// statement without a check.
    pub fn problems(&self) -> Vec<String> {
        let both = self.experiment.statements.iter().zip(&self.checks);
        let problems = both.flat_map(|(statement, checks)| checks.problems(statement));
        let problems = problems.map(|problem| format!("{}#{problem}", self.experiment.id));
        let faults = self
            .faults
            .iter()
            .map(|fault| format!("{}: {fault}", self.experiment.id));
        problems.chain(faults).collect()
    }
}
