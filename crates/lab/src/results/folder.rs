//! A folder that appears whole or not at all.
//!
//! It is filled under a hidden name in the same parent and renamed without replacing; dropped before that, it vanishes.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::RunError;

/// How often another name is tried.
const MOST_NAMES: u32 = 10_000;

/// A folder in the making.
#[derive(Debug)]
pub struct Folder {
    temporary: PathBuf,
    wanted: PathBuf,
    /// Whether `-2`, `-3` … may be added where the wanted name is taken.
    any_name: bool,
    /// Parents that did not exist before, innermost first.
    made: Vec<PathBuf>,
}

impl Folder {
    /// A folder that will be exactly `path`, which must not exist.
    pub fn exactly(path: &Path) -> Result<Self, RunError> {
        if fs::symlink_metadata(path).is_ok() {
            let why = format!(
                "{} exists already; results never go over old ones",
                path.display()
            );
            return Err(RunError::Refused(why));
        }
        Self::new(path.to_owned(), false)
    }

    /// A folder in `parent` that will be called `name`, or `name-2`, `name-3` … where that exists.
    pub fn named(parent: &Path, name: &str) -> Result<Self, RunError> {
        Self::new(parent.join(name), true)
    }

    /// A folder that will be called `name` inside of this one, or of what becomes of it; until then it lies beside it.
    pub fn inner(&self, name: &str) -> Result<Self, RunError> {
        let all = self.wanted.file_name().unwrap_or_default();
        let beside = format!("{}-{name}", all.to_string_lossy());
        let mut folder = Self::new(self.wanted.with_file_name(beside), true)?;
        folder.wanted = self.wanted.join(name);
        Ok(folder)
    }

    /// Gives a folder made by [`Folder::inner`] its place in `parent`.
    pub fn finish_in(mut self, parent: &Path) -> Result<PathBuf, RunError> {
        self.wanted = parent.join(self.wanted.file_name().unwrap_or_default());
        self.finish()
    }

    fn new(wanted: PathBuf, any_name: bool) -> Result<Self, RunError> {
        let Some(name) = wanted
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
        else {
            return Err(RunError::Refused(format!(
                "{} names no folder",
                wanted.display()
            )));
        };
        let parent = parent(&wanted).to_owned();
        let made: Vec<PathBuf> = parent
            .ancestors()
            .filter(|ancestor| !ancestor.as_os_str().is_empty())
            .take_while(|ancestor| !ancestor.exists())
            .map(Path::to_owned)
            .collect();
        fs::create_dir_all(&parent).map_err(RunError::writing(&parent))?;
        let mut folder = Self {
            temporary: PathBuf::new(),
            wanted,
            any_name,
            made,
        };
        let process = std::process::id();
        for number in 1..=MOST_NAMES {
            let temporary = parent.join(format!(".{name}.{process}-{number}.unfinished"));
            match fs::create_dir(&temporary) {
                Ok(()) => {
                    folder.temporary = temporary;
                    return Ok(folder);
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(RunError::writing(&folder.wanted)(error)),
            }
        }
        Err(RunError::writing(&folder.wanted)(
            "too many unfinished results beside it",
        ))
    }

    /// Where to write for now.
    pub fn path(&self) -> &Path {
        &self.temporary
    }

    /// Gives the folder its name, which is returned. On an error nothing is left.
    pub fn finish(mut self) -> Result<PathBuf, RunError> {
        self.show()
    }

    /// The same, for a folder that stands at its place while others still refer to it.
    pub fn show(&mut self) -> Result<PathBuf, RunError> {
        for number in 1..=MOST_NAMES {
            let target = if number == 1 {
                self.wanted.clone()
            } else {
                numbered(&self.wanted, number)
            };
            match rename_without_replacing(&self.temporary, &target) {
                Ok(()) => {
                    self.temporary = PathBuf::new();
                    self.made.clear();
                    return Ok(target);
                }
                Err(Errno::EXIST | Errno::NOTEMPTY) if self.any_name => {}
                Err(error) => return Err(RunError::writing(&target)(error)),
            }
        }
        Err(RunError::writing(&self.wanted)(
            "too many results of this name",
        ))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Nobody can be told of an error here, and one more attempt would not mend it.
        if !self.temporary.as_os_str().is_empty() {
            let _ = fs::remove_dir_all(&self.temporary);
        }
        for parent in &self.made {
            let _ = fs::remove_dir(parent);
        }
    }
}

/// The folder that holds `path`; the present one for a bare name.
fn parent(path: &Path) -> &Path {
    path.parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

fn numbered(path: &Path, number: u32) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    path.with_file_name(name)
}

fn rename_without_replacing(from: &Path, to: &Path) -> Result<(), Errno> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // A file system that cannot promise it. A plain rename replaces nothing but an empty folder.
        Err(Errno::INVAL | Errno::NOSYS) if fs::symlink_metadata(to).is_ok() => Err(Errno::EXIST),
        Err(Errno::INVAL | Errno::NOSYS) => rustix::fs::rename(from, to),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_taken_name_gets_a_number_and_nothing_is_replaced() {
        let root = tempfile::tempdir().unwrap();
        for expected in ["run", "run-2", "run-3"] {
            let folder = Folder::named(root.path(), "run").unwrap();
            fs::write(folder.path().join("summary.json"), expected).unwrap();
            assert_eq!(folder.finish().unwrap(), root.path().join(expected));
        }
        assert_eq!(names(root.path()), ["run", "run-2", "run-3"]);
        assert_eq!(
            fs::read_to_string(root.path().join("run/summary.json")).unwrap(),
            "run"
        );
    }

    #[test]
    fn an_exact_name_must_be_free_at_the_start_and_at_the_end() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("out");
        let folder = Folder::exactly(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let error = folder.finish().unwrap_err();
        assert!(
            error.to_string().contains("out") && error.exit_code() == 1,
            "{error}"
        );
        assert_eq!(names(root.path()), ["out"]);
        assert_eq!(Folder::exactly(&path).unwrap_err().exit_code(), 2);
    }

    #[test]
    fn what_is_not_finished_leaves_nothing_not_even_the_parents_made_for_it() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::named(&root.path().join("a/b"), "run").unwrap();
        fs::write(folder.path().join("summary.json"), "{}").unwrap();
        drop(folder);
        assert_eq!(names(root.path()), [] as [&str; 0]);
    }

    #[test]
    fn a_parent_that_cannot_be_made_is_named() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("file"), "").unwrap();
        let error = Folder::named(&root.path().join("file"), "run").unwrap_err();
        assert!(
            error.to_string().contains("file") && error.exit_code() == 1,
            "{error}"
        );
    }
}
