//! `quell report`, and `--report` of the commands that make results.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::Args;
use quell_experiment::characterize::{Card, document};
use quell_lab::Outcome;
use quell_lab::results::plot::Source;
use quell_lab::results::{plot, present, report};
use quell_lab::sweep::table::{self, Table};
use quell_lab::sweep::{Key, Store};
use serde_json::Value;

use crate::failure::Failure;
use crate::output::files::{fail, folder as folder_name, write};
use crate::output::page::Page;
use crate::sweep::table::is_number_of;

/// `quell report`.
#[derive(Debug, Args)]
pub(crate) struct Report {
    /// Folders of quell run, compare or exec; or one of quell sweep or characterize
    #[arg(required = true)]
    results: Vec<PathBuf>,
    /// The file, .html; one of that name is replaced [default: report.html here, if there is none yet]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Show the report in a browser
    #[arg(long)]
    open: bool,
    /// Print its answer and what people feel as JSON instead
    #[arg(long, conflicts_with_all = ["out", "open"])]
    json: bool,
}

const NAME: &str = "report.html";

/// Writes the report of results.
pub(crate) fn report(arguments: &Report, page: &mut Page) -> Result<(), Failure> {
    if arguments.json {
        let Read::Results(sources) = read(&arguments.results)? else {
            return Err(Failure::input(
                "a card has its figures in card.json already",
            ));
        };
        page.line(report::json(&sources).map_err(fail)?);
        return Ok(());
    }
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
    let html = match read(results)? {
        Read::Card(card) => present::page(&document::document(&card)),
        Read::Results(sources) => report::html(&sources).map_err(fail)?,
    };
    write(out, html.as_bytes())
}

/// What a report can be about.
enum Read {
    Results(Vec<Source>),
    Card(Box<Card>),
}

fn read(results: &[PathBuf]) -> Result<Read, Failure> {
    let has = |file: &'static str| move |folder: &&PathBuf| folder.join(file).is_file();
    let cards: Vec<&PathBuf> = results.iter().filter(has("card.json")).collect();
    let stores: Vec<&PathBuf> = results.iter().filter(has("plan.json")).collect();
    match (&cards[..], &stores[..], results) {
        ([], [], _) => {
            let folders: Vec<PathBuf> = results.iter().flat_map(|one| as_asked(one)).collect();
            plot::read(&folders).map(Read::Results).map_err(fail)
        }
        (_, [], [folder]) => {
            let file = folder.join("card.json");
            let read = std::fs::read(&file).map_err(Failure::input)?;
            let card = serde_json::from_slice(&read).map_err(|error| {
                Failure::input(format!("{}: no report card: {error}", file.display()))
            })?;
            Ok(Read::Card(Box::new(card)))
        }
        ([], _, [store]) => swept(&Store::at(store)).map(Read::Results),
        ([alone, ..], ..) | (_, [alone, ..], _) => Err(Failure::input(format!(
            "{}: a card or a store has a report of its own; give it alone",
            alone.display()
        ))),
    }
}

/// The results in a folder of quell compare, in the order of its command; any other folder as it is.
fn as_asked(folder: &Path) -> Vec<PathBuf> {
    let place = |path: &Path| {
        let files = ["run.json", "seed1/run.json"].map(|file| std::fs::read(path.join(file)));
        let text = files.into_iter().find_map(Result::ok)?;
        let record: Value = serde_json::from_slice(&text).ok()?;
        let words = record["command"]
            .as_array()?
            .iter()
            .filter_map(Value::as_str);
        let mut names = words.flat_map(|word| word.split(',')).map(folder_name);
        names.position(|name| path.ends_with(name))
    };
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let inner = entries.map(|entry| Some((place(&entry.path())?, entry.path())));
    let mut inner: Vec<(usize, PathBuf)> = inner.collect::<Option<_>>().unwrap_or_default();
    inner.sort();
    match inner.is_empty() {
        true => vec![folder.to_owned()],
        false => inner.into_iter().map(|(_, path)| path).collect(),
    }
}

/// A result for each point of a sweep, with all its seeds, named by the parameters that differ.
fn swept(store: &Store) -> Result<Vec<Source>, Failure> {
    let table = table::read(store).map_err(Failure::run)?;
    let keys: Vec<&str> = table.keys().collect();
    let differs = |column: &usize| {
        (1..table.rows()).any(|row| text(&table, row, *column) != text(&table, 0, *column))
    };
    let names = (0..keys.len()).filter(|&column| {
        !["cell", "seed"].contains(&keys[column]) && !is_number_of(keys[column], &keys)
    });
    let names: Vec<usize> = names.filter(differs).collect();
    let cell = keys
        .iter()
        .position(|key| *key == "cell")
        .unwrap_or_default();
    let mut points: Vec<(String, Vec<PathBuf>)> = Vec::new();
    for row in 0..table.rows() {
        let label: Vec<String> = names
            .iter()
            .map(|&column| text(&table, row, column))
            .collect();
        let folder = Key::parse(&text(&table, row, cell)).map(|key| store.cell(key));
        match points
            .iter_mut()
            .find(|(known, _)| *known == label.join(" "))
        {
            Some((_, folders)) => folders.extend(folder),
            None => points.push((label.join(" "), folder.into_iter().collect())),
        }
    }
    report::grouped(points).map_err(fail)
}

fn text(table: &Table, row: usize, column: usize) -> String {
    table.value(row, column).text()
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
