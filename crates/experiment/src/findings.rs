//! What an experiment found: text, tables, checks and figures.

use quell_lab::results::present::Table;
use quell_lab::sweep::Stored;

use crate::experiment::Experiment;
use crate::figure::Figure;
use crate::reference::Compared;
use crate::statement::{Checks, Judge, Judged};

/// What an experiment found.
#[derive(Debug)]
pub struct Findings<'a> {
    experiment: &'a Experiment,
    judge: Judge,
    pub(crate) checks: Vec<Checks>,
    faults: Vec<String>,
    /// Markdown: its part of a section of the book.
    pub text: String,
    /// Files of `docs/evidence/data`.
    pub tables: Vec<(String, Table)>,
    /// Each point beside what is recorded of it in another world.
    pub compared: Vec<Compared>,
    /// For the book.
    pub figures: Vec<Figure>,
}

impl<'a> Findings<'a> {
    /// What the results of the experiment's cells, in their order, say in the simulated world.
    pub fn of(experiment: &'a Experiment, results: &[Stored]) -> Self {
        Self::judged_as(experiment, results, Judge::Simulated)
    }

    /// The same in another world.
    pub fn elsewhere(experiment: &'a Experiment, results: &[Stored]) -> Self {
        Self::judged_as(experiment, results, Judge::Elsewhere)
    }

    pub(crate) fn judged_as(experiment: &'a Experiment, results: &[Stored], judge: Judge) -> Self {
        let found = experiment.found(results);
        Self {
            experiment,
            judge,
            checks: found.checks,
            faults: found.faults,
            text: found.text.trim().to_owned(),
            tables: found.tables,
            compared: found.compared,
            figures: found.figures,
        }
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

    /// Whether everything that the file asks for has a value.
    pub fn is_complete(&self) -> bool {
        self.faults.is_empty()
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
