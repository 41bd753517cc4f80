//! The folder of a cell: its files, and whether they are what they were when it was made.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use quell_kernel::hash;
use quell_measure::{Histograms, Summary};
use quell_results::read::{self, LONGEST};
use quell_scenario::{Problems, Scenario};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use super::identity::{Key, digest};
use crate::OneLine;

/// What the cell depends on.
pub(crate) const CELL: &str = "cell.json";
/// Why there is no result.
pub(crate) const FAILED: &str = "failed.json";
/// The figures of a measurement that is none of the summary.
pub(crate) const FIGURES: &str = "figures.json";
/// The sums of all other files.
pub(crate) const SUMS: &str = "SHA256SUMS";
/// The files of a result.
pub(crate) const RESULT: [&str; 4] = [CELL, "histograms.json", "scenario.toml", "summary.json"];
/// The series of a result; without events there is no file of events.
pub(crate) const SERIES: [&str; 3] = ["events.parquet", "flows.parquet", "queues.parquet"];

/// What a store has of a cell, as far as its files say by being there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Missing,
    /// With its series or without.
    Done {
        series: bool,
    },
    /// With the figures of a measurement of its own.
    Measured,
    Failed,
    /// Files are missing or empty.
    Broken,
}

/// How a cell differs from the one that was made.
#[derive(Debug, thiserror::Error)]
pub enum Damage {
    /// A file is empty.
    #[error("a file is empty")]
    Empty,
    /// Files are missing.
    #[error("lacks {}", .0.join(", "))]
    Lacks(Vec<String>),
    /// A file without a sum.
    #[error("{0} is not in {SUMS}")]
    NotSummed(String),
    /// A file cannot be read.
    #[error("{name}: {source}")]
    File {
        /// Its name.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// A file is no JSON of its kind.
    #[error("{name}: {source}")]
    Json {
        /// Its name.
        name: String,
        /// Why.
        source: serde_json::Error,
    },
    /// A file is too long to be read.
    #[error("{0}: it is longer than {most} MiB", most = LONGEST >> 20)]
    TooLong(String),
    /// A file is not the one that was put there.
    #[error("{0} was changed")]
    Changed(String),
    /// The cell belongs to another key.
    #[error("{CELL} is that of another cell")]
    OtherCell,
    /// The file of sums is not one.
    #[error("{SUMS} cannot be read")]
    Sums,
    /// The scenario has problems.
    #[error(transparent)]
    Scenario(#[from] Problems),
    /// The scenario is not the one that the key names.
    #[error("scenario.toml is not that of {CELL}")]
    OtherScenario,
    /// The summary is of a partial run, or of another one.
    #[error("summary.json is not that of a whole run of the cell")]
    OtherSummary,
    /// A failed cell does not say why.
    #[error("{FAILED} has no error")]
    NoError,
    /// A file of no known name.
    #[error("{} does not belong there", OneLine(.0))]
    Foreign(String),
    /// The folder itself cannot be read.
    #[error(transparent)]
    Folder(io::Error),
}

impl Damage {
    fn file(name: &str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File {
            name: name.to_owned(),
            source,
        }
    }

    fn json(name: &str) -> impl FnOnce(serde_json::Error) -> Self {
        move |source| Self::Json {
            name: name.to_owned(),
            source,
        }
    }
}

/// What a cell holds that is as it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whole {
    Result,
    /// Of a measurement that is none of the summary.
    Figures,
    Failure,
}

/// What the folder of a cell holds.
pub(crate) fn state_of(cell: &Path) -> State {
    let has = |name: &str| fs::metadata(cell.join(name)).is_ok_and(|file| file.len() > 0);
    if cell.is_symlink() {
        return State::Broken;
    }
    if RESULT.iter().all(|name| has(name)) && has(SUMS) {
        let series = has("flows.parquet") && has("queues.parquet");
        State::Done { series }
    } else if has(FIGURES) && has(CELL) && has("scenario.toml") && has(SUMS) {
        State::Measured
    } else if has(FAILED) && has(CELL) && has(SUMS) {
        State::Failed
    } else if fs::symlink_metadata(cell).is_ok() {
        State::Broken
    } else {
        State::Missing
    }
}

/// The sums of a cell, by file.
pub(crate) fn read_sums(text: &str) -> Option<Vec<(&str, &str)>> {
    let line = |line| {
        let (sum, name) = str::split_once(line, "  ")?;
        Key::parse(sum)?;
        let known = RESULT.iter().chain(&SERIES).chain(&[FAILED, FIGURES]);
        known
            .into_iter()
            .any(|one| *one == name)
            .then_some((name, sum))
    };
    text.lines().map(line).collect()
}

/// Whether the files in the folder `cell` are those that were put there for `key`; otherwise the reason.
pub(crate) fn is_intact(cell: &Path, key: Key) -> Result<Whole, Damage> {
    let names = names(cell)?;
    let whole = match state_of(cell) {
        State::Done { .. } => Whole::Result,
        State::Measured => Whole::Figures,
        State::Failed => Whole::Failure,
        State::Missing | State::Broken => {
            let wanted = RESULT.iter().chain(&[SUMS]).map(|name| (*name).to_owned());
            let lacks: Vec<String> = wanted.filter(|name| !names.contains(name)).collect();
            return Err(match lacks[..] {
                [] => Damage::Empty,
                _ => Damage::Lacks(lacks),
            });
        }
    };
    let sums = sums_of(cell)?;
    for name in names.iter().filter(|name| *name != SUMS) {
        let Some(sum) = sums.get(name) else {
            // Series are added before the sums are.
            if SERIES.contains(&name.as_str()) {
                continue;
            }
            return Err(Damage::NotSummed(name.clone()));
        };
        let file = File::open(cell.join(name)).map_err(Damage::file(name))?;
        let is_long = file.metadata().is_ok_and(|found| found.len() > LONGEST);
        if is_long && !SERIES.contains(&name.as_str()) {
            return Err(Damage::TooLong(name.clone()));
        }
        if hash::of(&file).map_err(Damage::file(name))? != *sum {
            return Err(Damage::Changed(name.clone()));
        }
    }
    if let Some(gone) = sums.keys().find(|name| !names.contains(name)) {
        return Err(Damage::Lacks(vec![gone.clone()]));
    }
    if Key::of(text(cell, CELL)?.trim_end_matches('\n')) != key {
        return Err(Damage::OtherCell);
    }
    Ok(whole)
}

/// The sums of a cell, by file.
fn sums_of(cell: &Path) -> Result<BTreeMap<String, String>, Damage> {
    let sums = text(cell, SUMS)?;
    let sums = read_sums(&sums).ok_or(Damage::Sums)?;
    let owned = |(name, sum): (&str, &str)| (name.to_owned(), sum.to_owned());
    Ok(sums.into_iter().map(owned).collect())
}

/// The text of a file of a cell; unless it is trusted, that which was put there.
pub(crate) fn text_of(cell: &Path, name: &str, trust: bool) -> Result<String, Damage> {
    let text = text(cell, name)?;
    if !trust && sums_of(cell)?.get(name) != Some(&digest(text.as_bytes())) {
        return Err(Damage::Changed(name.to_owned()));
    }
    Ok(text)
}

/// Whether the folder `cell` is whole and belongs to `key`, and its files say so; otherwise the reason. `code` is this program's.
pub(crate) fn verify(cell: &Path, key: Key, code: &str) -> Result<Whole, Damage> {
    let whole = is_intact(cell, key)?;
    let own = text(cell, CELL)?;
    let own: Json = serde_json::from_str(&own).map_err(Damage::json(CELL))?;
    let scenario = text(cell, "scenario.toml")?;
    if own["code"].as_str() == Some(code) {
        let read = Scenario::load("scenario.toml", &scenario, &[], None)?.scenario;
        let canonical: Json = serde_json::from_str(&read.canonical()).unwrap_or_default();
        if canonical != own["scenario"] {
            return Err(Damage::OtherScenario);
        }
    }
    match whole {
        Whole::Result => {
            let summary: Summary = json(cell, "summary.json")?;
            let _: Histograms = json(cell, "histograms.json")?;
            let is_own = own["seed"] == summary.seed && own["world"] == summary.world.as_str();
            if !is_own || summary.partial {
                return Err(Damage::OtherSummary);
            }
        }
        Whole::Figures => drop(json::<Json>(cell, FIGURES)?),
        Whole::Failure => {
            let failed: Json = json(cell, FAILED)?;
            failed["error"].as_str().ok_or(Damage::NoError)?;
        }
    }
    Ok(whole)
}

/// The files of a cell, which are all of known names.
fn names(cell: &Path) -> Result<Vec<String>, Damage> {
    let entries = fs::read_dir(cell).map_err(Damage::Folder)?;
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(Damage::Folder)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let known = RESULT.iter().chain(&SERIES);
        let known = known.chain(&[FAILED, FIGURES, SUMS]);
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if !is_file || !known.into_iter().any(|one| *one == name) {
            return Err(Damage::Foreign(name));
        }
        names.push(name);
    }
    names.sort();
    Ok(names)
}

fn text(cell: &Path, name: &str) -> Result<String, Damage> {
    read::text(&cell.join(name), LONGEST).map_err(Damage::file(name))
}

fn json<T: DeserializeOwned>(cell: &Path, name: &str) -> Result<T, Damage> {
    let text = text(cell, name)?;
    serde_json::from_str(&text).map_err(Damage::json(name))
}
