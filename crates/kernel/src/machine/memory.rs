//! The memory of a guest on the host: a file without a name, which the kernel maps with the right to execute.
//!
//! The kernel makes the file in `$TMPDIR` (arch/um/os-Linux/mem.c), full of holes; a page takes room once it is touched, and a
//! file system that is full by then would end the kernel with SIGBUS. So the folder is chosen here, with room for all of it.
//!
//! The folder goes once the kernel has removed the file's name. One whose quell was killed before stays, and the next start removes it: nobody
//! holds its lock any more.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use quell_hosts::confine::user;
use rustix::fs::{
    Access, AtFlags, Dir, FlockOperation, Mode, OFlags, StatVfsMountFlags, access, flock, fstat,
    open, openat, statvfs, unlinkat,
};
use rustix::process::geteuid;

use super::MachineError;
use crate::held::{Held, Own};

/// Memory first: on a disk, what the guest writes would be written back for nothing.
const SHARED_MEMORY: &str = "/dev/shm";
const LAST: &str = "/tmp";

/// How the names of all such folders begin.
const PREFIX: &str = "quell-memory-";
/// A folder that is younger may be one that another quell is about to lock.
const YOUNG: Duration = Duration::from_secs(60);

/// A folder for the memory of one kernel; it is removed with this.
#[derive(Debug)]
pub(super) struct OwnFolder {
    own: Own,
    /// As long as it is open, the folder is in use.
    _lock: OwnedFd,
}

impl OwnFolder {
    /// With room for `bytes`, where nobody else writes, owned by `user` if there is one. The kernel may write in it, and not in its parent.
    pub(super) fn new(bytes: u64, user: Option<u32>) -> Result<Self, MachineError> {
        let place = folder(bytes)?;
        // What cannot be removed does no harm here.
        let _ = remove_abandoned(&place, YOUNG);
        let make = || {
            let own = Own::temporary(&place, PREFIX)?;
            let lock = open(
                own.folder().path(),
                FOLDER - OFlags::NOFOLLOW,
                Mode::empty(),
            )?;
            flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
            if let Some(user) = user {
                own.folder().give(user, user)?;
            }
            Ok(Self { own, _lock: lock })
        };
        make().map_err(|source| MachineError::Log {
            path: place.clone(),
            source,
        })
    }

    pub(super) fn folder(&self) -> &Held {
        self.own.folder()
    }
}

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Removes the folders in `place` that belong to this user, or to a guest of root's, and to no process. Everything is named below a descriptor,
/// so whatever somebody else puts in its place stays.
fn remove_abandoned(place: &Path, young: Duration) -> io::Result<()> {
    let place = open(place, FOLDER - OFlags::NOFOLLOW, Mode::empty())?;
    let own = geteuid().as_raw();
    for entry in Dir::read_from(&place)?.flatten() {
        let name = entry.file_name();
        if !name.to_bytes().starts_with(PREFIX.as_bytes()) {
            continue;
        }
        let Ok(folder) = openat(&place, name, FOLDER, Mode::empty()) else {
            continue;
        };
        let of = fstat(&folder)?;
        let is_ours = of.st_uid == own || own == 0 && user::is_of_its_own(of.st_uid);
        let changed = UNIX_EPOCH + Duration::from_secs(of.st_mtime.try_into().unwrap_or(0));
        let age = SystemTime::now().duration_since(changed);
        let is_young = age.is_ok_and(|age| age < young);
        if !is_ours || is_young || flock(&folder, FlockOperation::NonBlockingLockExclusive).is_err()
        {
            continue;
        }
        for file in Dir::read_from(&folder)?.flatten() {
            // Nothing but files was made here; anything else stays, and so does the folder.
            let _ = unlinkat(&folder, file.file_name(), AtFlags::empty());
        }
        let _ = unlinkat(&place, name, AtFlags::REMOVEDIR);
    }
    Ok(())
}

/// The first folder that `bytes` of memory fit into.
pub(super) fn folder(bytes: u64) -> Result<PathBuf, MachineError> {
    let users = std::env::var_os("TMPDIR").map(PathBuf::from);
    let candidates = [Some(SHARED_MEMORY.into()), users, Some(LAST.into())];
    let mut why = Vec::new();
    for candidate in candidates.into_iter().flatten() {
        match lacks(&candidate, bytes) {
            None => return Ok(candidate),
            Some(lack) => why.push(lack),
        }
    }
    Err(MachineError::Host {
        why: format!(
            "there is no place for its memory of {} MiB: {}",
            bytes.div_ceil(1 << 20),
            why.join(", ")
        ),
        fix: "free space there, or set TMPDIR to a folder with room on a file system that is not mounted noexec"
            .to_owned(),
    })
}

/// What a folder lacks, if anything.
fn lacks(folder: &Path, bytes: u64) -> Option<String> {
    let name = folder.display();
    if let Err(error) = access(folder, Access::WRITE_OK | Access::EXEC_OK) {
        return Some(format!("{name}: {error}"));
    }
    match statvfs(folder) {
        Err(error) => Some(format!("{name}: {error}")),
        Ok(of) if of.f_flag.contains(StatVfsMountFlags::NOEXEC) => {
            Some(format!("{name} is mounted noexec"))
        }
        Ok(of) => {
            let room = of.f_bavail.saturating_mul(of.f_frsize);
            (room < bytes).then(|| format!("{name} has {} MiB left", room >> 20))
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by a panic")]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_folder_of_a_killed_run_is_removed_and_nothing_else_is() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let precious = at("precious");
        fs::create_dir(&precious).unwrap();
        fs::write(precious.join("file"), "x").unwrap();
        for name in ["quell-memory-dead", "quell-memory-used", "other"] {
            fs::create_dir(at(name)).unwrap();
            fs::write(at(name).join("vm_file-1"), "x").unwrap();
        }
        // A link to elsewhere, inside of one and in its place.
        symlink(&precious, at("quell-memory-dead").join("link")).unwrap();
        symlink(&precious, at("quell-memory-link")).unwrap();
        let used = open(at("quell-memory-used"), FOLDER, Mode::empty()).unwrap();
        flock(&used, FlockOperation::NonBlockingLockExclusive).unwrap();
        let is_there = |name: &str| at(name).symlink_metadata().is_ok();
        // All of them were made a moment ago.
        remove_abandoned(place.path(), YOUNG).unwrap();
        assert!(is_there("quell-memory-dead"));
        remove_abandoned(place.path(), Duration::ZERO).unwrap();
        assert!(!is_there("quell-memory-dead"));
        for name in [
            "quell-memory-used",
            "quell-memory-link",
            "other",
            "precious/file",
        ] {
            assert!(is_there(name), "{name}");
        }
        drop(used);
        // A process that another thread starts has the lock too, until it runs its program.
        while is_there("quell-memory-used") {
            remove_abandoned(place.path(), Duration::ZERO).unwrap();
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_folder_in_use_is_locked_until_it_goes() {
        let own = OwnFolder::new(1 << 20, None).unwrap();
        let path = own.folder().named().to_owned();
        let other = open(&path, FOLDER, Mode::empty()).unwrap();
        assert!(flock(&other, FlockOperation::NonBlockingLockExclusive).is_err());
        drop(own);
        assert!(!path.exists());
    }

    #[test]
    fn the_first_folder_with_room_is_taken_and_each_lack_is_named() {
        assert!(folder(1 << 20).is_ok());
        let error = folder(u64::MAX).unwrap_err().to_string();
        assert!(
            error.contains("/tmp has ") && error.contains("TMPDIR"),
            "{error}"
        );
        let missing = lacks(Path::new("/no/such/folder"), 1).unwrap();
        assert!(missing.starts_with("/no/such/folder: "), "{missing}");
    }
}
