//! `quell report`, and `--report` of the commands that make results.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::Args;
use quell_lab::Outcome;
use quell_lab::results::{plot, report};

use crate::failure::Failure;
use crate::output::page::Page;
use crate::plot::{fail, write};

/// `quell report`.
#[derive(Debug, Args)]
pub(crate) struct Report {
    /// Folders of results: of a run, of a run with several seeds, or of quell compare
    #[arg(required = true)]
    results: Vec<PathBuf>,
    /// The file, .html; one of that name is replaced [default: report.html here, if there is none yet]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Show the report in a browser
    #[arg(long)]
    open: bool,
}

const NAME: &str = "report.html";

/// Writes the report of results.
pub(crate) fn report(arguments: &Report, page: &mut Page) -> Result<(), Failure> {
    let out = arguments.out.as_deref().unwrap_or(Path::new(NAME));
    if arguments.out.is_none() && out.exists() {
        return Err(Failure::input(format!(
            "{NAME} is there already; -o {NAME} replaces it, or -o names another file"
        )));
    }
    check(out)?;
    make(&arguments.results, out)?;
    page.line(out.display());
    if arguments.open { open(out) } else { Ok(()) }
}

/// Refuses a name that a report cannot have.
pub(crate) fn check(out: &Path) -> Result<(), Failure> {
    match out.extension().is_some_and(|end| end == "html") {
        true => Ok(()),
        false => Err(Failure::input(format!(
            "{}: a report is written as .html",
            out.display()
        ))),
    }
}

fn make(results: &[PathBuf], out: &Path) -> Result<(), Failure> {
    let sources = plot::read(results).map_err(fail)?;
    let html = report::html(&sources).map_err(fail)?;
    write(out, html.as_bytes())
}

/// Asks the desktop to show a file, or what is at an address.
pub(crate) fn open(what: impl AsRef<OsStr>) -> Result<(), Failure> {
    let what = what.as_ref();
    let ended = std::process::Command::new("xdg-open").arg(what).status();
    match ended {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::failed(format!(
            "xdg-open {}: {status}",
            what.display()
        ))),
        Err(error) => Err(Failure::failed(format!(
            "cannot start a browser with xdg-open: {error}; open {} yourself",
            what.display()
        ))),
    }
}

/// `--report` and `--open` of `run`, `compare` and `demo`.
#[derive(Debug, Args)]
pub(crate) struct Reported {
    /// Write a report of the results to this file, .html; one of that name is replaced
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Show the report in a browser
    #[arg(long, requires = "report")]
    open: bool,
}

impl Reported {
    /// Refuses what cannot be written, before anything runs.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.report.as_deref().map_or(Ok(()), check)
    }

    /// Writes it, if it was asked for. Without a page nothing is said, because JSON is printed.
    pub(crate) fn make<'a>(
        &self,
        outcomes: impl IntoIterator<Item = &'a Outcome>,
        page: Option<&mut Page>,
    ) -> Result<(), Failure> {
        let Some(out) = &self.report else {
            return Ok(());
        };
        let folder = |outcome: &Outcome| match &outcome.aggregate {
            Some((folder, _)) => Some(folder.clone()),
            None => outcome.runs.first().map(|run| run.folder.clone()),
        };
        let results: Vec<PathBuf> = outcomes.into_iter().filter_map(folder).collect();
        if results.is_empty() {
            return Ok(());
        }
        make(&results, out)?;
        if let Some(page) = page {
            page.line(format_args!("report in {}", out.display()));
        }
        if self.open { open(out) } else { Ok(()) }
    }
}
