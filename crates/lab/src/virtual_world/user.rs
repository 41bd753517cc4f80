//! The user of a guest that root starts.
//!
//! A guest is a program that somebody else may have built, and must not have root's rights. So it gets a user that no other
//! process has; or, if the kernel belongs to another user, that one, who could run it anyway. The folders in
//! which it writes are that user's while it runs. Afterwards the result is taken back, if it is what it should be: plain files.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, chown, lchown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use quell_confine::capabilities::{CapabilitySet, effective};
use quell_confine::user::{NOBODY, of_its_own};
use rustix::process::{getegid, geteuid};

/// The user for the next guest, whose kernel belongs to `owner`; `None` where this process has no right to choose one, so that
/// the guest runs as the caller. `folder` serves to find out which users files can be given to.
pub(super) fn choose(owner: u32, folder: &Path) -> Option<u32> {
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
        .find(|&user| chown(folder, Some(user), Some(user)).is_ok())
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
pub(super) fn take_back(folder: &Path) -> Result<(), TakeBackError> {
    let (user, group) = (Some(geteuid().as_raw()), Some(getegid().as_raw()));
    // First the folder, so that nothing in it changes any more.
    lchown(folder, user, group)?;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let of = fs::symlink_metadata(&path)?;
        if of.is_dir() {
            take_back(&path)?;
        } else if of.is_file() && of.nlink() == 1 {
            lchown(&path, user, group)?;
        } else {
            return Err(TakeBackError::NotPlain(path));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_result_is_taken_back_only_if_it_is_plain_files() {
        let folder = tempfile::tempdir().unwrap();
        let result = folder.path().join("result");
        fs::create_dir(&result).unwrap();
        fs::write(result.join("summary.json"), "{}").unwrap();
        take_back(&result).unwrap();
        let outside = folder.path().join("outside");
        fs::write(&outside, "").unwrap();
        let link = result.join("run.json");
        symlink(&outside, &link).unwrap();
        let left = take_back(&result).unwrap_err();
        assert!(
            matches!(&left, TakeBackError::NotPlain(path) if *path == link),
            "{left}"
        );
        fs::remove_file(&link).unwrap();
        fs::hard_link(&outside, &link).unwrap();
        assert!(take_back(&result).is_err(), "it has another name elsewhere");
    }
}
