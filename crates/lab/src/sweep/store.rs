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

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use quell_kernel::durable::{sync_names, sync_tree};
use quell_kernel::hash;
use quell_kernel::held::{Held, Own};
use quell_results::folder::place;
use quell_results::folder_lock::Claim;
use rustix::io::Errno;
use serde::de::DeserializeOwned;

use super::cell_folder::{FIGURES, RESULT, SERIES, SUMS, State, is_intact, state_of, text_of};
use super::identity::{Key, digest};
use super::plan::Plan;
use super::record::{self, PLAN};
use crate::RunError;
use crate::at_once::{FILES, each, processors};

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
/// Bytes of two files that are compared at a time.
const PART: usize = 64 << 10;

/// A folder of cells.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
    /// Whether a cell is safe on the disk before the next one begins.
    durable: bool,
    /// Whether its files are taken for those that were put there, without a look at their sums.
    trusted: bool,
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
            trusted: false,
        }
    }

    /// The same, whose files are not compared with their sums before they are used.
    pub fn trusted(self, trusted: bool) -> Self {
        Self { trusted, ..self }
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

    /// The same, and why those are broken that are. Unless the store is trusted, a cell that was changed is broken, too.
    pub(crate) fn states_and_reasons(&self, keys: &[Key]) -> Vec<(State, String)> {
        let threads = if self.trusted { FILES } else { processors() };
        each(keys, threads, |&key| match self.state(key) {
            State::Missing => (State::Missing, String::new()),
            state if self.trusted && state != State::Broken => (state, String::new()),
            state => match is_intact(&self.cell(key), key) {
                Ok(_) => (state, String::new()),
                Err(why) => (State::Broken, why.to_string()),
            },
        })
    }

    /// The text of a file of a cell, which must be the one that was put there unless the store is trusted.
    ///
    /// # Errors
    ///
    /// It cannot be read, or was changed.
    pub fn text(&self, key: Key, name: &str) -> Result<String, RunError> {
        let cell = self.cell(key);
        text_of(&cell, name, self.trusted).map_err(|why| {
            RunError::Failed(format!(
                "{}: {why}; quell sweep check finds what is damaged, its --set-aside takes that away, and quell sweep table --trust reads it all the same",
                cell.display()
            ))
        })
    }

    /// A file of a cell as JSON.
    ///
    /// # Errors
    ///
    /// It cannot be read, or was changed.
    pub fn json<T: DeserializeOwned>(&self, key: Key, name: &str) -> Result<T, RunError> {
        serde_json::from_str(&self.text(key, name)?).map_err(|error| {
            let path = self.cell(key).join(name);
            RunError::Failed(format!(
                "{}: {error}; quell sweep check finds what is damaged",
                path.display()
            ))
        })
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
        record::write(plan, &making.plan()).map_err(RunError::writing(&path))?;
        self.give_plan(making)
    }

    /// Puts a plan in its place, if there is another or none. Returns whether another was there.
    pub(crate) fn give_plan(&self, making: &Making) -> Result<bool, RunError> {
        let (folder, root) = (making.claim.folder(), making.claim.around());
        let path = self.root.join(PLAN);
        let give = || {
            let present = root.path().join(PLAN);
            let is_there = fs::exists(&present)?;
            if is_there && is_same(&present, &making.plan())? {
                return folder.remove(PLAN).map(|()| false);
            }
            folder.rename(PLAN, root, PLAN)?;
            sync_names(&root.path()).map(|()| is_there)
        };
        give().map_err(RunError::writing(&path))
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
            let root = Held::open(&self.root)?;
            for name in root.names()? {
                let text = name.to_string_lossy();
                let path = root.path().join(&name);
                if text.starts_with(&own) || text.starts_with(UNFINISHED) && is_old(&path) {
                    drop(Claim::abandoned(&root, &name));
                }
            }
            for number in 0..MOST_NAMES {
                let name = format!("{own}{}-{number}", std::process::id());
                if let Some(claim) = Claim::make(&root, name.as_ref())? {
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
        let around = self.around(key).map_err(RunError::writing(&self.root))?;
        let moved = self.move_to(&around, key, DAMAGED);
        match moved {
            Err(_) if !around.has(key.to_string()) => Ok(None),
            other => other.map(Some),
        }
    }

    /// Moves what is called as a cell from a folder to another one of the store.
    fn move_to(&self, from: &Held, key: Key, folder: &str) -> Result<PathBuf, RunError> {
        let wanted = self.root.join(folder).join(key.to_string());
        let to = Held::open(&self.root).and_then(|root| root.inside_or_made(folder));
        let to = to.map_err(RunError::writing(&wanted))?;
        Ok(place(from, key.to_string(), &to, &wanted)?)
    }

    /// The open folder around a cell. What is done to the cell is done there, whoever renames what on the way to it.
    fn around(&self, key: Key) -> io::Result<Held> {
        let cells = Held::open(&self.root)?.inside_or_made(CELLS)?;
        cells.inside_or_made(&key.to_string()[..2])
    }

    /// Gives the filled folder `made` the name of its cell. Its sums are written here.
    pub(crate) fn put(&self, key: Key, mut made: Own) -> Result<Put, RunError> {
        let (cell, name) = (self.cell(key), key.to_string());
        let writing = || RunError::writing(&cell);
        let path = made.folder().path();
        write_sums(&path).map_err(writing())?;
        if self.durable {
            sync_tree(&path).map_err(writing())?;
        }
        let around = self.around(key).map_err(writing())?;
        // Each turn somebody else has been quicker.
        for _ in 0..MOST_NAMES {
            let renamed = made
                .around()
                .rename_without_replacing(made.name(), &around, &name);
            match renamed {
                Ok(()) => {
                    made.leave();
                    if self.durable {
                        sync_names(&around.path()).map_err(writing())?;
                    }
                    return Ok(Put::New);
                }
                Err(Errno::EXIST | Errno::NOTEMPTY) => {}
                Err(error) => return Err(writing()(io::Error::from(error))),
            }
            // The path of an open folder is a link; with the dot it is the folder.
            match (
                state_of(&around.path().join(&name)),
                state_of(&path.join(".")),
            ) {
                // A result is worth more than an error.
                (State::Done { .. } | State::Measured, State::Failed) => return Ok(Put::Same),
                (State::Done { .. } | State::Measured, _) => {
                    return self.compare(key, &around, made);
                }
                (State::Failed, State::Failed) => return Ok(Put::Same),
                (State::Failed, _) => {
                    let (aside, old) = (made.around(), format!("{name}.old"));
                    match around.rename(&name, aside, &old) {
                        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                        moved => moved.and_then(|()| aside.remove(&old)).map_err(writing())?,
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
    fn compare(&self, key: Key, around: &Held, mut made: Own) -> Result<Put, RunError> {
        let path = self.cell(key);
        let writing = || RunError::writing(&path);
        let cell = around.inside(key.to_string()).map_err(writing())?;
        let (mut equal, mut more) = (true, Vec::new());
        for &name in RESULT.iter().chain(&SERIES).chain(&[FIGURES]) {
            match (cell.has(name), made.folder().has(name)) {
                (true, true) => {
                    let [old, new] = [&cell, made.folder()].map(|it| it.path().join(name));
                    equal &= is_same(&old, &new).map_err(writing())?;
                }
                (false, true) => more.push(name),
                _ => {}
            }
        }
        if !equal {
            let kept = self.move_to(made.around(), key, CONFLICTS)?;
            made.leave();
            return Ok(Put::Conflict(kept));
        }
        if more.is_empty() {
            return Ok(Put::Same);
        }
        more.push(SUMS);
        for name in more {
            let added = made.folder().rename(name, &cell, name);
            added.map_err(writing())?;
        }
        sync_names(&cell.path()).map_err(writing())?;
        Ok(Put::New)
    }
}

/// Whether two files are equal, however long they are.
pub(crate) fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
    let (mut one, mut other) = (File::open(one)?, File::open(other)?);
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let (mut left, mut right) = (vec![0; PART], vec![0; PART]);
    loop {
        let length = one.read(&mut left)?;
        other.read_exact(&mut right[..length])?;
        if length == 0 {
            return Ok(true);
        }
        if left[..length] != right[..length] {
            return Ok(false);
        }
    }
}

/// A hidden folder of a store, which goes with this value.
#[derive(Debug)]
pub(crate) struct Making {
    claim: Claim,
}

impl Making {
    /// The file for a plan.
    pub(crate) fn plan(&self) -> PathBuf {
        self.claim.folder().path().join(PLAN)
    }

    /// An empty folder for a cell, which goes again unless it becomes one.
    pub(crate) fn folder(&self, key: Key) -> Result<Own, RunError> {
        let (folder, name) = (self.claim.folder(), key.to_string());
        let make = || {
            match folder.remove(&name) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            Own::make(folder.again()?, name.as_ref(), 0o777)
        };
        make().map_err(RunError::writing(&folder.named().join(&name)))
    }
}

/// Stands for the name of this machine in the name of a file.
fn host() -> String {
    let system = rustix::system::uname();
    digest(system.nodename().to_bytes())[..12].to_owned()
}

/// Whether nobody has made or taken away a cell in this folder for a long time.
fn is_old(folder: &Path) -> bool {
    let changed = fs::symlink_metadata(folder).and_then(|folder| folder.modified());
    let age = changed.ok().and_then(|changed| changed.elapsed().ok());
    age.is_some_and(|age| age > OLD)
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
        let sum = hash::of(&File::open(folder.join(name))?)?;
        text.push_str(&format!("{sum}  {name}\n"));
    }
    fs::write(folder.join(SUMS), text)
}

#[cfg(test)]
mod tests;
