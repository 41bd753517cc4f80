//! Whether the cells of a store are what they were when they were made.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use quell_kernel::hash;
use quell_kernel::held::Held;
use quell_measure::{Histograms, Summary};
use quell_results::read::{self, LONGEST};
use quell_scenario::{Scenario, World};
use rustix::fs::OFlags;
use serde_json::Value as Json;

use super::identity::{Identity, Key, digest};
use super::record::{PLAN, Record};
use super::store::{
    CELL, FAILED, FIGURES, Making, Put, RESULT, SERIES, SUMS, State, Store, is_same, read_sums,
    state_of,
};
use crate::at_once::{FILES, each, processors};
use crate::{GuestOptions, RunError};

/// Cells that a merge copies before it looks for an error.
const AT_ONCE: usize = 1_024;

/// What a check found.
#[derive(Debug, Clone, Default)]
pub struct Checked {
    /// Cells with a result that is as it was made.
    pub whole: usize,
    /// Cells that failed.
    pub failed: usize,
    /// Cells that changed since, each with the reason, and where it was put if it was set aside.
    pub damaged: Vec<(PathBuf, String)>,
    /// Cells of the plan that are not there.
    pub missing: usize,
    /// Cells that the plan does not have: of an earlier one.
    pub besides: usize,
    /// Results that were not repeated, in `conflicts`.
    pub conflicts: usize,
}

/// Checks every cell of a store; with `set_aside` moves those that are damaged to `damaged`, so that they run again.
///
/// # Errors
///
/// There is no plan, or the store cannot be read.
pub fn check(store: &Store, set_aside: bool) -> Result<Checked, RunError> {
    let record = Record::read(store.root())?;
    let keys = store.keys().map_err(RunError::reading(store.root()))?;
    let planned = record.points.iter().flat_map(|point| &point.cells);
    let mut planned: Vec<Key> = planned.filter_map(|(_, key)| Key::parse(key)).collect();
    planned.sort_unstable();
    planned.dedup();
    let mut checked = Checked {
        missing: store
            .states(&planned)
            .into_iter()
            .filter(|state| *state == State::Missing)
            .count(),
        besides: keys
            .iter()
            .filter(|key| planned.binary_search(key).is_err())
            .count(),
        conflicts: fs::read_dir(store.root().join("conflicts")).map_or(0, Iterator::count),
        ..Checked::default()
    };
    for (key, found) in verify_all(store, &keys)? {
        match found {
            Ok(Whole::Result | Whole::Figures) => checked.whole += 1,
            Ok(Whole::Failure) => checked.failed += 1,
            Err(why) => {
                let aside = if set_aside {
                    store.set_aside(key)?
                } else {
                    None
                };
                checked
                    .damaged
                    .push((aside.unwrap_or_else(|| store.cell(key)), why));
            }
        }
    }
    Ok(checked)
}

/// What a cell holds that is as it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whole {
    Result,
    /// Of a measurement that is none of the summary.
    Figures,
    Failure,
}

/// A cell, and what it holds, or why it is damaged.
pub(crate) type Verified = (Key, Result<Whole, String>);

/// Verifies cells on several threads; the answers are in the order of the keys.
pub(crate) fn verify_all(store: &Store, keys: &[Key]) -> Result<Vec<Verified>, RunError> {
    let code = Identity::here(World::Sim, &GuestOptions::default())?.code;
    let found = each(keys, processors(), |&key| {
        (key, verify(&store.cell(key), key, &code))
    });
    Ok(found)
}

/// Whether the files in the folder `cell` are those that were put there for `key`; otherwise the reason.
pub(crate) fn is_intact(cell: &Path, key: Key) -> Result<Whole, String> {
    let names = names(cell)?;
    let whole = match state_of(cell) {
        State::Done { .. } => Whole::Result,
        State::Measured => Whole::Figures,
        State::Failed => Whole::Failure,
        State::Missing | State::Broken => {
            let lacks = RESULT
                .iter()
                .chain(&[SUMS])
                .filter(|name| !names.contains(&(**name).to_owned()));
            let lacks: Vec<&str> = lacks.copied().collect();
            return Err(match lacks[..] {
                [] => "a file is empty".to_owned(),
                _ => format!("lacks {}", lacks.join(", ")),
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
            return Err(format!("{name} is not in {SUMS}"));
        };
        let file = File::open(cell.join(name)).map_err(|error| format!("{name}: {error}"))?;
        let is_long = file.metadata().is_ok_and(|found| found.len() > LONGEST);
        if is_long && !SERIES.contains(&name.as_str()) {
            return Err(format!("{name}: it is longer than {} MiB", LONGEST >> 20));
        }
        let found = hash::of(&file);
        if found.map_err(|error| format!("{name}: {error}"))? != *sum {
            return Err(changed(name));
        }
    }
    if let Some(gone) = sums.keys().find(|name| !names.contains(name)) {
        return Err(format!("lacks {gone}"));
    }
    if Key::of(text(cell, CELL)?.trim_end_matches('\n')) != key {
        return Err(format!("{CELL} is that of another cell"));
    }
    Ok(whole)
}

/// The sums of a cell, by file.
fn sums_of(cell: &Path) -> Result<BTreeMap<String, String>, String> {
    let sums = text(cell, SUMS)?;
    let sums = read_sums(&sums).ok_or_else(|| format!("{SUMS} cannot be read"))?;
    let owned = |(name, sum): (&str, &str)| (name.to_owned(), sum.to_owned());
    Ok(sums.into_iter().map(owned).collect())
}

fn changed(name: &str) -> String {
    format!("{name} was changed")
}

/// The text of a file of a cell; unless it is trusted, that which was put there.
pub(crate) fn text_of(cell: &Path, name: &str, trust: bool) -> Result<String, String> {
    let text = text(cell, name)?;
    if !trust && sums_of(cell)?.get(name) != Some(&digest(text.as_bytes())) {
        return Err(changed(name));
    }
    Ok(text)
}

/// Whether the folder `cell` is whole and belongs to `key`, and its files say so; otherwise the reason. `code` is this program's.
pub(crate) fn verify(cell: &Path, key: Key, code: &str) -> Result<Whole, String> {
    let whole = is_intact(cell, key)?;
    let own = text(cell, CELL)?;
    let own: Json = serde_json::from_str(&own).map_err(|error| format!("{CELL}: {error}"))?;
    let scenario = text(cell, "scenario.toml")?;
    if own["code"].as_str() == Some(code) {
        let read = Scenario::load("scenario.toml", &scenario, &[], None);
        let read = read.map_err(|problems| problems.to_string())?.scenario;
        let canonical: Json = serde_json::from_str(&read.canonical()).unwrap_or_default();
        if canonical != own["scenario"] {
            return Err(format!("scenario.toml is not that of {CELL}"));
        }
    }
    match whole {
        Whole::Result => {
            let summary: Summary = json(cell, "summary.json")?;
            let _: Histograms = json(cell, "histograms.json")?;
            let is_own = own["seed"] == summary.seed && own["world"] == summary.world.as_str();
            if !is_own || summary.partial {
                return Err("summary.json is not that of a whole run of the cell".to_owned());
            }
        }
        Whole::Figures => drop(json::<Json>(cell, FIGURES)?),
        Whole::Failure => {
            let failed: Json = json(cell, FAILED)?;
            failed["error"]
                .as_str()
                .ok_or_else(|| format!("{FAILED} has no error"))?;
        }
    }
    Ok(whole)
}

/// The files of a cell, which are all of known names.
fn names(cell: &Path) -> Result<Vec<String>, String> {
    let entries = fs::read_dir(cell).map_err(|error| error.to_string())?;
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| error.to_string())?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let known = RESULT.iter().chain(&SERIES);
        let known = known.chain(&[FAILED, FIGURES, SUMS]);
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if !is_file || !known.into_iter().any(|one| *one == name) {
            return Err(format!("{} does not belong there", crate::OneLine(&name)));
        }
        names.push(name);
    }
    names.sort();
    Ok(names)
}

fn text(cell: &Path, name: &str) -> Result<String, String> {
    read::text(&cell.join(name), LONGEST).map_err(|error| format!("{name}: {error}"))
}

fn json<T: serde::de::DeserializeOwned>(cell: &Path, name: &str) -> Result<T, String> {
    let text = text(cell, name)?;
    serde_json::from_str(&text).map_err(|error| format!("{name}: {error}"))
}

/// What a merge did.
#[derive(Debug, Clone, Default)]
pub struct Merged {
    /// Cells that the store did not have.
    pub copied: usize,
    /// Cells that it had.
    pub same: usize,
    /// Cells of which it has another result; the others are in its `conflicts`.
    pub conflicts: Vec<PathBuf>,
    /// Cells of the sources that changed since they were made, each with the reason; they are left out.
    pub damaged: Vec<(PathBuf, String)>,
    /// Sources whose plan is another one than the store's.
    pub other_plans: usize,
}

/// Adds the cells of `sources` to `store`, which may be new: it then takes the plan of the first source.
///
/// # Errors
///
/// One of the sources is no store, or the store cannot be written.
pub fn merge(store: &Store, sources: &[PathBuf]) -> Result<Merged, RunError> {
    for source in sources {
        Record::read(source)?;
        let same = || Some(fs::canonicalize(source).ok()? == fs::canonicalize(store.root()).ok()?);
        if same() == Some(true) {
            let why = format!("{} is the store itself", source.display());
            return Err(RunError::refused(why));
        }
    }
    let making = store.making()?;
    let mut merged = Merged::default();
    for source in sources {
        let from = Store::at(source);
        let keys = from.keys().map_err(RunError::reading(source))?;
        let mut whole = Vec::with_capacity(keys.len());
        for (key, found) in verify_all(&from, &keys)? {
            match found {
                Ok(_) => whole.push(key),
                Err(why) => merged.damaged.push((from.cell(key), why)),
            }
        }
        // A cell waits for the disk several times; what many wait for goes to it together.
        for some in whole.chunks(AT_ONCE) {
            for put in each(some, FILES, |&key| copy(&from, key, store, &making)) {
                match put? {
                    Put::New => merged.copied += 1,
                    Put::Same => merged.same += 1,
                    Put::Conflict(path) => merged.conflicts.push(path),
                }
            }
        }
        let (own, other) = (store.root().join(PLAN), source.join(PLAN));
        match is_same(&own, &other) {
            Ok(same) => merged.other_plans += usize::from(!same),
            Err(_) => {
                fs::copy(&other, making.plan()).map_err(RunError::writing(&own))?;
                store.give_plan(&making)?;
            }
        }
    }
    Ok(merged)
}

/// Adds a cell that is whole.
fn copy(from: &Store, key: Key, store: &Store, making: &Making) -> Result<Put, RunError> {
    let cell = from.cell(key);
    let made = making.folder(key)?;
    let folder = made.folder().path();
    // Its owner may have put a link there since it was verified.
    let source = Held::open(&cell).map_err(RunError::reading(&cell))?;
    for name in source.names().map_err(RunError::reading(&cell))? {
        if name == SUMS {
            continue;
        }
        let to = folder.join(&name);
        let copied = source.file(&name, OFlags::RDONLY).and_then(|mut file| {
            let mut to = File::create_new(&to)?;
            io::copy(&mut file, &mut to)
        });
        copied.map_err(RunError::writing(&to))?;
    }
    store.put(key, made)
}
