//! Folders that go with the value that holds them: one of this process's own ([`Own`]), and those made on the way to it ([`Made`]).

use std::ffi::{OsStr, OsString};
use std::fs::Permissions;
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::folder::{Held, Identity, replaced};
use crate::durable::sync_names;

/// A folder of this process's own in another one. It goes with this value, with all that is in it.
#[derive(Debug)]
pub struct Own {
    around: Held,
    name: OsString,
    folder: Held,
    left: bool,
}

impl Own {
    /// Makes one in `place`, whose name begins with `prefix` and which its owner alone may open, whatever the umask.
    ///
    /// # Errors
    ///
    /// None can be made there.
    pub fn temporary(place: &Path, prefix: &str) -> io::Result<Self> {
        let around = Held::open(place)?;
        let made = tempfile::Builder::new()
            .prefix(prefix)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(around.path())?
            .keep();
        let mut own = Self::existing(around, made.file_name().unwrap_or_default())?;
        if !own.folder.names()?.is_empty() {
            own.leave();
            return Err(replaced(&own.folder.named));
        }
        own.folder.set_mode(0o700)?;
        Ok(own)
    }

    /// Makes `name` in `around`, with these rights less those that the umask takes.
    ///
    /// # Errors
    ///
    /// There is something of this name, or it was replaced at once.
    pub fn make(around: Held, name: &OsStr, mode: u32) -> io::Result<Self> {
        let folder = around.make(name, mode)?;
        Ok(Self::of(around, name, folder))
    }

    /// Takes over the folder `name` in `around`.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn existing(around: Held, name: &OsStr) -> io::Result<Self> {
        let folder = around.inside(name)?;
        Ok(Self::of(around, name, folder))
    }

    fn of(around: Held, name: &OsStr, folder: Held) -> Self {
        Self {
            around,
            name: name.to_owned(),
            folder,
            left: false,
        }
    }

    /// The folder itself.
    pub fn folder(&self) -> &Held {
        &self.folder
    }

    /// The folder around it.
    pub fn around(&self) -> &Held {
        &self.around
    }

    /// Its name.
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// Leaves it as it is when this goes.
    pub fn leave(&mut self) {
        self.left = true;
    }

    /// Removes all that is in it but for what is called `last`, which goes with this value. Where that fails it stays, with `last`.
    pub fn empty_but(&mut self, last: &str) {
        self.left |= !self.is_in_place() || self.folder.empty(Some(last)).is_err();
    }

    /// Whether its name still leads to it. One that somebody has moved is his.
    fn is_in_place(&self) -> bool {
        let identity = self.folder.identity();
        !self.left && identity.is_ok_and(|identity| self.around.leads(&self.name, identity))
    }
}

impl Own {
    /// Removes it now.
    pub fn remove(&mut self) {
        // Whoever looks next finds what cannot be removed.
        if self.is_in_place() && self.folder.empty(None).is_ok() && self.is_in_place() {
            let _ = self.around.remove_empty(&self.name);
        }
        self.left = true;
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Folders made for another one. They go with this value, unless they are kept or something is in them.
#[derive(Debug, Default)]
pub struct Made {
    /// Each with the folder around it, its name and what it was; innermost last.
    made: Vec<(Held, OsString, Identity)>,
}

impl Made {
    /// Makes what is missing of `path`, and opens it.
    ///
    /// # Errors
    ///
    /// Something in it is no folder, or cannot be made.
    pub fn on_the_way_to(path: &Path) -> io::Result<(Self, Held)> {
        let mut this = Self::default();
        let missing: Vec<&Path> = path
            .ancestors()
            .take_while(|path| !path.as_os_str().is_empty() && !path.exists())
            .collect();
        let there = path.ancestors().nth(missing.len());
        let there = there.filter(|path| !path.as_os_str().is_empty());
        let around = Held::open(there.unwrap_or(Path::new(".")));
        let mut around = around.map_err(|error| match error.kind() {
            // What exists is a file.
            ErrorKind::NotADirectory => ErrorKind::NotADirectory.into(),
            _ => error,
        })?;
        for folder in missing.into_iter().rev() {
            let Some(name) = folder.file_name() else {
                // `..` behind what was just made.
                around = Held::open(folder)?;
                continue;
            };
            let inside = around.inside_or_made(name)?;
            let identity = inside.identity()?;
            this.made.push((around, name.to_owned(), identity));
            around = inside;
        }
        Ok((this, around))
    }

    /// Adds those that were made after these.
    pub fn add(&mut self, mut later: Self) {
        self.made.append(&mut later.made);
    }

    /// They stay: the names that lead to them are on the disk, as far as the disk allows.
    pub fn keep(&mut self) {
        for (around, ..) in self.made.drain(..) {
            let _ = sync_names(&around.path());
        }
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for (around, name, identity) in self.made.iter().rev() {
            if around.leads(name, *identity) {
                let _ = around.remove_empty(name);
            }
        }
    }
}
