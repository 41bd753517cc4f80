//! A folder in the making, and a lock that says that its maker lives.
//!
//! The lock is on the file `lock` inside (flock(2)), so it ends with the process that holds it, however that ends; numbers of
//! processes are used again, and mean something else in each container. Who finds the lock free may remove the folder. Nobody
//! touches a folder of another user, nor one with content and without a lock, nor one that was given the name of a claim later: the lock
//! holds the name. Everything is done below the open folder ([`Held`]), because its path may lead elsewhere by now.

use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind, Read, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use quell_hosts::confine::user::is_of_its_own;
use quell_kernel::held::{Held, Own};
use rustix::fs::OFlags;

/// The file that is locked.
const LOCK: &str = "lock";
/// Others may take a folder away before it is locked; not that often.
const ATTEMPTS: usize = 100;

/// A folder that this process holds. It is removed when this is dropped.
#[derive(Debug)]
pub struct Claim {
    own: Own,
    _lock: File,
}

impl Claim {
    /// Makes `name` in `around`; `None` where somebody has it.
    ///
    /// # Errors
    ///
    /// Nothing can be made there, or somebody keeps removing it.
    pub fn make(around: &Held, name: &OsStr) -> io::Result<Option<Self>> {
        for _ in 0..ATTEMPTS {
            let own = match Own::make(around.again()?, name, 0o700) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    // A maker that ended before it had a lock left it empty. One that lives finds it gone and tries again.
                    let left = around.inside(name);
                    if left.is_ok_and(|it| is_this_users(&it)) && around.remove_empty(name).is_ok()
                    {
                        continue;
                    }
                    return Ok(None);
                }
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                other => other?,
            };
            if let Some(claim) = Self::of_new(own)? {
                return Ok(Some(claim));
            }
        }
        Err(ErrorKind::ResourceBusy.into())
    }

    /// One in `place`, where temporary files go, whose name begins with `prefix`. Those that killed processes left there go.
    ///
    /// # Errors
    ///
    /// None can be made there, or not locked.
    pub fn temporary(place: &Path, prefix: &str) -> io::Result<Self> {
        remove_abandoned(place, prefix);
        loop {
            if let Some(claim) = Self::of_new(Own::temporary(place, prefix)?)? {
                return Ok(claim);
            }
        }
    }

    /// Locks a folder that was just made; `None` where somebody took it for abandoned.
    ///
    /// # Errors
    ///
    /// The lock cannot be made.
    pub fn of_new(mut own: Own) -> io::Result<Option<Self>> {
        let how = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let mut lock = match own.folder().file(LOCK, how) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        let is_locked = match lock.try_lock() {
            Err(TryLockError::WouldBlock) => false,
            // On a file system without locks nobody can take the folder for abandoned.
            Err(TryLockError::Error(_)) | Ok(()) => true,
        };
        // Whoever owns the folder around it could have put one of his own there.
        let is_ours = lock.metadata()?.uid() == own.folder().owner()?;
        if !is_locked || !is_ours || !is_in_place(&own, &lock) {
            own.leave();
            return Ok(None);
        }
        lock.write_all(own.name().as_bytes())?;
        Ok(Some(Self { own, _lock: lock }))
    }

    /// Takes over `name` in `around` if it is this user's and its maker is gone.
    pub fn abandoned(around: &Held, name: &OsStr) -> Option<Self> {
        let mut own = Own::existing(around.again().ok()?, name).ok()?;
        let Some(lock) = lock_of_abandoned(&own) else {
            own.leave();
            return None;
        };
        Some(Self { own, _lock: lock })
    }

    /// The open folder.
    pub fn folder(&self) -> &Held {
        self.own.folder()
    }

    /// The folder around it.
    pub fn around(&self) -> &Held {
        self.own.around()
    }
}

/// Removes the folders in `place` whose names begin with `prefix` and whose makers are gone.
fn remove_abandoned(place: &Path, prefix: &str) {
    let Ok(place) = Held::open(place) else { return };
    for name in place.names().unwrap_or_default() {
        if !name.to_string_lossy().starts_with(prefix) {
            continue;
        }
        if let Some(claim) = Claim::abandoned(&place, &name) {
            log::info!(
                "removed {}, which a killed run left",
                claim.folder().named().display()
            );
        }
    }
}

/// The lock, held from now on, if the folder is this user's and nobody else holds it.
fn lock_of_abandoned(own: &Own) -> Option<File> {
    let mut lock = own.folder().file(LOCK, OFlags::RDWR).ok()?;
    let found = lock.metadata().ok()?;
    let is_ours = found.is_file() && found.nlink() == 1 && is_users(found.uid());
    // Root gives the folder of a guest, but not the lock, to a user of the guest's own.
    let is_guests = |owner| rustix::process::geteuid().is_root() && is_of_its_own(owner);
    let owner = own.folder().owner().ok()?;
    if !is_ours || !(is_users(owner) || is_guests(owner)) || lock.try_lock().is_err() {
        return None;
    }
    let mut name = Vec::new();
    let most = own.name().len() as u64 + 1;
    Read::by_ref(&mut lock)
        .take(most)
        .read_to_end(&mut name)
        .ok()?;
    let is_its_own = match name[..] {
        // A maker that was killed before it had written the name has left nothing else.
        [] => own.folder().names().ok()?.len() == 1,
        _ => name == own.name().as_bytes(),
    };
    (is_its_own && is_in_place(own, &lock)).then_some(lock)
}

/// Whether the locked file is the one in the folder, and not that of one who was there before.
fn is_in_place(own: &Own, lock: &File) -> bool {
    let key = lock.metadata().map(|found| (found.dev(), found.ino()));
    key.is_ok_and(|key| own.folder().leads(LOCK, key))
}

fn is_this_users(folder: &Held) -> bool {
    folder.owner().is_ok_and(is_users)
}

fn is_users(owner: u32) -> bool {
    owner == rustix::process::geteuid().as_raw()
}

impl Drop for Claim {
    fn drop(&mut self) {
        // The lock goes last, so that what cannot be removed now is found abandoned later.
        self.own.empty_but(LOCK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{chown, symlink};

    fn around(path: &Path) -> (Held, &OsStr) {
        let around = Held::open(path.parent().unwrap()).unwrap();
        (around, path.file_name().unwrap())
    }

    fn make(path: &Path) -> Option<Claim> {
        let (around, name) = around(path);
        Claim::make(&around, name).unwrap()
    }

    fn abandoned(path: &Path) -> Option<Claim> {
        let (around, name) = around(path);
        Claim::abandoned(&around, name)
    }

    /// As when the process is killed: the lock goes, and the folder stays.
    fn kill(mut claim: Claim) {
        claim.own.leave();
    }

    #[test]
    fn a_folder_is_abandoned_once_its_lock_is_free() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("work");
        let claim = make(&path).unwrap();
        fs::create_dir_all(path.join("a/b")).unwrap();
        fs::write(path.join("a/b/c"), "").unwrap();
        assert!(make(&path).is_none());
        assert!(abandoned(&path).is_none());
        let lock = claim._lock.try_clone().unwrap();
        kill(claim);
        assert!(abandoned(&path).is_none());
        drop(lock);
        let taken = abandoned(&path).unwrap();
        assert!(abandoned(&path).is_none());
        drop(taken);
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
        // Between making the lock and writing the name.
        kill(make(&path).unwrap());
        fs::write(path.join(LOCK), "").unwrap();
        drop(abandoned(&path).unwrap());
        assert!(!path.exists());
    }

    #[test]
    fn what_is_not_locked_is_somebodys_unless_it_is_empty() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at("full/a")).unwrap();
        fs::create_dir(at("empty")).unwrap();
        fs::write(at("file"), "").unwrap();
        symlink(at("full"), at("link")).unwrap();
        fs::create_dir(at("strange")).unwrap();
        symlink(at("file"), at("strange/lock")).unwrap();
        for name in ["full", "empty", "file", "link", "strange", "none"] {
            assert!(abandoned(&at(name)).is_none(), "{name}");
        }
        for name in ["full/a", "empty", "file", "link", "strange/lock"] {
            assert!(at(name).exists(), "{name}");
        }
        assert!(make(&at("full")).is_none());
        assert!(make(&at("link")).is_none());
        assert!(make(&at("empty")).is_some());
    }

    #[test]
    fn a_folder_that_was_given_the_name_of_a_claim_is_none() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        // One with a file of that name of its own, one with another name's lock, and one behind a second name of a lock.
        fs::create_dir(at("project")).unwrap();
        fs::write(at("project/lock"), "of something else").unwrap();
        fs::write(at("project/precious"), "").unwrap();
        kill(make(&at("other")).unwrap());
        fs::write(at("other/precious"), "").unwrap();
        kill(make(&at("claim")).unwrap());
        fs::create_dir(at("linked")).unwrap();
        fs::hard_link(at("claim/lock"), at("linked/lock")).unwrap();
        fs::write(at("linked/precious"), "").unwrap();
        fs::remove_file(at("claim/lock")).unwrap();
        fs::remove_dir(at("claim")).unwrap();
        fs::hard_link(at("linked/lock"), at("elsewhere")).unwrap();
        for name in ["project", "other", "linked"] {
            fs::rename(at(name), at("claim")).unwrap();
            assert!(abandoned(&at("claim")).is_none(), "{name}");
            assert!(at("claim/precious").exists(), "{name}");
            fs::rename(at("claim"), at(name)).unwrap();
        }
    }

    /// Whoever owns the folder around a claim can rename it, and put what he likes in its place.
    #[test]
    fn a_folder_of_another_user_is_neither_taken_nor_emptied() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        kill(make(&at("claim")).unwrap());
        fs::write(at("claim/precious"), "").unwrap();
        // The lock is root's still.
        chown(at("claim"), Some(65_534), Some(65_534)).unwrap();
        assert!(abandoned(&at("claim")).is_none());
        assert!(at("claim/precious").exists());
        // What a killed run left, whose folder was its guest's.
        let guest = quell_hosts::confine::user::of_its_own(7, 0);
        chown(at("claim"), Some(guest), Some(guest)).unwrap();
        drop(abandoned(&at("claim")).unwrap());
        assert!(!at("claim").exists());
    }

    #[test]
    fn what_takes_the_place_of_a_claim_stays() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at("victim/a")).unwrap();
        fs::write(at("victim/a/precious"), "").unwrap();
        fs::write(at("victim/lock"), "").unwrap();
        let claim = make(&at("claim")).unwrap();
        fs::write(claim.folder().path().join("mine"), "").unwrap();
        fs::rename(at("claim"), at("moved")).unwrap();
        symlink(at("victim"), at("claim")).unwrap();
        drop(claim);
        assert!(at("victim/a/precious").exists() && at("victim/lock").exists());
        assert!(at("claim").is_symlink());
        assert!(at("moved/mine").exists());
    }
}
