//! The store of a sweep: a folder for each cell, named by everything that the cell depends on.
//!
//! ```text
//! plan.json                                what the store is about
//! cells/ab/ab34…/cell.json                 what the cell depends on; the name of the folder is its SHA-256
//! cells/ab/ab34…/scenario.toml             the resolved scenario: `quell run` repeats the cell
//! cells/ab/ab34…/summary.json, histograms.json, with series also queues.parquet, flows.parquet, events.parquet
//! cells/ab/ab34…/figures.json              instead of summary and histograms, the figures of a measurement of its own
//! cells/ab/ab34…/failed.json               instead of the results, where the run failed: why
//! cells/ab/ab34…/SHA256SUMS                of all of these, as sha256sum(1) reads them
//! conflicts/ab34…, damaged/ab34…           cells that were not repeated to the bit, or were changed later; never removed
//! ```
//!
//! There is no database and no lock: a folder that exists is done. It is filled in a hidden folder of the store and renamed, so
//! that any number of writers may be at work, on any number of machines; the second writer of a cell compares. Nothing in a cell
//! depends on time, host or number of jobs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use quell_kernel::durable::{sync_names, sync_tree};
use quell_results::claim::Claim;
use quell_results::folder::{place, rename_without_replacing};
use rustix::io::Errno;

use super::at_once::{FILES, each};
use super::identity::{Key, digest};
use super::plan::Plan;
use super::record::{self, PLAN};
use crate::RunError;

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

/// The cells of a store.
const CELLS: &str = "cells";
const CONFLICTS: &str = "conflicts";
const DAMAGED: &str = "damaged";
/// Starts the name of what is in the making.
const UNFINISHED: &str = ".unfinished-";
/// After this time without a new cell a folder of another machine may be removed, if nobody holds its lock.
const OLD: Duration = Duration::from_secs(7 * 24 * 3_600);
/// How often another name is tried for it.
const MOST_NAMES: u32 = 10_000;

/// A folder of cells.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
    /// Whether a cell is safe on the disk before the next one begins.
    durable: bool,
}

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

/// What became of a new cell.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Put {
    New,
    /// The store had the same already.
    Same,
    /// The store has another one; the new one is here.
    Conflict(PathBuf),
}

impl Store {
    /// A store that may not exist yet.
    pub fn at(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            durable: true,
        }
    }

    /// A store for a while: what it has may be lost if the power fails.
    pub fn for_a_while(root: &Path) -> Self {
        Self {
            durable: false,
            ..Self::at(root)
        }
    }

    /// Its folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of a cell.
    pub fn cell(&self, key: Key) -> PathBuf {
        let key = key.to_string();
        self.root.join(CELLS).join(&key[..2]).join(key)
    }

    /// What there is of a cell.
    pub(crate) fn state(&self, key: Key) -> State {
        state_of(&self.cell(key))
    }

    /// What there is of each of many cells.
    pub(crate) fn states(&self, keys: &[Key]) -> Vec<State> {
        each(keys, FILES, |&key| self.state(key))
    }

    /// Every cell that is there, by name; what is no cell is left out.
    pub(crate) fn keys(&self) -> io::Result<Vec<Key>> {
        let mut keys = Vec::new();
        let entries = |folder: &Path| match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            other => other?
                .map(|entry| Ok(entry?.path()))
                .collect::<io::Result<Vec<_>>>(),
        };
        for part in entries(&self.root.join(CELLS))? {
            for cell in entries(&part)? {
                let name = cell.file_name().and_then(|name| name.to_str());
                let key = name.and_then(Key::parse);
                keys.extend(key.filter(|&key| self.cell(key) == cell));
            }
        }
        keys.sort_unstable();
        Ok(keys)
    }

    /// Makes what is missing of the store itself, and writes the plan. Returns whether another plan was there.
    pub(crate) fn begin(&self, plan: &Plan, making: &Making) -> Result<bool, RunError> {
        let path = self.root.join(PLAN);
        if record::is_at(plan, &path) {
            return Ok(false);
        }
        let new = making.path().join(PLAN);
        record::write(plan, &new).map_err(RunError::writing(&path))?;
        self.give_plan(&new)
    }

    /// Puts a plan in its place, if there is another or none. Returns whether another was there.
    pub(crate) fn give_plan(&self, new: &Path) -> Result<bool, RunError> {
        let path = self.root.join(PLAN);
        let present = fs::read(&path).ok();
        let written = fs::read(new).map_err(RunError::writing(&path))?;
        if present.as_ref() == Some(&written) {
            return fs::remove_file(new)
                .map(|()| false)
                .map_err(RunError::writing(&path));
        }
        fs::rename(new, &path)
            .and_then(|()| sync_names(&self.root))
            .map_err(RunError::writing(&path))?;
        Ok(present.is_some())
    }

    /// A hidden folder for cells in the making. What writers that are gone left is removed: those of this machine, and of others
    /// after a long time. Some network file systems keep a lock to the machine that took it, and a folder of another machine looks
    /// abandoned there while its writer is at work.
    pub(crate) fn making(&self) -> Result<Making, RunError> {
        let make = || -> io::Result<Option<Claim>> {
            fs::create_dir_all(self.root.join(CELLS)).map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => io::ErrorKind::NotADirectory.into(),
                _ => error,
            })?;
            let own = format!("{UNFINISHED}{}-", host());
            for entry in fs::read_dir(&self.root)?.flatten() {
                let name = entry.file_name();
                let name = name.to_string_lossy();
                if name.starts_with(&own) || name.starts_with(UNFINISHED) && is_old(&entry) {
                    drop(Claim::abandoned(&entry.path()));
                }
            }
            for number in 0..MOST_NAMES {
                let name = format!("{own}{}-{number}", std::process::id());
                if let Some(claim) = Claim::make(&self.root.join(name))? {
                    return Ok(Some(claim));
                }
            }
            Ok(None)
        };
        let claim = make().map_err(RunError::writing(&self.root))?;
        let claim = claim.ok_or_else(|| {
            RunError::Failed(format!(
                "{}: too many unfinished folders",
                self.root.display()
            ))
        })?;
        Ok(Making { claim })
    }

    /// Moves a cell out of the way, to `damaged`. Returns where it is; `None` if somebody else did.
    pub(crate) fn set_aside(&self, key: Key) -> Result<Option<PathBuf>, RunError> {
        self.move_to(&self.cell(key), DAMAGED, key)
    }

    fn move_to(&self, from: &Path, folder: &str, key: Key) -> Result<Option<PathBuf>, RunError> {
        let folder = self.root.join(folder);
        fs::create_dir_all(&folder).map_err(RunError::writing(&folder))?;
        match place(from, &folder.join(key.to_string())) {
            Ok(path) => Ok(Some(path)),
            Err(_) if !from.exists() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives the filled folder `made` the name of its cell. Its sums are written here.
    pub(crate) fn put(&self, key: Key, made: &Path) -> Result<Put, RunError> {
        let cell = self.cell(key);
        let writing = || RunError::writing(&cell);
        write_sums(made).map_err(writing())?;
        if self.durable {
            sync_tree(made).map_err(writing())?;
        }
        let parent = cell.parent().unwrap_or(&self.root);
        fs::create_dir_all(parent).map_err(writing())?;
        // Each turn somebody else has been quicker.
        for _ in 0..MOST_NAMES {
            match rename_without_replacing(made, &cell) {
                Ok(()) => {
                    if self.durable {
                        sync_names(parent).map_err(writing())?;
                    }
                    return Ok(Put::New);
                }
                Err(Errno::EXIST | Errno::NOTEMPTY) => {}
                Err(error) => return Err(RunError::writing(&cell)(io::Error::from(error))),
            }
            match (state_of(&cell), state_of(made)) {
                // A result is worth more than an error.
                (State::Done { .. } | State::Measured, State::Failed) => return Ok(Put::Same),
                (State::Done { .. } | State::Measured, _) => {
                    return self.compare(key, &cell, made);
                }
                (State::Failed, State::Failed) => return Ok(Put::Same),
                (State::Failed, _) => {
                    let old = made.with_extension("old");
                    match fs::rename(&cell, &old) {
                        Err(error) if error.kind() != io::ErrorKind::NotFound => {
                            return Err(RunError::writing(&cell)(error));
                        }
                        _ => {}
                    }
                }
                (State::Broken, _) => drop(self.set_aside(key)?),
                (State::Missing, _) => {}
            }
        }
        Err(RunError::Failed(format!(
            "{} keeps changing",
            cell.display()
        )))
    }

    /// The store has the cell already. Series that it lacks are added.
    fn compare(&self, key: Key, cell: &Path, made: &Path) -> Result<Put, RunError> {
        let reading = |path: &Path| fs::read(path).map_err(RunError::writing(path));
        let (mut equal, mut more) = (true, Vec::new());
        for name in RESULT.iter().chain(&SERIES).chain(&[FIGURES]) {
            let (old, new) = (cell.join(name), made.join(name));
            match (old.exists(), new.exists()) {
                (true, true) => equal &= reading(&old)? == reading(&new)?,
                (false, true) => more.push((new, old)),
                _ => {}
            }
        }
        if !equal {
            return self.differ(key, made);
        }
        if more.is_empty() {
            return Ok(Put::Same);
        }
        more.push((made.join(SUMS), cell.join(SUMS)));
        for (new, old) in more {
            fs::rename(&new, &old).map_err(RunError::writing(&old))?;
        }
        sync_names(cell).map_err(RunError::writing(cell))?;
        Ok(Put::New)
    }

    fn differ(&self, key: Key, made: &Path) -> Result<Put, RunError> {
        let kept = self.move_to(made, CONFLICTS, key)?;
        Ok(Put::Conflict(kept.unwrap_or_default()))
    }
}

/// A hidden folder of a store, which goes with this value.
#[derive(Debug)]
pub(crate) struct Making {
    claim: Claim,
}

impl Making {
    pub(crate) fn path(&self) -> &Path {
        self.claim.path()
    }

    /// An empty folder for a cell.
    pub(crate) fn folder(&self, key: Key) -> Result<PathBuf, RunError> {
        let folder = self.path().join(key.to_string());
        remove(&folder)?;
        fs::create_dir(&folder).map_err(RunError::writing(&folder))?;
        Ok(folder)
    }
}

/// Stands for the name of this machine in the name of a file.
fn host() -> String {
    let system = rustix::system::uname();
    digest(system.nodename().to_bytes())[..12].to_owned()
}

/// Whether nobody has made or taken away a cell in this folder for a long time.
fn is_old(folder: &fs::DirEntry) -> bool {
    let changed = folder.metadata().and_then(|folder| folder.modified());
    let age = changed.ok().and_then(|changed| changed.elapsed().ok());
    age.is_some_and(|age| age > OLD)
}

/// Removes a folder of ours, if it is there.
pub(crate) fn remove(folder: &Path) -> Result<(), RunError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(RunError::writing(folder)(error))
        }
        _ => Ok(()),
    }
}

/// What the folder of a cell holds.
pub(crate) fn state_of(cell: &Path) -> State {
    let has = |name: &str| fs::metadata(cell.join(name)).is_ok_and(|file| file.len() > 0);
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

/// Writes the sums of every other file in `folder`.
fn write_sums(folder: &Path) -> io::Result<()> {
    let mut names: Vec<String> = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    let mut text = String::new();
    for name in names.iter().filter(|name| *name != SUMS) {
        let sum = digest(&fs::read(folder.join(name))?);
        text.push_str(&format!("{sum}  {name}\n"));
    }
    fs::write(folder.join(SUMS), text)
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

#[cfg(test)]
mod tests;
