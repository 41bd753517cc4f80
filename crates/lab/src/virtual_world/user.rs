//! The user of a guest that root starts.
//!
//! A guest is a program that somebody else may have built, and must not have root's rights. So it gets a user that no other
//! process has; or, if the kernel belongs to another user, that one, who could run it anyway. The folders in
//! which it writes are that user's while it runs. Afterwards the result is taken back, if it is what it should be: plain files.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use quell_hosts::confine::capabilities::{CapabilitySet, effective};
use quell_hosts::confine::user::{NOBODY, of_its_own};
use quell_kernel::held::Held;
use rustix::fs::OFlags;
use rustix::process::{getegid, geteuid};

/// The right of others to write, of stat(2).
const WRITTEN_BY_OTHERS: u32 = 0o022;

/// The user for the next guest, whose kernel belongs to `owner`; `None` where this process has no right to choose one, so that
/// the guest runs as the caller. `folder`, the result's, is given to it, which shows whether files can be.
pub(super) fn choose(owner: u32, folder: &Held) -> Option<u32> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let needed = CapabilitySet::SETUID
        | CapabilitySet::SETGID
        | CapabilitySet::CHOWN
        | CapabilitySet::DAC_OVERRIDE
        | CapabilitySet::KILL
        | CapabilitySet::SYS_ADMIN;
    let may = geteuid().is_root() && effective().is_ok_and(|has| has.contains(needed));
    if !may {
        return None;
    }
    let own = of_its_own(std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let candidates = match owner {
        0 => [own, NOBODY],
        owner => [owner, owner],
    };
    // In a user namespace some numbers are nobody's.
    candidates
        .into_iter()
        .find(|&user| folder.give(user, user).is_ok())
}

/// Why a result was not taken back from a guest.
#[derive(Debug, thiserror::Error)]
pub(super) enum TakeBackError {
    /// The guest left something there that is not a plain file of its own.
    #[error("the guest left {}, which is no file of its own", .0.display())]
    NotPlain(PathBuf),
    /// The system refused something.
    #[error("the result cannot be taken back from the guest: {0}")]
    System(#[from] io::Error),
}

/// Makes the folder, and everything in it, the caller's again. The guest has ended.
///
/// # Errors
///
/// The guest left something else than plain files of its own there, or the system refuses something.
pub(super) fn take_back(folder: &Held) -> Result<(), TakeBackError> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    // First the folder, so that nothing in it changes any more: its user may have other processes than the guest.
    folder.give(user, group)?;
    folder.set_mode(folder.mode()? & !WRITTEN_BY_OTHERS)?;
    for name in folder.names()? {
        if let Ok(inner) = folder.inside(&name) {
            take_back(&inner)?;
            continue;
        }
        let not_plain = || TakeBackError::NotPlain(folder.named().join(&name));
        let file = folder
            .file(&name, OFlags::RDONLY)
            .map_err(|_| not_plain())?;
        let of = file.metadata()?;
        if !of.is_file() || of.nlink() != 1 {
            return Err(not_plain());
        }
        fchown(&file, Some(user), Some(group))?;
        file.set_permissions(Permissions::from_mode(of.mode() & !WRITTEN_BY_OTHERS))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_result_is_taken_back_only_if_it_is_plain_files() {
        let folder = tempfile::tempdir().unwrap();
        let result = folder.path().join("result");
        fs::create_dir(&result).unwrap();
        fs::write(result.join("summary.json"), "{}").unwrap();
        let held = Held::open(&result).unwrap();
        take_back(&held).unwrap();
        let outside = folder.path().join("outside");
        fs::write(&outside, "").unwrap();
        let link = result.join("run.json");
        symlink(&outside, &link).unwrap();
        let left = take_back(&held).unwrap_err();
        assert!(
            matches!(&left, TakeBackError::NotPlain(path) if *path == link),
            "{left}"
        );
        fs::remove_file(&link).unwrap();
        fs::hard_link(&outside, &link).unwrap();
        assert!(take_back(&held).is_err(), "it has another name elsewhere");
    }
}
