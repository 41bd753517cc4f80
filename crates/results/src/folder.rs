//! A folder that appears whole or not at all.
//!
//! It is filled inside of a hidden one in the same parent, `.NAME.unfinished`, and renamed without replacing; dropped before that, it
//! vanishes. The hidden one reserves the name: it is there from the start, made by one run only, and held by a lock while that
//! run lives ([`Claim`]). What a run that was killed left is removed by the next one that puts a result beside it, except
//! for whole seeds: they come to stand in `NAME.incomplete`, as those of a run that failed do.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use quell_kernel::durable::{sync_names, sync_tree};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::Error;
use super::claim::Claim;

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
    wanted: PathBuf,
    /// Whether any other name is as good, should the wanted one be lost.
    any_name: bool,
    /// Parents that did not exist before, innermost first.
    made: Made,
}

/// A folder in the making that will stand in another one.
#[derive(Debug)]
pub struct Inner {
    /// Until it is whole.
    temporary: PathBuf,
    wanted: PathBuf,
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
        let made = Made::new(parent).map_err(Error::writing(parent))?;
        remove_abandoned(parent);
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(UNFINISHED);
        let claim = Claim::make(&parent.join(hidden)).map_err(Error::writing(wanted))?;
        // Whoever had the name before may have finished meanwhile.
        let Some(claim) = claim.filter(|_| !exists(wanted)) else {
            return Ok(None);
        };
        let folder = Self {
            claim,
            wanted: wanted.to_owned(),
            any_name,
            made,
        };
        fs::create_dir(folder.path()).map_err(Error::writing(wanted))?;
        Ok(Some(folder))
    }

    /// Where to write for now.
    pub fn path(&self) -> PathBuf {
        self.claim.path().join(RESULT)
    }

    /// A folder that will be called `name`, or `name-2` …, inside of this one.
    pub fn inner(&self, name: &str) -> Result<Inner, Error> {
        let beside = self.claim.path().join(name);
        for number in 1..=MOST_NAMES {
            let temporary = numbered(&beside, number);
            let wanted = self.path().join(temporary.file_name().unwrap_or_default());
            if exists(&wanted) {
                continue;
            }
            match fs::create_dir(&temporary) {
                Ok(()) => return Ok(Inner { temporary, wanted }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::writing(&temporary)(error)),
            }
        }
        Err(too_many(&beside))
    }

    /// A file beside the result, to be put into it when it is whole.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.claim.path().join(name)
    }

    /// Gives the folder its name, which is returned, once everything in it is on the disk. On an error nothing is left, with one
    /// exception: [`Error::Taken`] says where the result is.
    pub fn finish(mut self) -> Result<PathBuf, Error> {
        let result = self.path();
        sync_tree(&result).map_err(Error::writing(&self.wanted))?;
        let kept = place(&result, &self.wanted)?;
        self.made.keep(parent(&self.wanted));
        if kept == self.wanted || self.any_name {
            return Ok(kept);
        }
        let wanted = std::mem::take(&mut self.wanted);
        Err(Error::Taken { wanted, kept })
    }

    /// Of several seeds not all came: those that are whole get a name that says so. It is returned with their number; `None` if there
    /// is none.
    pub fn give_up(mut self) -> Option<(PathBuf, usize)> {
        let kept = keep_seeds(&self.path(), &self.wanted)?;
        self.made.keep(parent(&self.wanted));
        Some(kept)
    }
}

impl Inner {
    /// Where to write for now.
    pub fn path(&self) -> &Path {
        &self.temporary
    }

    /// Puts the folder into its place, which is returned, once everything in it is on the disk.
    pub fn finish(mut self) -> Result<PathBuf, Error> {
        let wanted = self.wanted.clone();
        sync_tree(&self.temporary).map_err(Error::writing(&wanted))?;
        fs::rename(&self.temporary, &wanted).map_err(Error::writing(&wanted))?;
        self.temporary = PathBuf::new();
        Ok(wanted)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if !self.temporary.as_os_str().is_empty() {
            // It goes with the folder around it otherwise.
            let _ = fs::remove_dir_all(&self.temporary);
        }
    }
}

/// Folders made for another one. They go with this value unless they are kept, or hold something.
#[derive(Debug)]
struct Made(Vec<PathBuf>);

impl Made {
    fn new(folder: &Path) -> io::Result<Self> {
        let made = folder
            .ancestors()
            .filter(|ancestor| !ancestor.as_os_str().is_empty())
            .take_while(|ancestor| !ancestor.exists())
            .map(Path::to_owned);
        let made = Self(made.collect());
        fs::create_dir_all(folder).map_err(|error| match error.kind() {
            // What exists is a file.
            ErrorKind::AlreadyExists => ErrorKind::NotADirectory.into(),
            _ => error,
        })?;
        Ok(made)
    }

    /// The names that lead to what now stands in `folder` are on the disk. It is there all the same if that fails.
    fn keep(&mut self, folder: &Path) {
        let _ = sync_names(folder);
        for made in self.0.drain(..) {
            let _ = sync_names(parent(&made));
        }
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for folder in &self.0 {
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Removes what runs that are gone left in `parent`.
fn remove_abandoned(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let hidden = entry.file_name();
        let name = hidden.to_str().and_then(|name| name.strip_prefix('.'));
        let Some(name) = name.and_then(|name| name.strip_suffix(UNFINISHED)) else {
            continue;
        };
        let Some(claim) = Claim::abandoned(&entry.path()) else {
            continue;
        };
        let shown = entry.path();
        match keep_seeds(&claim.path().join(RESULT), &parent.join(name)) {
            Some((kept, seeds)) => {
                log::info!(
                    "removed {}, which a killed run left; {seeds} whole seeds of it are in {}",
                    shown.display(),
                    kept.display()
                );
            }
            None => log::info!("removed {}, which a killed run left", shown.display()),
        }
    }
}

/// Gives whole seeds in `result` a name beside `wanted`.
fn keep_seeds(result: &Path, wanted: &Path) -> Option<(PathBuf, usize)> {
    let whole = |entry: &fs::DirEntry| {
        entry.file_name().to_string_lossy().starts_with("seed")
            && entry.path().join("run.json").is_file()
    };
    let entries = fs::read_dir(result).ok()?.flatten();
    let seeds = entries.filter(whole).count();
    if seeds == 0 {
        return None;
    }
    let mut name = wanted.file_name().unwrap_or(OsStr::new("")).to_owned();
    name.push(INCOMPLETE);
    // What is whole is on the disk already, but for the names.
    let _ = sync_names(result);
    let kept = place(result, &wanted.with_file_name(name)).ok()?;
    let _ = sync_names(parent(&kept));
    Some((kept, seeds))
}

/// Gives `from` the name `wanted`, or `wanted-2`, `wanted-3` … where that exists. Returns the name.
///
/// # Errors
///
/// It cannot be renamed.
pub fn place(from: &Path, wanted: &Path) -> Result<PathBuf, Error> {
    for number in 1..=MOST_NAMES {
        let target = numbered(wanted, number);
        match rename_without_replacing(from, &target) {
            Ok(()) => return Ok(target),
            Err(Errno::EXIST | Errno::NOTEMPTY) => {}
            Err(error) => return Err(Error::writing(&target)(error)),
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

/// The folder that holds `path`; the present one for a bare name.
fn parent(path: &Path) -> &Path {
    path.parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
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

/// Renames a file or folder to a name that nothing has.
///
/// # Errors
///
/// `EXIST` or `NOTEMPTY` where something has the name.
pub fn rename_without_replacing(from: &Path, to: &Path) -> Result<(), Errno> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // A file system that cannot promise it. An empty folder of our own takes the name, and only that is replaced.
        Err(Errno::INVAL | Errno::NOSYS) => {
            rustix::fs::mkdir(to, rustix::fs::Mode::RWXU)?;
            rustix::fs::rename(from, to).inspect_err(|_| {
                let _ = fs::remove_dir(to);
            })
        }
        other => other,
    }
}

#[cfg(test)]
mod tests;
