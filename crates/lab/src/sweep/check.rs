//! Whether the cells of a store are what they were when they were made.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use quell_kernel::held::Held;
use quell_scenario::World;
use rustix::fs::OFlags;

use super::cell_folder::{Damage, SUMS, State, Whole, verify};
use super::identity::{Identity, Key};
use super::record::{PLAN, Record};
use super::store::{Making, Put, Store, is_same};
use crate::at_once::{FILES, each, processors};
use crate::{GuestOptions, RunError};

/// Cells that a merge copies before it looks for an error.
const AT_ONCE: usize = 1_024;

/// What a check found.
#[derive(Debug, Default)]
pub struct Checked {
    /// Cells with a result that is as it was made.
    pub whole: usize,
    /// Cells that failed.
    pub failed: usize,
    /// Cells that changed since, each with the reason, and where it was put if it was set aside.
    pub damaged: Vec<(PathBuf, Damage)>,
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

/// A cell, and what it holds, or why it is damaged.
pub(crate) type Verified = (Key, Result<Whole, Damage>);

/// Verifies cells on several threads; the answers are in the order of the keys.
pub(crate) fn verify_all(store: &Store, keys: &[Key]) -> Result<Vec<Verified>, RunError> {
    let code = Identity::here(World::Sim, &GuestOptions::default())?.code;
    let found = each(keys, processors(), |&key| {
        (key, verify(&store.cell(key), key, &code))
    });
    Ok(found)
}

/// What a merge did.
#[derive(Debug, Default)]
pub struct Merged {
    /// Cells that the store did not have.
    pub copied: usize,
    /// Cells that it had.
    pub same: usize,
    /// Cells of which it has another result; the others are in its `conflicts`.
    pub conflicts: Vec<PathBuf>,
    /// Cells of the sources that changed since they were made, each with the reason; they are left out.
    pub damaged: Vec<(PathBuf, Damage)>,
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
