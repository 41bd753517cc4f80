//! A folder in the making, and a lock that says that its maker lives.
//!
//! The lock is on the file `lock` inside (flock(2)), so it ends with the process that holds it, however that ends; numbers of
//! processes are used again, and mean something else in each container. Who finds the lock free may remove the folder. Nobody
//! touches a folder of another user, nor one with content and without a lock.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// The file that is locked.
const LOCK: &str = "lock";
/// Others may take a folder away before it is locked; not that often.
const ATTEMPTS: usize = 100;

/// A folder that this process holds. It is removed when this is dropped.
#[derive(Debug)]
pub struct Claim {
    folder: PathBuf,
    lock: File,
}

impl Claim {
    /// Makes `folder`; `None` where somebody has it.
    pub fn make(folder: &Path) -> io::Result<Option<Self>> {
        for _ in 0..ATTEMPTS {
            match fs::create_dir(folder) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    // A maker that ended before it had a lock left it empty. One that lives finds it gone and tries again.
                    if is_this_users(folder) && fs::remove_dir(folder).is_ok() {
                        continue;
                    }
                    return Ok(None);
                }
                other => other?,
            }
            if let Some(claim) = Self::of_new(folder.to_owned())? {
                return Ok(Some(claim));
            }
        }
        // Somebody keeps removing it.
        Err(ErrorKind::ResourceBusy.into())
    }

    /// Locks a folder that was just made; `None` where somebody took it for abandoned.
    pub fn of_new(folder: PathBuf) -> io::Result<Option<Self>> {
        let path = folder.join(LOCK);
        let lock = match File::options().write(true).create_new(true).open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(None),
            // On a file system without locks nobody can take the folder for abandoned.
            Err(TryLockError::Error(_)) | Ok(()) => {}
        }
        let claim = Self { folder, lock };
        if claim.is_in_place() {
            return Ok(Some(claim));
        }
        claim.forget();
        Ok(None)
    }

    /// Takes over `folder` if it is this user's and its maker is gone.
    pub fn abandoned(folder: &Path) -> Option<Self> {
        let user = rustix::process::geteuid().as_raw();
        if !fs::symlink_metadata(folder).ok()?.is_dir() {
            return None;
        }
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let lock = File::options()
            .write(true)
            .custom_flags(flags.bits() as i32)
            .open(folder.join(LOCK))
            .ok()?;
        let is_ours = |file: &fs::Metadata| file.is_file() && file.uid() == user;
        if !lock.metadata().is_ok_and(|file| is_ours(&file)) || lock.try_lock().is_err() {
            return None;
        }
        let claim = Self {
            folder: folder.to_owned(),
            lock,
        };
        if claim.is_in_place() {
            return Some(claim);
        }
        claim.forget();
        None
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// Whether the locked file is the one in the folder, and not that of one who was there before.
    fn is_in_place(&self) -> bool {
        let key = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
        let there = fs::symlink_metadata(self.folder.join(LOCK)).map(key).ok();
        there.is_some() && there == self.lock.metadata().map(key).ok()
    }

    /// Leaves the folder to whoever has it now.
    fn forget(mut self) {
        self.folder = PathBuf::new();
    }

    /// The lock goes last, so that what cannot be removed now is found abandoned later.
    fn remove(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if entry.file_name() == LOCK {
                continue;
            }
            if entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path())?;
            } else {
                fs::remove_file(entry.path())?;
            }
        }
        fs::remove_file(self.folder.join(LOCK))?;
        fs::remove_dir(&self.folder)
    }
}

fn is_this_users(folder: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    fs::symlink_metadata(folder).is_ok_and(|it| it.is_dir() && it.uid() == user)
}

impl Drop for Claim {
    fn drop(&mut self) {
        if !self.folder.as_os_str().is_empty() {
            // The next one to look finds what is left.
            let _ = self.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_abandoned_once_its_lock_is_free() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("work");
        let claim = Claim::make(&path).unwrap().unwrap();
        fs::create_dir_all(path.join("a/b")).unwrap();
        fs::write(path.join("a/b/c"), "").unwrap();
        assert!(Claim::make(&path).unwrap().is_none());
        assert!(Claim::abandoned(&path).is_none());
        // As when the process is killed: the lock goes, and the folder stays.
        let lock = claim.lock.try_clone().unwrap();
        claim.forget();
        assert!(Claim::abandoned(&path).is_none());
        drop(lock);
        let taken = Claim::abandoned(&path).unwrap();
        assert!(Claim::abandoned(&path).is_none());
        drop(taken);
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_is_not_locked_is_somebodys_unless_it_is_empty() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at("full/a")).unwrap();
        fs::create_dir(at("empty")).unwrap();
        fs::write(at("file"), "").unwrap();
        std::os::unix::fs::symlink(at("full"), at("link")).unwrap();
        fs::create_dir(at("strange")).unwrap();
        std::os::unix::fs::symlink(at("file"), at("strange/lock")).unwrap();
        for name in ["full", "empty", "file", "link", "strange", "none"] {
            assert!(Claim::abandoned(&at(name)).is_none(), "{name}");
        }
        for name in ["full/a", "empty", "file", "link", "strange/lock"] {
            assert!(at(name).exists(), "{name}");
        }
        assert!(Claim::make(&at("full")).unwrap().is_none());
        assert!(Claim::make(&at("empty")).unwrap().is_some());
    }
}
