//! The open folder itself.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::fchown;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, Mode, OFlags, RenameFlags, Stat, fchmod, fstat, mkdirat, openat, renameat,
    renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

/// Where this process finds what it has open.
const OPEN: &str = "/proc/self/fd";
/// Folders in folders, at the most, in what is removed. Each holds a descriptor for a while.
pub(super) const DEEPEST: usize = 200;
/// A new folder may be taken away before it is opened; not that often.
const ATTEMPTS: usize = 100;

/// An open folder.
#[derive(Debug)]
pub struct Held {
    pub(super) folder: OwnedFd,
    /// By which it was opened.
    pub(super) named: PathBuf,
}

/// Device and inode: what a file or folder keeps when it is renamed.
pub type Identity = (u64, u64);

impl Held {
    /// The folder at `path`, as the caller named it: links on the way are followed, as the caller may have made them.
    ///
    /// # Errors
    ///
    /// There is none, or it cannot be read.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::at(CWD, path, OFlags::empty(), path.to_owned())
    }

    /// The folder at `path` if it is the one of this identity.
    ///
    /// # Errors
    ///
    /// There is none, or another one.
    pub fn open_same(path: &Path, identity: Identity) -> io::Result<Self> {
        let held = Self::open(path)?;
        if held.identity()? == identity {
            return Ok(held);
        }
        Err(replaced(path))
    }

    /// The same folder once more.
    ///
    /// # Errors
    ///
    /// This process may open nothing more.
    pub fn again(&self) -> io::Result<Self> {
        Ok(Self {
            folder: self.folder.try_clone()?,
            named: self.named.clone(),
        })
    }

    /// The folder `name` in this one; a link is none.
    ///
    /// # Errors
    ///
    /// There is none, or it cannot be read.
    pub fn inside(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = Path::new(name.as_ref());
        Self::at(&self.folder, name, OFlags::NOFOLLOW, self.named.join(name))
    }

    fn at(from: impl AsFd, path: &Path, also: OFlags, named: PathBuf) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | also;
        let open = |how| openat(from.as_fd(), path, flags | how, Mode::empty());
        let folder = match open(OFlags::RDONLY) {
            // One may write in it and not read it.
            Err(Errno::ACCESS) => open(OFlags::PATH),
            other => other,
        };
        let folder = folder.map_err(|errno| match errno {
            // The last name is a link.
            Errno::LOOP if also.contains(OFlags::NOFOLLOW) => ErrorKind::NotADirectory.into(),
            other => io::Error::from(other),
        })?;
        Ok(Self { folder, named })
    }

    /// Makes the folder `name` in this one, which must be new, with these rights less those that the umask takes.
    ///
    /// # Errors
    ///
    /// There is something of this name, or somebody replaced the new folder before it was opened.
    pub fn make(&self, name: impl AsRef<OsStr>, mode: u32) -> io::Result<Self> {
        let name = name.as_ref();
        mkdirat(&self.folder, name, Mode::from_raw_mode(mode))?;
        let made = self.inside(name)?;
        if made.names()?.is_empty() {
            return Ok(made);
        }
        Err(replaced(&made.named))
    }

    /// The folder `name` in this one, which is made if there is none.
    ///
    /// # Errors
    ///
    /// There is something else of this name.
    pub fn inside_or_made(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = name.as_ref();
        for _ in 0..ATTEMPTS {
            match self.inside(name) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                other => return other,
            }
            match mkdirat(&self.folder, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        // Somebody keeps removing it.
        Err(ErrorKind::ResourceBusy.into())
    }

    /// A way to the open folder that nobody can change, for this process alone, and no longer than this value is there: afterwards it leads
    /// nowhere, or to something else. Where there is no /proc, the path by which it was opened.
    pub fn path(&self) -> PathBuf {
        let path = Path::new(OPEN).join(self.folder.as_raw_fd().to_string());
        if path.exists() {
            path
        } else {
            self.named.clone()
        }
    }

    /// The path by which it was opened, for messages.
    pub fn named(&self) -> &Path {
        &self.named
    }

    /// What it is, whatever it is called.
    ///
    /// # Errors
    ///
    /// The system refuses to look.
    pub fn identity(&self) -> io::Result<Identity> {
        Ok(identity(&fstat(&self.folder)?))
    }

    /// The user that it belongs to.
    ///
    /// # Errors
    ///
    /// The system refuses to look.
    pub fn owner(&self) -> io::Result<u32> {
        Ok(fstat(&self.folder)?.st_uid)
    }

    /// Gives it to a user and a group.
    ///
    /// # Errors
    ///
    /// The system refuses.
    pub fn give(&self, user: u32, group: u32) -> io::Result<()> {
        fchown(&self.folder, Some(user), Some(group))
    }

    /// Its rights.
    ///
    /// # Errors
    ///
    /// The system refuses to look.
    pub fn mode(&self) -> io::Result<u32> {
        Ok(fstat(&self.folder)?.st_mode & 0o7777)
    }

    /// Sets its rights, whatever the umask.
    ///
    /// # Errors
    ///
    /// The system refuses.
    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        Ok(fchmod(&self.folder, Mode::from_raw_mode(mode))?)
    }

    /// Whether something is called `name` in it.
    pub fn has(&self, name: impl AsRef<OsStr>) -> bool {
        self.look(name.as_ref()).is_ok()
    }

    /// Whether `name` in it still leads to what has this identity.
    pub fn leads(&self, name: impl AsRef<OsStr>, to: Identity) -> bool {
        self.look(name.as_ref())
            .is_ok_and(|found| identity(&found) == to)
    }

    /// What `name` in it is; a link itself.
    pub(crate) fn look(&self, name: &OsStr) -> io::Result<Stat> {
        Ok(statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Opens the file `name` in it; a link is not followed, and nothing is waited for.
    ///
    /// # Errors
    ///
    /// There is none, or it cannot be opened in this way.
    pub fn file(&self, name: impl AsRef<OsStr>, how: OFlags) -> io::Result<File> {
        let flags = how | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o666);
        Ok(openat(&self.folder, name.as_ref(), flags, mode)?.into())
    }

    /// The names in it.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.folder)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(OsString::from_vec(name.to_vec()));
            }
        }
        Ok(names)
    }

    /// Removes all that is in it, but for what is called `kept`. No link is followed.
    ///
    /// # Errors
    ///
    /// Something cannot be removed, or folders are nested too deeply; the rest may be gone.
    pub fn empty(&self, kept: Option<&str>) -> io::Result<()> {
        self.empty_at(kept.map(OsStr::new), 0)
    }

    fn empty_at(&self, kept: Option<&OsStr>, depth: usize) -> io::Result<()> {
        if depth > DEEPEST {
            return Err(io::Error::other(format!(
                "{} has folders that are nested too deeply to be removed",
                self.named.display()
            )));
        }
        for name in self.names()? {
            if kept == Some(&name) {
                continue;
            }
            match unlinkat(&self.folder, &name, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => continue,
                // Linux says so of each folder (unlink(2)).
                Err(Errno::ISDIR) => {}
                Err(errno) => return Err(errno.into()),
            }
            self.inside(&name)?.empty_at(None, depth + 1)?;
            unlinkat(&self.folder, &name, AtFlags::REMOVEDIR)?;
        }
        Ok(())
    }

    /// Removes the file, the link or the whole folder `name` in it.
    ///
    /// # Errors
    ///
    /// There is none, or something in it cannot be removed.
    pub fn remove(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        let name = name.as_ref();
        match unlinkat(&self.folder, name, AtFlags::empty()) {
            Err(Errno::ISDIR) => {}
            other => return Ok(other?),
        }
        self.inside(name)?.empty(None)?;
        self.remove_empty(name)
    }

    /// Removes the file or the link `name` in it.
    ///
    /// # Errors
    ///
    /// There is none, or it is a folder.
    pub fn remove_file(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(unlinkat(&self.folder, name.as_ref(), AtFlags::empty())?)
    }

    /// Removes the folder `name` in it, if that is empty.
    ///
    /// # Errors
    ///
    /// It is not empty, no folder, or not there.
    pub fn remove_empty(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(unlinkat(&self.folder, name.as_ref(), AtFlags::REMOVEDIR)?)
    }

    /// Renames `name` in it to `new` in `to`, which replaces a file of that name.
    ///
    /// # Errors
    ///
    /// The system refuses.
    pub fn rename(
        &self,
        name: impl AsRef<OsStr>,
        to: &Self,
        new: impl AsRef<OsStr>,
    ) -> io::Result<()> {
        Ok(renameat(
            &self.folder,
            name.as_ref(),
            &to.folder,
            new.as_ref(),
        )?)
    }

    /// The same with flags.
    pub(crate) fn rename_with(
        &self,
        name: &OsStr,
        to: &Self,
        new: &OsStr,
        flags: RenameFlags,
    ) -> Result<(), Errno> {
        renameat_with(&self.folder, name, &to.folder, new, flags)
    }

    /// Renames `name` in it to `new` in `to`, which nothing must have.
    ///
    /// # Errors
    ///
    /// `EXIST` or `NOTEMPTY` where something has the name.
    pub fn rename_without_replacing(
        &self,
        name: impl AsRef<OsStr>,
        to: &Self,
        new: impl AsRef<OsStr>,
    ) -> Result<(), Errno> {
        let (name, new) = (name.as_ref(), new.as_ref());
        match self.rename_with(name, to, new, RenameFlags::NOREPLACE) {
            // A file system that cannot promise it. An empty folder of our own takes the name, and only that is replaced.
            Err(Errno::INVAL | Errno::NOSYS) => {
                mkdirat(&to.folder, new, Mode::RWXU)?;
                renameat(&self.folder, name, &to.folder, new).inspect_err(|_| {
                    let _ = to.remove_empty(new);
                })
            }
            other => other,
        }
    }
}

/// The present name of what a path of [`Held::path`] leads to; any other path is its own.
pub fn real(path: &Path) -> PathBuf {
    let Ok(inside) = path.strip_prefix(OPEN) else {
        return path.to_owned();
    };
    let mut parts = inside.components();
    let folder = parts.next().map(|number| Path::new(OPEN).join(number));
    match folder.and_then(|folder| std::fs::read_link(folder).ok()) {
        Some(folder) if parts.as_path().as_os_str().is_empty() => folder,
        Some(folder) => folder.join(parts.as_path()),
        None => path.to_owned(),
    }
}

/// The folder that holds `path`; the present one for a bare name.
pub fn parent(path: &Path) -> &Path {
    path.parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

fn identity(of: &Stat) -> Identity {
    (of.st_dev, of.st_ino)
}

pub(super) fn replaced(path: &Path) -> io::Error {
    io::Error::other(format!(
        "{} was replaced by another folder",
        real(path).display()
    ))
}
