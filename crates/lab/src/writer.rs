//! The user who writes results: whoever runs quell; where that is root, the owner of the folder that they go to.
//!
//! Whoever owns a folder decides what a name in it leads to. So root writes there with no more rights than the owner has.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use quell_hosts::confine::capabilities::{CapabilitySet, effective};
use quell_hosts::confine::user::become_user;
use quell_kernel::Reason;
use quell_kernel::store::Store;
use rustix::fs::{Access, access};
use rustix::process::geteuid;

use crate::{RunError, World};

/// User and group.
pub(crate) type Writer = (u32, u32);

/// The innermost folder around `path` that exists.
pub(crate) fn existing(path: &Path) -> PathBuf {
    let parents = path.ancestors().skip(1);
    let found = parents
        .filter(|parent| !parent.as_os_str().is_empty())
        .find(|parent| parent.is_dir());
    found.map_or_else(|| PathBuf::from("."), Path::to_owned)
}

/// The owner of the results in `place`, if root is to write as another user.
pub(crate) fn of(place: &Path) -> io::Result<Option<Writer>> {
    let of = fs::metadata(place)?;
    let needed = CapabilitySet::SETUID | CapabilitySet::SETGID;
    let may = geteuid().is_root() && effective()?.contains(needed);
    Ok((may && of.uid() != 0).then_some((of.uid(), of.gid())))
}

/// Makes this process the owner of the folder around `path`, if root is to write there. To be called while there is one thread only, for runs in
/// the simulator or the virtual world; [`crate::live::privilege_separation`] does it for the live world.
///
/// # Errors
///
/// The system refuses, or that user may not run what the virtual world needs.
pub fn write_as_owner(path: &Path, world: World) -> Result<(), RunError> {
    let place = existing(path);
    let Some((user, group)) = of(&place).map_err(RunError::reading(&place))? else {
        return Ok(());
    };
    become_user(user, group, false).map_err(|error| RunError::Failed(error.to_string()))?;
    if world != World::Virtual {
        return Ok(());
    }
    let program =
        std::env::current_exe().map_err(RunError::reading(Path::new("/proc/self/exe")))?;
    let kernels = Store::open().map_err(|error| RunError::Refused(error.reason()))?;
    let kernels = kernels.folder().to_owned();
    let needed = [
        (program, Access::READ_OK | Access::EXEC_OK),
        (kernels, Access::READ_OK | Access::EXEC_OK),
    ];
    for (needed, how) in needed {
        if access(&needed, how).is_err() {
            return Err(RunError::Refused(Reason::with_fix(
                format!(
                    "{} belongs to user {user}, so root runs the virtual world as that user, who may not read {}",
                    place.display(),
                    needed.display()
                ),
                "--out FOLDER, in a folder of root's; or put the program and the kernels (QUELL_KERNELS) where that user may read them",
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_go_to_the_innermost_folder_that_exists() {
        let folder = tempfile::tempdir().unwrap();
        for (path, expected) in [
            (folder.path().join("out"), folder.path()),
            (folder.path().join("a/b/out"), folder.path()),
            (PathBuf::from("out"), Path::new(".")),
            (PathBuf::from("no-such-folder/out"), Path::new(".")),
        ] {
            assert_eq!(existing(&path), expected, "{}", path.display());
        }
    }
}
