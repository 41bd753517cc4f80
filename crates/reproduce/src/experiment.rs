//! What a published experiment is.

use std::fmt;

use quell_lab::sweep::Stored;

use crate::cell::Cell;
use crate::cells::Cells;
use crate::experiment_file::ExperimentFile;
use crate::findings::Findings;
use crate::statement::Statement;

/// An experiment: what its source says, the runs that repeat it, and how the results are judged.
pub struct Experiment {
    /// Its name: a [`Chapter`](crate::registry::Chapter) and a name in it, as `gsp2014/e4`.
    pub id: &'static str,
    /// What it is about.
    pub title: &'static str,
    /// Where the values and statements stand: the publication, and the slide, section or table.
    pub source: &'static str,
    /// What the source says.
    pub statements: &'static [Statement],
    /// The runs. Several may be the same, of other experiments too: each runs once.
    pub plan: fn() -> Vec<Cell>,
    /// What the results say. The cells are in the order of the plan. Runs of a second give no drops where the full ones do; `judge` takes
    /// that too.
    pub judge: fn(&Cells<'_>, &mut Findings),
    /// The experiment file, instead of the plan and the judge.
    pub definition: Option<&'static ExperimentFile>,
}

/// Experiments that share a section of `docs/evidence/published.md`, which has their texts in this order.
#[derive(Debug)]
pub struct Section {
    /// Its title.
    pub title: &'static str,
    /// The experiments.
    pub experiments: &'static [Experiment],
}

impl Experiment {
    /// The runs that repeat it.
    pub fn cells(&self) -> Vec<Cell> {
        match self.definition {
            Some(file) => file.cells(),
            None => (self.plan)(),
        }
    }

    /// Judges the results of [`Experiment::cells`].
    pub(crate) fn find(&self, results: &[Stored], out: &mut Findings) {
        match self.definition {
            Some(file) => file.find(results, out),
            None => (self.judge)(&Cells(results), out),
        }
    }

    /// The scenarios that it runs, below `scenarios/`, in order.
    pub fn scenarios(&self) -> Vec<String> {
        let mut files: Vec<String> = self.cells().iter().map(|cell| cell.file().to_owned()).collect();
        files.sort_unstable();
        files.dedup();
        files
    }
}

impl fmt::Debug for Experiment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}
