//! A folder that appears whole or not at all.
//!
//! It is filled inside of a hidden one in the same parent, `.NAME.unfinished`, and renamed without replacing; dropped before that, it
//! vanishes. The hidden one reserves the name: it is there from the start, made by one run only, and held by a lock while that
//! run lives ([`Claim`]). What a run that was killed left is removed by the next one that puts a result beside it, except
//! for whole seeds: they come to stand in `NAME.incomplete`, as those of a run that failed do.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use quell_kernel::durable::{sync_names, sync_tree};
use quell_kernel::held::{Held, Made, Own, parent};
use rustix::io::Errno;

use super::Error;
use super::folder_lock::Claim;

/// How often another name is tried.
const MOST_NAMES: u32 = 10_000;
/// Ends the name of what is in the making.
const UNFINISHED: &str = ".unfinished";
/// Ends the name of what is left of several seeds.
const INCOMPLETE: &str = ".incomplete";
/// The result itself, inside of the hidden folder.
const RESULT: &str = "result";

/// A folder in the making.
#[derive(Debug)]
pub struct Folder {
    claim: Claim,
    result: Held,
    wanted: PathBuf,
    /// Whether any other name is as good, should the wanted one be lost.
    any_name: bool,
    /// Parents that did not exist before.
    made: Made,
}

/// A folder in the making that will stand in another one.
#[derive(Debug)]
pub struct Inner {
    /// Until it is whole.
    own: Own,
    /// Where it will stand.
    result: Held,
}

impl Folder {
    /// A folder that will be exactly `path`, which must not exist, nor be what another run is about to write.
    pub fn exactly(path: &Path) -> Result<Self, Error> {
        if exists(path) {
            return Err(Error::Exists(path.to_owned()));
        }
        match Self::reserve(path, false)? {
            Some(folder) => Ok(folder),
            None if exists(path) => Err(Error::Exists(path.to_owned())),
            None => Err(Error::Reserved(path.to_owned())),
        }
    }

    /// A folder in `parent` that will be called `name`, or `name-2`, `name-3` … where that exists or another run is about to write it.
    pub fn named(parent: &Path, name: &str) -> Result<Self, Error> {
        let wanted = parent.join(name);
        for number in 1..=MOST_NAMES {
            if let Some(folder) = Self::reserve(&numbered(&wanted, number), true)? {
                return Ok(folder);
            }
        }
        Err(too_many(&wanted))
    }

    /// `None` where the name is taken.
    fn reserve(wanted: &Path, any_name: bool) -> Result<Option<Self>, Error> {
        let Some(name) = wanted.file_name() else {
            return Err(Error::NoName(wanted.to_owned()));
        };
        let parent = parent(wanted);
        let (made, around) = Made::on_the_way_to(parent).map_err(Error::writing(parent))?;
        remove_abandoned(&around);
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(UNFINISHED);
        let claim = Claim::make(&around, &hidden).map_err(Error::writing(wanted))?;
        // Whoever had the name before may have finished meanwhile.
        let Some(claim) = claim.filter(|_| !around.has(name)) else {
            return Ok(None);
        };
        let result = claim.folder().make(RESULT, 0o777);
        Ok(Some(Self {
            result: result.map_err(Error::writing(wanted))?,
            claim,
            wanted: wanted.to_owned(),
            any_name,
            made,
        }))
    }

    /// Where to write for now, for this process: [`quell_kernel::held::real`] gives the path for another one.
    pub fn path(&self) -> PathBuf {
        self.result.path()
    }

    /// A folder that will be called `name`, or `name-2` …, inside of this one.
    pub fn inner(&self, name: &str) -> Result<Inner, Error> {
        let claim = self.claim.folder();
        let beside = claim.named().join(name);
        let again = |held: &Held| held.again().map_err(Error::writing(&beside));
        for number in 1..=MOST_NAMES {
            let path = numbered(&beside, number);
            let name = path.file_name().unwrap_or_default();
            if self.result.has(name) {
                continue;
            }
            match Own::make(again(claim)?, name, 0o777) {
                Ok(own) => {
                    let result = again(&self.result)?;
                    return Ok(Inner { own, result });
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::writing(&path)(error)),
            }
        }
        Err(too_many(&beside))
    }

    /// Puts the file at `path`, which is beside the result, into it.
    pub fn take(&self, name: &str) -> Result<(), Error> {
        let taken = self.claim.folder().rename(name, &self.result, name);
        taken.map_err(Error::writing(&self.wanted.join(name)))
    }

    /// A file beside the result, to be put into it when it is whole ([`Self::take`]).
    pub fn beside(&self, name: &str) -> PathBuf {
        self.claim.folder().path().join(name)
    }

    /// Gives the folder its name, which is returned, once everything in it is on the disk. On an error nothing is left, with one
    /// exception: [`Error::Taken`] says where the result is.
    pub fn finish(mut self) -> Result<PathBuf, Error> {
        sync_tree(&self.path()).map_err(Error::writing(&self.wanted))?;
        let kept = place(
            self.claim.folder(),
            RESULT,
            self.claim.around(),
            &self.wanted,
        )?;
        self.stays();
        if kept == self.wanted || self.any_name {
            return Ok(kept);
        }
        let wanted = std::mem::take(&mut self.wanted);
        Err(Error::Taken { wanted, kept })
    }

    /// Of several seeds not all came: those that are whole get a name that says so. It is returned with their number; `None` if there
    /// is none.
    pub fn give_up(mut self) -> Option<(PathBuf, usize)> {
        let kept = keep_seeds(&self.claim, &self.wanted)?;
        self.stays();
        Some(kept)
    }

    /// The names that lead to the result are on the disk. It is there all the same if that fails.
    fn stays(&mut self) {
        let _ = sync_names(&self.claim.around().path());
        self.made.keep();
    }
}

impl Inner {
    /// Where to write for now.
    pub fn path(&self) -> PathBuf {
        self.own.folder().path()
    }

    /// Puts the folder into its place, which is returned, once everything in it is on the disk.
    pub fn finish(mut self) -> Result<PathBuf, Error> {
        let name = self.own.name();
        let wanted = self.result.named().join(name);
        sync_tree(&self.path()).map_err(Error::writing(&wanted))?;
        let placed = self.own.around().rename(name, &self.result, name);
        placed.map_err(Error::writing(&wanted))?;
        self.own.leave();
        Ok(wanted)
    }
}

/// Removes what runs that are gone left in `around`.
fn remove_abandoned(around: &Held) {
    for hidden in around.names().unwrap_or_default() {
        let name = hidden.to_str().and_then(|name| name.strip_prefix('.'));
        let Some(name) = name.and_then(|name| name.strip_suffix(UNFINISHED)) else {
            continue;
        };
        let Some(claim) = Claim::abandoned(around, &hidden) else {
            continue;
        };
        let shown = around.named().join(&hidden);
        match keep_seeds(&claim, &around.named().join(name)) {
            Some((kept, seeds)) => {
                log::info!(
                    "removed {}, which a killed run left; whole seeds of it in {}: {seeds}",
                    shown.display(),
                    kept.display()
                );
            }
            None => log::info!("removed {}, which a killed run left", shown.display()),
        }
    }
}

/// Gives whole seeds of a result in the making a name beside `wanted`.
fn keep_seeds(claim: &Claim, wanted: &Path) -> Option<(PathBuf, usize)> {
    let result = claim.folder().inside(RESULT).ok()?;
    let path = result.path();
    let whole = |name: &OsString| {
        name.to_string_lossy().starts_with("seed") && path.join(name).join("run.json").is_file()
    };
    let seeds = result
        .names()
        .ok()?
        .iter()
        .filter(|name| whole(name))
        .count();
    if seeds == 0 {
        return None;
    }
    let mut name = wanted.file_name().unwrap_or(OsStr::new("")).to_owned();
    name.push(INCOMPLETE);
    // What is whole is on the disk already, but for the names.
    let _ = sync_names(&path);
    let wanted = wanted.with_file_name(name);
    let kept = place(claim.folder(), RESULT, claim.around(), &wanted).ok()?;
    let _ = sync_names(&claim.around().path());
    Some((kept, seeds))
}

/// Moves `name` from one folder to another, where it is called as `wanted` ends, or `-2`, `-3` … behind that where this exists. Returns
/// `wanted` with that name.
///
/// # Errors
///
/// It cannot be renamed.
pub fn place(
    from: &Held,
    name: impl AsRef<OsStr>,
    to: &Held,
    wanted: &Path,
) -> Result<PathBuf, Error> {
    for number in 1..=MOST_NAMES {
        let target = numbered(wanted, number);
        let new = target.file_name().unwrap_or_default();
        match from.rename_without_replacing(name.as_ref(), to, new) {
            Ok(()) => return Ok(target),
            Err(Errno::EXIST | Errno::NOTEMPTY) => {}
            Err(error) => return Err(Error::writing(&target)(std::io::Error::from(error))),
        }
    }
    Err(too_many(wanted))
}

fn too_many(wanted: &Path) -> Error {
    Error::writing(wanted)("too many results of this name")
}

fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// `path`, `path-2`, `path-3` …
fn numbered(path: &Path, number: u32) -> PathBuf {
    if number == 1 {
        return path.to_owned();
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    path.with_file_name(name)
}

#[cfg(test)]
mod tests;
