//! `--strict`: a warning of a result becomes an error of the command.

use clap::Args;
use quell_lab::Outcome;

use crate::failure::Failure;

/// Whether warnings are errors.
#[derive(Debug, Args)]
pub(crate) struct Strict {
    /// Exit with code 1 if a result has a warning; the results are kept
    #[arg(long)]
    strict: bool,
}

impl Strict {
    /// Fails with `--strict` if a run has a warning. Call it after everything has been printed.
    pub(crate) fn check<'a>(
        &self,
        outcomes: impl IntoIterator<Item = &'a Outcome>,
    ) -> Result<(), Failure> {
        let runs = outcomes.into_iter().flat_map(|outcome| &outcome.runs);
        let warnings: usize = runs.map(|run| run.summary.warnings.len()).sum();
        check(self.strict, warnings, "; the results are kept")
    }
}

/// Fails if `strict` and there are warnings; `kept` finishes the line.
pub(crate) fn check(strict: bool, warnings: usize, kept: &str) -> Result<(), Failure> {
    if !strict || warnings == 0 {
        return Ok(());
    }
    let warnings = match warnings {
        1 => "1 warning".to_owned(),
        many => format!("{many} warnings"),
    };
    Err(Failure::failed(format!(
        "{warnings}, and --strict makes that an error{kept}"
    )))
}
