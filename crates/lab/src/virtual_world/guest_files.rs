//! What programs of a guest write: files in its memory, of which the host gets a copy at the end.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rustix::mount::{MountFlags, mount};

/// Files in the guest's memory, where every system has a place for them; also for temporary files.
pub(super) const MEMORY_FILES: &str = "/dev/shm";
/// What of them is kept.
pub(super) const KEPT: &str = "/dev/shm/quell-results";
/// Makes a place in the guest's memory for what programs write.
pub(super) fn give_memory_to_files() -> io::Result<()> {
    mount("tmpfs", MEMORY_FILES, "tmpfs", MountFlags::empty(), None)?;
    // Its own files for a program without rights, which root without rights owns.
    fs::set_permissions(MEMORY_FILES, fs::Permissions::from_mode(0o1777))?;
    fs::create_dir(KEPT)
}

/// Copies the plain files and the folders of `from` into `to`.
pub(super) fn copy_all(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, copy) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            fs::create_dir(&copy)?;
            copy_all(&entry.path(), &copy)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), copy)?;
        }
    }
    Ok(())
}
