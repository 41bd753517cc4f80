//! What the file of an experiment says of its results: checks, text, tables and figures.

use quell_lab::results::present::Table;

use crate::figure::Figure;
use crate::reference::Compared;
use crate::statement::Checks;

/// What an experiment's file says of its results.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// One for each statement, in their order.
    pub(crate) checks: Vec<Checks>,
    /// Each point beside what is recorded of it.
    pub(crate) compared: Vec<Compared>,
    /// What could not be evaluated.
    pub(crate) faults: Vec<String>,
    /// Markdown.
    pub(crate) text: String,
    /// CSV files, by name.
    pub(crate) tables: Vec<(String, Table)>,
    /// For the book.
    pub(crate) figures: Vec<Figure>,
}

impl Found {
    /// A key of the file could not be evaluated: why.
    pub(crate) fn fault(&mut self, key: &str, why: &str) {
        self.faults.push(format!("{key}: {why}"));
    }
}
