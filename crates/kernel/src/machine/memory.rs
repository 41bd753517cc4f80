//! The memory of a guest on the host: a file without a name, which the kernel maps with the right to execute.
//!
//! The kernel makes the file in `$TMPDIR` (arch/um/os-Linux/mem.c), full of holes; a page takes room once it is touched, and a
//! file system that is full by then would end the kernel with SIGBUS. So the folder is chosen here, with room for all of it.

use std::path::{Path, PathBuf};

use rustix::fs::{Access, StatVfsMountFlags, access, statvfs};

use super::MachineError;
use crate::held::Own;

/// Memory first: on a disk, what the guest writes would be written back for nothing.
const SHARED_MEMORY: &str = "/dev/shm";
const LAST: &str = "/tmp";

/// A folder for `bytes` of memory in which nobody else writes, owned by `user` if there is one. The kernel may write in it, and
/// not in its parent.
pub(super) fn own_folder(bytes: u64, user: Option<u32>) -> Result<Own, MachineError> {
    let place = folder(bytes)?;
    let make = || {
        let own = Own::temporary(&place, "quell-memory-")?;
        if let Some(user) = user {
            own.folder().give(user, user)?;
        }
        Ok(own)
    };
    make().map_err(|source| MachineError::Log {
        path: place.clone(),
        source,
    })
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
mod tests {
    use super::*;

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
